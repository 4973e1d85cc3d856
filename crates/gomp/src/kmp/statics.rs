//! Loops whose iterations are divided beforehand, among the threads of a team or the teams of a
//! league.
//!
//! Clang passes the loop's bounds and reads back those of the thread's first chunk, and the
//! distance to its next one. It compares each upper bound with the loop's own itself.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::bounds::{Number, count, value};
use crate::kmp::ident::{Ident, work_at};
use crate::ompt::{self, BEGIN, END};
use crate::process::{has_tool, place};

/// Numbers of schedules, without the bits of their modifiers.
const CHUNKED: i32 = 33;
const BALANCED_CHUNKED: i32 = 45;
/// The greatest number of a schedule for the threads of a team.
const LAST_OF_TEAM: i32 = 72;
const DISTRIBUTE_CHUNKED: i32 = 91;
pub(crate) const MODIFIERS: i32 = 1 << 29 | 1 << 30;

/// A thread of a team, or a team of a league: its number, and the number of all.
type Part = (u64, u64);

fn of_team() -> Part {
    let place = place();
    (u64::from(place.id), u64::from(place.team().size))
}

fn of_league() -> Part {
    let league = place().league.get();
    (u64::from(league.team), u64::from(league.teams))
}

/// How iterations are divided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Each part has one chunk.
    Whole,
    /// Each part has one chunk, whose length is a multiple of this number of iterations.
    Multiple(u64),
    /// The parts take turns with chunks of this number of iterations.
    Turns(u64),
}

impl Rule {
    fn of(schedule: i32, chunk: u64) -> Rule {
        match schedule & !MODIFIERS {
            CHUNKED | DISTRIBUTE_CHUNKED => Rule::Turns(chunk.max(1)),
            BALANCED_CHUNKED => Rule::Multiple(chunk.max(1)),
            _ => Rule::Whole,
        }
    }
}

/// What a part gets of `count` iterations: its first chunk, from an iteration to the one behind the
/// last, the distance to its next chunk, and whether it has the last iteration.
#[derive(Debug, PartialEq, Eq)]
struct Share {
    from: u64,
    to: u64,
    round: u64,
    last: bool,
}

/// Divides `count` iterations, of which there is at least one.
fn divide(count: u64, (part, parts): Part, rule: Rule) -> Share {
    let chunk = |from: u64, to: u64| Share { from, to, round: count, last: from < to && to == count };
    match rule {
        _ if parts == 1 => chunk(0, count),
        Rule::Whole => {
            let (each, more) = (count / parts, count % parts);
            let from = each * part + part.min(more);
            chunk(from, from + each + u64::from(part < more))
        }
        Rule::Multiple(of) => {
            let length = count.div_ceil(parts).div_ceil(of).saturating_mul(of);
            let from = length.saturating_mul(part).min(count);
            chunk(from, from.saturating_add(length).min(count))
        }
        Rule::Turns(length) => {
            let (length, chunks) = (length.min(count), count.div_ceil(length.min(count)));
            // Where there are fewer chunks than parts, no part has a second one.
            let round = length.saturating_mul(parts.min(chunks));
            let from = length.saturating_mul(part);
            let last = part == (chunks - 1) % parts;
            if part < chunks { Share { from, to: from + length, round, last } } else { chunk(count, count) }
        }
    }
}

/// The variables of a loop that the compiler passes and reads back.
#[derive(Clone, Copy)]
struct Loop<N> {
    last: *mut i32,
    lower: *mut N,
    upper: *mut N,
    step: i64,
}

impl<N: Number> Loop<N> {
    /// Gives the loop a part of its iterations. Returns the distance to the part's next chunk, in
    /// iterations.
    ///
    /// # Safety
    /// The variables are the compiler's; `last` may be null.
    unsafe fn give(self, part: Part, rule: Rule) -> u64 {
        // SAFETY: by contract.
        unsafe {
            let (lower, upper) = (self.lower.read(), self.upper.read());
            let count = count(lower, upper, self.step);
            if count == 0 {
                self.say_last(false);
                return 1;
            }
            let share = divide(count, part, rule);
            self.say_last(share.last);
            if share.from < count {
                self.lower.write(value(lower, self.step, share.from));
                self.upper.write(value(lower, self.step, share.to - 1));
            } else {
                self.make_empty(lower, upper);
            }
            share.round
        }
    }

    /// Makes the loop one of no iterations.
    unsafe fn make_empty(self, lower: N, upper: N) {
        let step = self.step as u64;
        let beyond = N::narrow(upper.wide().wrapping_add(step));
        let wraps = if self.step > 0 { beyond < upper } else { beyond > upper };
        // SAFETY: as above.
        unsafe {
            if wraps {
                // No value lies beyond the upper bound, so the upper bound moves before the lower
                // one.
                self.upper.write(N::narrow(lower.wide().wrapping_sub(step)));
            } else {
                self.lower.write(beyond);
            }
        }
    }

    unsafe fn say_last(self, last: bool) {
        if !self.last.is_null() {
            // SAFETY: as above.
            unsafe { self.last.write(i32::from(last)) };
        }
    }
}

/// Bounds of a part of the league, for `dist_schedule(static)` of one chunk a team.
///
/// # Safety
/// The variables are the compiler's; `last` may be null.
pub(crate) unsafe fn of_this_team<N: Number>(last: *mut i32, lower: *mut N, upper: *mut N, step: i64) {
    // SAFETY: by contract.
    unsafe { Loop { last, lower, upper, step }.give(of_league(), Rule::Whole) };
}

macro_rules! inits {
    ($($number:ident $signed:ident $init:ident $team:ident $both:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
        pub unsafe extern "C" fn $init(
            at: *const Ident, _thread: i32, schedule: i32, last: *mut i32,
            lower: *mut $number, upper: *mut $number, stride: *mut $signed, step: $signed, chunk: $signed,
        ) {
            let part = if schedule & !MODIFIERS > LAST_OF_TEAM { of_league() } else { of_team() };
            // SAFETY: the compiler passes the addresses of its own variables.
            unsafe {
                if has_tool() {
                    ompt::work(place(), work_at(at), BEGIN, count(lower.read(), upper.read(), step.into()));
                }
                let of = Loop { last, lower, upper, step: step.into() };
                let round = of.give(part, Rule::of(schedule, (chunk.max(0)) as u64));
                if has_tool() {
                    let iterations = count(lower.read(), upper.read(), step.into());
                    ompt::constructs::chunk(place(), work_at(at), lower.read().wide(), iterations);
                }
                stride.write((step as i64).wrapping_mul(round as i64) as $signed);
            }
        }

        /// Chunks of a league's loop, for each of its teams by turns.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
        pub unsafe extern "C" fn $team(
            _at: *const Ident, _thread: i32, last: *mut i32,
            lower: *mut $number, upper: *mut $number, stride: *mut $signed, step: $signed, chunk: $signed,
        ) {
            // SAFETY: the compiler passes the addresses of its own variables.
            unsafe {
                let of = Loop { last, lower, upper, step: step.into() };
                let round = of.give(of_league(), Rule::Turns(chunk.max(1) as u64));
                stride.write((step as i64).wrapping_mul(round as i64) as $signed);
            }
        }

        /// A loop of a league: divided among the teams, and then among the threads of the team.
        /// `upper_of_team` gets the team's last value.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
        pub unsafe extern "C" fn $both(
            at: *const Ident, _thread: i32, schedule: i32, last: *mut i32,
            lower: *mut $number, upper: *mut $number, upper_of_team: *mut $number,
            stride: *mut $signed, step: $signed, chunk: $signed,
        ) {
            let (mut team_s, mut thread_s) = (0, 0);
            // SAFETY: the compiler passes the addresses of its own variables; the flags are local.
            unsafe {
                if has_tool() {
                    ompt::work(place(), work_at(at), BEGIN, count(lower.read(), upper.read(), step.into()));
                }
                of_this_team(&raw mut team_s, lower, upper, step.into());
                upper_of_team.write(upper.read());
                let of = Loop { last: &raw mut thread_s, lower, upper, step: step.into() };
                let round = of.give(of_team(), Rule::of(schedule, chunk.max(0) as u64));
                stride.write((step as i64).wrapping_mul(round as i64) as $signed);
                Loop { last, ..of }.say_last(team_s != 0 && thread_s != 0);
            }
        }
    )*};
}

inits! {
    i32 i32 __kmpc_for_static_init_4 __kmpc_team_static_init_4 __kmpc_dist_for_static_init_4;
    u32 i32 __kmpc_for_static_init_4u __kmpc_team_static_init_4u __kmpc_dist_for_static_init_4u;
    i64 i64 __kmpc_for_static_init_8 __kmpc_team_static_init_8 __kmpc_dist_for_static_init_8;
    u64 i64 __kmpc_for_static_init_8u __kmpc_team_static_init_8u __kmpc_dist_for_static_init_8u;
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_for_static_fini(at: *const Ident, _thread: i32) {
    if has_tool() {
        ompt::work(place(), work_at(at), END, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_iteration_is_in_one_part_and_the_last_part_is_told() {
        for rule in
            [Rule::Whole, Rule::Multiple(1), Rule::Multiple(4), Rule::Turns(1), Rule::Turns(3), Rule::Turns(100)]
        {
            for count in [1, 2, 3, 7, 8, 9, 64, 65] {
                for parts in [1, 2, 3, 8, 17] {
                    let mut seen = vec![None; count as usize];
                    let mut lasts = Vec::new();
                    for part in 0..parts {
                        let Share { mut from, to, round, last } = divide(count, (part, parts), rule);
                        let length = to - from;
                        while length > 0 && from < count {
                            (from..(from + length).min(count))
                                .for_each(|at| assert!(seen[at as usize].replace(part).is_none()));
                            from += round;
                        }
                        lasts.extend(last.then_some(part));
                    }
                    assert!(seen.iter().all(Option::is_some));
                    assert_eq!(lasts, [seen[count as usize - 1].unwrap()], "{count} iterations, {parts} parts");
                }
            }
        }
    }

    #[test]
    fn a_part_without_iterations_has_an_empty_loop() {
        let empty = |upper: u32, step: i64| {
            let (mut lower, mut upper) = if step > 0 { (0, upper) } else { (upper, 0) };
            let of = Loop { last: core::ptr::null_mut(), lower: &raw mut lower, upper: &raw mut upper, step };
            // SAFETY: the variables are local, and `last` may be null.
            unsafe { of.make_empty(of.lower.read(), of.upper.read()) };
            count(lower, upper, step)
        };
        assert_eq!((empty(5, 1), empty(5, -1)), (0, 0));
        let (mut lower, mut upper) = (1u32, u32::MAX);
        let of = Loop { last: core::ptr::null_mut(), lower: &raw mut lower, upper: &raw mut upper, step: 1 };
        // SAFETY: as above.
        unsafe { of.make_empty(1, u32::MAX) };
        assert_eq!(count(lower, upper, 1), 0);
    }
}
