//! The walk itself: an event changes the state of its thread and object, and may end an interval.

use super::interval::{Doing, Entry, Interval};
use super::lock::{Hold, LockState, Waiter};
use super::thread::{LockWait, OtherWait, ThreadState, entry, entry_by_cpu_time};
use baton_trace::{Address, Event, How, Lock, Mode, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, What};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// Numbers that the report gave to objects and call sites.
pub trait Numbering {
    /// Number of the object that began to live at an address at a time.
    fn object(&self, process: ProcessIndex, address: Address, born: Ticks) -> Option<u32>;
    /// Number of a call site at a lock or other object.
    fn site(&self, process: ProcessIndex, site: SiteId, object: Option<u32>, is_lock: bool) -> Option<u32>;
}

/// One life of one object.
struct Object {
    number: Option<u32>,
    lock: LockState,
}

struct Walk<'a, N, F> {
    trace: &'a Trace,
    numbers: &'a N,
    sink: F,
    objects: Vec<Object>,
    living: BTreeMap<(ProcessIndex, Address), usize>,
    threads: Vec<ThreadState>,
}

/// Goes over a trace and gives `sink` each interval when it ends.
///
/// # Errors
/// The first error of `sink` ends the walk.
pub fn walk<E>(trace: &Trace, numbers: &impl Numbering, sink: impl FnMut(&Interval) -> Result<(), E>) -> Result<(), E> {
    let mut walk = Walk { trace, numbers, sink, objects: Vec::new(), living: BTreeMap::new(), threads: Vec::new() };
    walk.threads.resize_with(trace.threads.len(), ThreadState::default);
    for event in trace.events() {
        if event.thread.index() < walk.threads.len() {
            walk.event(&event)?;
        }
    }
    walk.end()
}

impl<N: Numbering, E, F: FnMut(&Interval) -> Result<(), E>> Walk<'_, N, F> {
    fn event(&mut self, event: &Event) -> Result<(), E> {
        let Event { time, thread, what } = *event;
        let cpu = match what {
            What::CpuTime { ns } => Some(ns),
            _ => None,
        };
        self.decide(thread, cpu)?;
        self.act(time, thread, what)
    }

    /// Settles a wait that was left open for the event after it.
    fn decide(&mut self, thread: ThreadIndex, cpu: Option<u64>) -> Result<(), E> {
        let Some((mut wait, before)) = self.threads[thread.index()].undecided.take() else { return Ok(()) };
        if let Some(after) = cpu {
            wait.doing = Doing::Wait(entry_by_cpu_time(wait.length(), after.saturating_sub(before)));
        }
        (self.sink)(&wait)
    }

    fn act(&mut self, now: Ticks, thread: ThreadIndex, what: What) -> Result<(), E> {
        match what {
            What::Acquire { lock, mode, site } => {
                let object = self.object(now, thread, lock.address);
                self.acquire(now, thread, object, mode, site)
            }
            What::Request { lock, site, .. } => self.request(now, thread, lock, site),
            What::Acquired { lock, mode, how } => self.acquired(now, thread, lock, mode, how),
            What::Timeout { lock, .. } => self.timeout(now, thread, lock),
            What::Release { lock, .. } => self.release(now, thread, lock),
            What::LockInit { lock: Lock { address, .. }, .. } | What::Init { address, .. } => {
                self.end_life(thread, address);
                self.object(now, thread, address);
                Ok(())
            }
            What::LockDestroy { lock: Lock { address, .. } } | What::Destroy { address, .. } => {
                self.end_life(thread, address);
                Ok(())
            }
            // A life may begin with these too.
            What::TryFail { lock: Lock { address: a, .. }, .. }
            | What::CondSignal { condition: a, .. }
            | What::CondBroadcast { condition: a, .. }
            | What::SemTake { semaphore: a, .. }
            | What::SemTryFail { semaphore: a, .. }
            | What::SemPost { semaphore: a, .. } => {
                self.object(now, thread, a);
                Ok(())
            }
            What::CondWait { condition, site } => self.begin(now, thread, Doing::Condition, Some(condition), site),
            What::CondWake { .. } => self.finish(now, thread, Doing::Condition),
            What::BarrierArrive { barrier, site } => self.begin(now, thread, Doing::Barrier, Some(barrier), site),
            What::BarrierLeave { .. } => self.finish(now, thread, Doing::Barrier),
            What::SemWait { semaphore, site } => self.begin(now, thread, Doing::Semaphore, Some(semaphore), site),
            What::SemTaken { .. } | What::SemTimeout { .. } => self.finish(now, thread, Doing::Semaphore),
            What::JoinBegin { site, .. } => self.begin(now, thread, Doing::Join, None, site),
            What::JoinEnd { .. } => self.finish(now, thread, Doing::Join),
            What::CpuTime { ns } => {
                if let Some(wait) = self.threads[thread.index()].waits.last_mut() {
                    wait.cpu_before = Some(ns);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The object that lives at an address of the thread's process.
    fn object(&mut self, now: Ticks, thread: ThreadIndex, address: Address) -> usize {
        let key = (self.trace.process_of(thread), address);
        if let Some(object) = self.living.get(&key) {
            return *object;
        }
        self.objects.push(Object { number: self.numbers.object(key.0, address, now), lock: LockState::new() });
        self.living.insert(key, self.objects.len() - 1);
        self.objects.len() - 1
    }

    fn end_life(&mut self, thread: ThreadIndex, address: Address) {
        self.living.remove(&(self.trace.process_of(thread), address));
    }

    fn request(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock, site: SiteId) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        self.objects[object].lock.waiters.push(Waiter { thread, since: now });
        let wait = LockWait { lock: object, since: now, site, cpu_before: None };
        self.threads[thread.index()].waits.push(wait);
        Ok(())
    }

    fn acquired(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock, mode: Mode, how: How) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        let at = self.threads[thread.index()].waits.iter().rposition(|w| w.lock == object);
        let site = at.map_or(SiteId::UNKNOWN, |at| self.threads[thread.index()].waits[at].site);
        let release = self.objects[object].lock.last_release;
        // While the wait is still open: the overhead that ends here lies inside of it.
        self.acquire(now, thread, object, mode, site)?;
        self.objects[object].lock.leave(thread);
        let wait = at.map(|at| self.threads[thread.index()].waits.remove(at));
        let Some(wait) = wait else { return Ok(()) };
        let told = entry(how);
        let mut interval = self.interval(thread, Doing::Wait(told.unwrap_or(Entry::Unknown)), wait.since, now);
        interval.object = self.objects[object].number;
        interval.site = self.site(&interval, wait.site);
        interval.tries = how.tries;
        interval.from =
            release.filter(|(by, at)| *by != thread && *at >= wait.since).map(|(by, at)| (by, self.nanos(at)));
        if let (None, Some(before)) = (told, wait.cpu_before) {
            self.threads[thread.index()].undecided = Some((interval, before));
            return Ok(());
        }
        (self.sink)(&interval)
    }

    /// The hold begins, and with it ends the competition for it.
    fn acquire(&mut self, now: Ticks, thread: ThreadIndex, object: usize, mode: Mode, site: SiteId) -> Result<(), E> {
        let lock = &mut self.objects[object].lock;
        let before = lock.holds.len();
        let (overhead, lost) = lock.acquire(now, thread, mode, site);
        let grown = lock.holds.len() + lost.len() > before;
        let number = self.objects[object].number;
        for (waiter, since) in overhead {
            let mut interval = self.interval(waiter, Doing::Overhead, since, now);
            interval.object = number;
            (self.sink)(&interval)?;
        }
        for hold in lost {
            self.end_hold(now, hold, number)?;
        }
        self.threads[thread.index()].holds += u32::from(grown);
        Ok(())
    }

    fn timeout(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        let waits = &mut self.threads[thread.index()].waits;
        let Some(at) = waits.iter().rposition(|w| w.lock == object) else { return Ok(()) };
        let wait = waits.remove(at);
        self.abandon(now, thread, wait)
    }

    /// A wait ends without the lock. If the lock is free, the thread has lost that time too.
    fn abandon(&mut self, now: Ticks, thread: ThreadIndex, wait: LockWait) -> Result<(), E> {
        let lock = &mut self.objects[wait.lock].lock;
        lock.leave(thread);
        let free = lock.free_since.map(|free| free.max(wait.since)).filter(|free| *free < now);
        let number = self.objects[wait.lock].number;
        if let Some(since) = free {
            let mut overhead = self.interval(thread, Doing::Overhead, since, now);
            overhead.object = number;
            overhead.open += 1;
            (self.sink)(&overhead)?;
        }
        let mut interval = self.interval(thread, Doing::Wait(Entry::Abandoned), wait.since, now);
        interval.object = number;
        interval.site = self.site(&interval, wait.site);
        (self.sink)(&interval)
    }

    fn release(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        for (doing, wait) in &mut self.threads[thread.index()].other {
            if *doing == Doing::Condition && !std::mem::replace(&mut wait.released, true) {
                wait.since = now;
            }
        }
        let Some(hold) = self.objects[object].lock.release(now, thread) else { return Ok(()) };
        self.end_hold(now, hold, self.objects[object].number)
    }

    fn end_hold(&mut self, now: Ticks, hold: Hold, number: Option<u32>) -> Result<(), E> {
        let state = &mut self.threads[hold.thread.index()];
        state.holds = state.holds.saturating_sub(1);
        let mut interval = self.interval(hold.thread, Doing::Hold(hold.mode), hold.since, now);
        interval.object = number;
        interval.site = self.site(&interval, hold.site);
        (self.sink)(&interval)
    }

    fn begin(
        &mut self,
        now: Ticks,
        thread: ThreadIndex,
        doing: Doing,
        address: Option<Address>,
        site: SiteId,
    ) -> Result<(), E> {
        let object = address.map(|a| self.object(now, thread, a));
        self.threads[thread.index()].other.push((doing, OtherWait { object, since: now, site, released: false }));
        Ok(())
    }

    fn finish(&mut self, now: Ticks, thread: ThreadIndex, doing: Doing) -> Result<(), E> {
        let other = &mut self.threads[thread.index()].other;
        let Some(at) = other.iter().rposition(|(d, _)| *d == doing) else { return Ok(()) };
        let (_, wait) = other.remove(at);
        let mut interval = self.interval(thread, doing, wait.since, now);
        interval.object = wait.object.and_then(|o| self.objects[o].number);
        interval.site = self.site(&interval, wait.site);
        (self.sink)(&interval)
    }

    /// What is open at the trace's end ends there: a killed program, a thread that never let go.
    fn end(&mut self) -> Result<(), E> {
        let last = self.trace.span().1;
        for index in 0..self.threads.len() {
            let thread = ThreadIndex(index as u32);
            self.decide(thread, None)?;
            while let Some((doing, _)) = self.threads[index].other.last().copied() {
                self.finish(last, thread, doing)?;
            }
            while let Some(wait) = self.threads[index].waits.pop() {
                self.abandon(last, thread, wait)?;
            }
        }
        for object in 0..self.objects.len() {
            for hold in std::mem::take(&mut self.objects[object].lock.holds) {
                let end = self.trace.thread(hold.thread).map_or(last, |t| t.last).max(hold.since);
                self.end_hold(end, hold, self.objects[object].number)?;
            }
        }
        Ok(())
    }

    fn interval(&self, thread: ThreadIndex, doing: Doing, start: Ticks, end: Ticks) -> Interval {
        let open = self.threads[thread.index()].open();
        let (start, end) = (self.nanos(start), self.nanos(end));
        Interval { thread, doing, object: None, site: None, start, end, from: None, tries: 0, open }
    }

    fn site(&self, interval: &Interval, site: SiteId) -> Option<u32> {
        let process = self.trace.process_of(interval.thread);
        self.numbers.site(process, site, interval.object, interval.doing.is_of_lock())
    }

    fn nanos(&self, time: Ticks) -> Nanos {
        self.trace.clock.nanos(time.0)
    }
}
