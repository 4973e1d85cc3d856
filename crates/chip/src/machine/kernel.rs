//! Entering the kernel: stores leave their buffer, and the CPU's own kernel data is read.

use super::access::access;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::contexts::share::Demand;
use crate::engine::current::{answer, operate, suspend, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::State;
use crate::issue::drain::drain;
use crate::memory::Access;

/// A system call begins: its CPU's kernel lines are read, if they are in memory (`os.kernel_lines`). They lie behind the
/// kernel's other memory, a stretch for each CPU, so a thread that has moved reads those of its new CPU.
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

/// Writes the lines of a CPU's run queue, if they are in memory (`os.queue_lines`).
pub(crate) fn touch_queue(cpu: u32) {
    let lines = with(|engine| engine.chip.os.lines.queue);
    for number in 0..lines {
        access(with(|engine| engine.guest.base + engine.os.layout.queue_line(cpu, number)), Access::Store);
    }
}

/// The running thread is about to sleep: it leaves its CPU's run queue.
pub(crate) fn leave_queue() {
    touch_queue(with(|engine| engine.threads[engine.running as usize].cpu));
}

/// The running thread has woken another one: it has put that into a run queue.
pub(crate) fn enter_queue(woken: ThreadId) {
    touch_queue(with(|engine| engine.os.policy.scheduler.place(baton_sched::ThreadId(woken)).0));
}

/// A system call that has no price of its own.
pub(crate) fn system_call() {
    enter_kernel();
    kernel(with(|engine| engine.chip.os.syscall.0));
}

/// In a system call, or any other stretch that cannot be interrupted. Stores leave their buffer first.
pub(crate) fn kernel(cycles: u64) {
    drain();
    if cycles != 0 {
        operate(Reason::Kernel, |engine| engine.after(cycles));
    }
}

/// Computes; can be interrupted.
#[inline]
pub(crate) fn work(cycles: u64) {
    if cycles != 0 {
        compute(|engine| engine.computes(cycles), |_| {});
    }
}

/// A computation: `begin` says when it will be over, `end` is done when it is.
#[inline]
pub(super) fn compute(begin: impl FnOnce(&mut Engine) -> u64, end: impl FnOnce(&mut Engine)) {
    if with(|engine| engine.threads[engine.running as usize].is_called()) {
        answer();
    }
    let over = with(|engine| {
        engine.demand(Demand::Computes);
        let until = begin(engine);
        let over = engine.over(until, Rank::Next);
        if !over {
            engine.threads[engine.running as usize].state = State::Working(until);
        }
        over
    });
    if !over {
        suspend();
    }
    let killed = with(|engine| {
        let now = engine.now;
        let thread = &mut engine.threads[engine.running as usize];
        let killed = thread.os.killed;
        thread.charge(Reason::Work, now);
        if thread.pace.stolen != 0 {
            let stolen = std::mem::take(&mut thread.pace.stolen);
            thread.stats.shift(Reason::Work, Reason::Kernel, stolen);
        }
        if thread.pace.changing != 0 {
            let changing = std::mem::take(&mut thread.pace.changing);
            thread.stats.shift(Reason::Work, Reason::Mode, changing);
        }
        engine.demand(Demand::Nothing);
        end(engine);
        killed
    });
    if killed {
        Engine::end_if_killed();
    }
}
