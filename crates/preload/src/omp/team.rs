//! Parallel regions and their teams, as the threads see them.
//!
//! The master hands the runtime [`member`] in place of the region's function, with a [`Region`] on
//! the master's stack as its data. So each member of the team records that it begins, and that it
//! has arrived at the barrier at the region's end. Between that arrival and its next region a
//! worker runs no code of this library except for tasks, which it may run in the barrier. So the
//! worker itself records when its wait at the barrier was over, but only as its next region begins
//! or as it ends; for workers that still wait as the process ends, the master that they wait for
//! records it.
//!
//! In events, a barrier is named by the call site of its construct. If the team is nested in
//! another, or its master is another thread than the first that opened a region, the name is a hash
//! of the site, the master and the depth.

use crate::events;
use crate::thread::callbacks::Callbacks;
use crate::thread::{self, Function, KEPT, Region, Teams, Thread};
use baton_trace::Construct;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

impl Teams {
    /// The region that the thread is in.
    ///
    /// # Safety
    /// `self` belongs to the calling thread: a region lives until all its threads have left it.
    unsafe fn region<'a>(&self) -> Option<&'a Region> {
        // SAFETY: `enter` set the pointer, and `leave` takes it back before the region ends.
        unsafe { self.region.load(Ordering::Relaxed).as_ref() }
    }

    /// When the last thread had arrived at the end of the region with this number and the region's
    /// last task was done, if this master still knows it.
    fn end_of(&self, number: u64) -> Option<u64> {
        let (of, time) = &self.ends[number as usize % KEPT];
        // Acquire: the time is read after the number. The master may overwrite the entry meanwhile;
        // then the number is another when it is read again.
        let known = |()| of.load(Ordering::Acquire) == number;
        Some(()).filter(|()| known(())).map(|()| time.load(Ordering::Relaxed)).filter(|_| known(()))
    }
}

/// The region and function that a thread was in before it entered another.
pub(super) struct Outer {
    region: *mut Region,
    running: usize,
}

/// The thread begins to run a function of a region. Returns what it was in before, for [`leave`].
fn enter(teams: &Teams, region: *const Region, function: Function) -> Outer {
    Outer {
        region: teams.region.swap(region.cast_mut(), Ordering::Relaxed),
        running: teams.running.swap(function as *const () as usize, Ordering::Relaxed),
    }
}

/// The thread has run the function: puts back what it was in before.
fn leave(teams: &Teams, outer: &Outer) {
    teams.region.store(outer.region, Ordering::Relaxed);
    teams.running.store(outer.running, Ordering::Relaxed);
}

/// The region that a thread is in, to which a task that it creates belongs; null if it is in none.
pub(super) fn region_of(thread: &Thread) -> *const Region {
    thread.teams.region.load(Ordering::Relaxed)
}

/// Records that the thread begins to run a task of a region, perhaps at the region's end, when it
/// has left the region's function. Returns what the thread was in before, for [`end_task`].
///
/// # Safety
/// The region has not ended: its end waits for its tasks.
pub(super) unsafe fn begin_task(thread: &Thread, region: *const Region, function: Function, task: u64) -> Outer {
    events::begin_task(thread, task);
    enter(&thread.teams, region, function)
}

/// Records that the thread has run the task, and puts back what the thread was in before.
///
/// # Safety
/// As for [`begin_task`]: the region has not ended.
pub(super) unsafe fn end_task(thread: &Thread, region: *const Region, outer: &Outer, task: u64) {
    leave(&thread.teams, outer);
    let moment = events::end_task(thread, task);
    // Release: the master finds this thread's writes with the time. A wait at the region's end ends
    // only after the last task, so its end counts like an arrival.
    // SAFETY: the region's end waits for the task, which this thread has not left yet.
    unsafe { (*region).last.fetch_max(moment, Ordering::Release) };
}

// The linker's symbols for the beginning and the end of this library's code.
unsafe extern "C" {
    static __ehdr_start: u8;
    static etext: u8;
}

/// The call site that is recorded for a call that returns to `at`. If a function that this library
/// called ends by a jump to the hook (a tail call), `at` is the address to which that function
/// returns, which lies in this library; then the function itself is recorded as the place.
pub(super) fn site(at: usize) -> usize {
    let ours = (&raw const __ehdr_start).addr()..(&raw const etext).addr();
    if !ours.contains(&at) {
        return at;
    }
    match thread::current().teams.running.load(Ordering::Relaxed) {
        0 => at,
        // One byte into the function, because a site is the address behind a call.
        function => function + 1,
    }
}

/// The first thread of the process that opened a region.
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());

/// The name, in events, of a barrier at a place of the program, for a team of this master at this
/// depth of nesting.
fn address(master: &'static Thread, depth: u32, site: usize) -> usize {
    let me = core::ptr::from_ref(master).cast_mut();
    let first = FIRST.load(Ordering::Relaxed);
    let is_first = first == me
        || first.is_null()
            && FIRST.compare_exchange(core::ptr::null_mut(), me, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if is_first && depth == 0 {
        return site;
    }
    let mark = (me.addr() >> 7).wrapping_add(depth as usize) ^ site.rotate_left(24);
    // Sets bit 47, which no address of a user's program has.
    1 << 47 | mark.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

impl Region {
    /// The calling thread opens a region: records it, and returns its record.
    pub(super) fn open(run: Function, data: *mut c_void, site: usize) -> Region {
        let master = thread::current();
        // SAFETY: these are the calling thread's own teams.
        let outer = unsafe { master.teams.region() };
        let depth = match outer {
            Some(outer) if core::ptr::eq(outer.master, master) => outer.depth + 1,
            _ => 0,
        };
        let number = master.teams.opened.load(Ordering::Relaxed) + 1;
        master.teams.opened.store(number, Ordering::Relaxed);
        let barrier = address(master, depth, site);
        events::fork_team(master, barrier, site);
        let (last, arrived) = (AtomicU64::new(0), AtomicU32::new(0));
        Region { run, data, master, number, barrier, site, depth, last, arrived }
    }

    /// The runtime has returned to the master, so all threads have arrived: records that, and notes
    /// the time of the last arrival or of the last task's end, whichever is later.
    pub(super) fn close(&self) {
        if self.arrived.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Acquire: the writes of all threads that stored a time there are seen. The runtime's own
        // barrier orders them too.
        let last = self.last.load(Ordering::Acquire);
        events::leave_team(self.master, self.barrier);
        let (number, time) = &self.master.teams.ends[self.number as usize % KEPT];
        number.store(0, Ordering::Relaxed);
        core::sync::atomic::fence(Ordering::Release);
        time.store(last, Ordering::Relaxed);
        // Release: `end_of` finds the time with the number.
        number.store(self.number, Ordering::Release);
    }
}

/// What every thread of the team runs in place of the region's function.
pub(super) unsafe extern "C-unwind" fn member(region: *mut c_void) {
    // SAFETY: the region lies on the stack of the master, which waits until all have arrived.
    let region = unsafe { &*region.cast::<Region>() };
    // SAFETY: the region's function gets its own data, as the program asked.
    unsafe { member_that(region, || (region.run)(region.data)) };
}

/// The calling thread is a member of the region's team: calls `run`, which runs the region's
/// function, between the events. Nothing here has a destructor, as a thread's exit may unwind
/// through it.
///
/// # Safety
/// The region's master waits until all members have arrived.
pub(super) unsafe fn member_that(region: &Region, run: impl FnOnce()) {
    let thread = thread::current();
    let teams = &thread.teams;
    let is_master = core::ptr::eq(thread, region.master);
    let threads = super::late::threads(region.site);
    let idled = !is_master && settle(thread, true);
    events::begin_team(thread, region.barrier, threads, idled);
    let outer = enter(teams, region, region.run);
    run();
    leave(teams, &outer);
    events::construct(thread, region.barrier, Construct::Region);
    let moment = events::arrive_at_team(thread, region.barrier, region.site);
    if !is_master {
        teams.number.store(region.number, Ordering::Relaxed);
        teams.barrier.store(region.barrier, Ordering::Relaxed);
        teams.arrived.store(moment, Ordering::Relaxed);
        // Release: a master that ends the wait in this thread's place finds the number, barrier and
        // time.
        teams.behind.store(core::ptr::from_ref(region.master).cast_mut(), Ordering::Release);
    }
    region.arrived.store(1, Ordering::Relaxed);
    // Release: the master finds this thread's writes with the time. This is the thread's last
    // access to the region.
    region.last.fetch_max(moment, Ordering::Release);
}

/// The value of [`Teams::behind`] while the end of the thread's wait is being recorded, by the
/// thread itself or, as the process ends, by its master.
const WRITTEN: *mut Thread = core::ptr::without_provenance_mut(1);

/// Records when the thread's wait at the end of its last region was over, if this is not recorded
/// yet. Returns whether there was such a wait to record. `idles`: the thread has waited for its
/// next region since.
fn settle(thread: &Thread, idles: bool) -> bool {
    let teams = &thread.teams;
    let mut pause = crate::base::time::Backoff::new();
    let mut behind = teams.behind.load(Ordering::Acquire);
    loop {
        if behind.is_null() {
            return false;
        }
        if behind == WRITTEN {
            pause.wait(None);
            behind = teams.behind.load(Ordering::Acquire);
            continue;
        }
        // Acquire: the number, barrier and time of the wait are seen with the pointer.
        match teams.behind.compare_exchange(behind, WRITTEN, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => break,
            Err(now) => behind = now,
        }
    }
    // SAFETY: the pointer is neither null nor `WRITTEN`, so it points to a thread's record, which
    // is never given back.
    let master = unsafe { &*behind };
    let arrived = teams.arrived.load(Ordering::Relaxed);
    // If the master does not know the end any more, the thread's own arrival stands for it.
    let end = master.teams.end_of(teams.number.load(Ordering::Relaxed)).unwrap_or(arrived).max(arrived);
    events::left_team(thread, teams.barrier.load(Ordering::Relaxed), end + 1, idles);
    // Release: the events are seen by the thread if its master wrote them and the thread goes on.
    teams.behind.store(core::ptr::null_mut(), Ordering::Release);
    true
}

/// What this room does as threads end.
pub static CALLBACKS: Callbacks = Callbacks { thread_ends, ..Callbacks::NONE };

/// Records the end of the thread's last wait before the thread ends.
fn thread_ends(thread: &Thread) {
    if events::is_recording() {
        settle(thread, false);
    }
}

/// Called as the process ends by `exit` or `_exit`. Workers that wait for the calling thread's next
/// region run no more, so the ends of their last waits are recorded for them.
pub fn finish() {
    if !events::is_recording() {
        return;
    }
    let Some(master) = thread::existing().filter(|_| !thread::fork::in_child()) else { return };
    if !master.teams.region.load(Ordering::Relaxed).is_null() {
        return;
    }
    for worker in thread::all().filter(|worker| worker.handle() != 0) {
        if core::ptr::eq(worker.teams.behind.load(Ordering::Acquire), master) {
            settle(worker, true);
        }
    }
}

/// The name, in events, of the barrier of a construct at `site`, for the calling thread's team;
/// `None` outside of regions.
pub(super) fn barrier(thread: &'static Thread, site: usize) -> Option<usize> {
    // SAFETY: these are the calling thread's own teams.
    let region = unsafe { thread.teams.region() };
    region.map(|region| address(region.master, region.depth, site))
}

/// Task numbers that a thread reserves at a time.
const NUMBERS: u64 = 4096;
static NEXT_TASK: AtomicU64 = AtomicU64::new(1);

/// A number for a task, which no other task of the process has.
pub(super) fn next_task(thread: &Thread) -> u64 {
    let teams = &thread.teams;
    let mut next = teams.tasks.load(Ordering::Relaxed);
    if next == teams.tasks_end.load(Ordering::Relaxed) {
        next = NEXT_TASK.fetch_add(NUMBERS, Ordering::Relaxed);
        teams.tasks_end.store(next + NUMBERS, Ordering::Relaxed);
    }
    teams.tasks.store(next + 1, Ordering::Relaxed);
    next
}
