//! Waits at condition variables that a mutex made long.
//!
//! glibc's wait takes the mutex again in the same call, so the trace does not show when a thread was
//! signalled and only waited for the mutex. If other threads held the mutex for most of the time from
//! the signal to the wait's end, the wait counts as one for the mutex from the signal on, and the last
//! release as what ended it. If context switches show that the thread came to a CPU only after that
//! release, it may have slept for another reason; then the mutex must have been held for nearly all of
//! the time.

use super::causes::{Carry, Cause, Ended, WaitKind};
use super::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Address, Event, ThreadIndex, WakeReason, What};
use std::collections::{BTreeMap, VecDeque};

/// Most holds of a mutex, and most returns to a CPU in one wait, that are kept; older ones are
/// forgotten.
const KEPT: usize = 64;

/// The later part of a wait at a condition variable, in which the thread waited for the mutex.
pub(super) struct Regained<T> {
    pub(super) lock: ObjectId,
    /// When the thread was signalled.
    pub(super) signalled: Ticks,
    /// What the signal carried along.
    pub(super) signal: T,
    /// The last release before the thread got the mutex, with what both the release and the signal
    /// carried along.
    pub(super) release: Cause<T>,
    /// Time in which the mutex was free meanwhile, without time that an earlier result contained.
    pub(super) free: Ticks,
}

/// A thread's hold of a mutex.
struct Hold<T> {
    thread: ThreadIndex,
    begin: Ticks,
    release: Cause<T>,
    /// Whether the time before the hold, in which the mutex was free, has been counted.
    counted: bool,
}

struct Mutex<T> {
    held: Option<(ThreadIndex, Ticks)>,
    holds: VecDeque<Hold<T>>,
    /// [`Hold::counted`] of the hold that is in progress or comes next.
    counted: bool,
}

/// A thread's last wait at a condition variable.
#[derive(Default)]
struct Waiter {
    address: Address,
    mutex: Option<ObjectId>,
    /// When the thread came back to a CPU in the wait.
    on_cpu: VecDeque<Ticks>,
}

/// The search for such waits, fed by a walk over the events.
pub(super) struct Mutexes<T> {
    mutexes: BTreeMap<ObjectId, Mutex<T>>,
    waiters: BTreeMap<ThreadIndex, Waiter>,
}

impl<T> Default for Mutexes<T> {
    fn default() -> Self {
        Mutexes { mutexes: BTreeMap::new(), waiters: BTreeMap::new() }
    }
}

impl<T: Carry> Mutexes<T> {
    /// Follows an event of number `number`, which concerns `object` and ended the wait `ended`.
    /// Returns the wait for the mutex if `ended` is a wait at a condition variable with one.
    pub(super) fn step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        ended: Option<&Ended<T>>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Regained<T>> {
        let (thread, now) = (event.thread, event.time);
        match (event.what, object) {
            (What::CondMutex { mutex }, _) => {
                let waiter = self.waiters.entry(thread).or_default();
                (waiter.address, waiter.mutex) = (mutex, None);
                waiter.on_cpu.clear();
            }
            (What::OnCpu { .. }, _) => {
                if let Some(waiter) = self.waiters.get_mut(&thread).filter(|waiter| waiter.mutex.is_some()) {
                    waiter.on_cpu.truncate(KEPT - 1);
                    waiter.on_cpu.push_front(now);
                }
            }
            (What::Acquire { .. } | What::Acquired { .. }, Some(lock)) => {
                if let Some(mutex) = self.mutexes.get_mut(&lock) {
                    mutex.held = mutex.held.filter(|(holder, _)| *holder == thread).or(Some((thread, now)));
                }
            }
            (What::Release { lock: of, .. }, Some(lock)) => {
                if let Some(waiter) = self.waiters.get_mut(&thread).filter(|waiter| waiter.address == of.address) {
                    (waiter.address, waiter.mutex) = (0, Some(lock));
                    self.mutexes.entry(lock).or_insert_with(|| Mutex {
                        held: None,
                        holds: VecDeque::new(),
                        counted: false,
                    });
                }
                if let Some(mutex) = self.mutexes.get_mut(&lock) {
                    mutex.release(thread, cause());
                }
            }
            (What::CondWake { reason, .. }, _) => {
                let waiter = self.waiters.remove(&thread)?;
                let ended = ended.filter(|ended| ended.kind == WaitKind::Condition && reason == WakeReason::Woken)?;
                let signal =
                    ended.cause.as_ref().filter(|signal| ended.begin.is_some_and(|begin| signal.time >= begin))?;
                let lock = waiter.mutex?;
                return self.mutexes.get_mut(&lock)?.regained(lock, &waiter, (thread, now), signal);
            }
            _ => {}
        }
        None
    }
}

impl<T: Carry> Mutex<T> {
    fn release(&mut self, thread: ThreadIndex, release: Cause<T>) {
        let Some((_, begin)) = self.held.take_if(|(holder, _)| *holder == thread) else { return };
        if self.holds.len() == KEPT {
            self.holds.pop_front();
        }
        let counted = std::mem::take(&mut self.counted);
        self.holds.push_back(Hold { thread, begin, release, counted });
    }

    /// Returns the wait for this mutex of a thread whose wait at a condition variable ends `now`.
    fn regained(
        &mut self,
        lock: ObjectId,
        waiter: &Waiter,
        (thread, now): (ThreadIndex, Ticks),
        signal: &Cause<T>,
    ) -> Option<Regained<T>> {
        if self.held.is_some() {
            return None;
        }
        let first = self.holds.partition_point(|hold| hold.release.time <= signal.time);
        let last = self.holds.back().filter(|hold| hold.release.time > signal.time && hold.thread != thread)?;
        let mut on_cpu = waiter.on_cpu.iter().rev().skip_while(|time| **time < signal.time);
        let came_late = on_cpu.next().is_some_and(|time| *time > last.release.time);
        let mut release = signal.clone();
        release.join(&last.release);
        let signalled = signal.time;
        let inside = |hold: &Hold<T>| hold.release.time.since(hold.begin.max(signalled));
        let busy: Ticks = self.holds.range(first..).map(inside).sum();
        let (part, of) = if came_late { (9, 10) } else { (1, 2) };
        if busy.0 * of <= now.since(signalled).0 * part {
            return None;
        }
        let (mut free, mut from) = (Ticks(0), signalled);
        for hold in self.holds.range_mut(first..) {
            if !std::mem::replace(&mut hold.counted, true) {
                free += hold.begin.since(from);
            }
            from = hold.release.time;
        }
        free += now.since(from);
        self.counted = true;
        Some(Regained { lock, signalled, signal: signal.carried.clone(), release, free })
    }
}

#[cfg(test)]
mod tests {
    use super::super::causes::Causes;
    use super::super::objects::Objects;
    use super::*;
    use crate::builder::TraceBuilder;
    use crate::clock::Clock;
    use crate::event::{Lock, Mode, SiteId};

    const MUTEX: Lock = Lock::mutex(0x1000);
    const CONDITION: u64 = 0x2000;
    const SITE: SiteId = SiteId(1);
    const MODE: Mode = Mode::Exclusive;

    /// Thread 1 waits and is signalled at 100, while thread 0 holds the mutex from 90 to `given`.
    /// Thread 1 comes to a CPU at `on_cpu`, and its wait ends at 500. Returns when the mutex was
    /// released, and for how long it was free, if the wait is one for the mutex.
    fn regained(given: u64, on_cpu: Option<u64>) -> Option<(u64, u64)> {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let mut push = |time: u64, thread: u32, what: What| {
            trace.push(Ticks(time), ThreadIndex(thread), what);
        };
        push(10, 1, What::Acquire { lock: MUTEX, mode: MODE, site: SITE });
        push(20, 1, What::CondWait { condition: CONDITION, site: SITE });
        push(20, 1, What::CondMutex { mutex: MUTEX.address });
        push(20, 1, What::Release { lock: MUTEX, mode: MODE, site: SITE });
        push(90, 0, What::Acquire { lock: MUTEX, mode: MODE, site: SITE });
        push(100, 0, What::CondSignal { condition: CONDITION, site: SITE });
        push(given, 0, What::Release { lock: MUTEX, mode: MODE, site: SITE });
        if let Some(at) = on_cpu {
            push(at, 1, What::OnCpu { tid: 0, cpu: 0 });
        }
        push(500, 1, What::CondWake { condition: CONDITION, reason: WakeReason::Woken });
        push(500, 1, What::Acquire { lock: MUTEX, mode: MODE, site: SITE });
        let trace = trace.build();
        let (mut causes, mut objects, mut found) = (Causes::new(), Objects::new(&trace), Mutexes::default());
        let mut last = None;
        for event in trace.events() {
            let process = trace.process_of(event.thread);
            let object = objects.follow(&event, process);
            let ended = causes.step(&event, process, object, || ());
            let (thread, time, number) = (event.thread, event.time, causes.number());
            last = found.step(&event, object, ended.as_ref(), || Cause { thread, time, number, carried: () }).or(last);
        }
        last.map(|regained: Regained<()>| (regained.release.time.0, regained.free.0))
    }

    #[test]
    fn a_mutex_that_is_held_long_after_the_signal_is_waited_for() {
        assert_eq!(regained(450, None), Some((450, 50)));
        assert_eq!(regained(450, Some(150)), Some((450, 50)));
        assert_eq!(regained(450, Some(480)), None, "the thread slept until the mutex was free");
        assert_eq!(regained(480, Some(490)), Some((480, 20)), "the mutex explains nearly all of the time");
        assert_eq!(regained(150, None), None, "the wake-up took the time");
    }
}
