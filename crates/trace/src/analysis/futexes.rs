//! Causes of waits in futexes of the program's own, and for locks inside of the C library.
//!
//! The kernel tells how many waiters each wake woke, so a wake that found no waiter is no cause.
//! The kernel wakes waiters in the order of their arrival: the cause of a waiter's wake-up is the
//! oldest wake since its wait began to which fewer waiters are assigned so far than it woke. The
//! analysis knows neither the bit sets of futex calls nor the waiters that a requeue moved to
//! another futex.
//!
//! The cause of a wait for a lock inside of the C library is the last release that woke a waiter:
//! the woken thread competes for the lock, and may have to wait for later releases as well.

use super::causes::{Carry, Cause, Causes, Ended, ObjectState, WaitKind, of_kind};
use super::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Event, FutexEnd, ThreadIndex, What};
use std::collections::VecDeque;

/// Most wakes that are kept of one futex: if the trace lacks the threads that are woken there, no
/// wake is ever used up.
const KEPT: usize = 4096;

/// Wakes of one futex, each with the number of its woken waiters that no recorded wait has been
/// assigned to yet.
pub(super) struct Wakes<T>(VecDeque<(Cause<T>, u32)>);

impl<T> Default for Wakes<T> {
    fn default() -> Self {
        Wakes(VecDeque::new())
    }
}

impl<T: Carry> Wakes<T> {
    /// Adds a wake. Until [`Wakes::count`] corrects it, the wake counts as having woken one waiter.
    fn put(&mut self, cause: Cause<T>) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((cause, 1));
    }

    /// Corrects the number of waiters that a thread's last wake woke; removes a wake that woke
    /// none.
    fn count(&mut self, thread: ThreadIndex, woken: u32) {
        let Some(at) = self.0.iter().rposition(|(cause, _)| cause.thread == thread) else { return };
        match woken {
            0 => drop(self.0.remove(at)),
            _ => self.0[at].1 = woken,
        }
    }

    /// Assigns a wait that began at `begin` to the oldest wake since then, and returns that wake.
    fn take(&mut self, begin: Ticks) -> Option<Cause<T>> {
        let at = self.0.partition_point(|(cause, _)| cause.time < begin);
        let (cause, left) = self.0.get_mut(at)?;
        *left -= 1;
        if *left > 0 {
            return Some(cause.clone());
        }
        self.0.remove(at).map(|(cause, _)| cause)
    }
}

impl<T: Carry> Causes<T> {
    pub(super) fn futex_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::FutexWait { site, .. } => self.begin(event, WaitKind::Futex, object, site),
            What::FutexWaitEnd { end, .. } => return self.futex_wait_ended(event, object?, end),
            What::FutexWake { .. } => {
                let cause = cause();
                self.futex(object?).put(cause);
            }
            What::FutexWoke { woken, .. } => self.futex(object?).count(event.thread, woken),
            _ => {}
        }
        None
    }

    fn futex(&mut self, object: ObjectId) -> &mut Wakes<T> {
        of_kind!(self.state(object), Futex, Wakes::default())
    }

    fn libc_lock(&mut self, object: ObjectId) -> &mut Option<Cause<T>> {
        of_kind!(self.state(object), LibcLock, None)
    }

    fn futex_wait_ended(&mut self, event: &Event, object: ObjectId, end: FutexEnd) -> Option<Ended<T>> {
        let begin = self.begun(event.thread)[WaitKind::Futex as usize].map(|begun| begun.time);
        let cause = match (end, begin) {
            (FutexEnd::Woken, Some(begin)) => self.futex(object).take(begin),
            _ => None,
        };
        let gave_up = matches!(end, FutexEnd::TimedOut | FutexEnd::Interrupted | FutexEnd::Failed);
        let ended = self.end(event, WaitKind::Futex, Some(object), gave_up, cause)?;
        // The word had changed, so the call returned at once: there was no wait.
        let begin = ended.begin.filter(|_| end != FutexEnd::Changed);
        Some(Ended { begin, ..ended })
    }

    pub(super) fn libc_step(
        &mut self,
        event: &Event,
        object: Option<ObjectId>,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        match event.what {
            What::LibcWait { site, .. } => self.begin(event, WaitKind::LibcLock, object, site),
            What::LibcTaken { .. } => {
                let (thread, lock) = (event.thread, object?);
                let cause = self.libc_lock(lock).clone().filter(|cause| cause.thread != thread);
                return self.end(event, WaitKind::LibcLock, object, false, cause);
            }
            What::LibcWake { .. } => {
                let cause = cause();
                *self.libc_lock(object?) = Some(cause);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(thread: u32, time: u64) -> Cause<()> {
        Cause { thread: ThreadIndex(thread), time: Ticks(time), number: time, carried: () }
    }

    #[test]
    fn a_waiter_takes_the_oldest_wake_since_it_began_that_woke_anybody() {
        let mut wakes = Wakes::default();
        wakes.put(wake(1, 10));
        wakes.put(wake(2, 20));
        wakes.count(ThreadIndex(2), 0);
        wakes.put(wake(3, 30));
        wakes.count(ThreadIndex(3), 2);
        let taken: Vec<_> = [15, 5, 15, 15].map(|since| wakes.take(Ticks(since)).map(|cause| cause.time.0)).into();
        assert_eq!(taken, [Some(30), Some(10), Some(30), None]);
    }
}
