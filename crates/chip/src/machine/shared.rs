//! What all guests of a simulation share, and cells that one guest polls alone.

use super::cell::SimulatedAtomic;
use super::heap::alloc;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{running, with};
use crate::engine::thread::State;
use baton_machine::shared::WORDS;
use baton_machine::{Atomic, Shared};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The words that all guests share, made when one asks for them first: what runs without them has the same memory as ever.
pub(super) fn words() -> &'static Shared<SimulatedAtomic<usize>> {
    let offset = with(|engine| engine.guest.shared).unwrap_or_else(make);
    let at = with(|engine| engine.guest.arena.at(offset));
    // SAFETY: made below, in memory that is kept as long as the engine, in which alone guest code can run.
    unsafe { at.cast().as_ref() }
}

#[cold]
fn make() -> usize {
    // Lines of their own: they are read often and written once.
    let layout =
        Layout::new::<Shared<SimulatedAtomic<usize>>>().align_to(128).expect("a small power of two").pad_to_align();
    let at = keep(layout).cast::<Shared<SimulatedAtomic<usize>>>();
    // SAFETY: the memory was allocated for it just now.
    unsafe { at.write(Shared::new(core::array::from_fn::<_, WORDS, _>(|_| SimulatedAtomic::new(0)))) };
    with(|engine| {
        let offset = engine.guest.offset_of(at.as_ptr().addr());
        engine.guest.shared = Some(offset);
        offset
    })
}

/// Memory that goes with the simulation: no guest holds on to it afterwards, so that it does not count as live.
pub(super) fn keep(layout: Layout) -> NonNull<u8> {
    let memory = alloc(layout);
    if layout.size() != 0 {
        with(|engine| engine.guest.heap.live -= 1);
    }
    memory
}

/// Notes that the running thread alone polls the cell, or polls it no more.
///
/// # Panics
/// If another thread polls it already.
pub(super) fn polls_alone(cell: usize, polls: bool) {
    let id = running();
    if id == OUTSIDE {
        return;
    }
    with(|engine| {
        let offset = engine.guest.offset_of(cell);
        let other = if polls { engine.guest.polled.insert(offset, id) } else { engine.guest.polled.remove(&offset) };
        // A thread that was killed while it polled says no more that it does not.
        let lives = |other: &u32| engine.threads[*other as usize].state != State::Done;
        let expected = if polls { None } else { Some(id) };
        let other = other.filter(lives);
        assert!(other == expected, "thread {id} polls the cell at offset {offset}, which thread {other:?} polls alone");
    });
}
