//! Threads that are killed. Each ends at its next operation outside of kernel work, as by a signal
//! that cannot be caught.
//!
//! A sleep or wait of the thread ends at once, and the thread needs a CPU on which to end. Its
//! requests to devices are called back; an answer that was given all the same is dropped and
//! counted. Its stores are written. What the thread owned stays as it was: locks are the guest's
//! concern, and destructors do not run.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::core::pipeline::Stall;
use crate::engine::current::{charge, own, suspend, suspend_unless, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, ThreadState};
use crate::engine::waiting::Waited;
use crate::issue::stall::stall;

impl Engine {
    /// Kills a thread.
    pub(crate) fn kill(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id as usize];
        if thread.state == ThreadState::Done || thread.os.killed {
            return;
        }
        (thread.os.killed, thread.os.signalled, thread.os.preempt) = (true, true, true);
        self.leaves_work(id);
        match self.threads[id as usize].state {
            ThreadState::Asleep if self.threads[id as usize].os.is_interrupted() => self.end_sleep(id),
            ThreadState::Working(until) => self.cut_short(id, until),
            ThreadState::Spinning => {
                if self.interrupt_spin(id) {
                    self.goes_on(id);
                }
            }
            ThreadState::IdleWait => self.end_idle_wait(id, Ended::Interrupted),
            ThreadState::Running if let Some(stall) = self.stalls_for_device(id) => {
                self.charge_stall(id, stall);
                self.threads[id as usize].pipeline.stall = None;
                self.goes_on(id);
            }
            // Before it dies, the thread ends its operation, comes onto a CPU, or completes a sleep
            // that no signal interrupts.
            ThreadState::Running | ThreadState::Starting | ThreadState::Interrupted | ThreadState::Cancelling => {}
            ThreadState::Ready | ThreadState::Asleep | ThreadState::Done => {}
        }
    }

    /// The thread's coroutine continues now.
    pub(super) fn goes_on(&mut self, id: ThreadId) {
        self.threads[id as usize].state = ThreadState::Running;
        self.queue.put(Event::thread(id), self.now, Rank::Next);
    }

    /// Ends the sleep of a thread that was killed or has a signal. With futexes in guest memory,
    /// the thread itself leaves the queue when it runs.
    pub(super) fn end_sleep(&mut self, id: ThreadId) {
        self.queue.cancel(Event::timeout(id));
        if let Some((on, _)) = self.threads[id as usize].wait.waits_on {
            self.forget_wait(id, on);
        }
        self.threads[id as usize].ended = Ended::Interrupted;
        self.make_ready(id, Reason::Asleep);
        self.threads[id as usize].os.preempt = true;
    }

    /// Makes whatever would wake the thread from a sleep on `on` forget the thread.
    pub(super) fn forget_wait(&mut self, id: ThreadId, on: Waited) {
        match on {
            Waited::Cell(offset) if !self.os.layout.in_memory() => self.os.futexes.forget(offset, id),
            Waited::Thread(other) => self.threads[other as usize].os.joiners.retain(|&joiner| joiner != id),
            Waited::Device(device) => self.forget_device(id, device),
            Waited::Armed(_) => {
                if let Some(devices) = &mut self.devices {
                    devices.subjects.asleep.retain(|asleep| *asleep != id);
                }
            }
            Waited::Cell(_) | Waited::Time => {}
        }
    }

    /// A thread no longer waits for a device's interrupt. If an interrupt was about to wake it,
    /// another thread gets the interrupt, or it is kept.
    fn forget_device(&mut self, id: ThreadId, device: u32) {
        let now = self.now;
        let Some(devices) = &mut self.devices else { return };
        let waiting = &mut devices.waiting[device as usize];
        if let Some(at) = waiting.iter().position(|&waiter| waiter == id) {
            waiting.remove(at);
        } else if waiting.is_empty() {
            devices.pending[device as usize] += 1;
        } else {
            let next = waiting.remove(0);
            self.queue.put(Event::timeout(next), now, Rank::Next);
        }
    }

    /// The running thread's activity is over. The thread ends here if it was killed in the
    /// meantime.
    #[inline]
    pub(crate) fn end_if_killed() {
        if own(|thread| thread.os.dies()) {
            Engine::die();
        }
    }

    /// The running thread ends here.
    #[cold]
    pub(crate) fn die() -> ! {
        let none_under_way = suspend_unless(|engine| {
            let id = engine.running;
            let thread = &mut engine.threads[id as usize];
            thread.os.dying = true;
            let none_under_way = thread.pipeline.buffer.under_way() == 0;
            if !none_under_way {
                engine.call_back_requests(id);
            }
            none_under_way
        });
        if !none_under_way {
            charge(Reason::Device);
        }
        with(|engine| engine.drop_requests(engine.running));
        stall(Stall::Stores(0));
        own(|thread| thread.os.dead = true);
        suspend();
        unreachable!("a thread that was killed runs on")
    }

    /// Runs kernel work, which the running guest completes even if it is killed or gets a signal
    /// meanwhile. Signals that came before are handled first; a guest that was killed before ends
    /// instead.
    pub(crate) fn shielded<R>(work: impl FnOnce() -> R) -> R {
        let signalled = own(|thread| {
            thread.os.shields += 1;
            thread.os.signalled
        });
        if signalled {
            Engine::attend_before_shield();
        }
        let result = work();
        own(|thread| {
            thread.os.shields -= 1;
            thread.os.preempt |= thread.os.signalled;
        });
        result
    }

    /// Like [`Engine::attend`], for a thread that has just been shielded: the shield is taken off
    /// meanwhile.
    #[cold]
    fn attend_before_shield() {
        let shield = |by: i32| {
            own(|thread| thread.os.shields = thread.os.shields.wrapping_add_signed(by));
        };
        shield(-1);
        Engine::attend();
        shield(1);
    }
}
