//! [`Simulated`]: the machine trait on the simulated chip. Every operation of a guest is a request to the memory system
//! or to the operating system; the guest suspends until it is served.
//!
//! Outside of guest code ([`Simulation::outside`](crate::Simulation::outside)) the same operations take no time: that
//! is how data is set up before a run and read after it.
//!
//! | file | holds |
//! | --- | --- |
//! | [`cell`] | cells and slots |
//! | [`device`] | devices, as guests reach them |
//! | [`wait`] | the wait policies and their prices |
//! | [`rest`] | those of them in which the CPU stands still: monitors, and halting |
//! | [`futex`] | sleepers moved from cell to cell |
//! | [`kernel`] | entering the kernel |
//! | [`guest`] | what only a simulated guest can do: sleep for a time, start and join threads, record events |

pub mod cell;
pub mod device;
mod futex;
pub mod guest;
pub(crate) mod kernel;
pub(crate) mod rest;
pub(crate) mod wait;

use crate::config::ocor::Rule;
use crate::core::buffer::Store;
use crate::core::drain::{self, drain};
use crate::core::instructions::{A_LINE, UNIT, execute};
use crate::core::mark::{Sort, URGENT};
use crate::core::{hints, walk};
use crate::engine::current::{operate, running, with, work};
use crate::engine::thread::{OUTSIDE, Reason};
use crate::memory::{Access, Line, Memory};
use baton_machine::units::{Cycles, Nanos};
use baton_machine::{Clock, Deadline, Local, LockHint, Machine, Ordering, PushTo, Section, Wait, WaitResult, Word};
use baton_noc::Header;
use core::alloc::Layout;
use core::ptr::NonNull;

/// The simulated machine.
#[derive(Clone, Copy, Debug)]
pub struct Simulated;

/// One access to the line of `address`, by a guest or, without time, from outside. An atomic that always writes is, on a
/// chip with load-linked and store-conditional, these two until the second succeeds.
#[inline(always)]
fn access(address: usize, access: Access) {
    let (outside, units, links) =
        with(|engine| (engine.running == OUTSIDE, engine.own_instructions, access == Access::Atomic && engine.links));
    if outside {
        return;
    }
    if units != 0 {
        execute(units);
    }
    if links {
        while {
            one(address, LOAD_LINKED);
            !conditional(address)
        } {}
        end_hint();
        return;
    }
    one(address, access);
}

/// An access whose own instructions were charged for already.
#[inline(always)]
fn one(address: usize, access: Access) {
    operate(Reason::Memory, |engine| {
        let line = Line((engine.offset_of(address) >> engine.line_shift) as u32);
        // The thread may have come to another CPU on its way here.
        let access = match access {
            Access::LoadLinked(_) => Access::LoadLinked(engine.context()),
            Access::StoreConditional(_) => Access::StoreConditional(engine.context()),
            other => other,
        };
        engine.access(line, access).0
    });
    if matches!(access, Access::Store | Access::Atomic | Access::StoreConditional(_)) {
        with(|engine| engine.stored_beside(Line((engine.offset_of(address) >> engine.line_shift) as u32)));
    }
}

/// The instruction that took the thread's hint is over.
#[inline]
fn end_hint() {
    with(|engine| {
        if engine.running != OUTSIDE {
            engine.threads[engine.running as usize].hint = None;
        }
    });
}

/// Whether the chip does its atomics by load-linked and store-conditional, and a guest asks.
#[inline]
fn by_links() -> bool {
    with(|engine| engine.links && engine.running != OUTSIDE)
}

/// Whether homes do the chip's atomics, and a guest asks.
#[inline]
fn far() -> bool {
    with(|engine| engine.far && engine.running != OUTSIDE)
}

/// By the context on which it is done.
const LOAD_LINKED: Access = Access::LoadLinked(0);

/// A store-conditional; whether the line has not been lost since the load-linked, so that it writes.
fn conditional(address: usize) -> bool {
    one(address, Access::StoreConditional(0));
    with(|engine| !engine.memory.failed(engine.core_of(engine.running), engine.context()))
}

/// One access to each line of a range whose data is read or written directly. Loads do not wait for each other as far as
/// the core's window goes; stores go through the store buffer.
fn access_range(start: usize, bytes: usize, kind: Access) {
    if running() == OUTSIDE || bytes == 0 {
        return;
    }
    let (buffers, window) = with(|engine| (engine.buffers(), engine.window().loads(A_LINE)));
    let lines = lines(start, bytes);
    if kind == Access::Load && window > 1 && lines.len() > 1 {
        return walk::load_all(lines.map(|at| place(at).1), A_LINE);
    }
    let beside = u64::from(A_LINE - 1) * UNIT;
    lines.for_each(|at| {
        execute(beside);
        if kind == Access::Store && buffers {
            let (offset, line) = place(at);
            drain::store(|core| Store { offset, bytes: 0, value: 0, write: None, line, access: kind, core });
        } else {
            one(at, kind);
        }
    });
}

/// The first address of each line's part of a range.
fn lines(start: usize, bytes: usize) -> impl ExactSizeIterator<Item = usize> {
    // Lines begin where the arena does, or whole lines from there.
    let (base, line) = with(|engine| (engine.base, 1usize << engine.line_shift));
    let first = start - start.wrapping_sub(base) % line;
    let count = (start + bytes - first).div_ceil(line);
    (0..count).map(move |turn| start.max(first + turn * line))
}

/// Where an address lies in guest memory, and in which line.
#[inline(always)]
fn place(address: usize) -> (usize, Line) {
    with(|engine| {
        let offset = engine.offset_of(address);
        (offset, Line((offset >> engine.line_shift) as u32))
    })
}

// SAFETY: guests of one engine run one at a time on one host thread and give way only at an operation's suspension, so
// each cell access is atomic among them; a cell used under another engine, or none, is refused. Memory comes from the
// arena's heap, which outlives every allocation. Each thread has a `Local` of its own.
unsafe impl Machine for Simulated {
    type Atomic<T: Word> = cell::SimulatedAtomic<T>;
    type Slot<T: 'static> = cell::SimulatedSlot<T>;
    const NAME: &'static str = "simulated";

    fn fence(order: Ordering) {
        if order == Ordering::SeqCst && running() != OUTSIDE {
            drain();
            operate(Reason::Memory, |engine| engine.after(engine.chip.core.fence.0));
        }
    }

    fn relax() {
        if running() != OUTSIDE {
            // At least a cycle: a guest that only relaxes must not stop time.
            with(|engine| engine.threads[engine.running as usize].pauses());
            operate(Reason::Spin, |engine| engine.after(engine.chip.wait.pause.0.max(1)));
            with(|engine| engine.threads[engine.running as usize].paused());
        }
    }

    #[inline]
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        wait::wait_while(cell, value, wait, deadline)
    }

    #[inline]
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait) {
        if wait.parks() && running() != OUTSIDE {
            match wait {
                Wait::Halt => rest::wake_halted(cell.expose_provenance(), n),
                _ => wait::wake(cell.expose_provenance(), n),
            }
        }
    }

    fn now(_: Clock) -> Nanos {
        if running() != OUTSIDE {
            operate(Reason::Work, |engine| engine.after(engine.chip.core.clock_read.0.max(1)));
        }
        with(|engine| engine.chip.core.clock.nanos(Cycles(engine.now)))
    }

    #[inline]
    fn hint(hint: LockHint) {
        if running() == OUTSIDE {
            return;
        }
        let price = with(|engine| {
            let (now, price) = (engine.now, if engine.ocor.enabled { engine.ocor.hint.0 } else { 0 });
            let since = &mut engine.threads[engine.running as usize].waits_since;
            if hint.retries_left != 0 && since.is_none() {
                *since = Some(now);
            }
            price
        });
        if price != 0 {
            let reason = if hint.retries_left != 0 { Reason::Spin } else { Reason::Work };
            operate(reason, |engine| engine.after(price));
        }
        with(|engine| {
            let (now, urgent) = (engine.now, engine.ocor.enabled && engine.ocor.rule.has_urgent());
            let thread = &mut engine.threads[engine.running as usize];
            let sort = Sort::of(hint, now - thread.waits_since.unwrap_or(now));
            if urgent && matches!(sort, Sort::Release(_)) {
                // Until it has left: a release may be a plain store, which takes no hint.
                thread.standing = URGENT;
            }
            (thread.hint, thread.last_hint) = (Some(sort), Some(hint));
        });
    }

    #[inline]
    fn section(section: Section) {
        if running() == OUTSIDE {
            return;
        }
        let price = with(|engine| {
            let ocor = &engine.ocor;
            if ocor.enabled && ocor.rule.asks_for_sections() { ocor.hint.0 } else { 0 }
        });
        if price != 0 {
            operate(Reason::Work, |engine| engine.after(price));
        }
        with(|engine| {
            let holder_first = engine.ocor.enabled && engine.ocor.rule == Rule::HolderFirst;
            let thread = &mut engine.threads[engine.running as usize];
            thread.waits_since = None;
            match section {
                Section::Entered => thread.locks_held += 1,
                Section::Left => {
                    thread.locks_held = thread.locks_held.saturating_sub(1);
                    // A release that was no atomic has not taken its hint.
                    thread.hint = None;
                }
                Section::GivenUp => {}
            }
            thread.standing = if holder_first && thread.locks_held != 0 { URGENT } else { Header::default() };
        });
    }

    #[inline]
    fn local() -> &'static Local {
        with(|engine| {
            let local: *const Local = match engine.running {
                OUTSIDE => &*engine.outside,
                id => &*engine.threads[id as usize].local,
            };
            // SAFETY: boxed, and kept as long as the engine, in which alone guest code can run.
            unsafe { &*local }
        })
    }

    fn node() -> u32 {
        with(|engine| match engine.running {
            OUTSIDE => 0,
            id => engine.chip.socket(engine.core_of(id)),
        })
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        if layout.size() == 0 {
            return layout.dangling_ptr();
        }
        with(|engine| {
            let Some((offset, used)) = engine.heap.take(layout) else {
                panic!("guest memory is full: {layout:?} does not fit; give the simulation more (Options::heap_bytes)")
            };
            let memory = engine.arena.at(offset);
            if used {
                // SAFETY: the block is inside the heap, free, and as large as the layout.
                unsafe { memory.write_bytes(0, layout.size()) };
            }
            memory
        })
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        // What outlived its simulation keeps the arena; there is no heap any more to give it to.
        if layout.size() == 0 || !crate::engine::current::is_any() {
            return;
        }
        with(|engine| {
            let offset = memory.as_ptr().addr().wrapping_sub(engine.base);
            if offset < engine.arena.size() {
                engine.forget_stores(offset, layout.size());
                engine.heap.give(offset, layout);
            }
        });
    }

    fn work(cycles: Cycles) {
        if running() != OUTSIDE {
            work(cycles.0);
        }
    }

    unsafe fn touch(start: *mut u8, bytes: usize, write: bool) {
        access_range(start.addr(), bytes, if write { Access::Store } else { Access::Load });
    }

    fn prefetch(start: *const u8, bytes: usize, write: bool) {
        if running() != OUTSIDE && bytes != 0 {
            hints::prefetch(&mut lines(start.addr(), bytes).map(place), write);
        }
    }

    fn prepush(start: *const u8, bytes: usize, to: PushTo) {
        if running() != OUTSIDE && bytes != 0 {
            let to = match to {
                PushTo::SharedLevel => None,
                PushTo::Core(core) => Some(core),
            };
            hints::push(&mut lines(start.addr(), bytes).map(place), to);
        }
    }
}
