//! Entering the kernel: stores leave their buffer, and the CPU's own kernel data is read.

use super::access;
use crate::core::drain::drain;
use crate::engine::current::{kernel, with};
use crate::engine::thread::ThreadId;
use crate::memory::Access;

/// A system call begins: its CPU's kernel lines are read, if they are in memory (`os.kernel_lines`). They lie behind the
/// kernel's other memory, a stretch for each CPU, so a thread that has moved reads those of its new CPU.
pub(crate) fn enter_kernel() {
    drain();
    let lines = with(|engine| engine.chip.os.kernel_lines);
    for number in 0..lines {
        let address = with(|engine| {
            let cpu = engine.threads[engine.running as usize].cpu;
            engine.base + engine.layout.cpu_line(cpu, number)
        });
        access(address, Access::Load);
    }
}

/// Writes the lines of a CPU's run queue, if they are in memory (`os.queue_lines`).
pub(crate) fn touch_queue(cpu: u32) {
    let lines = with(|engine| engine.chip.os.queue_lines);
    for number in 0..lines {
        access(with(|engine| engine.base + engine.layout.queue_line(cpu, number)), Access::Store);
    }
}

/// The running thread is about to sleep: it leaves its CPU's run queue.
pub(crate) fn leave_queue() {
    touch_queue(with(|engine| engine.threads[engine.running as usize].cpu));
}

/// The running thread has woken another one: it has put that into a run queue.
pub(crate) fn enter_queue(woken: ThreadId) {
    touch_queue(with(|engine| engine.policy.scheduler.place(baton_sched::ThreadId(woken)).0));
}

/// A system call that has no price of its own.
pub(crate) fn system_call() {
    enter_kernel();
    kernel(with(|engine| engine.chip.os.syscall.0));
}
