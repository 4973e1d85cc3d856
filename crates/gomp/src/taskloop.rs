//! Task loops: loops whose iterations are cut into tasks.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::environment::environment;
use crate::process::place;
use crate::reductions;
use crate::tasks::{Copy, FINAL, Source, run_on_copy};
use baton_omp::Space;
use baton_omp::tasks::{Clauses, Kind};
use baton_omp::team::Function;
use core::ffi::c_void;

const UP: u32 = 1 << 8;
const GRAINSIZE: u32 = 1 << 9;
const IF: u32 = 1 << 10;
const NOGROUP: u32 = 1 << 11;
const REDUCTION: u32 = 1 << 12;
const STRICT: u32 = 1 << 14;

/// How the iterations are cut into `tasks` tasks: each has `each` iterations, and the first
/// `longer` tasks have one more. `last` is the number of iterations of the last task, if it
/// differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    tasks: u64,
    each: u64,
    longer: u64,
    last: Option<u64>,
}

impl Cut {
    /// Cuts `count` iterations (not 0) into `asked` tasks; if `asked` is 0, into a task for each of
    /// `threads`. There are at most `count` tasks.
    fn into_tasks(count: u64, asked: u64, threads: u64) -> Cut {
        let tasks = if asked == 0 { threads } else { asked }.min(count);
        Cut { tasks, each: count / tasks, longer: count % tasks, last: None }
    }

    /// Cuts `count` iterations into tasks of at least `grain` and less than twice as many
    /// iterations (a single task if there are fewer than `grain`); with `strict`, into tasks of
    /// exactly `grain`, except for the last.
    fn by_grain(count: u64, grain: u64, strict: bool) -> Cut {
        let (grain, tasks) = (grain.max(1), count / grain.max(1));
        if strict {
            let rest = count % grain;
            return Cut {
                tasks: tasks + u64::from(rest != 0),
                each: grain,
                longer: 0,
                last: (rest != 0).then_some(rest),
            };
        }
        Cut::into_tasks(count, tasks.max(1), 1)
    }

    /// The iterations of each task, as the first one and the end.
    fn parts(self) -> impl Iterator<Item = (u64, u64)> {
        let mut from = 0;
        (0..self.tasks).map(move |task| {
            let size = self.each + u64::from(task < self.longer);
            let size = self.last.filter(|_| task + 1 == self.tasks).unwrap_or(size);
            from += size;
            (from - size, from)
        })
    }
}

/// Makes the tasks of a loop. The data of each task begin with the bounds of its part.
///
/// # Safety
/// The compiler outlined `function` for the data.
unsafe fn taskloop(function: Function, source: Source, flags: u32, asked: u64, priority: i32, space: Space) {
    let place = place();
    // SAFETY: called only with reductions; then the address of their record stands behind the
    // bounds.
    let registered = || unsafe { source.data.cast::<*mut usize>().add(2).read() };
    let own_reductions = flags & (NOGROUP | REDUCTION) == REDUCTION;
    if place.region_cancelled() || space.count == 0 {
        if own_reductions {
            // SAFETY: the compiler put the address of its record there; a zero in the record's
            // third word says that nothing was registered.
            unsafe { registered().add(2).write(0) };
        }
        return;
    }
    let threads = u64::from(place.team().size);
    let cut = match flags & GRAINSIZE {
        0 => Cut::into_tasks(space.count, asked, threads),
        _ => Cut::by_grain(space.count, asked, flags & STRICT != 0),
    };
    if flags & NOGROUP != 0 {
        if place.task_cancelled() {
            return;
        }
    } else {
        place.begin_group(false);
        if own_reductions {
            // SAFETY: the compiler put the address of its record there.
            unsafe { reductions::register(place, registered()) };
        }
    }
    let priority = priority.min(environment().priority);
    let is_final = flags & FINAL != 0 || place.task.borrow().is_final;
    for (from, to) in cut.parts() {
        // Decided anew for each task: while this thread runs a task, other threads take waiting
        // tasks, so that there is room again.
        let at_once = flags & IF == 0 || place.is_inline(Kind::OfLoop);
        let (start, end) = space.values(from, to);
        let bounds = |data: *mut c_void| {
            // SAFETY: the compiler's data for a task begin with two words for the bounds.
            unsafe {
                data.cast::<u64>().write(start);
                data.cast::<u64>().add(1).write(end);
            }
        };
        if at_once && source.copy.is_none() {
            bounds(source.data);
            // SAFETY: by contract.
            unsafe { source.run_at_once(place, is_final, function) };
            continue;
        }
        // SAFETY: by contract.
        let layout = unsafe { source.layout() };
        let fill = |own: *mut c_void| {
            // SAFETY: by contract.
            unsafe { source.fill(own) };
            bounds(own);
        };
        if at_once {
            // SAFETY: by contract.
            unsafe { run_on_copy(place, is_final, function, layout, fill) };
        } else {
            let clauses = Clauses { is_final, priority, constructed: source.copy.is_some(), ..Clauses::none() };
            place.defer(function, layout, fill, clauses);
        }
    }
    if flags & NOGROUP == 0 {
        place.end_group();
    }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
pub unsafe extern "C" fn GOMP_taskloop(
    function: Function,
    data: *mut c_void,
    copy: Option<Copy>,
    bytes: i64,
    align: i64,
    flags: u32,
    tasks: u64,
    priority: i32,
    start: i64,
    end: i64,
    step: i64,
) {
    let source = Source { data, copy, bytes, align };
    // SAFETY: the compiler outlined the function for these data.
    unsafe { taskloop(function, source, flags, tasks, priority, Space::signed(start, end, step)) };
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
pub unsafe extern "C" fn GOMP_taskloop_ull(
    function: Function,
    data: *mut c_void,
    copy: Option<Copy>,
    bytes: i64,
    align: i64,
    flags: u32,
    tasks: u64,
    priority: i32,
    start: u64,
    end: u64,
    step: u64,
) {
    let source = Source { data, copy, bytes, align };
    // SAFETY: as above.
    unsafe { taskloop(function, source, flags, tasks, priority, Space::unsigned(flags & UP != 0, start, end, step)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_each_iteration_once() {
        let sizes = |cut: Cut| cut.parts().map(|(from, to)| to - from).collect::<Vec<_>>();
        assert_eq!(sizes(Cut::into_tasks(10, 4, 2)), [3, 3, 2, 2]);
        assert_eq!(sizes(Cut::into_tasks(3, 0, 8)), [1, 1, 1]);
        assert_eq!(sizes(Cut::by_grain(10, 4, true)), [4, 4, 2]);
        assert_eq!(sizes(Cut::by_grain(10, 4, false)), [5, 5]);
        assert_eq!(sizes(Cut::by_grain(3, 4, false)), [3]);
        assert_eq!(sizes(Cut::by_grain(3, 4, true)), [3]);
        for (count, grain) in [(1, 1), (17, 3), (100, 7), (64, 64), (65, 64)] {
            for strict in [false, true] {
                let parts: Vec<_> = Cut::by_grain(count, grain, strict).parts().collect();
                assert!(parts.windows(2).all(|two| two[0].1 == two[1].0), "{parts:?}");
                assert_eq!((parts[0].0, parts[parts.len() - 1].1), (0, count));
                let fits =
                    |size: u64| if strict { size <= grain } else { size >= grain.min(count) && size < 2 * grain };
                assert!(parts.iter().all(|(from, to)| fits(to - from)), "{count} by {grain}, {strict}: {parts:?}");
            }
        }
    }
}
