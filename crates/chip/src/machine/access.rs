//! Accesses of guests to lines and ranges, each with the instructions that come with it.

use crate::base::thread::OUTSIDE;
use crate::core::buffer::Store;
use crate::core::instructions::{A_LINE, UNIT};
use crate::engine::current::{guest, memory, operate, running, with};
use crate::engine::reason::Reason;
use crate::issue::drain;
use crate::issue::instructions::execute;
use crate::issue::walk;
use baton_memory::{Access, Line, Memory};

/// One access to the line of `address`, by a guest or, without taking time, from outside. On a chip
/// with load-linked and store-conditional, an atomic that always writes is a pair of these,
/// repeated until the second succeeds.
#[inline(always)]
pub(super) fn access(address: usize, access: Access) {
    let (outside, units, links) = with(|engine| {
        (
            engine.running == OUTSIDE,
            engine.cores.own_instructions.access,
            access == Access::Atomic && engine.cores.links,
        )
    });
    if outside {
        return memory(|memory| memory.check_outside(address));
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

/// An access whose instructions have been charged already.
#[inline(always)]
pub(super) fn one(address: usize, access: Access) {
    operate(Reason::Memory, |engine| {
        let line = engine.guest.line_of(address);
        // The thread may have moved to another CPU on its way here.
        let access = match access {
            Access::LoadLinked(_) => Access::LoadLinked(engine.context()),
            Access::StoreConditional(_) => Access::StoreConditional(engine.context()),
            other => other,
        };
        engine.access(line, access).0
    });
    if matches!(access, Access::Store | Access::Atomic | Access::StoreConditional(_)) {
        with(|engine| engine.stored_beside(engine.guest.line_of(address)));
    }
}

/// The instruction that took the thread's hint is over.
#[inline]
pub(super) fn end_hint() {
    guest(|thread| thread.mechanism.hint = None);
}

/// Whether the chip does its atomics by load-linked and store-conditional, and the caller is a
/// guest.
#[inline]
pub(super) fn by_links() -> bool {
    with(|engine| engine.cores.links && engine.running != OUTSIDE)
}

/// Whether homes perform the chip's atomics, and the caller is a guest.
#[inline]
pub(super) fn far() -> bool {
    with(|engine| engine.cores.far && engine.running != OUTSIDE)
}

/// A load-linked. The access replaces the 0 by the number of the issuing context.
pub(super) const LOAD_LINKED: Access = Access::LoadLinked(0);

/// A store-conditional. Returns whether it writes, because the line has not been lost since the
/// load-linked.
pub(super) fn conditional(address: usize) -> bool {
    one(address, Access::StoreConditional(0));
    with(|engine| !engine.memory.failed(engine.core_of(engine.running), engine.context()))
}

/// One access to each line of a range whose data is read or written directly. Loads overlap as far
/// as the core's window allows; stores go through the store buffer, if the chip has store buffers.
pub(super) fn access_range(start: usize, bytes: usize, kind: Access) {
    if running() != OUTSIDE && bytes != 0 {
        access_lines(lines(start, bytes), u64::from(A_LINE) * UNIT, kind);
    }
}

/// Loads each of these places. The loads overlap as far as the core's window allows, and each comes
/// with `instructions` instructions.
pub(super) fn load_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32) {
    walk::load_all(places.into_iter().map(|at| place(at.addr()).1), instructions);
}

/// Like [`access_range`], for a row of slots, whose copying has the algorithm's own instructions.
pub(super) fn access_row(start: usize, bytes: usize, slots: usize, kind: Access) {
    if running() != OUTSIDE && bytes != 0 {
        let lines = lines(start, bytes);
        let units = with(|engine| engine.cores.own_instructions.slot) * slots as u64;
        access_lines(lines.clone(), units.div_ceil(lines.len() as u64), kind);
    }
}

/// One access to each of these lines, each with `units` of instructions, including the access.
fn access_lines(lines: impl ExactSizeIterator<Item = usize>, units: u64, kind: Access) {
    let (buffers, window) = with(|engine| (engine.buffers(), engine.window().loads(walk::entries(units))));
    if kind == Access::Load && window > 1 && lines.len() > 1 {
        return walk::load_lines(lines.map(|at| place(at).1), units);
    }
    lines.for_each(|at| {
        execute(units.saturating_sub(UNIT));
        if kind == Access::Store && buffers {
            let (offset, line) = place(at);
            drain::store(|core| Store { offset, bytes: 0, value: 0, write: None, line, access: kind, core });
        } else {
            if kind == Access::Store {
                drain::before_direct_store();
            }
            one(at, kind);
        }
    });
}

/// The first address of each line's part of a range.
pub(super) fn lines(start: usize, bytes: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    // Lines begin at the start of the arena.
    let (base, line) = memory(|memory| (memory.base, 1usize << memory.line_shift));
    let first = start - start.wrapping_sub(base) % line;
    let count = (start + bytes - first).div_ceil(line);
    (0..count).map(move |turn| start.max(first + turn * line))
}

/// The offset of an address in guest memory, and its line.
#[inline(always)]
pub(super) fn place(address: usize) -> (usize, Line) {
    memory(|memory| {
        let offset = memory.offset_of(address);
        (offset, memory.line(offset))
    })
}
