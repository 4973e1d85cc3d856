//! Events of OpenMP's teams and tasks. Only hooks that record call these functions.

use super::post::{cpu_time_of, tidy_up};
use super::session::SESSION;
use super::sites::site;
use super::told;
use crate::thread::{self, Thread};
use baton_trace::{Address, Construct, What, clock};

/// Does the upkeep of the recording, if it is due and the thread holds no lock.
fn tidy(thread: &Thread) {
    if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
        tidy_up(thread);
    }
}

/// Records that the thread is about to open a parallel region.
pub fn fork_team(thread: &Thread, barrier: usize, at: usize) {
    tidy(thread);
    thread.pen.post(&SESSION, What::Fork { region: barrier as Address, site: site(thread, at) });
}

/// Records that the thread begins its part of a parallel region.
pub fn begin_team(thread: &Thread, barrier: usize, threads: u32, idled: bool) {
    thread.pen.post_ordered(&SESSION, What::TeamBegin { region: barrier as Address, threads, idled });
    cpu_time_of(thread);
    tidy(thread);
}

/// Records the OpenMP construct that the barrier belongs to, once for each barrier as far as
/// [`told`] can remember barriers.
pub fn construct(thread: &Thread, barrier: usize, construct: Construct) {
    let barrier = barrier as Address;
    if told::CONSTRUCTS.is_new(barrier) {
        thread.pen.post(&SESSION, What::Construct { barrier, construct });
    }
}

/// Records that the thread has arrived at a barrier of its team, inside of a region or at its end.
/// Returns the time of the arrival.
pub fn arrive_at_team(thread: &Thread, barrier: usize, at: usize) -> u64 {
    let what = What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) };
    cpu_time_of(thread);
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, what);
    moment
}

/// Records that the thread goes on after a barrier of its team: any thread inside of a region, the
/// master alone at the region's end.
pub fn leave_team(thread: &Thread, barrier: usize) {
    thread.pen.post_ordered(&SESSION, What::BarrierLeave { barrier: barrier as Address, serial: false });
    cpu_time_of(thread);
}

/// The longest time, in ticks, between an event's time and the time at which it is written.
const LONGEST_BACK: u64 = 1 << 35;

/// Records that a worker's wait at a region's end was over at `moment`, in the past. `idles`: since
/// then the worker has waited for its next region.
pub fn left_team(thread: &Thread, barrier: usize, moment: u64, idles: bool) {
    let barrier = barrier as Address;
    let moment = moment.max(clock::now(SESSION.source()).saturating_sub(LONGEST_BACK));
    thread.pen.post_at(&SESSION, moment, What::BarrierLeave { barrier, serial: false });
    if idles {
        thread.pen.post_at(&SESSION, moment, What::IdleBegin { region: barrier });
    }
}

/// Calls `wait`, a wait at one of OpenMP's barriers inside of a region, between its two events.
pub fn team_barrier<T>(barrier: usize, at: usize, of: Construct, wait: impl FnOnce() -> T) -> T {
    let thread = thread::current();
    construct(thread, barrier, of);
    arrive_at_team(thread, barrier, at);
    let answer = wait();
    leave_team(thread, barrier);
    tidy(thread);
    answer
}

/// Calls `wait`, which may be a wait at one of OpenMP's barriers inside of a region, and returns
/// whether it was. The arrival is written after `wait` has returned, with the time before it; so
/// events of code that runs in `wait` stand before the arrival in the trace, though they are later.
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

/// Records that the thread is about to create the task with this number.
pub fn create_task(thread: &Thread, task: u64, at: usize) {
    thread.pen.post(&SESSION, What::TaskCreate { task, site: site(thread, at) });
}

/// Records that the thread begins to run a task.
pub fn begin_task(thread: &Thread, task: u64) {
    thread.pen.post_ordered(&SESSION, What::TaskBegin { task });
}

/// Records that the thread has finished a task. Returns the time.
pub fn end_task(thread: &Thread, task: u64) -> u64 {
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, What::TaskEnd { task });
    tidy(thread);
    moment
}

/// Calls `wait`, in which the thread waits for tasks, between two events.
pub fn task_wait<T>(at: usize, wait: impl FnOnce() -> T) -> T {
    let thread = thread::current();
    let what = What::TaskWaitBegin { site: site(thread, at) };
    thread.pen.post(&SESSION, what);
    cpu_time_of(thread);
    let answer = wait();
    thread.pen.post_ordered(&SESSION, What::TaskWaitEnd);
    cpu_time_of(thread);
    tidy(thread);
    answer
}
