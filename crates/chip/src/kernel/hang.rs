//! Detects runs that hang although time goes on: ticks and time slices come for ever, and no thread
//! makes progress.
//!
//! Without timers such a run falls silent, because nothing is queued. With timers, each timer
//! checks for a hang. A thread that waits leaves its wait only through another thread. So a run
//! hangs if **every** thread waits without a deadline, no application is still to begin, no store,
//! message or answer of a device is on its way, and every thread that looks at its cell from time
//! to time has looked again, in vain, after a timer first found the run in this state.

use crate::base::thread::ThreadId;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use crate::engine::waiting::Waited;
use crate::os::state::Quiet;
use baton_memory::Memory;

impl Engine {
    /// What a thread waits for, and since when.
    pub(crate) fn waits(&self, id: ThreadId) -> Option<(Waited, u64)> {
        let thread = &self.threads[id as usize];
        match self.devices.as_ref().filter(|_| thread.state == ThreadState::Cancelling) {
            None => thread.wait.waits_on,
            // The thread waits for the answer of a device, whatever it did when it lost its CPU.
            Some(devices) => {
                let packet = thread.pipeline.buffer.asked().find(|request| request.sent)?.packet;
                Some((Waited::Device(devices.packet(packet).device), thread.stats.since))
            }
        }
    }

    /// The common state of all waits, if every thread waits without a deadline and nothing is on
    /// its way to any of them.
    fn all_wait(&self) -> Option<(u64, usize, u64)> {
        if !self.os.arrivals.is_empty() {
            // An application that is still to begin may wake the threads that wait.
            return None;
        }
        let mut newest = 0;
        for (id, thread) in (0..).zip(&self.threads).filter(|(_, thread)| thread.state != ThreadState::Done) {
            let (on, since) = self.waits(id)?;
            let stores = thread.pipeline.buffer.stores() != 0 && !self.is_blocked(id);
            if on == Waited::Time || thread.wait.bounded || stores {
                return None;
            }
            newest = newest.max(since);
        }
        let devices = self.devices.as_ref().is_none_or(|devices| devices.scheduled == u64::MAX);
        // Answers count too: a request that is sent again when its thread runs may find what
        // another request, answered meanwhile, has left in a device.
        let answers = self.devices.as_ref().map_or(0, |devices| devices.answers);
        (devices && self.memory.next() == u64::MAX).then_some((newest, self.os.alive, answers))
    }

    /// Called at a timer, an alarm of the policy or a decision of the governor. Returns whether no
    /// thread will ever leave its wait again.
    pub(crate) fn hangs(&mut self) -> bool {
        let Some(waits) = self.all_wait() else {
            self.os.quiet = None;
            return false;
        };
        let Some(quiet) = self.os.quiet.filter(|quiet| quiet.waits == waits) else {
            self.os.quiet = Some(Quiet { waits, from: self.now });
            return false;
        };
        let os = &self.chip.os;
        let undisturbed = (os.interrupt.tick.0 == 0 || os.interrupt.tick_cost.0 == 0 && self.handler_lines() == 0)
            && !self.threads.iter().any(|thread| matches!(thread.state, ThreadState::Ready | ThreadState::Starting));
        self.threads.iter().all(|thread| match thread.state {
            ThreadState::Done => true,
            // The thread is about to look at a signal.
            _ if thread.os.is_interrupted() => false,
            ThreadState::Asleep => true,
            // The thread would have noticed a store at once.
            ThreadState::Spinning | ThreadState::IdleWait if thread.wait.watches => true,
            // No interrupt will reach the halted CPU.
            ThreadState::IdleWait if undisturbed => true,
            // The thread stalls for a device that has nothing to do.
            ThreadState::Running if matches!(thread.wait.waits_on, Some((Waited::Device(_), _))) => true,
            ThreadState::Cancelling => true,
            _ => thread.wait.looked > quiet.from,
        })
    }
}
