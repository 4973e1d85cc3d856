//! OpenMP's teams and tasks. Only hooks that record call these functions.

use super::constructs;
use super::post::{cpu_time_of, tidy_up};
use super::session::SESSION;
use super::sites::site;
use crate::thread::{self, Thread};
use baton_trace::{Address, Construct, What, clock};

/// What recording has to do now and then.
fn tidy(thread: &Thread) {
    if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
        tidy_up(thread);
    }
}

/// A thread is about to open a parallel region.
pub fn fork_team(thread: &Thread, barrier: usize, at: usize) {
    tidy(thread);
    thread.pen.post(&SESSION, What::Fork { region: barrier as Address, site: site(thread, at) });
}

/// It begins its part of one.
pub fn begin_team(thread: &Thread, barrier: usize, threads: u32, idled: bool) {
    thread.pen.post_ordered(&SESSION, What::TeamBegin { region: barrier as Address, threads, idled });
    cpu_time_of(thread);
    tidy(thread);
}

/// Says once what a barrier belongs to.
pub fn construct(thread: &Thread, barrier: usize, construct: Construct) {
    let barrier = barrier as Address;
    if constructs::is_new(barrier) {
        thread.pen.post(&SESSION, What::Construct { barrier, construct });
    }
}

/// It has arrived at a region's end. Gives when.
pub fn arrive_at_team(thread: &Thread, barrier: usize, at: usize) -> u64 {
    let what = What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) };
    cpu_time_of(thread);
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, what);
    moment
}

/// The master goes on behind the region's end.
pub fn leave_team(thread: &Thread, barrier: usize) {
    thread.pen.post_ordered(&SESSION, What::BarrierLeave { barrier: barrier as Address, serial: false });
    cpu_time_of(thread);
}

/// Longest time back that an event can have, in ticks.
const LONGEST_BACK: u64 = 1 << 35;

/// A worker's wait at a region's end was over at a moment before; it may have waited for its next region since.
pub fn left_team(thread: &Thread, barrier: usize, moment: u64, idles: bool) {
    let barrier = barrier as Address;
    let moment = moment.max(clock::now(SESSION.source()).saturating_sub(LONGEST_BACK));
    thread.pen.post_at(&SESSION, moment, What::BarrierLeave { barrier, serial: false });
    if idles {
        thread.pen.post_at(&SESSION, moment, What::IdleBegin { region: barrier });
    }
}

/// A wait at one of OpenMP's barriers inside of a region.
pub fn team_barrier<T>(barrier: usize, at: usize, of: Construct, wait: impl FnOnce() -> T) -> T {
    let thread = thread::current();
    construct(thread, barrier, of);
    arrive_at_team(thread, barrier, at);
    let answer = wait();
    leave_team(thread, barrier);
    tidy(thread);
    answer
}

/// A call that may have been such a wait: `wait` gives whether it was. What runs in it writes events before the arrival is
/// written, which is stamped before them.
pub fn perhaps_team_barrier<T>(barrier: usize, at: usize, of: Construct, wait: impl FnOnce() -> (T, bool)) -> T {
    let thread = thread::current();
    let moment = clock::now(SESSION.source());
    let (answer, waited) = wait();
    if waited {
        construct(thread, barrier, of);
        let what = What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
        leave_team(thread, barrier);
    }
    tidy(thread);
    answer
}

/// A task is about to be created, with this number.
pub fn create_task(thread: &Thread, task: u64, at: usize) {
    thread.pen.post(&SESSION, What::TaskCreate { task, site: site(thread, at) });
}

/// The thread begins to run a task.
pub fn begin_task(thread: &Thread, task: u64) {
    thread.pen.post_ordered(&SESSION, What::TaskBegin { task });
}

/// It has run it. Gives when.
pub fn end_task(thread: &Thread, task: u64) -> u64 {
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, What::TaskEnd { task });
    tidy(thread);
    moment
}

/// It waits for tasks meanwhile.
pub fn task_wait(at: usize, wait: impl FnOnce()) {
    let thread = thread::current();
    let what = What::TaskWaitBegin { site: site(thread, at) };
    thread.pen.post(&SESSION, what);
    cpu_time_of(thread);
    wait();
    thread.pen.post_ordered(&SESSION, What::TaskWaitEnd);
    cpu_time_of(thread);
    tidy(thread);
}
