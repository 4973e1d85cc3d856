//! Finds the event that ended each wait: the release that a lock's next holder waited for, the
//! signal behind a wake-up, the last arrival at a barrier, the post that a semaphore's taker got,
//! the wake that a futex's waiter got, the put or take that a thread at a queue waited for, the end
//! of a joined thread, the creation of a started one, the region that a team waited for, the task
//! that a thread had to run or wait for.
//!
//! The statistics of waits, the critical path and the relaxed replay each feed all events to one
//! [`Causes`], and choose the data that a cause carries along (`T`): nothing, or the event's time
//! in each scenario.

use super::cause::KINDS;
pub use super::cause::WaitKind;
pub(super) use super::cause::{Carry, Cause};
use super::futexes::Wakes;
use super::objects::ObjectId;
use super::queues::{self, Passage};
use super::tasks::Teams;
use crate::clock::Ticks;
use crate::event::{Event, Mode, SiteId, ThreadIndex, WakeReason, What};
use crate::process::ProcessIndex;
use crate::stream::Stream;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A wait that has ended, or an acquisition that did not wait.
pub(super) struct Ended<T> {
    pub(super) kind: WaitKind,
    pub(super) object: Option<ObjectId>,
    /// When the wait began; `None` if there was no wait, or if its beginning is not known.
    pub(super) begin: Option<Ticks>,
    pub(super) site: SiteId,
    /// Whether the wait ended without what the thread waited for: by a deadline, a cancellation, an
    /// error, or the end of an idle worker.
    pub(super) gave_up: bool,
    pub(super) cause: Option<Cause<T>>,
}

#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) object: Option<ObjectId>,
    pub(super) time: Ticks,
    pub(super) site: SiteId,
}

/// A lock's last releases: the next holder had to wait for them.
pub(super) struct Releases<T> {
    exclusive: Option<Cause<T>>,
    /// The latest release by a reader since the last release by a writer.
    shared: Option<Cause<T>>,
}

/// Signals and posts that no waiter has used yet.
pub(super) struct Tokens<T>(VecDeque<Cause<T>>);

/// Most signals or posts that are kept: a semaphore that is posted and never taken would keep all
/// of its posts, of which the oldest no longer matter.
const TOKENS_KEPT: usize = 4096;

impl<T: Carry> Tokens<T> {
    fn put(&mut self, cause: Cause<T>) {
        if self.0.len() == TOKENS_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(cause);
    }

    /// Takes the first cause at or after `begin`. If there is none, takes the oldest of all if
    /// `any` is set, and nothing otherwise.
    fn take(&mut self, begin: Ticks, any: bool) -> Option<Cause<T>> {
        let at = self.0.partition_point(|c| c.time < begin);
        if at < self.0.len() {
            return self.0.remove(at);
        }
        if any { self.0.pop_front() } else { None }
    }
}

pub(super) struct Condition<T> {
    signals: Tokens<T>,
    waiting: Vec<ThreadIndex>,
    /// For each waiting thread, the first broadcast since the thread began to wait.
    broadcast: BTreeMap<ThreadIndex, Cause<T>>,
}

/// The rounds of a barrier. Once a thread has left, its round is complete: later arrivals belong to
/// the next round.
pub(super) struct Barrier<T> {
    pub(super) arrived: Vec<ThreadIndex>,
    pub(super) last: Option<Cause<T>>,
    leaving: BTreeMap<ThreadIndex, Cause<T>>,
}

pub(super) enum ObjectState<T> {
    Unused,
    Lock(Releases<T>),
    Condition(Condition<T>),
    Semaphore(Tokens<T>),
    Barrier(Barrier<T>),
    Futex(Wakes<T>),
    /// The last release of a lock of the C library that woke a waiter.
    LibcLock(Option<Cause<T>>),
    Queue(Box<Passage<T>>),
}

/// Returns the data that an object's state of kind `$kind` holds. If the object has a state of
/// another kind, replaces it by `$new` first.
macro_rules! of_kind {
    ($state:expr, $kind:ident, $new:expr) => {{
        let state = $state;
        if !matches!(state, ObjectState::$kind(_)) {
            *state = ObjectState::$kind($new);
        }
        let ObjectState::$kind(held) = state else { unreachable!("set above") };
        held
    }};
}
pub(super) use of_kind;

/// State of the walk over the events.
pub(super) struct Causes<T> {
    number: u64,
    /// For each thread, the waits in progress, at most one of each kind.
    begun: Vec<[Option<Begun>; KINDS]>,
    objects: Vec<ObjectState<T>>,
    threads: Threads<T>,
    pub(super) teams: Teams<T>,
}

/// Creations and ends of threads that no start or join has used yet.
struct Threads<T> {
    /// `Create` events whose `Created` has not come yet, oldest first.
    creating: VecDeque<(ProcessIndex, Cause<T>)>,
    /// Creations of threads that have not started yet, by the thread's process and handle.
    created: BTreeMap<(ProcessIndex, u64), Cause<T>>,
    /// Threads that started before their creator's `Created`.
    started_early: BTreeSet<(ProcessIndex, u64)>,
    ended: BTreeMap<(ProcessIndex, u64), Cause<T>>,
}

impl<T: Carry> Threads<T> {
    fn started(&mut self, key: (ProcessIndex, u64)) -> Option<Cause<T>> {
        self.ended.remove(&key);
        if let Some(cause) = self.created.remove(&key) {
            return Some(cause);
        }
        // No `Created` has named the thread's handle yet: assumes that the thread is the child of
        // the oldest creation in progress in its process.
        let at = self.creating.iter().position(|(process, _)| *process == key.0)?;
        self.started_early.insert(key);
        self.creating.remove(at).map(|(_, cause)| cause)
    }

    fn created(&mut self, key: (ProcessIndex, u64), parent: ThreadIndex, failed: bool) {
        let at = self.creating.iter().position(|(_, cause)| cause.thread == parent);
        if self.started_early.remove(&key) {
            // The thread's start has already used up a creation in progress, perhaps that of
            // another parent. This parent's creation then stays for the other parent's child, so
            // that each start uses up one creation.
            return;
        }
        let Some((_, cause)) = at.and_then(|at| self.creating.remove(at)) else { return };
        if !failed {
            self.created.insert(key, cause);
        }
    }
}

impl<T: Carry> Causes<T> {
    pub(super) fn new() -> Causes<T> {
        let threads = Threads {
            creating: VecDeque::new(),
            created: BTreeMap::new(),
            started_early: BTreeSet::new(),
            ended: BTreeMap::new(),
        };
        Causes { number: 0, begun: Vec::new(), objects: Vec::new(), threads, teams: Teams::new() }
    }

    /// Number of the event that [`Causes::step`] processed last; the first one is 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The event that [`Causes::step`] processed last, as a cause.
    pub(super) fn cause(&self, event: &Event, carried: T) -> Cause<T> {
        Cause { thread: event.thread, time: event.time, number: self.number, carried }
    }

    /// Processes the next event, which concerns `object`. Returns the wait that the event ends, if
    /// any.
    pub(super) fn step(
        &mut self,
        event: &Event,
        process: ProcessIndex,
        object: Option<ObjectId>,
        carried: impl Fn() -> T,
    ) -> Option<Ended<T>> {
        self.number += 1;
        let number = self.number;
        let cause = || Cause { thread: event.thread, time: event.time, number, carried: carried() };
        match event.what {
            What::Request { .. }
            | What::Acquire { .. }
            | What::Acquired { .. }
            | What::Timeout { .. }
            | What::Release { .. } => self.lock_step(event, object, cause),
            What::CondWait { .. } | What::CondSignal { .. } | What::CondBroadcast { .. } | What::CondWake { .. } => {
                self.condition_step(event, object, cause)
            }
            What::BarrierArrive { .. } | What::BarrierLeave { .. } => self.barrier_step(event, object, cause),
            What::SemWait { .. }
            | What::SemTake { .. }
            | What::SemTaken { .. }
            | What::SemTimeout { .. }
            | What::SemPost { .. } => self.semaphore_step(event, object, cause),
            What::FutexWait { .. } | What::FutexWaitEnd { .. } | What::FutexWake { .. } | What::FutexWoke { .. } => {
                self.futex_step(event, object, cause)
            }
            What::LibcWait { .. } | What::LibcTaken { .. } | What::LibcWake { .. } => {
                self.libc_step(event, object, cause)
            }
            what if what.queue().is_some() => self.queue_step(event, object?, cause),
            What::Fork { .. }
            | What::TeamBegin { .. }
            | What::IdleBegin { .. }
            | What::TaskCreate { .. }
            | What::TaskBegin { .. }
            | What::TaskEnd { .. }
            | What::TaskWaitBegin { .. }
            | What::TaskWaitEnd => self.team_step(event, process, cause),
            _ => self.thread_step(event, process, cause),
        }
    }

    fn lock_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::Request { site, .. } => self.begin(event, WaitKind::Lock, object, site),
            What::Acquire { mode, site, .. } => {
                let cause = self.lock(object?).before(mode);
                return Some(Ended { kind: WaitKind::Lock, object, begin: None, site, gave_up: false, cause });
            }
            What::Acquired { mode, .. } => {
                let cause = self.lock(object?).before(mode);
                return self.end(event, WaitKind::Lock, object, false, cause);
            }
            What::Timeout { .. } => return self.end(event, WaitKind::Lock, object, true, None),
            What::Release { mode, .. } => {
                let cause = cause();
                self.lock(object?).after(mode, cause);
            }
            _ => {}
        }
        None
    }

    fn condition_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::CondWait { site, .. } => {
                self.begin(event, WaitKind::Condition, object, site);
                self.condition(object?).waiting.push(event.thread);
            }
            What::CondSignal { .. } => {
                let cause = cause();
                let condition = self.condition(object?);
                if !condition.waiting.is_empty() {
                    condition.signals.put(cause);
                }
            }
            What::CondBroadcast { .. } => {
                let cause = cause();
                let condition = self.condition(object?);
                for thread in &condition.waiting {
                    condition.broadcast.entry(*thread).or_insert_with(|| cause.clone());
                }
            }
            What::CondWake { reason, .. } => {
                let begin = self.begun(event.thread)[WaitKind::Condition as usize].map(|b| b.time);
                let condition = self.condition(object?);
                condition.waiting.retain(|t| *t != event.thread);
                let woken = reason == WakeReason::Woken;
                let broadcast = condition.broadcast.remove(&event.thread);
                let mut found = broadcast;
                if found.is_none() && woken {
                    found = begin.and_then(|begin| condition.signals.take(begin, false));
                }
                if condition.waiting.is_empty() {
                    condition.signals.0.clear();
                }
                return self.end(event, WaitKind::Condition, object, !woken, found.filter(|_| woken));
            }
            _ => {}
        }
        None
    }

    fn barrier_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::BarrierArrive { site, .. } => {
                let cause = cause();
                self.begin(event, WaitKind::Barrier, object, site);
                let barrier = self.barrier(object?);
                barrier.arrived.push(event.thread);
                match &mut barrier.last {
                    Some(last) => last.join(&cause),
                    none => *none = Some(cause),
                }
            }
            What::BarrierLeave { .. } => {
                let cause = self.barrier(object?).leave(event.thread);
                return self.end(event, WaitKind::Barrier, object, false, cause);
            }
            _ => {}
        }
        None
    }

    fn semaphore_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::SemWait { site, .. } => self.begin(event, WaitKind::Semaphore, object, site),
            What::SemTake { site, .. } => {
                let cause = self.semaphore(object?).take(event.time, true);
                return Some(Ended { kind: WaitKind::Semaphore, object, begin: None, site, gave_up: false, cause });
            }
            What::SemTaken { .. } => {
                let begin = self.begun(event.thread)[WaitKind::Semaphore as usize].map_or(event.time, |b| b.time);
                let cause = self.semaphore(object?).take(begin, true);
                return self.end(event, WaitKind::Semaphore, object, false, cause);
            }
            What::SemTimeout { .. } => return self.end(event, WaitKind::Semaphore, object, true, None),
            What::SemPost { .. } => {
                let cause = cause();
                self.semaphore(object?).put(cause);
            }
            _ => {}
        }
        None
    }

    fn queue_step(&mut self, event: &Event, object: ObjectId, cause: impl FnOnce() -> Cause<T>) -> Option<Ended<T>> {
        match event.what {
            What::QueueCapacity { capacity, .. } => self.queue(object).capacity = queues::bound(capacity),
            What::Put { items, .. } => {
                let cause = cause();
                self.queue(object).put(items, cause);
            }
            What::Take { items, .. } => {
                let cause = cause();
                self.queue(object).take(items, cause);
            }
            What::QueueClose { queue, .. } => {
                let cause = cause();
                let closed = &mut self.queue(object).closed;
                // A stream ends when the last of its writers closes it.
                if Stream::is_kernels(queue) {
                    *closed = Some(cause);
                } else {
                    closed.get_or_insert(cause);
                }
            }
            What::PutWait { site, .. } => self.begin(event, WaitKind::Room, Some(object), site),
            What::TakeWait { site, .. } => self.begin(event, WaitKind::Item, Some(object), site),
            What::PutWaited { gave_up, .. } => return self.passed(event, WaitKind::Room, object, gave_up),
            What::TakeWaited { gave_up, .. } => return self.passed(event, WaitKind::Item, object, gave_up),
            _ => {}
        }
        None
    }

    /// Ends a wait at a queue. The end of a queue is an answer too: its waiters have not given up.
    fn passed(&mut self, event: &Event, kind: WaitKind, object: ObjectId, nothing: bool) -> Option<Ended<T>> {
        let queue = self.queue(object);
        let cause = match kind {
            _ if nothing => queue.closed.clone(),
            WaitKind::Room => queue.room(),
            _ => queue.item(),
        };
        let gave_up = nothing && cause.is_none();
        self.end(event, kind, Some(object), gave_up, cause)
    }

    fn queue(&mut self, object: ObjectId) -> &mut Passage<T> {
        of_kind!(self.state(object), Queue, Box::new(Passage::new()))
    }

    fn thread_step(
        &mut self,
        event: &Event,
        process: ProcessIndex,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::Create { .. } => {
                let cause = cause();
                self.threads.creating.push_back((process, cause));
            }
            What::Created { handle, error } => self.threads.created((process, handle), event.thread, error != 0),
            What::ThreadStart { handle } => {
                let cause = self.threads.started((process, handle));
                let begin = cause.as_ref().map(|c| c.time);
                let kind = WaitKind::Start;
                return Some(Ended { kind, object: None, begin, site: SiteId::UNKNOWN, gave_up: false, cause });
            }
            What::ThreadEnd { handle } => {
                let cause = cause();
                self.threads.ended.insert((process, handle), cause);
                if self.idle_since(event.thread).is_some() {
                    return self.end(event, WaitKind::Idle, None, true, None);
                }
            }
            What::JoinBegin { site, .. } => self.begin(event, WaitKind::Join, None, site),
            What::JoinEnd { handle, error } => {
                let cause = if error == 0 { self.threads.ended.remove(&(process, handle)) } else { None };
                return self.end(event, WaitKind::Join, None, error != 0, cause);
            }
            _ => {}
        }
        None
    }

    /// Returns since when a thread has been waiting for its team's next region; `None` if it is
    /// not.
    pub(super) fn idle_since(&mut self, thread: ThreadIndex) -> Option<Ticks> {
        self.begun(thread)[WaitKind::Idle as usize].map(|begun| begun.time)
    }

    /// Returns the waits that a thread is in, except those for locks (also inside of the C
    /// library), for its team's next region, and at a barrier that all threads have reached. A wait
    /// inside of the C library without an end is none that lasts: a thread writes the beginning of
    /// such a wait only once it runs again, and the end later still. A thread that never got the
    /// lock has not written the beginning either.
    pub(super) fn open(&mut self, thread: ThreadIndex) -> Vec<(WaitKind, Begun)> {
        use WaitKind::{Barrier, Condition, Futex, Item, Join, Room, Semaphore, Tasks};
        let begun = *self.begun(thread);
        let kinds = [Condition, Barrier, Semaphore, Futex, Join, Tasks, Room, Item];
        let mut open: Vec<_> = kinds.into_iter().filter_map(|kind| Some((kind, begun[kind as usize]?))).collect();
        // Leaves out a barrier that all threads have reached: a worker of OpenMP records late that
        // it has left one.
        open.retain(|(kind, begun)| *kind != Barrier || !begun.object.is_some_and(|id| self.has_passed(id, thread)));
        open
    }

    /// Returns the wait that a thread began last among those that it is still in; waits for locks
    /// inside of the C library do not count, for the reason at [`Causes::open`].
    pub(super) fn innermost(&mut self, thread: ThreadIndex) -> Option<(WaitKind, Begun)> {
        let begun = *self.begun(thread);
        let others =
            [(WaitKind::Lock, begun[WaitKind::Lock as usize]), (WaitKind::Idle, begun[WaitKind::Idle as usize])];
        let others = others.into_iter().filter_map(|(kind, begun)| Some((kind, begun?)));
        self.open(thread).into_iter().chain(others).max_by_key(|(_, begun)| begun.time)
    }

    fn has_passed(&mut self, barrier: ObjectId, thread: ThreadIndex) -> bool {
        self.barrier(barrier).leaving.contains_key(&thread)
    }

    pub(super) fn begun(&mut self, thread: ThreadIndex) -> &mut [Option<Begun>; KINDS] {
        if self.begun.len() <= thread.index() {
            self.begun.resize(thread.index() + 1, [None; KINDS]);
        }
        &mut self.begun[thread.index()]
    }

    pub(super) fn begin(&mut self, event: &Event, kind: WaitKind, object: Option<ObjectId>, site: SiteId) {
        self.begun(event.thread)[kind as usize] = Some(Begun { object, time: event.time, site });
    }

    pub(super) fn end(
        &mut self,
        event: &Event,
        kind: WaitKind,
        object: Option<ObjectId>,
        gave_up: bool,
        cause: Option<Cause<T>>,
    ) -> Option<Ended<T>> {
        // A beginning recorded at another object belongs to an earlier wait, the end of which was
        // lost.
        let begun = self.begun(event.thread)[kind as usize].take().filter(|b| b.object == object);
        let site = begun.map_or(SiteId::UNKNOWN, |b| b.site);
        Some(Ended { kind, object, begin: begun.map(|b| b.time), site, gave_up, cause })
    }

    pub(super) fn state(&mut self, object: ObjectId) -> &mut ObjectState<T> {
        if self.objects.len() <= object.index() {
            self.objects.resize_with(object.index() + 1, || ObjectState::Unused);
        }
        &mut self.objects[object.index()]
    }

    fn lock(&mut self, object: ObjectId) -> &mut Releases<T> {
        of_kind!(self.state(object), Lock, Releases { exclusive: None, shared: None })
    }

    fn condition(&mut self, object: ObjectId) -> &mut Condition<T> {
        let new = || Condition { signals: Tokens(VecDeque::new()), waiting: Vec::new(), broadcast: BTreeMap::new() };
        of_kind!(self.state(object), Condition, new())
    }

    fn semaphore(&mut self, object: ObjectId) -> &mut Tokens<T> {
        of_kind!(self.state(object), Semaphore, Tokens(VecDeque::new()))
    }

    pub(super) fn barrier(&mut self, object: ObjectId) -> &mut Barrier<T> {
        of_kind!(self.state(object), Barrier, Barrier { arrived: Vec::new(), last: None, leaving: BTreeMap::new() })
    }
}

impl<T: Carry> Releases<T> {
    /// Returns the release that had to come before an acquisition in this mode; `None` if there was
    /// none.
    fn before(&self, mode: Mode) -> Option<Cause<T>> {
        match (mode, &self.exclusive, &self.shared) {
            (Mode::Exclusive, Some(exclusive), Some(shared)) => {
                let mut both = exclusive.clone();
                both.join(shared);
                Some(both)
            }
            (Mode::Exclusive, exclusive, shared) => exclusive.as_ref().or(shared.as_ref()).cloned(),
            (Mode::Shared, exclusive, _) => exclusive.clone(),
        }
    }

    fn after(&mut self, mode: Mode, cause: Cause<T>) {
        match mode {
            Mode::Exclusive => {
                self.exclusive = Some(cause);
                self.shared = None;
            }
            Mode::Shared => match &mut self.shared {
                Some(shared) => shared.join(&cause),
                none => *none = Some(cause),
            },
        }
    }
}

impl<T: Carry> Barrier<T> {
    fn leave(&mut self, thread: ThreadIndex) -> Option<Cause<T>> {
        if !self.leaving.contains_key(&thread)
            && let Some(last) = self.last.take()
        {
            for arrived in self.arrived.drain(..) {
                self.leaving.insert(arrived, last.clone());
            }
        }
        self.leaving.remove(&thread)
    }
}
