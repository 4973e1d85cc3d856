//! The walk to the end of a trace: which threads live at the end, what each waits for, and which
//! threads hold the locks.

use super::stuck::OpenWait;
use crate::analysis::account::Account;
use crate::analysis::causes::WaitKind;
use crate::analysis::objects::{ObjectId, ObjectKind, Objects};
use crate::clock::Ticks;
use crate::event::{Address, Event, Mode, SiteId, ThreadIndex, Waitable, What};
use crate::notes;
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// State of the walk: what every thread and object is doing at the end.
pub(super) struct Walk<'a> {
    trace: &'a Trace,
    objects: Objects<'a>,
    pub(super) books: Vec<Book>,
    pub(super) lives: Vec<Life>,
    pub(super) crowds: BTreeMap<ProcessIndex, Crowd>,
    /// The thread that last started with each handle.
    pub(super) handles: BTreeMap<(ProcessIndex, u64), ThreadIndex>,
    /// Objects that other processes may act on, too.
    pub(super) shared: BTreeSet<ObjectId>,
    /// Semaphores that threads posted outside of their waits or that began above zero, and futexes that
    /// threads woke so: no signal handler is needed to let a thread go on there.
    pub(super) served: BTreeSet<ObjectId>,
}

/// An object.
pub(super) enum Book {
    Lock(LockBook),
    Barrier(BarrierBook),
    /// How many takes of a semaphore would not wait; `None` if its first value is not known.
    Semaphore(Option<i64>),
    /// The threads that wait at the condition variable.
    Condition(Vec<ThreadIndex>),
    /// Any other object, of which nothing is kept.
    Other,
}

pub(super) struct LockBook {
    pub(super) account: Account,
    /// Whether a thread that did not hold the lock has released it: the program uses the lock as a
    /// signal, and any thread may release it.
    pub(super) handed_over: bool,
}

#[derive(Default)]
pub(super) struct BarrierBook {
    /// Number of threads that the barrier waits for, if known.
    pub(super) expected: Option<u32>,
    /// Threads that have arrived at the barrier for the current round.
    pub(super) arrived: Vec<ThreadIndex>,
}

/// A thread.
#[derive(Default)]
pub(super) struct Life {
    pub(super) ended: Option<Ticks>,
    pub(super) began: bool,
    /// Time of the thread's last act.
    pub(super) last: Ticks,
    open: Vec<Doing>,
    /// The handle of the thread that this thread joined last.
    joins: Option<u64>,
    /// The OpenMP regions that the thread is inside of: the barrier at the end of each, and the
    /// number of threads of its team.
    teams: Vec<(Address, u32)>,
}

/// What a thread is doing at present: waiting, or running a task inside of a wait.
enum Doing {
    Wait(OpenWait),
    /// Runs a task of OpenMP inside of a wait.
    Task,
}

impl Life {
    /// Whether the thread has begun and not ended. A thread that waits after its end still lives:
    /// destructors of its thread-local data may act then.
    pub(super) fn lives(&self) -> bool {
        self.began && (self.ended.is_none() || !self.open.is_empty())
    }

    /// Returns the wait that the thread is in; `None` if it is in none, or runs a task inside of
    /// it.
    pub(super) fn waits(&self) -> Option<&OpenWait> {
        match self.open.last() {
            Some(Doing::Wait(wait)) => Some(wait),
            _ => None,
        }
    }

    /// Whether the thread belongs to a team of OpenMP.
    pub(super) fn is_of_team(&self) -> bool {
        !self.teams.is_empty()
    }

    fn wait_mut(&mut self) -> Option<&mut OpenWait> {
        match self.open.last_mut() {
            Some(Doing::Wait(wait)) => Some(wait),
            _ => None,
        }
    }

    fn stands(&self) -> bool {
        self.waits().is_some_and(|wait| !wait.bounded)
    }
}

/// The threads of a process, counted together.
#[derive(Default)]
pub(super) struct Crowd {
    living: u32,
    standing: u32,
    /// Since when all living threads of the process have waited; `None` while one does not.
    since: Option<Ticks>,
    /// The longest time in which all living threads waited before one went on.
    pub(super) longest_rest: Ticks,
    /// Threads that were created and have not started.
    pub(super) unborn: BTreeSet<u64>,
    /// Threads that started before their creator recorded their handles.
    early: BTreeSet<u64>,
    /// When a thread of the process acted for the last time.
    pub(super) last: Ticks,
}

impl Crowd {
    /// Counts the change of one thread's state (whether it lives, whether it waits). If a common
    /// wait of all threads ends by it, `counts` tells whether its length counts for `longest_rest`.
    fn change(&mut self, now: Ticks, before: (bool, bool), after: (bool, bool), counts: bool) {
        let step = |sum: u32, before: bool, after: bool| sum + u32::from(after) - u32::from(before);
        self.living = step(self.living, before.0, after.0);
        self.standing = step(self.standing, before.1, after.1);
        let rests = self.living > 0 && self.standing >= self.living;
        match (self.since, rests) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.since = None;
                if counts {
                    self.longest_rest = self.longest_rest.max(now.since(since));
                }
            }
            _ => {}
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn over(trace: &'a Trace) -> Walk<'a> {
        let mut walk = Walk {
            trace,
            objects: Objects::new(trace),
            books: Vec::new(),
            lives: trace.threads.iter().map(|_| Life::default()).collect(),
            crowds: BTreeMap::new(),
            handles: BTreeMap::new(),
            shared: BTreeSet::new(),
            served: BTreeSet::new(),
        };
        for event in trace.complete_events() {
            walk.step(&event);
        }
        walk.find_joined();
        walk
    }

    /// Finds the threads that joins wait for at the end of the trace: a join may have begun before
    /// its thread had started.
    fn find_joined(&mut self) {
        for (life, thread) in self.lives.iter_mut().zip(&self.trace.threads) {
            let target = life.joins.and_then(|handle| self.handles.get(&(thread.process, handle)).copied());
            if let Some(wait) = life.wait_mut().filter(|wait| wait.kind == WaitKind::Join) {
                wait.target = target;
            }
        }
    }

    pub(super) fn lock(&self, id: Option<ObjectId>) -> Option<&LockBook> {
        match self.books.get(id?.index()) {
            Some(Book::Lock(lock)) => Some(lock),
            _ => None,
        }
    }

    pub(super) fn barrier(&self, id: Option<ObjectId>) -> Option<&BarrierBook> {
        match self.books.get(id?.index()) {
            Some(Book::Barrier(barrier)) => Some(barrier),
            _ => None,
        }
    }

    fn step(&mut self, event: &Event) {
        let process = self.trace.process_of(event.thread);
        let object = self.objects.follow(event, process);
        while let Some(object) = self.objects.all.get(self.books.len()) {
            self.books.push(book(object.kind, event.time));
        }
        // The end of the process ends no wait: a signal handler may end the process inside of one.
        if !event.what.is_act() || event.what == What::Exit {
            return self.remark(event, process);
        }
        let before = self.state(event.thread);
        let life = &mut self.lives[event.thread.index()];
        (life.began, life.last) = (true, event.time);
        if !goes_on(life.waits(), &event.what)
            && let Some(wait) = life.wait_mut()
        {
            wait.bounded = true;
        } else if let (What::SemPost { .. } | What::FutexWake { .. }, Some(id)) = (event.what, object) {
            self.served.insert(id);
        }
        match object {
            Some(id) => self.at_object(event, id),
            None => self.elsewhere(event, process),
        }
        let after = self.state(event.thread);
        let crowd = self.crowds.entry(process).or_default();
        crowd.last = event.time;
        crowd.change(event.time, before, after, true);
    }

    /// Whether the thread lives, and whether it is in a wait that cannot end by itself.
    fn state(&self, thread: ThreadIndex) -> (bool, bool) {
        let life = &self.lives[thread.index()];
        (life.lives(), life.stands())
    }

    /// Follows an event that is no act of the program.
    fn remark(&mut self, event: &Event, process: ProcessIndex) {
        match event.what {
            What::Bounded { .. } => {
                let before = self.state(event.thread);
                if let Some(wait) = self.lives[event.thread.index()].wait_mut() {
                    wait.bounded = true;
                }
                let after = self.state(event.thread);
                self.crowds.entry(process).or_default().change(event.time, before, after, false);
            }
            What::Attribute { address, value } => self.attribute(process, address, value),
            What::Note { address, code: notes::PROCESS_SHARED } => {
                self.shared.extend(self.objects.living(process, address));
            }
            _ => {}
        }
    }

    fn attribute(&mut self, process: ProcessIndex, address: Address, value: u32) {
        let id = self.objects.living(process, address);
        match id.and_then(|id| self.books.get_mut(id.index())) {
            Some(Book::Barrier(barrier)) => barrier.expected = Some(value),
            Some(Book::Semaphore(value_of)) => {
                *value_of = Some(i64::from(value));
                self.served.extend(id.filter(|_| value > 0));
            }
            _ => {}
        }
    }

    fn at_object(&mut self, event: &Event, id: ObjectId) {
        let (now, thread) = (event.time, event.thread);
        let begins = |kind, site| OpenWait::new(event, kind, Some(id), site);
        match event.what {
            What::Acquire { mode, site, .. } => self.take(id, now, thread, mode, Some(site)),
            What::Request { site, .. } => {
                if let Some(Book::Lock(lock)) = self.books.get_mut(id.index()) {
                    lock.account.request(now, thread, site);
                }
                self.begin(begins(WaitKind::Lock, site));
            }
            What::Acquired { mode, .. } => {
                self.end(thread, WaitKind::Lock, Some(id));
                self.take(id, now, thread, mode, None);
            }
            What::Timeout { .. } => {
                self.end(thread, WaitKind::Lock, Some(id));
                if let Some(Book::Lock(lock)) = self.books.get_mut(id.index()) {
                    lock.account.leave(thread);
                }
            }
            What::Release { .. } => self.release(id, now, thread),
            What::CondWait { site, .. } => {
                self.begin(begins(WaitKind::Condition, site));
                if let Some(Book::Condition(waiting)) = self.books.get_mut(id.index()) {
                    waiting.push(thread);
                }
            }
            What::CondWake { .. } => {
                self.end(thread, WaitKind::Condition, Some(id));
                if let Some(Book::Condition(waiting)) = self.books.get_mut(id.index()) {
                    waiting.retain(|waiter| *waiter != thread);
                }
            }
            What::CondSignal { .. } => self.signal(id, false),
            What::CondBroadcast { .. } => self.signal(id, true),
            What::BarrierArrive { site, .. } => {
                self.begin(begins(WaitKind::Barrier, site));
                self.arrive(id, thread);
            }
            What::BarrierLeave { barrier, .. } => {
                self.end(thread, WaitKind::Barrier, Some(id));
                self.leave(id, thread);
                self.lives[thread.index()].teams.pop_if(|(region, _)| *region == barrier);
            }
            What::SemWait { site, .. } => self.begin(begins(WaitKind::Semaphore, site)),
            What::SemTimeout { .. } => self.end(thread, WaitKind::Semaphore, Some(id)),
            What::SemTaken { .. } => {
                self.end(thread, WaitKind::Semaphore, Some(id));
                self.count(id, -1);
            }
            What::FutexWait { site, .. } => self.begin(begins(WaitKind::Futex, site)),
            What::FutexWaitEnd { .. } => self.end(thread, WaitKind::Futex, Some(id)),
            What::PutWait { site, .. } => self.begin(begins(WaitKind::Room, site)),
            What::PutWaited { .. } => self.end(thread, WaitKind::Room, Some(id)),
            What::TakeWait { site, .. } => self.begin(begins(WaitKind::Item, site)),
            What::TakeWaited { .. } => self.end(thread, WaitKind::Item, Some(id)),
            What::SemTake { .. } => self.count(id, -1),
            What::SemPost { .. } => self.count(id, 1),
            _ => {}
        }
    }

    fn elsewhere(&mut self, event: &Event, process: ProcessIndex) {
        let thread = event.thread;
        let crowd = self.crowds.entry(process).or_default();
        match event.what {
            What::ThreadStart { handle } => {
                self.handles.insert((process, handle), thread);
                if !crowd.unborn.remove(&handle) {
                    crowd.early.insert(handle);
                }
            }
            What::Created { handle, error: 0 } if !crowd.early.remove(&handle) => {
                crowd.unborn.insert(handle);
            }
            What::ThreadEnd { .. } => {
                let life = &mut self.lives[thread.index()];
                life.ended = Some(event.time);
                life.open.clear();
            }
            What::JoinBegin { handle, site } => {
                self.begin(OpenWait::new(event, WaitKind::Join, None, site));
                self.lives[thread.index()].joins = Some(handle);
            }
            What::JoinEnd { .. } => self.end(thread, WaitKind::Join, None),
            What::IdleBegin { .. } => {
                self.begin(OpenWait::new(event, WaitKind::Idle, None, SiteId::UNKNOWN));
            }
            What::TeamBegin { threads, idled, region } => {
                if idled {
                    self.end(thread, WaitKind::Idle, None);
                }
                self.lives[thread.index()].teams.push((region, threads));
            }
            What::TaskWaitBegin { site } => self.begin(OpenWait::new(event, WaitKind::Tasks, None, site)),
            What::TaskWaitEnd => self.end(thread, WaitKind::Tasks, None),
            What::TaskBegin { .. } => self.lives[thread.index()].open.push(Doing::Task),
            What::TaskEnd { .. } => {
                let open = &mut self.lives[thread.index()].open;
                if let Some(at) = open.iter().rposition(|doing| matches!(doing, Doing::Task)) {
                    open.truncate(at);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, wait: OpenWait) {
        self.lives[wait.thread.index()].open.push(Doing::Wait(wait));
    }

    /// Ends the thread's latest wait of this kind at this object, with the waits that a signal
    /// handler began inside of it and left.
    fn end(&mut self, thread: ThreadIndex, kind: WaitKind, object: Option<ObjectId>) {
        let open = &mut self.lives[thread.index()].open;
        let is_it = |doing: &Doing| matches!(doing, Doing::Wait(wait) if wait.kind == kind && wait.object == object);
        if let Some(at) = open.iter().rposition(is_it) {
            open.truncate(at);
        }
    }

    fn take(&mut self, id: ObjectId, now: Ticks, thread: ThreadIndex, mode: Mode, site: Option<SiteId>) {
        if let Some(Book::Lock(lock)) = self.books.get_mut(id.index()) {
            lock.account.acquire(now, thread, mode, site);
        }
    }

    fn release(&mut self, id: ObjectId, now: Ticks, thread: ThreadIndex) {
        if let Some(Book::Lock(lock)) = self.books.get_mut(id.index()) {
            let released = lock.account.release(now, thread);
            lock.handed_over |= released.is_none_or(|released| released.foreign);
        }
        let wait = self.lives[thread.index()].wait_mut();
        if let Some(wait) = wait.filter(|wait| wait.kind == WaitKind::Condition && wait.mutex.is_none()) {
            wait.mutex = Some(id);
        }
    }

    /// Notes which waiters of a condition variable have been signalled: all by a broadcast (`all`),
    /// the only waiter by a signal. Which of several waiters a signal wakes is not known.
    fn signal(&mut self, id: ObjectId, all: bool) {
        let Some(Book::Condition(waiting)) = self.books.get(id.index()) else { return };
        if all || waiting.len() == 1 {
            for thread in waiting {
                let wait = self.lives[thread.index()].wait_mut();
                if let Some(wait) = wait.filter(|wait| wait.object == Some(id)) {
                    wait.signalled = true;
                }
            }
        }
    }

    fn arrive(&mut self, id: ObjectId, thread: ThreadIndex) {
        let team = self.lives[thread.index()].teams.last().map(|(_, threads)| *threads);
        let Some(Book::Barrier(barrier)) = self.books.get_mut(id.index()) else { return };
        barrier.expected = barrier.expected.or(team);
        barrier.arrived.push(thread);
        if barrier.expected.is_some_and(|expected| barrier.arrived.len() as u32 >= expected) {
            let all = std::mem::take(&mut barrier.arrived);
            self.pass(id, &all);
        }
    }

    /// Records that a thread leaves a barrier. The first to leave shows that all threads of the
    /// round have arrived.
    fn leave(&mut self, id: ObjectId, thread: ThreadIndex) {
        let Some(Book::Barrier(barrier)) = self.books.get_mut(id.index()) else { return };
        if barrier.arrived.contains(&thread) {
            let all = std::mem::take(&mut barrier.arrived);
            self.pass(id, &all);
        }
    }

    fn pass(&mut self, id: ObjectId, threads: &[ThreadIndex]) {
        for thread in threads {
            let wait = self.lives[thread.index()].wait_mut();
            if let Some(wait) = wait.filter(|wait| wait.object == Some(id)) {
                wait.passed = true;
            }
        }
    }

    fn count(&mut self, id: ObjectId, change: i64) {
        if let Some(Book::Semaphore(Some(value))) = self.books.get_mut(id.index()) {
            *value += change;
        }
    }
}

fn book(kind: ObjectKind, now: Ticks) -> Book {
    match kind {
        ObjectKind::Lock(_) => Book::Lock(LockBook { account: Account::new(now), handed_over: false }),
        ObjectKind::Waitable(Waitable::Barrier) => Book::Barrier(BarrierBook::default()),
        ObjectKind::Waitable(Waitable::Semaphore) => Book::Semaphore(None),
        ObjectKind::Waitable(Waitable::Condition) => Book::Condition(Vec::new()),
        ObjectKind::Waitable(Waitable::Futex | Waitable::LibcLock | Waitable::Queue) => Book::Other,
    }
}

/// Whether the event can be the next of a thread in this wait. Any other act comes from a signal
/// handler, or from a thread that left the wait by a jump: then nothing tells whether the wait
/// lasts for ever.
fn goes_on(wait: Option<&OpenWait>, what: &What) -> bool {
    let Some(wait) = wait else { return true };
    match what {
        What::Release { .. } => wait.kind == WaitKind::Condition && wait.mutex.is_none(),
        What::TaskBegin { .. } => matches!(wait.kind, WaitKind::Barrier | WaitKind::Tasks),
        What::TeamBegin { idled, .. } => *idled,
        What::ThreadEnd { .. } => true,
        _ => what.wait_edge() == Some(false),
    }
}
