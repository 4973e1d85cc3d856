//! Entering the kernel: stores leave their buffer, and the CPU's own kernel data is read.

use super::access;
use crate::core::drain::drain;
use crate::engine::current::{kernel, with};
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

/// A system call that has no price of its own.
pub(crate) fn system_call() {
    enter_kernel();
    kernel(with(|engine| engine.chip.os.syscall.0));
}
