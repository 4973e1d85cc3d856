//! Threads, regions and tasks, as `crates/omp` tells of them.

use super::callbacks::{self, BEGIN, END};
use super::callers::caller;
use super::constructs::{WorkKind, end_single};
use super::thread::{frame, state, take_next, with, words};
use baton_omp::share::Work;
pub(crate) use baton_omp::tool::LEAGUE;
use baton_omp::tool::{RegionRecord, TaskRecord, Tool, status, task_flag};
use core::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// The numbers of `ompt_thread_t`.
const THREAD_INITIAL: i32 = 1;
const THREAD_WORKER: i32 = 2;
/// Flags of `ompt_parallel_flag_t`: the runtime calls the outlined function; the region is a league or
/// a team.
const INVOKED_BY_RUNTIME: i32 = 2;
const TEAM: i32 = i32::MIN;
/// A flag of this file: the region begins with sections.
pub(crate) const SECTIONS: i32 = 1;
/// `ompt_sync_region_barrier_implicit_parallel`.
const JOIN: i32 = 9;

/// The tool's side of what `crates/omp` tells.
pub(super) struct Teller;

impl Tool for Teller {
    fn thread_begins(&self, initial: bool) {
        let (kind, begins) = if initial { (THREAD_INITIAL, state::WORK_SERIAL) } else { (THREAD_WORKER, state::IDLE) };
        with(|thread| {
            thread.begin(begins);
            callbacks::thread_begin(kind, thread.word());
        });
    }

    fn thread_ends(&self) {
        with(|thread| {
            if thread.known.get() {
                callbacks::thread_end(thread.word());
                thread.known.set(false);
                thread.state.set(state::UNDEFINED);
            }
        });
    }

    fn region_begins(&self, region: &RegionRecord, asked: u32) {
        let caller = caller();
        let said = take_next().0;
        let flags = if said & LEAGUE != 0 { LEAGUE } else { TEAM } | INVOKED_BY_RUNTIME;
        region.flags.store(flags, Relaxed);
        region.in_sections.store(said & SECTIONS != 0, Relaxed);
        region.code.store(caller.code.addr(), Relaxed);
        if let Some(by) = &region.by {
            by.frame.enters(caller.stack);
            let (word, at) = (region.word.address(), by.word.address());
            callbacks::parallel_begin(at, frame(by), word, asked, flags, caller.code);
        }
    }

    fn region_ends(&self, region: &RegionRecord) {
        if let Some(by) = &region.by {
            let (flags, code) = (region.flags.load(Relaxed), core::ptr::without_provenance(region.code.load(Relaxed)));
            callbacks::parallel_end(region.word.address(), by.word.address(), flags, code);
            by.frame.enters(0);
            let outside = by.is(task_flag::INITIAL);
            with(|thread| thread.state.set(if outside { state::WORK_SERIAL } else { state::WORK_PARALLEL }));
        }
    }

    fn implicit_begins(&self, task: &TaskRecord, threads: u32, id: u32) {
        if is_of_league(task) {
            return;
        }
        let initial = task.is(task_flag::INITIAL);
        with(|thread| thread.state.set(if initial { state::WORK_SERIAL } else { state::WORK_PARALLEL }));
        let (region, word) = words(task);
        // The initial task that belongs to no league has the number 1.
        let id = if initial && task.parent.is_none() { 1 } else { id };
        callbacks::implicit_task(BEGIN, region, word, threads, id, flags(task));
    }

    fn implicit_ends(&self, task: &TaskRecord, id: u32) {
        if is_of_league(task) {
            return;
        }
        end_single(task);
        let initial = task.is(task_flag::INITIAL);
        let id = if initial && task.parent.is_none() { 1 } else { id };
        callbacks::implicit_task(END, null_mut(), task.word.address(), 0, id, flags(task));
        with(|thread| thread.state.set(if initial { state::OVERHEAD } else { state::IDLE }));
    }

    fn joins(&self, task: &TaskRecord, arrives: bool) {
        if is_of_league(task) {
            return;
        }
        let (region, word) = words(task);
        let begun_at = task.region.as_ref().map_or(0, |region| region.code.load(Relaxed));
        // The workers' frames do not lead to the program.
        let code =
            if task.thread.load(Relaxed) == 0 { core::ptr::without_provenance(begun_at) } else { core::ptr::null() };
        if arrives {
            end_single(task);
            callbacks::sync_region(JOIN, BEGIN, region, word, code);
            with(|thread| thread.state.set(state::WAIT_IMPLICIT_PARALLEL));
            callbacks::sync_region_wait(JOIN, BEGIN, region, word, code);
        } else {
            // The region may have ended.
            callbacks::sync_region_wait(JOIN, END, null_mut(), word, code);
            with(|thread| thread.state.set(state::OVERHEAD));
            callbacks::sync_region(JOIN, END, null_mut(), word, code);
        }
    }

    fn shares(&self, task: &TaskRecord, work: &Work) {
        let (region, word) = words(task);
        let begun_at = task.region.as_ref().map_or(0, |region| region.code.load(Relaxed));
        let in_sections = task.region.as_ref().is_some_and(|region| region.in_sections.load(Relaxed));
        let kind = if in_sections { WorkKind::Sections } else { WorkKind::of_loop(work.schedule.kind) };
        let at = core::ptr::without_provenance(begun_at);
        callbacks::work(kind as i32, BEGIN, region, word, work.space.count, at);
    }

    fn task_made(&self, by: &TaskRecord, made: &TaskRecord) {
        let (flags_of_maker, list) = take_next();
        made.flags.fetch_or(flags_of_maker, Relaxed);
        let caller = caller();
        let around = by.frame.enters(caller.stack);
        let (at, word, has) = (by.word.address(), made.word.address(), i32::from(!list.is_empty()));
        callbacks::task_create(at, frame(by), word, flags(made), has, caller.code);
        if !list.is_empty() {
            callbacks::dependences(word, list.as_ptr().cast(), list.len() as i32);
        }
        // An undeferred task runs now: its maker stays in the runtime.
        if !made.is(task_flag::UNDEFERRED) {
            by.frame.enters(around);
        }
    }

    fn task_switches(&self, from: &TaskRecord, why: i32, to: Option<&TaskRecord>) {
        let next = to.map_or(null_mut(), |to| to.word.address());
        if why & status::DISCARDED != 0 {
            const DISCARDED: i32 = 0x40 | 0x8;
            callbacks::cancel(from.word.address(), DISCARDED, core::ptr::null());
        }
        callbacks::task_schedule(from.word.address(), why & !status::DISCARDED, next);
        if why == status::SWITCH {
            with(|thread| thread.state.set(state::WORK_PARALLEL));
        } else if from.is(task_flag::UNDEFERRED)
            && let Some(to) = to
        {
            to.frame.enters(0);
        }
    }

    fn task_follows(&self, earlier: &TaskRecord, later: &TaskRecord) {
        callbacks::task_dependence(earlier.word.address(), later.word.address());
    }
}

fn flags(task: &TaskRecord) -> i32 {
    task.flags.load(Relaxed)
}

/// Whether the task is that of a thread which begins the initial tasks of a league's teams. A tool is told
/// of the initial tasks alone.
fn is_of_league(task: &TaskRecord) -> bool {
    task.is(task_flag::IMPLICIT) && task.region.as_deref().is_some_and(RegionRecord::is_league)
}
