//! Signals come to threads: the thread's current activity is interrupted, or its whole application
//! ends.
//!
//! A signal that is not blocked interrupts its thread as the end of a time slice would: a thread on
//! another CPU than the sender's by an interrupt (`os.ipi`, `os.interrupt`), a sleeping thread by a
//! wake-up. The handler runs when the thread continues outside of kernel work (`handle.rs`). A
//! blocked signal stays pending, even an ignored one; other ignored signals are dropped.

use crate::base::event::Event;
use crate::base::thread::ThreadId;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, Resume, ThreadState};
use crate::engine::waiting::Waited;
use crate::os::app::App;
use crate::os::signal::{Action, Actions, Death, Fate, Signal, SignalSet};
use baton_units::Cycles;

impl Engine {
    /// Sends a signal to a thread. Returns false if the thread has ended.
    pub(crate) fn send_signal(&mut self, id: ThreadId, signal: Signal) -> bool {
        let task = &self.threads[id as usize].os;
        if self.threads[id as usize].state == ThreadState::Done {
            return false;
        }
        let blocked = task.signals.blocked.has(signal);
        match self.os.apps[task.app.0 as usize].actions.fate(signal) {
            Fate::Ignored if !blocked => return true,
            Fate::Ends if !blocked => {
                self.end_app(task.app, signal);
                return true;
            }
            Fate::Ignored | Fate::Ends | Fate::Handled(..) => {}
        }
        let signals = &mut self.threads[id as usize].os.signals;
        signals.pending = signals.pending.with(signal);
        if !blocked {
            self.interrupt_for_signal(id);
        }
        true
    }

    /// A signal ends an application: all its threads end as if they were killed.
    pub(super) fn end_app(&mut self, app: App, signal: Signal) {
        let name = self.os.apps[app.0 as usize].name.clone();
        self.os.deaths.push(Death { app: name, signal, at: Cycles(self.now) });
        for id in 0..self.threads.len() as u32 {
            if self.threads[id as usize].os.app == app {
                self.kill(id);
            }
        }
    }

    /// A thread has a signal that is not blocked. It is interrupted at once, or when the interrupt
    /// arrives.
    fn interrupt_for_signal(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id as usize];
        thread.os.signalled = true;
        let cpu = thread.cpu;
        let runs = match thread.state {
            ThreadState::Running | ThreadState::Working(_) | ThreadState::Spinning | ThreadState::IdleWait => true,
            ThreadState::Interrupted | ThreadState::Cancelling => true,
            // The kernel checks for signals when it has switched to the thread.
            ThreadState::Starting | ThreadState::Ready | ThreadState::Asleep | ThreadState::Done => false,
        };
        if let Some(from) = self.other_than(cpu).filter(|_| runs) {
            if self.send_interrupt(from, cpu) {
                self.os.cpus[cpu as usize].signalled.push(id);
                return;
            }
            self.interrupt_cpu(cpu, self.chip.os.interrupt.cost.0);
        }
        self.notices_signal(id);
    }

    /// The interrupt has arrived that tells threads about signals, wherever these threads are by
    /// now.
    #[cold]
    pub(super) fn signals_came(&mut self, cpu: u32) {
        for id in std::mem::take(&mut self.os.cpus[cpu as usize].signalled) {
            self.notices_signal(id);
        }
    }

    /// A thread notices that it has a signal: its sleep or idle wait ends and, outside of kernel
    /// work, its computation, spinning wait or stall is cut short. It handles its signals before
    /// its next operation outside of kernel work.
    fn notices_signal(&mut self, id: ThreadId) {
        let task = &mut self.threads[id as usize].os;
        if !task.signalled {
            // The thread has checked in the meantime.
            return;
        }
        task.preempt = true;
        let kernel = task.shields != 0;
        let state = self.threads[id as usize].state;
        match state {
            // A thread that has not begun to run is not woken: it checks for signals when it
            // begins.
            ThreadState::Asleep => {
                let task = &self.threads[id as usize].os;
                if task.has_run && task.is_interrupted() {
                    self.tell_waker();
                    self.end_sleep(id);
                }
            }
            ThreadState::IdleWait => self.end_idle_wait(id, Ended::Interrupted),
            ThreadState::Running if !kernel => {
                if let Some(stall) = self.stalls_for_device(id) {
                    self.charge_stall(id, stall);
                    self.threads[id as usize].pipeline.stall = None;
                    self.goes_on(id);
                }
            }
            ThreadState::Working(until) if !kernel => self.cut_short(id, until),
            ThreadState::Spinning if !kernel && self.interrupt_spin(id) => self.goes_on(id),
            ThreadState::Ready | ThreadState::Starting | ThreadState::Interrupted | ThreadState::Cancelling
                if !kernel =>
            {
                self.leaves_work(id)
            }
            // The thread finishes its kernel work first, or has ended.
            _ => {}
        }
    }

    /// Cuts a computation short. Its coroutine runs now, and knows the rest of the computation.
    pub(super) fn cut_short(&mut self, id: ThreadId, until: u64) {
        self.queue.cancel(Event::thread(id));
        let left = self.rest_of(id, until);
        self.forget_still(id);
        self.threads[id as usize].cut = Some(left);
        self.goes_on(id);
    }

    /// If the thread was to resume a computation, cuts the computation short: when the thread goes
    /// on, its coroutine runs instead, and knows the rest.
    pub(super) fn leaves_work(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id as usize];
        if let Resume::Work(left) = std::mem::replace(&mut thread.resume, Resume::Guest) {
            thread.cut = Some(left);
        }
    }

    /// The running thread is about to sleep on `on`. If it was killed or has a signal, it continues
    /// at once, interrupted. Returns whether it does so.
    #[cold]
    pub(super) fn stays_awake(&mut self, on: Waited) -> bool {
        let id = self.running;
        if !self.threads[id as usize].os.is_interrupted() {
            return false;
        }
        self.forget_wait(id, on);
        let thread = &mut self.threads[id as usize];
        (thread.ended, thread.os.preempt) = (Ended::Interrupted, true);
        self.goes_on(id);
        true
    }

    /// Sets another action of the running thread's application. Returns the former one.
    pub(crate) fn act_on_signal(&mut self, signal: Signal, action: Action) -> Action {
        let app = self.threads[self.running as usize].os.app;
        self.os.apps[app.0 as usize].actions.replace(signal, action)
    }

    /// The application of a thread has ended. Returns its actions, so that they are dropped.
    pub(crate) fn take_actions(&mut self, id: ThreadId) -> Actions {
        let app = self.threads[id as usize].os.app;
        std::mem::take(&mut self.os.apps[app.0 as usize].actions)
    }

    /// Sets the signals that the running thread blocks. Returns the former set.
    pub(crate) fn block_signals(&mut self, signals: SignalSet) -> SignalSet {
        let task = &mut self.threads[self.running as usize].os;
        let before = std::mem::replace(&mut task.signals.blocked, signals.without(Signal::KILL));
        self.look_again();
        before
    }

    /// Signals of the running thread may have been unblocked or handled. If one is pending, the
    /// thread must check again.
    pub(super) fn look_again(&mut self) {
        let task = &mut self.threads[self.running as usize].os;
        task.signalled = task.killed || task.signals.any();
        task.preempt |= task.signalled;
    }
}
