//! Loops whose threads ask for one chunk after another, and sections.
//!
//! The runtime numbers iterations from 0; here they become values of the loop variable. A thread
//! leaves such a loop when it finds no further chunk, as clang calls nothing at the loop's end
//! before version 19.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::bounds::{Number, count};
use crate::kmp::ident::Ident;
use crate::kmp::statics;
use crate::loops::{of, runtime_schedule, tell};
use crate::ompt::{self, BEGIN, END, WorkKind};
use crate::process::place;
use baton_machine::Native;
use baton_omp::share::Work;
use baton_omp::team::Context;
use baton_omp::{Schedule, ScheduleKind, Space};

/// Numbers of schedules begin at these; within each group the numbers have the same order.
const PLAIN: i32 = 32;
const ORDERED: i32 = 64;
const NONMONOTONIC: i32 = 160;
const NONMONOTONIC_ORDERED: i32 = 192;

/// A loop's schedule, as the compiler's number says it.
struct Said {
    schedule: Schedule,
    ordered: bool,
    /// The iterations that are handed out together: more than one in loops whose chunks are
    /// multiples of the width of a vector.
    block: u64,
}

/// What the compiler's number and chunk stand for.
fn said(number: i32, chunk: u64) -> Said {
    let number = number & !statics::MODIFIERS;
    let groups = [NONMONOTONIC_ORDERED, NONMONOTONIC, ORDERED, PLAIN];
    let group = groups.into_iter().find(|group| number > *group).unwrap_or(PLAIN);
    let chunk = chunk.max(1);
    let (schedule, block) = match number - group {
        // Static in chunks.
        1 => (of(ScheduleKind::Static, chunk), 1),
        // Dynamic, and static with stealing.
        3 | 12 => (of(ScheduleKind::Dynamic, chunk), 1),
        // Guided in its variants.
        4 | 10 | 11 => (of(ScheduleKind::Guided, chunk), 1),
        5 => (runtime_schedule(), 1),
        7 => (of(ScheduleKind::Trapezoidal, chunk), 1),
        // Static without chunks, guided, and as the user says: in vectors, of which `chunk` is the
        // width.
        13 => (of(ScheduleKind::Static, 0), chunk),
        14 => (of(ScheduleKind::Guided, 1), chunk),
        15 => in_vectors(runtime_schedule(), chunk),
        // Static without chunks: the compiler passes a chunk of 1 nevertheless.
        _ => (of(ScheduleKind::Static, 0), 1),
    };
    Said { schedule, ordered: group == ORDERED || group == NONMONOTONIC_ORDERED, block }
}

/// The schedule whose chunks are counted in vectors of `width` iterations, and the iterations of
/// each block that it hands out: a chunk of the user's.
fn in_vectors(schedule: Schedule, width: u64) -> (Schedule, u64) {
    match schedule.chunk {
        0 => (schedule, width),
        chunk => (of(schedule.kind, 1), chunk.saturating_mul(width)),
    }
}

fn begin(space: Space, number: i32, chunk: u64) {
    let place = place();
    leave(place);
    let Said { schedule, ordered, block } = said(number, chunk);
    place.step.set(space.step());
    let space = if block == 1 { space } else { space.in_blocks(block) };
    place.enter(|| Work { space, schedule, ordered, ..Work::default() });
    place.in_loop.set(true);
    tell(place, BEGIN);
}

/// Leaves the loop that the thread is in, if it is in one: after the last chunk, or when the loop is
/// cancelled.
pub(crate) fn leave(place: &Context<Native>) {
    if place.in_loop.replace(false) {
        if place.in_order.get() {
            // Passes on the turn of the thread's chunk.
            while place.next_ordered_chunk().is_some() {}
        }
        tell(place, END);
        place.leave();
    }
}

/// The next chunk: its first value, its last one, and whether it is the loop's last.
#[inline]
fn next(place: &Context<Native>) -> Option<(u64, u64, bool)> {
    let chunk = if place.is_ordered() { place.next_ordered_chunk() } else { place.next_chunk() };
    let Some((from, end)) = chunk else {
        leave(place);
        return None;
    };
    let space = place.space();
    Some((from, end.wrapping_sub(place.step.get()), space.ends_with(end)))
}

macro_rules! loops {
    ($($number:ident $signed:ident $init:ident $dist:ident $next:ident $fini:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $init(
            _at: *const Ident, _thread: i32, schedule: i32, lower: $number, upper: $number, step: $signed, chunk: $signed,
        ) {
            let space = Space::counted(lower.wide(), step as i64 as u64, count(lower, upper, step.into()));
            begin(space, schedule, chunk.max(0) as u64);
        }

        /// Begins the loop of one team of a league: over the team's part of the iterations.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
        pub unsafe extern "C" fn $dist(
            at: *const Ident, thread: i32, schedule: i32, last: *mut i32,
            mut lower: $number, mut upper: $number, step: $signed, chunk: $signed,
        ) {
            // SAFETY: the compiler passes its own variable for the flag; the bounds are local.
            unsafe { statics::of_this_team(last, &raw mut lower, &raw mut upper, step.into()) };
            $init(at, thread, schedule, lower, upper, step, chunk);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $next(
            _at: *const Ident, _thread: i32, last: *mut i32, lower: *mut $number, upper: *mut $number, stride: *mut $signed,
        ) -> i32 {
            let place = place();
            let Some((from, to, is_last)) = next(place) else { return 0 };
            if place.record().is_some() {
                let kind = WorkKind::of_loop(place.work.get().schedule.kind);
                let step = place.step.get() as i64;
                ompt::constructs::chunk(place, kind, from, count($number::narrow(from), $number::narrow(to), step));
            }
            // SAFETY: the compiler passes the addresses of its own variables; `last` and `stride`
            // may be null.
            unsafe {
                lower.write($number::narrow(from));
                upper.write($number::narrow(to));
                if !stride.is_null() {
                    stride.write(place.step.get() as $signed);
                }
                if !last.is_null() {
                    last.write(i32::from(is_last));
                }
            }
            1
        }

        /// Does nothing. Clang calls this after each iteration of an ordered loop; the turn is passed
        /// on at the end of the chunk's last block, or when the thread asks for its next chunk.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fini(_at: *const Ident, _thread: i32) {}
    )*};
}

loops! {
    i32 i32 __kmpc_dispatch_init_4 __kmpc_dist_dispatch_init_4 __kmpc_dispatch_next_4 __kmpc_dispatch_fini_4;
    u32 i32 __kmpc_dispatch_init_4u __kmpc_dist_dispatch_init_4u __kmpc_dispatch_next_4u __kmpc_dispatch_fini_4u;
    i64 i64 __kmpc_dispatch_init_8 __kmpc_dist_dispatch_init_8 __kmpc_dispatch_next_8 __kmpc_dispatch_fini_8;
    u64 i64 __kmpc_dispatch_init_8u __kmpc_dist_dispatch_init_8u __kmpc_dispatch_next_8u __kmpc_dispatch_fini_8u;
}

/// Called at the end of a loop by clang 19 and later, also when the loop is cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_dispatch_deinit(_at: *const Ident, _thread: i32) {
    leave(place());
}

/// Begins sections, whose number is said only when a thread asks for one.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_sections_init(_at: *const Ident, _thread: i32) {
    begin(Space::counted(0, 1, 1 << 31), PLAIN + 3, 1);
}

/// The number of the thread's next section, from 0; `sections` or more if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_next_section(_at: *const Ident, _thread: i32, _sections: i32) -> i32 {
    next(place()).map_or(i32::MAX, |(section, ..)| section as i32)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_sections(_at: *const Ident, _thread: i32) {
    leave(place());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_schedules_have_modifiers_and_groups() {
        let kind = |number: i32| {
            let Said { schedule: Schedule { kind, chunk, .. }, ordered, .. } = said(number, 4);
            (kind, chunk, ordered)
        };
        assert_eq!(kind(33), (ScheduleKind::Static, 4, false));
        assert_eq!(kind(34), (ScheduleKind::Static, 0, false));
        assert_eq!(kind(35 | 1 << 30), (ScheduleKind::Dynamic, 4, false));
        assert_eq!(kind(36 | 1 << 29), (ScheduleKind::Guided, 4, false));
        assert_eq!(kind(66), (ScheduleKind::Static, 0, true));
        assert_eq!(kind(67), (ScheduleKind::Dynamic, 4, true));
        assert_eq!(kind(163), (ScheduleKind::Dynamic, 4, false));
        assert_eq!(kind(195), (ScheduleKind::Dynamic, 4, true));
        assert_eq!(kind(39), (ScheduleKind::Trapezoidal, 4, false));
    }

    #[test]
    fn loops_over_vectors_hand_out_blocks_of_their_width() {
        let block = |number: i32| (said(number, 8).schedule.chunk, said(number, 8).block);
        assert_eq!([block(33), block(45), block(46)], [(8, 1), (0, 8), (1, 8)]);
        assert_eq!(in_vectors(of(ScheduleKind::Dynamic, 3), 4), (of(ScheduleKind::Dynamic, 1), 12));
        assert_eq!(in_vectors(of(ScheduleKind::Static, 0), 4), (of(ScheduleKind::Static, 0), 4));
    }
}
