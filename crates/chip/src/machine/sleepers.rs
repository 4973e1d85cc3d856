//! Sleepers of futexes: the table that counts them, at the start of guest memory, and how sleepers
//! at fixed prices are woken.

use super::access::access;
use super::futex_kernel::SimulatedKernel;
use super::kernel::{after_wake, enter_kernel, enter_queue, futex_prices, kernel, mark_next};
use crate::engine::current::{address_of, memory, offset_of, operate, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::issue::drain::drain;
use crate::os::futex::layout::Layout;
use crate::os::futex::protocol;
use baton_chipfile::config::WakeEntry;
use baton_chipfile::config::mechanism::LockRequest;
use baton_memory::Access;

/// Atomically adds to a counter of the table of sleepers at the start of the arena.
pub(super) fn add(counter: usize, value: u32) {
    drain();
    access(address_of(counter), Access::Atomic);
    memory(|memory| {
        // SAFETY: the table lies at the start of the arena, is never given out, and only the engine's own host thread
        // comes here.
        let count = unsafe { memory.arena.at(counter).cast::<u32>().as_mut() };
        *count = count.wrapping_add(value);
    });
}

/// Wakes up to `n` sleepers of a cell, as the native machine does: a fence, a look at the bucket's
/// count, and a system call if a thread is registered there. `os.futex_wake_entry` may say that
/// each wake-up is a call.
pub(super) fn wake(address: usize, n: u32) {
    drain();
    // A thread that was taken out of the queue must be woken even if the waker is killed.
    Engine::shielded(|| wake_shielded(address, n));
}

fn wake_shielded(address: usize, n: u32) {
    let entry = futex_prices().entry;
    if in_memory() {
        // The address serves only as a name.
        let (kernel, cell) = (SimulatedKernel::new(), core::ptr::without_provenance(address));
        match entry {
            WakeEntry::Lock => _ = protocol::wake_moved::<_, u32>(&kernel, cell, n),
            _ if protocol::wake::<_, u32>(&kernel, cell, n).is_none() && entry == WakeEntry::Call => call(),
            _ => {}
        }
        return;
    }
    let offset = offset_of(address);
    operate(Reason::Memory, |engine| engine.after(engine.core_here().fence.0));
    mark_next(LockRequest::WakeUp);
    let nobody = announced(Layout::counter(offset)) == 0 || n == 0;
    if nobody && entry == WakeEntry::Program {
        return;
    }
    call();
    wake_queued(offset, n);
}

/// A call to wake, up to the look for sleepers.
fn call() {
    enter_kernel();
    kernel(futex_prices().wake_none.0);
}

/// Loads a counter of the table of sleepers.
pub(super) fn announced(counter: usize) -> u32 {
    access(address_of(counter), Access::Load);
    // SAFETY: as in `add`.
    memory(|memory| unsafe { memory.arena.at(counter).cast::<u32>().read() })
}

/// Whether futexes are in guest memory.
pub(super) fn in_memory() -> bool {
    with(|engine| engine.os.layout.in_memory())
}

/// In the kernel: wakes up to `n` sleepers of the cell, at fixed prices. Returns how many it took
/// out of the queue.
pub(super) fn wake_queued(offset: usize, n: u32) -> u32 {
    let prices = futex_prices();
    let sleepers: Vec<_> = with(|engine| {
        let taken = engine.os.futexes.take(offset, n);
        taken.into_iter().map(|id| (id, engine.threads[id as usize].os.futex_sleep)).collect()
    });
    let n = sleepers.len() as u32;
    let mut interrupted = false;
    for (id, sleep) in sleepers {
        let roused = with(|engine| engine.wake(id, sleep));
        enter_queue(id);
        kernel(after_wake(&prices, roused, &mut interrupted));
    }
    n
}
