//! Entering the kernel: stores leave their buffer, and the CPU's own kernel data is read.

use super::access::access;
use crate::base::thread::ThreadId;
use crate::engine::current::{address_of, chip, ended, give_up_core, heed, operate, own, suspend_unless, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::Ended;
use crate::issue::drain::drain;
use crate::os::cpu::Roused;
use crate::os::futex::layout::Layout;
use baton_chipfile::config::mechanism::LockRequest;
use baton_chipfile::config::os::Futex;
use baton_machine::LockHint;
use baton_memory::Access;

/// A system call begins. If the kernel's lines are in memory (`os.kernel_lines`), the thread reads
/// those of its CPU. Each CPU has its own lines, behind the kernel's other memory, so a thread that
/// has moved reads those of its new CPU.
pub(crate) fn enter_kernel() {
    drain();
    for number in 0..chip(|chip| chip.os.lines.syscall) {
        let cpu = own(|thread| thread.cpu);
        access(kernel_line(|layout| layout.cpu_line(cpu, number)), Access::Load);
    }
}

/// Writes the lines of a CPU's run queue if they are in memory (`os.queue_lines`).
pub(crate) fn touch_queue(cpu: u32) {
    for number in 0..chip(|chip| chip.os.lines.queue) {
        access(kernel_line(|layout| layout.queue_line(cpu, number)), Access::Store);
    }
}

/// The address of a line of the kernel's memory.
fn kernel_line(offset: impl FnOnce(&Layout) -> usize) -> usize {
    address_of(with(|engine| offset(&engine.os.layout)))
}

/// The running thread is about to sleep and leaves its CPU's run queue.
pub(crate) fn leave_queue() {
    touch_queue(own(|thread| thread.cpu));
}

/// The running thread has woken another thread and put it into a run queue.
pub(crate) fn enter_queue(woken: ThreadId) {
    touch_queue(with(|engine| engine.os.policy.scheduler.place(baton_sched::ThreadId(woken)).0));
}

/// A system call that has no price of its own, and so costs `os.syscall`.
pub(crate) fn system_call() {
    Engine::shielded(|| {
        enter_kernel();
        kernel(chip(|chip| chip.os.syscall.0));
    });
}

/// A system call at the price of `os.syscall`, at whose end the kernel does `work`, which takes no
/// time.
pub(super) fn system_call_to<R>(work: impl FnOnce(&mut Engine) -> R) -> R {
    system_call();
    with(work)
}

/// Spends `cycles` in the kernel; nothing interrupts this time. The thread's stores leave their
/// buffer first.
pub(crate) fn kernel(cycles: u64) {
    drain();
    if cycles != 0 {
        operate(Reason::Kernel, |engine| engine.after(cycles));
    }
}

/// Puts the running thread to sleep in a system call, unless `begin` returns that the thread need
/// not sleep. After a sleep the thread handles its signals. Returns whether its wait is over: it
/// did not sleep, or was woken rather than interrupted.
pub(super) fn until_woken(begin: impl FnOnce(&mut Engine) -> bool) -> bool {
    if suspend_unless(begin) {
        return true;
    }
    let woken = ended() != Ended::Interrupted;
    Engine::attend();
    woken
}

/// The chip's prices of futexes.
pub(super) fn futex_prices() -> Futex {
    chip(|chip| chip.os.futex)
}

/// What a waker pays for a thread that it has woken, beyond `wake_none`. The first interrupt of a
/// call has the full price; `interrupted` tells whether the call has sent one.
pub(super) fn after_wake(prices: &Futex, roused: Roused, interrupted: &mut bool) -> u64 {
    match (roused, prices.wake_polling) {
        (Roused::Polling, Some(price)) => price.0.saturating_sub(prices.wake_none.0),
        (Roused::Polling | Roused::Halted, _) if !std::mem::replace(interrupted, true) => {
            prices.wake.0.saturating_sub(prices.wake_none.0)
        }
        _ => prices.wake_more.0,
    }
}

/// Marks the next access as a lock request of this class, if the thread's locks give hints.
pub(crate) fn mark_next(class: fn(LockHint) -> LockRequest) {
    own(|thread| thread.mechanism.hint = thread.newest_hint().map(class));
}

/// Does what the kernel wants of the running thread, which may be to give up its core. Returns
/// whether it wanted anything. Another thread may then have written the line that the caller waits
/// on, on this very core, which still holds that line.
pub(super) fn give_way() -> bool {
    let wanted = own(|thread| thread.os.preempt);
    if wanted {
        give_up_core();
    }
    wanted
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
    heed();
    if !suspend_unless(|engine| engine.computes_at_once(begin)) {
        while own(|thread| thread.cut.is_some()) {
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
    heed();
    suspend_unless(|engine| {
        left.is_none_or(|left| engine.computes_at_once(|engine| engine.end_of(engine.running, left)))
    });
}
