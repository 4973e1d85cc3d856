//! Task loops. The compiler makes one task as a pattern: each task of the loop is a copy with bounds
//! of its own.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::bounds::{count, value};
use crate::kmp::ident::Ident;
use crate::kmp::task::{Handle, Task};
use crate::ompt::{self, BEGIN, END, Sync, WorkKind};
use crate::process::place;
use baton_omp::cut::Cut;
use baton_omp::tasks::Kind;

/// What `sched` says of the number that comes with it.
const GRAIN_SIZE: i32 = 1;
const TASKS: i32 = 2;
/// Tasks for each thread of the team if the program names no number.
const EACH: u64 = 10;

/// Copies what the task's variables need beyond their bits: from the pattern to a copy, which is the
/// last if the number is not 0.
type Duplicate = unsafe extern "C" fn(*mut Task, *mut Task, i32);

/// How the iterations are cut: by what `sched` says, and the number that goes with it.
struct Asked {
    sched: i32,
    number: u64,
    strict: bool,
}

impl Asked {
    fn cut(&self, count: u64, threads: u32) -> Cut {
        match self.sched {
            GRAIN_SIZE => Cut::by_grain(count, self.number, self.strict),
            TASKS => Cut::into_tasks(count, self.number, 1),
            _ => Cut::into_tasks(count, EACH * u64::from(threads), 1),
        }
    }
}

/// The pattern, and the words in it that hold the bounds.
struct Pattern {
    task: *mut Task,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    duplicate: Option<Duplicate>,
}

impl Pattern {
    /// The word of `copy` that stands where `word` stands in the pattern.
    fn of(&self, copy: *mut Task, word: *mut u64) -> *mut u64 {
        copy.cast::<u8>().wrapping_add(word.addr() - self.task.addr()).cast()
    }

    /// Makes the loop's tasks, each deferred only if the program says so.
    ///
    /// # Safety
    /// The compiler has filled the pattern in, and does not use it any more.
    unsafe fn make_tasks(self, deferred: bool, asked: &Asked) {
        let place = place();
        // SAFETY: by contract. Signed loops have their bounds' bits in the words; clang counts all
        // its task loops from 0, so that no bound is negative.
        let (lower, upper) = unsafe { (self.lower.read(), self.upper.read()) };
        let count = count(lower, upper, self.step);
        if count != 0 && !place.task_cancelled() {
            for (from, to) in asked.cut(count, place.team().size).parts() {
                // SAFETY: by contract. The copy has the words where the pattern has them.
                unsafe {
                    let copy = Handle(self.task).copy();
                    self.of(copy.0, self.lower).write(value(lower, self.step, from));
                    self.of(copy.0, self.upper).write(value(lower, self.step, to - 1));
                    if let Some(duplicate) = self.duplicate {
                        duplicate(copy.0, self.task, i32::from(to == count));
                    }
                    copy.submit(place, Vec::new(), Kind::OfLoop, deferred);
                }
            }
        }
        // SAFETY: by contract. The compiler has filled in the pattern's own variables too.
        unsafe {
            Handle(self.task).destroy();
            Handle(self.task).free();
        }
    }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
pub unsafe extern "C" fn __kmpc_taskloop_5(
    _at: *const Ident,
    _thread: i32,
    task: *mut Task,
    deferred: i32,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    nogroup: i32,
    sched: i32,
    number: u64,
    strict: i32,
    duplicate: Option<Duplicate>,
) {
    let pattern = Pattern { task, lower, upper, step, duplicate };
    let asked = Asked { sched, number, strict: strict != 0 };
    let place = place();
    // SAFETY: the compiler passes the bounds' words.
    let iterations = unsafe { count(lower.read(), upper.read(), step) };
    ompt::work(place, WorkKind::Taskloop, BEGIN, iterations);
    if nogroup == 0 {
        ompt::constructs::group_begins(place);
        place.begin_group(false);
    }
    // SAFETY: the compiler passes a pattern that it has filled in.
    unsafe { pattern.make_tasks(deferred != 0, &asked) };
    if nogroup == 0 {
        ompt::sync(place, Sync::Taskgroup, || place.end_group());
    }
    ompt::work(place, WorkKind::Taskloop, END, iterations);
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is LLVM's")]
pub unsafe extern "C" fn __kmpc_taskloop(
    at: *const Ident,
    thread: i32,
    task: *mut Task,
    deferred: i32,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    nogroup: i32,
    sched: i32,
    number: u64,
    duplicate: Option<Duplicate>,
) {
    // SAFETY: as above.
    unsafe { __kmpc_taskloop_5(at, thread, task, deferred, lower, upper, step, nogroup, sched, number, 0, duplicate) };
}
