//! Futex operations for guests besides waiting and waking: moving sleepers from one cell to
//! another.

use super::cell::SimulatedAtomic;
use crate::engine::current::with;
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
    super::guest::assert_guest("requeue");
    drain();
    Engine::shielded(|| {
        if with(|engine| engine.os.layout.in_memory()) {
            return protocol::requeue(&SimulatedKernel::new(), from, value, to, n, more);
        }
        kernel(with(|engine| engine.chip.os.futex.wake_none.0));
        if from.read() != value {
            return None;
        }
        let (here, there) =
            with(|engine| (engine.guest.offset_of(from.address()), engine.guest.offset_of(to.address())));
        let woken = super::wait::wake_queued(here, n);
        let moved = with(|engine| engine.move_sleepers(here, there, more));
        Some((woken, moved))
    })
}

/// Wakes up to `n` sleepers of a cell to which sleepers were moved. Returns how many there were.
/// Always enters the kernel.
///
/// # Panics
/// Outside of guest code.
pub fn wake_moved<T: Word>(cell: &SimulatedAtomic<T>, n: u32) -> u32 {
    super::guest::assert_guest("wake_moved");
    drain();
    Engine::shielded(|| {
        if with(|engine| engine.os.layout.in_memory()) {
            return protocol::wake_moved(&SimulatedKernel::new(), core::ptr::from_ref(cell), n);
        }
        kernel(with(|engine| engine.chip.os.futex.wake_none.0));
        super::wait::wake_queued(with(|engine| engine.guest.offset_of(cell.address())), n)
    })
}
