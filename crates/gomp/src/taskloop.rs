//! Task loops: loops whose iterations are cut into tasks.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::environment::environment;
use crate::ompt::{self, BEGIN, END, Sync, WorkKind};
use crate::process::place;
use crate::reductions;
use crate::tasks::{Copy, FINAL, Source, run_on_copy};
use baton_omp::Space;
use baton_omp::cut::Cut;
use baton_omp::tasks::{Clauses, Kind};
use baton_omp::team::Function;
use core::ffi::c_void;

const UP: u32 = 1 << 8;
const GRAINSIZE: u32 = 1 << 9;
const IF: u32 = 1 << 10;
const NOGROUP: u32 = 1 << 11;
const REDUCTION: u32 = 1 << 12;
const STRICT: u32 = 1 << 14;

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
    if flags & NOGROUP != 0 && place.task_cancelled() {
        return;
    }
    ompt::work(place, WorkKind::Taskloop, BEGIN, space.count);
    if flags & NOGROUP == 0 {
        ompt::constructs::group_begins(place);
        place.begin_group(false);
        if own_reductions {
            // SAFETY: the compiler put the address of its record there.
            unsafe { reductions::register(place, registered()) };
        }
    }
    let priority = priority.min(environment().priority);
    let is_final = flags & FINAL != 0 || place.is_final();
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
        ompt::sync(place, Sync::Taskgroup, || place.end_group());
    }
    ompt::work(place, WorkKind::Taskloop, END, space.count);
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
