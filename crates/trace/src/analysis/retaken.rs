//! Holds of locks that a program makes of a semaphore, of a condition variable with a flag, or of a
//! futex. Often a thread that releases such a lock takes it again before the thread that it woke does.
//! Then no wake-up leads the critical path to the holder, although the others wait for it.
//!
//! | object | serves as a lock if | a hold lasts |
//! | --- | --- | --- |
//! | semaphore | most posts come from threads that have taken it | from the take to the post |
//! | condition variable | before most signals, the thread had left an earlier section of its mutex, and threads that signal wait there, too | from the end of that section to the signal |
//! | semaphores that are made for one wait each | as a futex | as at a futex, or from the end of a wait to the thread's next wake |
//! | futex | most wakes are for one thread, and come from threads that wait there, too | from one wake of a thread to its next, without a wait of its own or another thread's wake in between |
//!
//! Runtimes such as Python's make a semaphore for each wait: the thread takes it, and waits for it until
//! another thread posts it. All such semaphores at which threads wait at one place count as the first of them.
//!
//! A semaphore that carries work is posted by threads that do not take it. A thread that puts work into
//! a queue signals in the section in which it puts it in. A hold ends while the thread holds another
//! lock, since what others wait for there may be that lock.

use super::causes::WaitKind;
use super::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The fewest holds of an object that serves as a lock.
const LEAST: u64 = 3;

/// The most holds of other locks that are kept of a thread.
const KEPT: usize = 256;

/// Intervals in which something lasted.
type Intervals = Vec<(Ticks, Ticks)>;

/// An interval in which a thread held an object that serves as a lock, while other threads waited there.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    pub(super) begin: Ticks,
    pub(super) end: Ticks,
    pub(super) kind: WaitKind,
    pub(super) object: ObjectId,
}

/// What a thread has done at an object since its last wake there.
#[derive(Default)]
struct Turn {
    /// When it took the semaphore, or when its wait for one that was made for the wait ended.
    taken: Option<Ticks>,
    /// When it left the last two sections of the condition variable's mutex, the latest first.
    left: [Option<Ticks>; 2],
    /// Whether it has signalled in the section in which it is.
    signalled: bool,
}

struct State {
    kind: WaitKind,
    /// Whether this stands for semaphores that are made for one wait each.
    made: bool,
    /// The threads that have waited there, the number of those that do at present, and when the last
    /// wait ended.
    waiters: BTreeSet<ThreadIndex>,
    waiting: u32,
    waited: Ticks,
    /// The condition variable's mutex.
    mutex: Option<ObjectId>,
    turns: BTreeMap<ThreadIndex, Turn>,
    /// The last wake of one thread at a futex.
    last: Option<(ThreadIndex, Ticks)>,
    /// Number of all wakes, and of those that look like the end of a hold.
    wakes: u64,
    ends: u64,
    holds: Vec<(ThreadIndex, Ticks, Ticks)>,
}

impl State {
    fn new(kind: WaitKind) -> State {
        State {
            kind,
            made: false,
            waiters: BTreeSet::new(),
            waiting: 0,
            waited: Ticks(0),
            mutex: None,
            turns: BTreeMap::new(),
            last: None,
            wakes: 0,
            ends: 0,
            holds: Vec::new(),
        }
    }

    fn turn(&mut self, thread: ThreadIndex) -> &mut Turn {
        self.turns.entry(thread).or_default()
    }

    fn begins_to_wait(&mut self, thread: ThreadIndex) {
        self.waiters.insert(thread);
        self.waiting += 1;
    }

    fn has_waited(&mut self, now: Ticks) {
        self.waiting = self.waiting.saturating_sub(1);
        self.waited = now;
    }

    /// A hold ends with a wake. It is kept if others may have waited meanwhile.
    fn ends(&mut self, thread: ThreadIndex, begin: Ticks, now: Ticks, life: &Life) {
        self.ends += 1;
        if self.waiting > 0 || self.waited > begin {
            self.holds.extend(life.outside(begin, now).into_iter().map(|(begin, end)| (thread, begin, end)));
        }
    }

    /// A thread wakes others at a condition variable. In the section in which it signals, it gives the lock
    /// back: the hold began at the end of the section before. It may also signal behind that section. Before
    /// the first wait, the mutex is not known.
    fn signals(&mut self, thread: ThreadIndex, now: Ticks, life: &Life) {
        let Some(mutex) = self.mutex else { return };
        self.wakes += 1;
        let inside = life.held.contains(&mutex);
        let turn = self.turn(thread);
        turn.signalled = inside;
        let [last, before] = std::mem::take(&mut turn.left);
        if let Some(begin) = if inside { last } else { before } {
            self.ends(thread, begin, now, life);
        }
    }

    /// A thread asks to wake one waiter of a futex, or more.
    fn wakes(&mut self, thread: ThreadIndex, asked: u32, now: Ticks, life: &Life) {
        self.wakes += 1;
        let last = self.last.take();
        if asked != 1 {
            return;
        }
        self.last = Some((thread, now));
        let again = last.filter(|(before, _)| *before == thread).map(|(_, begin)| begin);
        // A thread that has waited in vain waits again before it wakes another.
        let taken = self.turns.get_mut(&thread).and_then(|turn| turn.taken.take());
        match again.or(taken) {
            Some(begin) => self.ends(thread, begin, now, life),
            None => self.ends += 1,
        }
    }

    /// Whether the object serves as a lock.
    fn is_lock(&self) -> bool {
        self.ends >= LEAST && self.ends * 4 >= self.wakes * 3
    }

    /// Whether a thread can be one that holds the lock.
    fn may_hold(&self, thread: ThreadIndex) -> bool {
        self.kind == WaitKind::Semaphore && !self.made || self.waiters.contains(&thread)
    }
}

/// What a thread does at locks.
#[derive(Default)]
struct Life {
    /// The locks that it holds, and since when it has held one.
    held: Vec<ObjectId>,
    since: Ticks,
    /// Its last times with a lock, in order.
    locked: VecDeque<(Ticks, Ticks)>,
    /// The condition variable at which it waits, and the address of the mutex.
    waits: Option<(ObjectId, Address)>,
}

impl Life {
    fn takes(&mut self, lock: ObjectId, now: Ticks) {
        if self.held.is_empty() {
            self.since = now;
        }
        self.held.push(lock);
    }

    fn gives(&mut self, lock: ObjectId, now: Ticks) {
        let Some(at) = self.held.iter().rposition(|held| *held == lock) else { return };
        self.held.remove(at);
        if self.held.is_empty() {
            if self.locked.len() == KEPT {
                self.locked.pop_front();
            }
            self.locked.push_back((self.since, now));
        }
    }

    /// Returns the parts of an interval up to now in which the thread held no lock, as far as known.
    fn outside(&self, begin: Ticks, now: Ticks) -> Intervals {
        let mut at = begin;
        if let Some(first) = self.locked.front().filter(|first| self.locked.len() == KEPT && first.0 > begin) {
            at = first.1;
        }
        let end = if self.held.is_empty() { now } else { self.since.min(now) };
        let from = self.locked.partition_point(|(_, end)| *end <= at);
        let mut parts = Vec::new();
        for (begin, end) in self.locked.range(from..) {
            if at < *begin {
                parts.push((at, *begin));
            }
            at = at.max(*end);
        }
        if at < end {
            parts.push((at, end));
        }
        parts
    }
}

/// The search for such holds, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Retaken {
    objects: BTreeMap<ObjectId, State>,
    lives: BTreeMap<ThreadIndex, Life>,
    /// For each mutex, the condition variables at which threads wait with it.
    conditions: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    /// The first semaphore that was made for a wait at a place, for each place.
    first: BTreeMap<(ProcessIndex, SiteId), ObjectId>,
    /// For each semaphore that was made for a wait, the first one of its place.
    same: BTreeMap<ObjectId, ObjectId>,
    /// What all semaphores of one place are together, by the first one.
    made: BTreeMap<ObjectId, State>,
}

impl Retaken {
    /// Follows an event of a process, which concerns `object`.
    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex, object: Option<ObjectId>) {
        let (thread, now) = (event.thread, event.time);
        if let (What::CondMutex { mutex }, Some(life)) = (event.what, self.lives.get_mut(&thread)) {
            life.waits = life.waits.map(|(condition, _)| (condition, mutex));
        }
        let Some(object) = object else { return };
        match event.what {
            What::Acquire { .. } | What::Acquired { .. } => self.life(thread).takes(object, now),
            What::Release { lock, .. } => self.gives(thread, object, lock.address, now),
            What::CondWait { .. } => {
                self.life(thread).waits = Some((object, 0));
                self.state(object, WaitKind::Condition).begins_to_wait(thread);
            }
            What::CondWake { .. } => {
                self.life(thread).waits = None;
                self.state(object, WaitKind::Condition).has_waited(now);
            }
            What::CondSignal { .. } | What::CondBroadcast { .. } => {
                let life = self.lives.entry(thread).or_default();
                let state = self.objects.entry(object).or_insert_with(|| State::new(WaitKind::Condition));
                state.signals(thread, now, life);
            }
            What::SemWait { site, .. } => {
                let state = self.state(object, WaitKind::Semaphore);
                state.begins_to_wait(thread);
                if state.wakes == 0 && state.turn(thread).taken.is_some() {
                    self.waits_for_another(thread, object, (process, site));
                }
            }
            What::SemTimeout { .. } => self.has_waited(thread, object, now),
            What::SemTake { .. } | What::SemTaken { .. } => {
                if let What::SemTaken { .. } = event.what {
                    self.has_waited(thread, object, now);
                }
                self.state(object, WaitKind::Semaphore).turn(thread).taken.get_or_insert(now);
            }
            What::SemPost { .. } => {
                let life = self.lives.entry(thread).or_default();
                let state = self.objects.entry(object).or_insert_with(|| State::new(WaitKind::Semaphore));
                state.wakes += 1;
                if let Some(taken) = state.turn(thread).taken.take() {
                    state.ends(thread, taken, now, life);
                }
                if state.wakes == 1
                    && let Some(made) = self.same.get(&object).and_then(|first| self.made.get_mut(first))
                {
                    made.wakes(thread, 1, now, life);
                }
            }
            What::FutexWait { .. } => {
                let state = self.state(object, WaitKind::Futex);
                state.begins_to_wait(thread);
                state.last = state.last.filter(|(before, _)| *before != thread);
            }
            What::FutexWaitEnd { .. } => self.state(object, WaitKind::Futex).has_waited(now),
            What::FutexWoke { asked, .. } => {
                let life = self.lives.entry(thread).or_default();
                let state = self.objects.entry(object).or_insert_with(|| State::new(WaitKind::Futex));
                state.wakes(thread, asked, now, life);
            }
            _ => {}
        }
    }

    fn life(&mut self, thread: ThreadIndex) -> &mut Life {
        self.lives.entry(thread).or_default()
    }

    fn state(&mut self, object: ObjectId, kind: WaitKind) -> &mut State {
        self.objects.entry(object).or_insert_with(|| State::new(kind))
    }

    /// A thread waits for a semaphore that it has taken itself.
    fn waits_for_another(&mut self, thread: ThreadIndex, semaphore: ObjectId, place: (ProcessIndex, SiteId)) {
        let first = *self.first.entry(place).or_insert(semaphore);
        self.same.insert(semaphore, first);
        let made = self.made.entry(first).or_insert_with(|| State { made: true, ..State::new(WaitKind::Semaphore) });
        made.begins_to_wait(thread);
        made.turn(thread).taken = None;
        made.last = made.last.filter(|(before, _)| *before != thread);
    }

    /// A wait for a semaphore ends.
    fn has_waited(&mut self, thread: ThreadIndex, semaphore: ObjectId, now: Ticks) {
        self.state(semaphore, WaitKind::Semaphore).has_waited(now);
        if let Some(made) = self.same.get(&semaphore).and_then(|first| self.made.get_mut(first)) {
            made.has_waited(now);
            made.turn(thread).taken = Some(now);
        }
    }

    /// For each semaphore that was made for one wait, the first one of the same place.
    pub(super) fn same(&self) -> &BTreeMap<ObjectId, ObjectId> {
        &self.same
    }

    /// A thread releases a lock. If the lock is the mutex of condition variables, the thread leaves a
    /// section, or begins to wait at one of them.
    fn gives(&mut self, thread: ThreadIndex, lock: ObjectId, address: Address, now: Ticks) {
        let life = self.lives.entry(thread).or_default();
        life.gives(lock, now);
        if let Some((condition, mutex)) = life.waits {
            if mutex == address {
                self.conditions.entry(lock).or_default().insert(condition);
                self.state(condition, WaitKind::Condition).mutex = Some(lock);
            }
            return;
        }
        for condition in self.conditions.get(&lock).into_iter().flatten() {
            let Some(state) = self.objects.get_mut(condition) else { continue };
            let turn = state.turn(thread);
            if !std::mem::take(&mut turn.signalled) {
                turn.left = [Some(now), turn.left[0]];
            }
        }
    }

    /// Returns each thread's holds, as far as other threads waited meanwhile, in order and without
    /// overlap. `waits` has the intervals in which threads waited at each object, in order and without
    /// overlap.
    pub(super) fn finish(self, waits: &BTreeMap<ObjectId, Intervals>) -> BTreeMap<ThreadIndex, Vec<Hold>> {
        let mut holds: BTreeMap<ThreadIndex, Vec<Hold>> = BTreeMap::new();
        for (object, state) in self.objects.iter().chain(&self.made).filter(|(_, state)| state.is_lock()) {
            let (kind, waits) = (state.kind, waits.get(object).map_or(&[][..], Vec::as_slice));
            for (thread, begin, end) in state.holds.iter().filter(|(thread, ..)| state.may_hold(*thread)) {
                let from = waits.partition_point(|(_, over)| over <= begin);
                for (waits, until) in waits[from..].iter().take_while(|(waits, _)| waits < end) {
                    let (begin, end) = (*waits.max(begin), *until.min(end));
                    holds.entry(*thread).or_default().push(Hold { begin, end, kind, object: *object });
                }
            }
        }
        for holds in holds.values_mut() {
            holds.sort_by_key(|hold| (hold.begin, hold.end));
            let mut from = Ticks(0);
            holds.retain_mut(|hold| {
                hold.begin = hold.begin.max(from);
                from = from.max(hold.end);
                hold.begin < hold.end
            });
        }
        holds
    }
}
