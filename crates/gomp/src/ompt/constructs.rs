//! What the functions of both interfaces tell a tool: work-shares, waits, locks, and the rest that
//! `crates/omp` does not know.
//!
//! Each function is called where there may be a tool; without one it returns at once.

use super::callbacks::{self, BEGIN, END};
use super::callers::{caller, code};
use super::running::is_on;
use super::thread::{self, Dependence, state, task, with, words};
use baton_machine::Native;
use baton_omp::ScheduleKind;
use baton_omp::team::Context;
use baton_omp::tool::{TaskRecord, status, task_flag};
use core::ffi::{c_char, c_void};
use core::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a thread waits for, by the numbers of `ompt_sync_region_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Sync {
    /// A barrier that the program wrote.
    BarrierExplicit = 3,
    /// A barrier of which the compiler does not say where it comes from.
    Barrier = 4,
    Taskwait = 5,
    Taskgroup = 6,
    /// The barrier at the end of a work-share.
    BarrierOfShare = 8,
}

impl Sync {
    fn state(self) -> i32 {
        match self {
            Sync::BarrierExplicit => state::WAIT_EXPLICIT,
            Sync::Barrier => state::WAIT_IMPLEMENTATION,
            Sync::Taskwait => state::WAIT_TASKWAIT,
            Sync::Taskgroup => state::WAIT_TASKGROUP,
            Sync::BarrierOfShare => state::WAIT_IMPLICIT_WORKSHARE,
        }
    }

    fn is_barrier(self) -> bool {
        !matches!(self, Sync::Taskwait | Sync::Taskgroup)
    }
}

/// Does `body`, in which the thread waits, and tells the tool of the wait's begin and end.
#[inline(always)]
pub(crate) fn sync<R>(place: &Context<Native>, kind: Sync, body: impl FnOnce() -> R) -> R {
    match place.record() {
        None => body(),
        Some(task) => told_sync(task, kind, kind != Sync::Taskgroup, body),
    }
}

/// Does what [`sync`] does at the end of a taskgroup, whose begin was told by [`group_begins`].
#[cold]
#[inline(never)]
fn told_sync<R>(task: &Arc<TaskRecord>, kind: Sync, begins: bool, body: impl FnOnce() -> R) -> R {
    if kind.is_barrier() {
        end_single(task);
    }
    let ((region, word), caller) = (words(task), caller());
    let around = task.frame.enters(caller.stack);
    if begins {
        callbacks::sync_region(kind as i32, BEGIN, region, word, caller.code);
    }
    let before = with(|thread| thread.state.replace(kind.state()));
    callbacks::sync_region_wait(kind as i32, BEGIN, region, word, caller.code);
    let result = body();
    callbacks::sync_region_wait(kind as i32, END, region, word, caller.code);
    with(|thread| thread.state.set(before));
    callbacks::sync_region(kind as i32, END, region, word, caller.code);
    task.frame.enters(around);
    result
}

/// Tells that a taskgroup begins.
#[inline(always)]
pub(crate) fn group_begins(place: &Context<Native>) {
    if let Some(task) = place.record() {
        let (region, word) = words(task);
        callbacks::sync_region(Sync::Taskgroup as i32, BEGIN, region, word, code());
    }
}

/// Kinds of work, by the numbers of `ompt_work_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum WorkKind {
    Sections = 2,
    SingleExecutor = 3,
    SingleOther = 4,
    Distribute = 6,
    Taskloop = 7,
    Scope = 8,
    LoopStatic = 10,
    LoopDynamic = 11,
    LoopGuided = 12,
    LoopOther = 13,
}

impl WorkKind {
    /// The kind of a loop.
    pub(crate) fn of_loop(schedule: ScheduleKind) -> WorkKind {
        match schedule {
            ScheduleKind::Static | ScheduleKind::Auto => WorkKind::LoopStatic,
            ScheduleKind::Dynamic => WorkKind::LoopDynamic,
            ScheduleKind::Guided => WorkKind::LoopGuided,
            ScheduleKind::Trapezoidal => WorkKind::LoopOther,
        }
    }
}

/// Tells that a task begins or ends work of `count` parts.
#[inline(always)]
pub(crate) fn work(place: &Context<Native>, kind: WorkKind, end: i32, count: u64) {
    if let Some(task) = place.record() {
        told_work(task, kind, end, count);
    }
}

#[cold]
#[inline(never)]
fn told_work(task: &Arc<TaskRecord>, kind: WorkKind, end: i32, count: u64) {
    if end == BEGIN && kind != WorkKind::Taskloop {
        end_single(task);
    }
    let (region, word) = words(task);
    callbacks::work(kind as i32, end, region, word, count, code());
}

/// Tells that a single block has ended in which the thread hands out its variables.
pub(crate) fn single_ends(place: &Context<Native>) {
    if let Some(task) = place.record() {
        end_single(task);
    }
}

/// OMPT's `ompt_dispatch_chunk_t`.
#[repr(C)]
struct Chunk {
    start: u64,
    iterations: u64,
}

/// Tells that the thread begins a chunk of a loop, from the iteration `start` on, or a section.
#[inline(always)]
pub(crate) fn chunk(place: &Context<Native>, kind: WorkKind, start: u64, iterations: u64) {
    #[cold]
    #[inline(never)]
    fn told(task: &Arc<TaskRecord>, kind: WorkKind, start: u64, iterations: u64) {
        const SECTION: i32 = 2;
        const LOOP_CHUNK: i32 = 3;
        const DISTRIBUTE_CHUNK: i32 = 5;
        let mut chunk = Chunk { start, iterations };
        let (kind, instance) = match kind {
            WorkKind::Sections => (SECTION, code().cast_mut()),
            WorkKind::Distribute => (DISTRIBUTE_CHUNK, (&raw mut chunk).cast()),
            _ => (LOOP_CHUNK, (&raw mut chunk).cast()),
        };
        let (region, word) = words(task);
        callbacks::dispatch(region, word, kind, instance);
    }
    if let Some(task) = place.record() {
        told(task, kind, start, iterations);
    }
}

/// Tells of a thread that runs a single block, or passes it. `closes`: the compiler tells of the
/// block's end.
#[inline(always)]
pub(crate) fn single(place: &Context<Native>, executes: bool, closes: bool) {
    #[cold]
    #[inline(never)]
    fn told(task: &Arc<TaskRecord>, executes: bool, closes: bool) {
        let kind = if executes { WorkKind::SingleExecutor } else { WorkKind::SingleOther };
        told_work(task, kind, BEGIN, 1);
        if !executes {
            told_work(task, kind, END, 1);
        } else if !closes {
            with(|thread| thread.single.set(Arc::as_ptr(task)));
        }
    }
    if let Some(task) = place.record() {
        told(task, executes, closes);
    }
}

/// Tells that a single block of `task` has ended, if one has begun whose end GCC does not tell. Called
/// at what no single block has inside: barriers, work-shares and the region's end.
pub(super) fn end_single(task: &TaskRecord) {
    if with(|thread| core::ptr::eq(thread.single.get(), task)) {
        with(|thread| thread.single.set(core::ptr::null()));
        let (region, word) = words(task);
        callbacks::work(WorkKind::SingleExecutor as i32, END, region, word, 1, code());
    }
}

/// Tells that a task begins or ends a masked block.
#[inline(always)]
pub(crate) fn masked(place: &Context<Native>, end: i32) {
    if let Some(task) = place.record() {
        let (region, word) = words(task);
        callbacks::masked(end, region, word, code());
    }
}

/// Tells that a task begins or ends the reductions of a construct.
#[inline(always)]
pub(crate) fn reduction(place: &Context<Native>, end: i32) {
    const REDUCTION: i32 = 7;
    if let Some(task) = place.record() {
        let (region, word) = words(task);
        with(|thread| thread.state.set(if end == BEGIN { state::WORK_REDUCTION } else { state::WORK_PARALLEL }));
        callbacks::reduction(REDUCTION, end, region, word, code());
    }
}

/// Tells of a flush.
pub(crate) fn flush() {
    if is_on() {
        with(|thread| callbacks::flush(thread.word(), code()));
    }
}

/// Notes that the program calls the function of the thread's implicit task itself.
pub(crate) fn runs_in_place(place: &Context<Native>) {
    if let Some(task) = place.record() {
        task.frame.exits(caller().stack);
    }
}

/// Tells that the calling task cancels a construct, or finds it cancelled, by the flags of
/// `ompt_cancel_flag_t`.
pub(crate) fn cancels(place: &Context<Native>, flags: i32) {
    if let Some(task) = place.record() {
        const TASKGROUP: i32 = 0x8;
        if flags & TASKGROUP != 0 && task.is(task_flag::EXPLICIT) {
            task.ends.store(status::CANCEL, Ordering::Relaxed);
        }
        callbacks::cancel(task.word.address(), flags, code());
    }
}

/// Tells of an `error` directive.
pub(crate) fn error(severity: i32, message: *const c_char, length: usize) {
    if is_on() {
        callbacks::error(severity, message, length, code());
    }
}

/// Says what the interface knows of the task that the thread makes next.
#[inline(always)]
pub(crate) fn next_task(place: &Context<Native>, flags: impl FnOnce() -> i32, list: impl FnOnce() -> Vec<Dependence>) {
    if place.record().is_some() {
        thread::set_next(flags(), list());
    }
}

/// Does `body`, which waits for dependences, and tells the tool of a task that stands for the wait.
pub(crate) fn taskwait_on(place: &Context<Native>, list: impl FnOnce() -> Vec<Dependence>, body: impl FnOnce()) {
    #[cold]
    #[inline(never)]
    fn told(task: &Arc<TaskRecord>, list: Vec<Dependence>, body: impl FnOnce()) {
        const OF_TASKWAIT: i32 = 0x10 | 0x4000_0000;
        const TASKWAIT_COMPLETE: i32 = 8;
        thread::set_next(OF_TASKWAIT, list);
        let made = task.undeferred();
        callbacks::task_schedule(task.word.address(), status::SWITCH, made.word.address());
        body();
        callbacks::task_schedule(made.word.address(), TASKWAIT_COMPLETE, null_mut());
        task.frame.enters(0);
    }
    match place.record() {
        None => body(),
        Some(task) => told(task, list(), body),
    }
}

/// The numbers of `ompt_dependence_type_t` for doacross loops.
pub(crate) const SOURCE: i32 = 5;
/// See [`SOURCE`].
pub(crate) const SINK: i32 = 6;

/// Tells of the iteration of a doacross loop that the thread posts, or has waited for.
pub(crate) fn doacross(kind: i32, at: impl Iterator<Item = u64>) {
    if let Some(task) = task() {
        let list: Vec<_> = at.map(|variable| Dependence { variable, kind }).collect();
        callbacks::dependences(task.word.address(), list.as_ptr().cast(), list.len() as i32);
    }
}

/// Hands a command of the program to the tool, as `omp_control_tool` does. Returns what the tool
/// returns, -2 if there is no tool, and -1 if the tool takes no commands.
pub(crate) fn control(command: i32, modifier: i32, argument: *mut c_void) -> i32 {
    const NO_TOOL: i32 = -2;
    const NO_CALLBACK: i32 = -1;
    if !is_on() {
        return NO_TOOL;
    }
    let caller = caller();
    let task = task();
    let around = task.map_or(0, |task| task.frame.enters(caller.stack));
    let answer = callbacks::control_tool(command as u64, modifier as u64, argument, caller.code);
    task.iter().for_each(|task| _ = task.frame.enters(around));
    answer.unwrap_or(NO_CALLBACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_has_the_state_of_its_kind() {
        assert!(Sync::Barrier.is_barrier() && !Sync::Taskgroup.is_barrier());
    }
}
