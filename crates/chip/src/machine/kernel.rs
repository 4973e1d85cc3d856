//! Entering the kernel: stores leave their buffer, and the CPU's own kernel data is read.

use super::access::access;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::contexts::share::Demand;
use crate::engine::current::{answer, give_up_core, operate, suspend, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, State};
use crate::issue::drain::drain;
use baton_memory::Access;

/// A system call begins. The kernel lines of its CPU are read if they are in memory
/// (`os.kernel_lines`). They lie behind the kernel's other memory, one stretch per CPU, so a thread
/// that has moved reads those of its new CPU.
pub(crate) fn enter_kernel() {
    drain();
    let lines = with(|engine| engine.chip.os.lines.syscall);
    for number in 0..lines {
        let address = with(|engine| {
            let cpu = engine.threads[engine.running as usize].cpu;
            engine.guest.base + engine.os.layout.cpu_line(cpu, number)
        });
        access(address, Access::Load);
    }
}

/// Writes the lines of a CPU's run queue if they are in memory (`os.queue_lines`).
pub(crate) fn touch_queue(cpu: u32) {
    let lines = with(|engine| engine.chip.os.lines.queue);
    for number in 0..lines {
        access(with(|engine| engine.guest.base + engine.os.layout.queue_line(cpu, number)), Access::Store);
    }
}

/// The running thread is about to sleep and leaves its CPU's run queue.
pub(crate) fn leave_queue() {
    touch_queue(with(|engine| engine.threads[engine.running as usize].cpu));
}

/// The running thread has woken another thread and put it into a run queue.
pub(crate) fn enter_queue(woken: ThreadId) {
    touch_queue(with(|engine| engine.os.policy.scheduler.place(baton_sched::ThreadId(woken)).0));
}

/// A system call that has no price of its own.
pub(crate) fn system_call() {
    Engine::shielded(|| {
        enter_kernel();
        kernel(with(|engine| engine.chip.os.syscall.0));
    });
}

/// Spends `cycles` in a system call or another stretch that cannot be interrupted. Stores leave
/// their buffer first.
pub(crate) fn kernel(cycles: u64) {
    drain();
    if cycles != 0 {
        operate(Reason::Kernel, |engine| engine.after(cycles));
    }
}

/// The running thread, which went to sleep in a system call, suspends, and then handles its
/// signals. Returns whether it was woken rather than interrupted.
pub(super) fn until_woken() -> bool {
    suspend();
    let woken = with(|engine| engine.threads[engine.running as usize].ended != Ended::Interrupted);
    Engine::attend();
    woken
}

/// Computes; the computation can be interrupted.
#[inline]
pub(crate) fn work(cycles: u64) {
    if cycles != 0 {
        compute(|engine| engine.computes(cycles), |_| {});
    }
}

/// A computation: `begin` returns its end, and `end` is called at the end.
#[inline]
pub(super) fn compute(begin: impl FnOnce(&mut Engine) -> u64, end: impl FnOnce(&mut Engine)) {
    if with(|engine| engine.threads[engine.running as usize].is_called()) {
        answer();
    }
    let over = with(|engine| engine.computes_at_once(begin));
    if !over {
        suspend();
        while with(|engine| engine.threads[engine.running as usize].cut.is_some()) {
            compute_the_rest();
        }
    }
    with(|engine| {
        engine.charge_computation();
        end(engine);
    });
}

/// A computation was cut short: the thread ends if it was killed, or runs its signal handlers and
/// resumes.
#[cold]
fn compute_the_rest() {
    let left = with(|engine| {
        engine.charge_computation();
        engine.threads[engine.running as usize].cut.take()
    });
    give_up_core();
    if with(|engine| engine.threads[engine.running as usize].is_called()) {
        answer();
    }
    let over =
        with(|engine| left.is_none_or(|left| engine.computes_at_once(|engine| engine.end_of(engine.running, left))));
    if !over {
        suspend();
    }
}

impl Engine {
    /// The running thread computes until the time that `begin` returns. Returns whether that is
    /// now; if not, the thread must suspend.
    #[inline(always)]
    fn computes_at_once(&mut self, begin: impl FnOnce(&mut Engine) -> u64) -> bool {
        self.demand(Demand::Computes);
        let until = begin(self);
        let over = self.over(until, Rank::Next);
        if !over {
            self.threads[self.running as usize].state = State::Working(until);
        }
        over
    }

    /// The running thread's computation is over: charges it.
    #[inline(always)]
    fn charge_computation(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        thread.charge(Reason::Work, now);
        if thread.pace.stolen != 0 {
            let stolen = std::mem::take(&mut thread.pace.stolen);
            thread.stats.shift(Reason::Work, Reason::Kernel, stolen);
        }
        if thread.pace.changing != 0 {
            let changing = std::mem::take(&mut thread.pace.changing);
            thread.stats.shift(Reason::Work, Reason::Mode, changing);
        }
        self.demand(Demand::Nothing);
    }
}
