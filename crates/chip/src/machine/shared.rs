//! Words that all guests of a simulation share, and cells that a single guest polls.

use super::cell::SimulatedAtomic;
use super::heap::alloc;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{memory, running, with};
use crate::engine::thread::ThreadState;
use baton_machine::shared::WORDS;
use baton_machine::{Atomic, Shared};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The words that all guests share. They are created when a guest first asks for them, so that a
/// run in which no guest asks for them has no such words in its memory.
pub(super) fn words() -> &'static Shared<SimulatedAtomic<usize>> {
    let offset = memory(|memory| memory.shared).unwrap_or_else(make);
    let at = memory(|memory| memory.arena.at(offset));
    // SAFETY: `make` has made the words, in memory that is kept as long as the engine, in which
    // alone guest code can run.
    unsafe { at.cast().as_ref() }
}

#[cold]
fn make() -> usize {
    // The words have lines of their own, because they are read often and written once.
    let layout =
        Layout::new::<Shared<SimulatedAtomic<usize>>>().align_to(128).expect("a small power of two").pad_to_align();
    let at = keep(layout).cast::<Shared<SimulatedAtomic<usize>>>();
    // SAFETY: the memory was allocated for it just now.
    unsafe { at.write(Shared::new(core::array::from_fn::<_, WORDS, _>(|_| SimulatedAtomic::new(0)))) };
    memory(|memory| {
        let offset = memory.offset_of(at.as_ptr().addr());
        memory.shared = Some(offset);
        offset
    })
}

/// Allocates memory that lasts as long as the simulation. No guest holds it afterwards, so it does
/// not count as live.
pub(super) fn keep(layout: Layout) -> NonNull<u8> {
    let block = alloc(layout);
    if layout.size() != 0 {
        memory(|memory| memory.heap.live -= 1);
    }
    block
}

/// Records that the running thread alone polls the cell, or no longer polls it.
///
/// # Panics
/// If a living thread polls the cell already, or if the running thread withdraws from a cell that
/// it does not poll.
pub(super) fn polls_alone(cell: usize, polls: bool) {
    let id = running();
    if id == OUTSIDE {
        return;
    }
    with(|engine| {
        let offset = engine.guest.offset_of(cell);
        let other = if polls { engine.guest.polled.insert(offset, id) } else { engine.guest.polled.remove(&offset) };
        // A thread that was killed while it polled can no longer withdraw.
        let lives = |other: &u32| engine.threads[*other as usize].state != ThreadState::Done;
        let expected = if polls { None } else { Some(id) };
        let other = other.filter(lives);
        assert!(other == expected, "thread {id} polls the cell at offset {offset}, which thread {other:?} polls alone");
    });
}
