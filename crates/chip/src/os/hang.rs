//! Runs that hang although time goes on: ticks and time slices come for ever, and nobody gets anywhere.
//!
//! Without timers such a run falls silent: nothing is queued. With them it is looked for at each timer. A thread that waits
//! leaves its wait only by what another thread does, so a run hangs if **every** thread waits without a deadline, no store
//! and no answer of a device is on its way, and every thread that has a look at its cell from time to time has had one
//! since then and found nothing new.

use crate::engine::Engine;
use crate::engine::thread::{State, Waited};
use crate::memory::Memory;

/// What is known of a quiet spell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// When the newest of the waits began, and how many threads live: another one is another spell.
    waits: (u64, usize),
    /// When it was noticed.
    from: u64,
}

impl Engine {
    /// The waits of all threads, if all of them wait without a deadline and nothing is on its way to any.
    fn all_wait(&self) -> Option<(u64, usize)> {
        let mut newest = 0;
        for thread in self.threads.iter().filter(|thread| thread.state != State::Done) {
            let (on, since) = thread.waits_on?;
            if on == Waited::Time || thread.bounded || thread.buffer.len() != 0 {
                return None;
            }
            newest = newest.max(since);
        }
        let devices = self.devices.as_ref().is_none_or(|devices| devices.scheduled == u64::MAX);
        (devices && self.memory.next() == u64::MAX).then_some((newest, self.alive))
    }

    /// Called at a timer: whether no thread will ever leave its wait again.
    pub(crate) fn hangs(&mut self) -> bool {
        let Some(waits) = self.all_wait() else {
            self.quiet = None;
            return false;
        };
        let Some(quiet) = self.quiet.filter(|quiet| quiet.waits == waits) else {
            self.quiet = Some(Quiet { waits, from: self.now });
            return false;
        };
        let os = &self.chip.os;
        let undisturbed = (os.tick.0 == 0 || os.tick_cost.0 == 0 && self.handler_lines() == 0)
            && !self.threads.iter().any(|thread| matches!(thread.state, State::Ready | State::Starting));
        self.threads.iter().all(|thread| match thread.state {
            State::Done | State::Asleep => true,
            // It would have noticed a store at once.
            State::Spinning | State::Resting if thread.watches => true,
            // A halted CPU that no interrupt will reach.
            State::Resting if undisturbed => true,
            // Stalled for a device, which has nothing to do.
            State::Running if matches!(thread.waits_on, Some((Waited::Device(_), _))) => true,
            _ => thread.looked > quiet.from,
        })
    }
}
