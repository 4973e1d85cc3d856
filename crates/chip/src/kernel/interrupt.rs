//! Interrupts: ticks, and calls from one CPU to another.
//!
//! A handler takes its cycles from the thread that runs on the CPU. A computation is delayed by
//! them; a thread that spins on a line does not try in the meantime; an operation under way ends
//! first, and the thread pays before its next one. An idle CPU gets no ticks.
//!
//! A call is modelled as `os.ipi` says: as a price; as a packet from core to core; or, if it wakes
//! a futex's sleeper, as two packets, from the waker to the home of the futex's bucket and from
//! there to the sleeper.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::{OUTSIDE, ThreadId};
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, Step};
use crate::engine::thread::{Ended, Resume, ThreadState};
use crate::os::cpu::Roused;
use crate::os::state::WakeUp;
use baton_chipfile::config::Ipi;
use baton_chipfile::config::mechanism::{Annotator, LockRequest};
use baton_machine::LockHint;
use baton_memory::{Interrupt, InterruptEnd, Line, Transport};
use baton_noc::Header;
use baton_units::{CpuId, Cycles};

impl Engine {
    /// Wakes a thread that sleeps in a futex; `bucket` is the futex's bucket, if futexes live in
    /// memory. Returns what kind of idle CPU that roused, if any.
    pub(crate) fn wake_sleeper(&mut self, id: ThreadId, bucket: Option<Line>) -> Roused {
        self.tell_waker();
        let hint = self.threads.get(self.running as usize).and_then(|waker| waker.newest_hint());
        self.os.wake_up = Some(WakeUp { hint, bucket });
        let roused = self.make_ready(id, Reason::Asleep);
        self.os.wake_up = None;
        roused
    }

    /// A handler takes `cost` cycles on this CPU, plus its accesses if handlers access memory. It
    /// ends an idle wait in any case.
    pub(crate) fn interrupt_cpu(&mut self, cpu: u32, cost: u64) {
        let (now, current) = (self.now, self.os.cpus[cpu as usize].current);
        let touches = self.handler_lines() != 0;
        let Some(id) = current else { return };
        if cost == 0 && !touches {
            return self.end_idle_wait(id, Ended::Interrupted);
        }
        let cost = self.cores.clocks.whole(self.os.cpus[cpu as usize].core, cost);
        match self.threads[id as usize].state {
            ThreadState::Working(until) if touches => {
                self.queue.cancel(Event::thread(id));
                let left = self.rest_of(id, until);
                self.forget_still(id);
                let thread = &mut self.threads[id as usize];
                thread.charge(Reason::Work, now);
                thread.resume = Resume::Work(left);
                self.begin_handlers(id, 1, cost);
                self.share_core(self.core_of(id));
            }
            ThreadState::Working(until) => self.steal(id, until, cost),
            ThreadState::Spinning => {
                if self.interrupt_spin(id) {
                    let thread = &mut self.threads[id as usize];
                    thread.charge(Reason::Spin, now);
                    self.begin_handlers(id, u32::from(touches), cost);
                } else {
                    self.owes(id, cost);
                }
            }
            ThreadState::IdleWait => {
                self.owes(id, cost);
                self.end_idle_wait(id, Ended::Interrupted);
            }
            ThreadState::Running | ThreadState::Starting | ThreadState::Interrupted | ThreadState::Cancelling => {
                self.owes(id, cost)
            }
            // The thread has ended and is about to leave its CPU, so the handler takes no thread's
            // cycles.
            ThreadState::Done => {}
            ThreadState::Ready | ThreadState::Asleep => unreachable!("a thread that does not run has CPU {cpu}"),
        }
    }

    /// A handler takes `cost` cycles of the reference from a computation, which stands still from
    /// now on.
    pub(crate) fn steal(&mut self, id: u32, until: u64, cost: u64) {
        let left = self.rest_of(id, until);
        let thread = &mut self.threads[id as usize];
        thread.pace.put_off(self.now, cost);
        (thread.pace.handling, thread.pace.stolen) = (thread.pace.handling + cost, thread.pace.stolen + cost);
        self.compute_on(id, left);
    }

    /// The thread must pay for a handler's cycles, and its accesses, before its next operation.
    pub(super) fn owes(&mut self, id: u32, cost: u64) {
        let touches = u32::from(self.handler_lines() != 0);
        let thread = &mut self.threads[id as usize];
        (thread.os.due, thread.os.handlers, thread.os.preempt) =
            (thread.os.due + cost, thread.os.handlers + touches, true);
    }

    /// The CPU of the running thread, if it is another CPU than `cpu`: the source of an interrupt.
    pub(super) fn other_than(&self, cpu: u32) -> Option<u32> {
        let id = self.running;
        (id != OUTSIDE).then(|| self.threads[id as usize].cpu).filter(|&from| from != cpu)
    }

    /// Whether an idle CPU that still polls gets an interrupt, too: a wake-up that goes by way of a
    /// home is a message to any CPU.
    pub(super) fn calls_pollers(&self) -> bool {
        self.chip.os.interrupt.ipi == Ipi::Home && self.os.wake_up.is_some()
    }

    /// Sends an interrupt from one CPU to another as a packet, if the chip models it so;
    /// [`Engine::interrupt_came`] continues. Returns whether a packet is on its way.
    pub(super) fn send_interrupt(&mut self, from: u32, cpu: u32) -> bool {
        if self.chip.os.interrupt.ipi == Ipi::Price {
            return false;
        }
        if std::mem::replace(&mut self.os.cpus[cpu as usize].interrupt_comes, true) {
            return true;
        }
        let hint = self.os.wake_up.and_then(|wake_up| wake_up.hint);
        let mark = |class: fn(LockHint) -> LockRequest| {
            hint.map_or(Header::default(), |hint| self.mechanism.header(class(hint)))
        };
        let (waker, home) = (mark(LockRequest::WakeUp), mark(LockRequest::Woken));
        let bucket =
            self.os.wake_up.and_then(|wake_up| wake_up.bucket).filter(|_| self.chip.os.interrupt.ipi == Ipi::Home);
        let core = |cpu: u32| InterruptEnd::Core(self.os.cpus[cpu as usize].core);
        let from = core(from);
        let (to, mark) = match bucket {
            Some(line) => (InterruptEnd::HomeOf(line), waker),
            // No home takes part: this is the message to the sleeper.
            None => (core(cpu), home),
        };
        self.os.cpus[cpu as usize].by_way_of = bucket.map(|line| (line, home));
        self.carry_interrupt(Interrupt { tag: cpu, from, to, mark });
        true
    }

    /// Sends an interrupt over the network. A chip without a network has no interrupts as packets.
    fn carry_interrupt(&mut self, interrupt: Interrupt) {
        if let Some(mut transport) = self.memory.transport() {
            transport.interrupt(interrupt, Cycles(self.now));
        }
    }

    /// An interrupt for `cpu` has arrived. At the home of a lock's queue, the home sends it on to the
    /// CPU. At the CPU, it wakes an idle CPU for the thread that this was given. On a CPU that is not
    /// idle the handler runs, and the thread loses the CPU if the policy has called it off. Then
    /// threads notice the signals that the interrupt announces.
    pub(crate) fn interrupt_came(&mut self, cpu: u32) {
        let here = &mut self.os.cpus[cpu as usize];
        if let Some((line, mark)) = here.by_way_of.take() {
            let (from, to) = (InterruptEnd::HomeOf(line), InterruptEnd::Core(here.core));
            self.carry_interrupt(Interrupt { tag: cpu, from, to, mark });
            return;
        }
        here.interrupt_comes = false;
        let called_off = std::mem::take(&mut here.called_off);
        if let Some(latency) = here.wakes.take() {
            if let Some(id) = here.current {
                self.queue.put(Event::thread(id), self.now + latency, Rank::Next);
            }
        } else {
            self.interrupt_cpu(cpu, self.chip.os.interrupt.cost.0);
            if called_off {
                self.preempt(cpu);
                self.decide();
            }
        }
        if !self.os.cpus[cpu as usize].signalled.is_empty() {
            self.signals_came(cpu);
        }
    }

    /// A timer of this CPU has come: the policy's own, or the periodic tick.
    pub(crate) fn timer_came(&mut self, cpu: u32) -> Step {
        self.os.cpus[cpu as usize].timer = false;
        self.os.cpus[cpu as usize].counts.ticks += 1;
        if self.hangs() {
            return Step::Silence;
        }
        if self.counts.events > self.bounds.events {
            return Step::Limit;
        }
        // The policy's own timer costs nothing, like the end of a time slice, and does not end an
        // idle wait by itself.
        if self.chip.os.interrupt.tick.0 != 0 {
            self.interrupt_cpu(cpu, self.chip.os.interrupt.tick_cost.0);
        }
        self.tell(|policy, now, out| policy.tick(now, CpuId(cpu), out));
        self.decide();
        self.arm_tick(cpu);
        Step::Handled
    }

    /// The policy's alarm has come. It costs no thread anything.
    pub(crate) fn alarm_came(&mut self) -> Step {
        self.os.policy.alarm = false;
        if self.hangs() {
            return Step::Silence;
        }
        if self.counts.events > self.bounds.events {
            return Step::Limit;
        }
        self.tell(|policy, now, out| policy.alarm(now, out));
        self.decide();
        Step::Handled
    }

    /// Inserts the next tick at the next multiple of its period, if there are ticks and the CPU is
    /// not idle.
    pub(super) fn arm_tick(&mut self, cpu: u32) {
        let period = self.chip.os.interrupt.tick.0;
        let here = &mut self.os.cpus[cpu as usize];
        if period != 0 && here.current.is_some() && !std::mem::replace(&mut here.timer, true) {
            self.queue.put(Event::timer(cpu), (self.now / period + 1) * period, Rank::Next);
        }
    }
}
