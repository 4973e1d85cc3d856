//! Loops, sections and scopes. There is a function for each schedule of a loop, for `long` and for
//! `unsigned long long`.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::nest::Nest;
use crate::ompt::{self, BEGIN, END, Sync, WorkKind};
use crate::parallel::bind;
use crate::process::{has_tool, known_place, place, runtime};
use crate::reductions;
use baton_machine::{Machine, Native};
use baton_omp::share::{Work, shared_memory};
use baton_omp::team::{Context, Function};
use baton_omp::{Schedule, ScheduleKind, Space, Why};
use core::ffi::c_void;

pub(crate) fn runtime_schedule() -> Schedule {
    schedule_of(place())
}

/// What `schedule(runtime)` means in the thread's current task.
#[inline]
fn schedule_of(place: &Context<Native>) -> Schedule {
    let Schedule { kind, chunk, .. } = place.icv.get().schedule;
    if kind == ScheduleKind::Auto { of(ScheduleKind::Static, 0) } else { of(kind, chunk) }
}

pub(crate) fn of(kind: ScheduleKind, chunk: u64) -> Schedule {
    Schedule { kind, chunk, monotonic: false }
}

/// The schedule that the compiler's number stands for. The number's high bit, which says monotonic,
/// is ignored.
pub(crate) fn numbered(number: i64, chunk: u64) -> Schedule {
    match number & 0x7fff_ffff {
        0 => runtime_schedule(),
        2 => of(ScheduleKind::Dynamic, chunk),
        3 => of(ScheduleKind::Guided, chunk),
        _ => of(ScheduleKind::Static, chunk),
    }
}

/// Writes the bounds of a chunk, if there is one. Returns whether there is.
#[inline(always)]
unsafe fn give(chunk: Option<(u64, u64)>, from: *mut u64, to: *mut u64) -> bool {
    if let Some((first, end)) = chunk {
        // SAFETY: the compiler passes pointers to two words of its own.
        unsafe {
            from.write(first);
            to.write(end);
        }
    }
    chunk.is_some()
}

fn work(space: Space, schedule: Schedule, ordered: bool) -> Work {
    Work { space, schedule, ordered, ..Work::default() }
}

/// Defines a function that begins a loop. Calls stand last in it and pass arguments on as they came,
/// so that the common path needs no stack frame.
macro_rules! begins {
    ($name:ident($($arg:ident: $type:ty),*), $place:ident => $work:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type,)* from: *mut u64, to: *mut u64) -> bool {
            /// Gives the thread its first place in a team.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn begin_first($($arg: $type,)* from: *mut u64, to: *mut u64) -> bool {
                place();
                // SAFETY: the arguments are those that the compiler passed.
                unsafe { $name($($arg,)* from, to) }
            }
            // SAFETY: the compiler passes pointers to two words of its own.
            unsafe {
                match known_place() {
                    Some(at) => {
                        let $place = at;
                        begin(at, $work, from, to)
                    }
                    None => begin_first($($arg,)* from, to),
                }
            }
        }
    };
}

#[inline(always)]
unsafe fn begin(place: &Context<Native>, loops: Work, from: *mut u64, to: *mut u64) -> bool {
    let ordered = loops.ordered;
    place.work.set(loops);
    // SAFETY: by contract.
    unsafe {
        if place.record().is_some() {
            return begin_told(from, to, place);
        }
        if ordered { begin_as::<true>(from, to, place) } else { begin_as::<false>(from, to, place) }
    }
}

/// Does what [`begin_as`] does, and tells a tool.
#[cold]
#[inline(never)]
unsafe extern "C" fn begin_told(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    tell(place, BEGIN);
    // SAFETY: by contract.
    unsafe {
        if place.is_ordered() { begin_slowly::<true>(from, to, place) } else { begin_slowly::<false>(from, to, place) }
    }
}

/// Tells a tool, if there is one, that the thread begins or ends its loop.
pub(crate) fn tell(place: &Context<Native>, end: i32) {
    let loops = place.work.get();
    ompt::work(place, WorkKind::of_loop(loops.schedule.kind), end, loops.space.count);
}

/// Begins a loop whose work stands in the context.
#[inline(never)]
unsafe extern "C" fn begin_as<const ORDERED: bool>(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    // SAFETY: by contract.
    unsafe {
        if ORDERED || !place.enters_at_once() {
            return begin_slowly::<ORDERED>(from, to, place);
        }
        if place.is_static() {
            return give(place.first_static_chunk(), from, to);
        }
        next_of(place, false, from, to)
    }
}

/// Does what [`begin_as`] does, for a thread that may have to wait.
#[inline(never)]
unsafe extern "C" fn begin_slowly<const ORDERED: bool>(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    let loops = place.work.get();
    place.enter(|| loops);
    // SAFETY: by contract.
    unsafe { next_of(place, ORDERED, from, to) }
}

/// Writes the bounds of the thread's next chunk. Returns whether there is one. With `guided` the
/// schedule is guided as a rule.
#[inline(always)]
unsafe fn next(ordered: bool, guided: bool, from: *mut u64, to: *mut u64) -> bool {
    // A thread that has no place in a team is in no loop, so there is no chunk.
    let Some(place) = known_place() else { return false };
    // SAFETY: the caller passes two words of its own.
    unsafe {
        if guided && !ordered && place.is_guided() {
            return give(place.next_guided_chunk(), from, to);
        }
        next_of(place, ordered, from, to)
    }
}

/// Gets the thread's next chunk. The calls stand last, take the same arguments first and cannot
/// unwind, so that the common path, which has no call, needs no stack frame.
#[inline(always)]
unsafe fn next_of(place: &Context<Native>, ordered: bool, from: *mut u64, to: *mut u64) -> bool {
    // SAFETY: by contract.
    unsafe {
        match place.stride() {
            _ if ordered => next_ordered(from, to, place),
            0 => next_by_schedule(from, to, place),
            stride => give(place.next_chunk_by(stride), from, to),
        }
    }
}

#[inline(never)]
unsafe extern "C" fn next_by_schedule(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    // SAFETY: by contract.
    unsafe { give(place.next_chunk_by_schedule(), from, to) }
}

#[inline(never)]
unsafe extern "C" fn next_ordered(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    // SAFETY: by contract.
    unsafe {
        match place.ordered_stride() {
            0 => next_ordered_any(from, to, place),
            stride => give(place.next_ordered_chunk_by(stride), from, to),
        }
    }
}

#[inline(never)]
unsafe extern "C" fn next_ordered_any(from: *mut u64, to: *mut u64, place: &Context<Native>) -> bool {
    // SAFETY: by contract.
    unsafe { give(place.next_ordered_chunk(), from, to) }
}

/// Defines the functions of schedules with a chunk size: begin and next, for both types of numbers.
macro_rules! chunked {
    ($($start:ident $next:ident $ull_start:ident $ull_next:ident $kind:ident $ordered:literal)*) => {$(
        begins! { $start(s: i64, e: i64, step: i64, chunk: i64),
            _place => work(Space::signed(s, e, step), of(ScheduleKind::$kind, chunk.max(0) as u64), $ordered) }
        begins! { $ull_start(up: bool, s: u64, e: u64, step: u64, chunk: u64),
            _place => work(Space::unsigned(up, s, e, step), of(ScheduleKind::$kind, chunk), $ordered) }
        nexts! {
            $next $ordered matches!(ScheduleKind::$kind, ScheduleKind::Guided);
            $ull_next $ordered matches!(ScheduleKind::$kind, ScheduleKind::Guided);
        }
    )*};
}

/// Defines the functions of `schedule(runtime)`.
macro_rules! by_runtime {
    ($($start:ident $next:ident $ull_start:ident $ull_next:ident $ordered:literal)*) => {$(
        begins! { $start(s: i64, e: i64, step: i64),
            place => work(Space::signed(s, e, step), schedule_of(place), $ordered) }
        begins! { $ull_start(up: bool, s: u64, e: u64, step: u64),
            place => work(Space::unsigned(up, s, e, step), schedule_of(place), $ordered) }
        nexts! { $next $ordered false; $ull_next $ordered false; }
    )*};
}

macro_rules! nexts {
    ($($next:ident $ordered:literal $guided:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $next(from: *mut u64, to: *mut u64) -> bool {
            // SAFETY: the compiler passes pointers to two words of its own.
            unsafe { next($ordered, $guided, from, to) }
        }
    )*};
}

chunked! {
    GOMP_loop_static_start GOMP_loop_static_next GOMP_loop_ull_static_start GOMP_loop_ull_static_next Static false
    GOMP_loop_dynamic_start GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next Dynamic false
    GOMP_loop_guided_start GOMP_loop_guided_next GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next Guided false
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next
        GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next Dynamic false
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next
        GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next Guided false
    GOMP_loop_ordered_static_start GOMP_loop_ordered_static_next
        GOMP_loop_ull_ordered_static_start GOMP_loop_ull_ordered_static_next Static true
    GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_dynamic_next
        GOMP_loop_ull_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_next Dynamic true
    GOMP_loop_ordered_guided_start GOMP_loop_ordered_guided_next
        GOMP_loop_ull_ordered_guided_start GOMP_loop_ull_ordered_guided_next Guided true
}

by_runtime! {
    GOMP_loop_runtime_start GOMP_loop_runtime_next GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next false
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
        GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next false
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next false
    GOMP_loop_ordered_runtime_start GOMP_loop_ordered_runtime_next
        GOMP_loop_ull_ordered_runtime_start GOMP_loop_ull_ordered_runtime_next true
}

/// Writes the bounds of the next chunk of a loop that is not ordered. Returns whether there is one.
pub(crate) unsafe fn give_next(from: *mut u64, to: *mut u64) -> bool {
    // SAFETY: by contract.
    unsafe { next(false, false, from, to) }
}

/// Begins a loop or sections of OpenMP 5, which may have memory that the team shares, and
/// reductions over tasks. In the same memory, before the team's part, lies the record of a doacross
/// loop.
pub(crate) unsafe fn enter_with(loops: Work, reductions: *mut usize, memory: *mut *mut c_void, nest: Option<Nest>) {
    let bytes = if memory.is_null() {
        0
    } else {
        // SAFETY: the compiler passes the size in the word that is to get the address.
        unsafe { memory.read() }.addr()
    };
    let place = place();
    let record = nest.as_ref().map_or(0, |nest| nest.bytes().next_multiple_of(64));
    let fill = || {
        let memory = if bytes + record == 0 { (0, 0) } else { shared_memory::<Native>(bytes + record) };
        let doacross = if nest.is_some() { memory.0 } else { 0 };
        if let Some(nest) = nest {
            // SAFETY: the memory has room for the record, and no other thread uses it before the
            // work-share is open.
            unsafe { nest.write(doacross) };
        }
        let work = Work { memory, doacross, ..loops };
        work.happens_before::<Native>();
        work
    };
    // SAFETY: by contract.
    unsafe { enter_reducing(place, reductions, fill) };
    if Native::is_checked_for_races() {
        place.work.get().happens_after::<Native>();
    }
    if !memory.is_null() {
        let address = if bytes == 0 { 0 } else { place.work.get().memory.0 + record };
        // SAFETY: as above.
        unsafe { memory.write(core::ptr::with_exposed_provenance_mut(address)) };
    }
}

/// Enters a work-share; registers reductions over its tasks if `record` is not null.
unsafe fn enter_reducing(place: &Context<Native>, record: *mut usize, fill: impl FnOnce() -> Work) {
    if record.is_null() {
        place.enter(fill);
        return;
    }
    place.begin_group(true);
    let first = place.enter(|| {
        // SAFETY: the compiler built the record, which stays until the reductions are unregistered.
        unsafe { reductions::register(place, record) };
        Native::happens_before(record.cast_const().cast());
        Work { reductions: record.expose_provenance(), ..fill() }
    });
    if !first {
        Native::happens_after(core::ptr::without_provenance(place.work.get().reductions));
        // SAFETY: the compiler built this thread's record; the first thread's record stays until
        // all threads have left the work-share's end.
        unsafe { reductions::join(place, record, place.work.get().reductions) };
    }
}

macro_rules! started {
    ($($name:ident $ordered:literal ($space:expr, $($arg:ident: $type:ty),*))*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub unsafe extern "C" fn $name(
            $($arg: $type,)* sched: i64, chunk: i64, from: *mut u64, to: *mut u64, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the compiler passes pointers to words of its own.
            unsafe {
                enter_with(work($space, numbered(sched, chunk.max(0) as u64), $ordered), reductions, memory, None);
                tell(place(), BEGIN);
                from.is_null() || next($ordered, false, from, to)
            }
        }
    )*};
}

started! {
    GOMP_loop_start false (Space::signed(s, e, step), s: i64, e: i64, step: i64)
    GOMP_loop_ordered_start true (Space::signed(s, e, step), s: i64, e: i64, step: i64)
    GOMP_loop_ull_start false (Space::unsigned(up, s, e, step), up: bool, s: u64, e: u64, step: u64)
    GOMP_loop_ull_ordered_start true (Space::unsigned(up, s, e, step), up: bool, s: u64, e: u64, step: u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end() {
    GOMP_loop_end_nowait();
    barrier_behind();
}

/// Waits at the barrier at the end of a work-share.
fn barrier_behind() {
    let place = place();
    ompt::sync(place, Sync::BarrierOfShare, || place.barrier(Why::Barrier));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end_nowait() {
    // A thread that has no place in a team is in no loop.
    let Some(place) = known_place() else { return };
    if place.in_order.get() || place.record().is_some() {
        return end_slowly(place);
    }
    place.leave();
}

/// Ends a loop that is ordered, or of which a tool is told.
#[inline(never)]
fn end_slowly(place: &Context<Native>) {
    if place.in_order.get() {
        let (mut from, mut to) = (0, 0);
        // SAFETY: both words are local variables of this function.
        unsafe { next_ordered(&raw mut from, &raw mut to, place) };
    }
    tell(place, END);
    place.leave();
}

/// The work of `count` sections, which are numbered from 1.
fn sections(count: u32) -> Work {
    work(Space::signed(1, i64::from(count) + 1, 1), of(ScheduleKind::Dynamic, 1), false)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_start(count: u32) -> u32 {
    let place = place();
    ompt::work(place, WorkKind::Sections, BEGIN, count.into());
    place.enter(|| sections(count));
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_sections2_start(count: u32, reductions: *mut usize, memory: *mut *mut c_void) -> u32 {
    // SAFETY: the compiler passes pointers to words of its own.
    unsafe { enter_with(sections(count), reductions, memory, None) };
    ompt::work(place(), WorkKind::Sections, BEGIN, count.into());
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_next() -> u32 {
    place().next_chunk().map_or(0, |(section, _)| section as u32)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end() {
    GOMP_sections_end_nowait();
    barrier_behind();
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end_nowait() {
    let place = place();
    ompt::work(place, WorkKind::Sections, END, place.work.get().space.count);
    place.leave();
}

/// Begins a scope with reductions over tasks. It is a work-share, because one thread must be told
/// apart as the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_scope_start(record: *mut usize) {
    let place = place();
    // SAFETY: the compiler built the record, which stays until the reductions are unregistered.
    unsafe { enter_reducing(place, record, Work::default) };
    place.leave();
}

/// Runs a region that is a single work-share: each thread has entered the work-share when its body
/// begins. Without `run`, only begins the region.
unsafe fn combined(function: Function, data: *mut c_void, threads: u32, work: Work, run: bool) {
    // SAFETY: the compiler outlined `function` for these data.
    unsafe {
        if run {
            runtime().parallel(function, data, threads, Some(work));
        } else {
            runtime().begin(function, data, threads, Some(work));
        }
    }
}

/// Says, to a tool, that the region that the thread begins next begins with sections.
macro_rules! tell_next {
    (sections) => {
        if has_tool() {
            ompt::thread::set_next(ompt::tasks::SECTIONS, Vec::new());
        }
    };
}

macro_rules! combined {
    ($($name:ident $run:literal [$($arg:ident: $type:ty),*] [$($flags:ident)?] $(@$sections:ident)? $work:expr;)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub unsafe extern "C" fn $name(f: Function, data: *mut c_void, threads: u32, $($arg: $type,)* $($flags: u32)?) {
            $(bind($flags);)?
            $(tell_next!($sections);)?
            // SAFETY: the compiler outlined the function for these data.
            unsafe { combined(f, data, threads, $work, $run) };
        }
    )*};
}

/// The work of a loop over `long`.
fn over(s: i64, e: i64, step: i64, kind: ScheduleKind, chunk: i64) -> Work {
    work(Space::signed(s, e, step), of(kind, chunk.max(0) as u64), false)
}

fn over_by_runtime(s: i64, e: i64, step: i64) -> Work {
    work(Space::signed(s, e, step), runtime_schedule(), false)
}

combined! {
    GOMP_parallel_loop_static true [s: i64, e: i64, i: i64, c: i64] [flags] over(s, e, i, ScheduleKind::Static, c);
    GOMP_parallel_loop_dynamic true [s: i64, e: i64, i: i64, c: i64] [flags] over(s, e, i, ScheduleKind::Dynamic, c);
    GOMP_parallel_loop_guided true [s: i64, e: i64, i: i64, c: i64] [flags] over(s, e, i, ScheduleKind::Guided, c);
    GOMP_parallel_loop_nonmonotonic_dynamic true [s: i64, e: i64, i: i64, c: i64] [flags] over(s, e, i, ScheduleKind::Dynamic, c);
    GOMP_parallel_loop_nonmonotonic_guided true [s: i64, e: i64, i: i64, c: i64] [flags] over(s, e, i, ScheduleKind::Guided, c);
    GOMP_parallel_loop_runtime true [s: i64, e: i64, i: i64] [flags] over_by_runtime(s, e, i);
    GOMP_parallel_loop_nonmonotonic_runtime true [s: i64, e: i64, i: i64] [flags] over_by_runtime(s, e, i);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime true [s: i64, e: i64, i: i64] [flags] over_by_runtime(s, e, i);
    GOMP_parallel_sections true [count: u32] [flags] @sections sections(count);
    GOMP_parallel_loop_static_start false [s: i64, e: i64, i: i64, c: i64] [] over(s, e, i, ScheduleKind::Static, c);
    GOMP_parallel_loop_dynamic_start false [s: i64, e: i64, i: i64, c: i64] [] over(s, e, i, ScheduleKind::Dynamic, c);
    GOMP_parallel_loop_guided_start false [s: i64, e: i64, i: i64, c: i64] [] over(s, e, i, ScheduleKind::Guided, c);
    GOMP_parallel_loop_runtime_start false [s: i64, e: i64, i: i64] [] over_by_runtime(s, e, i);
    GOMP_parallel_sections_start false [count: u32] [] @sections sections(count);
}
