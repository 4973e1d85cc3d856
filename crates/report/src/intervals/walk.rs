//! The walk: each event changes the state of its thread and object, and may end an interval.

use super::interval::{Doing, Entry, Interval};
use super::thread::{OtherWait, ThreadState, entry, entry_by_cpu_time};
use baton_trace::analysis::{Account, Holder, OffStretch, ThreadOffCpu, Waiter};
use baton_trace::{Address, Event, How, Lock, Mode, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, What, home};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// The numbers that the report gave to objects and call sites.
pub trait Numbering {
    /// The number of the object that was created at `address` at the time `born`.
    fn object(&self, process: ProcessIndex, address: Address, born: Ticks) -> Option<u32>;
    /// The number of a call site at a lock or other object.
    fn site(&self, process: ProcessIndex, site: SiteId, object: Option<u32>, is_lock: bool) -> Option<u32>;
}

/// One object between its creation and its destruction.
struct Object {
    number: Option<u32>,
    /// The account of the lock. Each wait has the waiter's last recorded CPU time.
    lock: Account<Option<u64>>,
    last_release: Option<(ThreadIndex, Ticks)>,
}

struct Walk<'a, N, F> {
    trace: &'a Trace,
    numbers: &'a N,
    sink: F,
    objects: Vec<Object>,
    living: BTreeMap<(ProcessIndex, Address), usize>,
    threads: Vec<ThreadState>,
    /// Stretches off the CPU that the walk has not reached yet, the last one first.
    off_cpu: Vec<(ThreadIndex, OffStretch)>,
    /// The time at which waits end that have no end in the trace.
    end: Ticks,
}

/// Walks over a trace, and passes each interval to `sink` when it ends. Waits that do not end last
/// to `end`.
///
/// # Errors
/// The first error of `sink` ends the walk.
pub fn walk<E>(
    trace: &Trace,
    end: Ticks,
    off_cpu: &[ThreadOffCpu],
    numbers: &impl Numbering,
    sink: impl FnMut(&Interval) -> Result<(), E>,
) -> Result<(), E> {
    let stretches = |(thread, off): (usize, &ThreadOffCpu)| -> Vec<(ThreadIndex, OffStretch)> {
        off.stretches.iter().map(|stretch| (ThreadIndex(thread as u32), *stretch)).collect()
    };
    let mut off_cpu: Vec<_> = off_cpu.iter().enumerate().flat_map(stretches).collect();
    off_cpu.sort_by_key(|(thread, stretch)| std::cmp::Reverse((stretch.end, *thread)));
    let (objects, living, threads) = (Vec::new(), BTreeMap::new(), Vec::new());
    let end = end.max(trace.span().1);
    let mut walk = Walk { trace, numbers, sink, objects, living, threads, off_cpu, end };
    walk.threads.resize_with(trace.threads.len(), ThreadState::default);
    for event in trace.interpreted_events() {
        if event.thread.index() < walk.threads.len() {
            walk.event(&event)?;
        }
    }
    walk.end()
}

impl<N: Numbering, E, F: FnMut(&Interval) -> Result<(), E>> Walk<'_, N, F> {
    fn event(&mut self, event: &Event) -> Result<(), E> {
        let Event { time, thread, what } = *event;
        self.off_cpu_until(time)?;
        let cpu = match what {
            What::CpuTime { ns } => Some(ns),
            _ => None,
        };
        self.decide(thread, cpu)?;
        self.act(time, thread, what)
    }

    /// Passes the stretches off the CPU that end up to `time` to `sink`.
    fn off_cpu_until(&mut self, time: Ticks) -> Result<(), E> {
        while let Some((thread, stretch)) = self.off_cpu.pop_if(|(_, stretch)| stretch.end <= time) {
            let off = self.interval(thread, Doing::OffCpu(stretch.why), stretch.begin, stretch.end);
            (self.sink)(&off)?;
        }
        Ok(())
    }

    /// Classifies the wait of a thread that is over but undecided, and passes it to `sink`. `cpu`
    /// is the thread's CPU time, if the event after the wait has it.
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
                let how = How { slept: false, known: false, tries: 0 };
                self.acquire(now, thread, lock, mode, Some(site), how)
            }
            What::Request { lock, site, .. } => self.request(now, thread, lock, site),
            What::Acquired { lock, mode, how } => self.acquire(now, thread, lock, mode, None, how),
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
            What::Unloaded { start, pages } => {
                let (process, end) = (self.trace.process_of(thread), start.saturating_add(u64::from(pages) << 12));
                self.living.retain(|&(of, address), _| of != process || !(start..end).contains(&address));
                Ok(())
            }
            // These events end no wait, but an object that has not been seen begins its life with
            // them.
            What::TryFail { lock: Lock { address: a, .. }, .. }
            | What::CondSignal { condition: a, .. }
            | What::CondBroadcast { condition: a, .. }
            | What::SemTake { semaphore: a, .. }
            | What::SemTryFail { semaphore: a, .. }
            | What::SemPost { semaphore: a, .. }
            | What::FutexWake { futex: a, .. }
            | What::FutexWoke { futex: a, .. }
            | What::LibcWake { lock: a, .. } => {
                self.object(now, thread, a);
                Ok(())
            }
            What::CondWait { condition, site } => self.begin(now, thread, Doing::Condition, Some(condition), site),
            What::CondWake { .. } => self.finish(now, thread, Doing::Condition),
            What::BarrierArrive { barrier, site } => self.begin(now, thread, Doing::Barrier, Some(barrier), site),
            What::BarrierLeave { .. } => self.finish(now, thread, Doing::Barrier),
            What::SemWait { semaphore, site } => self.begin(now, thread, Doing::Semaphore, Some(semaphore), site),
            What::SemTaken { .. } | What::SemTimeout { .. } => self.finish(now, thread, Doing::Semaphore),
            What::FutexWait { futex, site } => self.begin(now, thread, Doing::Futex, Some(futex), site),
            What::FutexWaitEnd { .. } => self.finish(now, thread, Doing::Futex),
            What::LibcWait { lock, site } => self.begin(now, thread, Doing::LibcLock, Some(lock), site),
            What::LibcTaken { .. } => self.finish(now, thread, Doing::LibcLock),
            What::JoinBegin { site, .. } => self.begin(now, thread, Doing::Join, None, site),
            What::JoinEnd { .. } => self.finish(now, thread, Doing::Join),
            What::IdleBegin { .. } => self.begin(now, thread, Doing::Idle, None, SiteId::UNKNOWN),
            What::TeamBegin { idled: true, .. } | What::ThreadEnd { .. } => self.finish(now, thread, Doing::Idle),
            What::TaskWaitBegin { site } => self.begin(now, thread, Doing::TaskWait, None, site),
            What::TaskWaitEnd => self.finish(now, thread, Doing::TaskWait),
            What::TaskBegin { .. } => self.stop(now, thread),
            What::TaskEnd { .. } => {
                let state = &mut self.threads[thread.index()];
                if let Some((doing, wait)) = state.stopped.pop().flatten() {
                    state.other.push((doing, OtherWait { since: now, ..wait }));
                }
                Ok(())
            }
            What::OffCpu { .. } | What::OnCpu { .. } => {
                self.threads[thread.index()].off.step(now, &what);
                Ok(())
            }
            What::CpuTime { ns } => {
                if let Some(&object) = self.threads[thread.index()].waits.last() {
                    let (_, waiters) = self.objects[object].lock.parties();
                    waiters.iter_mut().filter(|waiter| waiter.thread == thread).for_each(|w| w.noted = Some(ns));
                }
                Ok(())
            }
            _ => what.queue().map_or(Ok(()), |queue| self.at_queue(now, thread, what, queue)),
        }
    }

    fn at_queue(&mut self, now: Ticks, thread: ThreadIndex, what: What, queue: Address) -> Result<(), E> {
        // All processes know a stream as one object.
        let process = self.trace.process_of(thread);
        if home(process, queue) != process {
            let object = self.object_of(now, home(process, queue), queue);
            self.living.insert((process, queue), object);
        }
        match what {
            What::PutWait { site, .. } => self.begin(now, thread, Doing::Room, Some(queue), site),
            What::PutWaited { .. } => self.finish(now, thread, Doing::Room),
            What::TakeWait { site, .. } => self.begin(now, thread, Doing::Item, Some(queue), site),
            What::TakeWaited { .. } => self.finish(now, thread, Doing::Item),
            _ => {
                self.object(now, thread, queue);
                Ok(())
            }
        }
    }

    /// The object that lives at an address of the thread's process.
    fn object(&mut self, now: Ticks, thread: ThreadIndex, address: Address) -> usize {
        self.object_of(now, self.trace.process_of(thread), address)
    }

    fn object_of(&mut self, now: Ticks, process: ProcessIndex, address: Address) -> usize {
        let key = (process, address);
        if let Some(object) = self.living.get(&key) {
            return *object;
        }
        let number = self.numbers.object(key.0, address, now);
        self.objects.push(Object { number, lock: Account::new(now), last_release: None });
        self.living.insert(key, self.objects.len() - 1);
        self.objects.len() - 1
    }

    fn end_life(&mut self, thread: ThreadIndex, address: Address) {
        self.living.remove(&(self.trace.process_of(thread), address));
    }

    fn request(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock, site: SiteId) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        if let Some(unfinished) = self.objects[object].lock.request(now, thread, site) {
            self.abandon(now, object, &unfinished)?;
        }
        self.threads[thread.index()].waits.push(object);
        self.threads[thread.index()].off.begin();
        Ok(())
    }

    /// A hold begins. The thread's wait for the lock ends, and so does all competition for the
    /// lock.
    fn acquire(
        &mut self,
        now: Ticks,
        thread: ThreadIndex,
        lock: Lock,
        mode: Mode,
        site: Option<SiteId>,
        how: How,
    ) -> Result<(), E> {
        let at = self.object(now, thread, lock.address);
        let Object { number, lock, last_release } = &mut self.objects[at];
        let (number, last_release) = (*number, *last_release);
        let competed = lock.waiters().iter().filter_map(|waiter| Some((waiter.thread, lock.competes_since(waiter)?)));
        let competed: Vec<_> = competed.collect();
        let taken = lock.acquire(now, thread, mode, site);
        // The overhead of a waiter lies inside its wait, so its interval must end while the wait is
        // still open.
        for (waiter, since) in competed {
            let mut interval = self.interval(waiter, Doing::Overhead, since, now);
            interval.object = number;
            (self.sink)(&interval)?;
        }
        for hold in taken.lost {
            self.end_hold(now, hold, number)?;
        }
        self.threads[thread.index()].holds += u32::from(!taken.recursive);
        match taken.waited {
            Some(wait) => self.end_wait(now, at, &wait, how, last_release),
            None => Ok(()),
        }
    }

    /// Ends a wait that got the lock.
    fn end_wait(
        &mut self,
        now: Ticks,
        object: usize,
        wait: &Waiter<Option<u64>>,
        how: How,
        release: Option<(ThreadIndex, Ticks)>,
    ) -> Result<(), E> {
        self.threads[wait.thread.index()].waits_no_longer(object);
        let seen = entry(how);
        let mut interval = self.interval(wait.thread, Doing::Wait(seen.unwrap_or(Entry::Unknown)), wait.since, now);
        interval.object = self.objects[object].number;
        interval.site = self.site(&interval, wait.site);
        interval.tries = how.tries;
        interval.from =
            release.filter(|(by, at)| *by != wait.thread && *at >= wait.since).map(|(by, at)| (by, self.nanos(at)));
        if let (None, Some(before)) = (seen, wait.noted) {
            self.threads[wait.thread.index()].undecided = Some((interval, before));
            return Ok(());
        }
        if let (None, Some(used)) = (seen, self.threads[wait.thread.index()].off.used(now.since(wait.since))) {
            let used = self.trace.clock.nanos(used.0);
            interval.doing = Doing::Wait(entry_by_cpu_time(interval.length(), used.0));
        }
        (self.sink)(&interval)
    }

    fn timeout(&mut self, now: Ticks, thread: ThreadIndex, lock: Lock) -> Result<(), E> {
        let object = self.object(now, thread, lock.address);
        match self.objects[object].lock.leave(thread) {
            Some(wait) => self.abandon(now, object, &wait),
            None => Ok(()),
        }
    }

    /// Ends a wait that did not get the lock. If the lock is free, the time since its release, or
    /// since the wait began if that is later, was overhead too.
    fn abandon(&mut self, now: Ticks, object: usize, wait: &Waiter<Option<u64>>) -> Result<(), E> {
        self.threads[wait.thread.index()].waits_no_longer(object);
        let Object { number, lock, .. } = &self.objects[object];
        let number = *number;
        if let Some(since) = lock.competes_since(wait).filter(|since| *since < now) {
            let mut overhead = self.interval(wait.thread, Doing::Overhead, since, now);
            overhead.object = number;
            overhead.open += 1;
            (self.sink)(&overhead)?;
        }
        let mut interval = self.interval(wait.thread, Doing::Wait(Entry::Abandoned), wait.since, now);
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
        let Object { number, lock, last_release } = &mut self.objects[object];
        let Some(hold) = lock.release(now, thread).and_then(|released| released.hold) else { return Ok(()) };
        *last_release = Some((thread, now));
        let number = *number;
        self.end_hold(now, hold, number)
    }

    fn end_hold(&mut self, now: Ticks, hold: Holder, number: Option<u32>) -> Result<(), E> {
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

    /// A task begins: the wait during which the thread runs it (for tasks, or at a barrier) is
    /// suspended.
    fn stop(&mut self, now: Ticks, thread: ThreadIndex) -> Result<(), E> {
        let state = &mut self.threads[thread.index()];
        let stopped = state.other.iter().rfind(|(doing, _)| matches!(doing, Doing::Barrier | Doing::TaskWait)).copied();
        state.stopped.push(stopped);
        stopped.map_or(Ok(()), |(doing, _)| self.finish(now, thread, doing))
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

    /// Ends the intervals that are still open at the end of the trace: the program was killed, or a
    /// thread never released a lock.
    fn end(&mut self) -> Result<(), E> {
        let last = self.end;
        self.off_cpu_until(last)?;
        let waits = |state: &ThreadState| !(state.other.is_empty() && state.waits.is_empty());
        let waited: Vec<bool> = self.threads.iter().map(waits).collect();
        for index in 0..self.threads.len() {
            let thread = ThreadIndex(index as u32);
            self.decide(thread, None)?;
            while let Some((doing, _)) = self.threads[index].other.last().copied() {
                self.finish(last, thread, doing)?;
            }
            while let Some(&object) = self.threads[index].waits.last() {
                let wait =
                    self.objects[object].lock.leave(thread).expect("a thread's waits stand in their locks' accounts");
                self.abandon(last, object, &wait)?;
            }
        }
        for object in 0..self.objects.len() {
            for hold in self.objects[object].lock.end_holds() {
                let acted = self.trace.thread(hold.thread).map_or(last, |t| t.last).max(hold.since);
                let end = if waited[hold.thread.index()] { last } else { acted };
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
