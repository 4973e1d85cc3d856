//! Futex operations for guests besides waiting and waking: moving sleepers from one cell to
//! another.

use super::cell::SimulatedAtomic;
use super::kernel::futex_prices;
use super::sleepers::{in_memory, wake_queued};
use super::thread::assert_guest;
use crate::engine::current::{offset_of, with};
use crate::engine::state::Engine;
use crate::issue::drain::drain;
use crate::machine::futex_kernel::SimulatedKernel;
use crate::machine::kernel::kernel;
use crate::os::futex::protocol;
use baton_machine::Word;

/// If `from` holds `value`, wakes up to `n` of its sleepers and moves up to `more` others behind
/// the sleepers of `to` without waking them (FUTEX_CMP_REQUEUE). Returns how many were woken and
/// how many were moved; `None` if the cell has changed.
///
/// Moved sleepers must be woken by [`wake_moved`], because
/// [`Machine::wake`](baton_machine::Machine::wake) does not see them.
///
/// # Panics
/// Outside of guest code.
pub fn requeue<T: Word>(
    from: &SimulatedAtomic<T>,
    value: T,
    to: &SimulatedAtomic<T>,
    n: u32,
    more: u32,
) -> Option<(u32, u32)> {
    assert_guest("requeue");
    drain();
    Engine::shielded(|| {
        if in_memory() {
            return protocol::requeue(&SimulatedKernel::new(), from, value, to, n, more);
        }
        kernel(futex_prices().wake_none.0);
        if from.read() != value {
            return None;
        }
        let (here, there) = (offset_of(from.address()), offset_of(to.address()));
        let woken = wake_queued(here, n);
        let moved = with(|engine| engine.move_sleepers(here, there, more));
        Some((woken, moved))
    })
}

/// Wakes up to `n` sleepers of a cell to which sleepers were moved. Returns how many it woke.
/// Always enters the kernel.
///
/// # Panics
/// Outside of guest code.
pub fn wake_moved<T: Word>(cell: &SimulatedAtomic<T>, n: u32) -> u32 {
    assert_guest("wake_moved");
    drain();
    Engine::shielded(|| {
        if in_memory() {
            return protocol::wake_moved(&SimulatedKernel::new(), core::ptr::from_ref(cell), n);
        }
        kernel(futex_prices().wake_none.0);
        wake_queued(offset_of(cell.address()), n)
    })
}
