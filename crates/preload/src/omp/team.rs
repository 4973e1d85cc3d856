//! Parallel regions and their teams, as the threads see them.
//!
//! The master hands the runtime a function of ours in place of the region's, with the region's data on the master's stack. So each
//! member of the team says that it begins, and that it has arrived at the barrier at the region's end. Between that arrival and its
//! next region a worker runs nothing of ours: when all had arrived is written down by the worker itself as its next region begins,
//! or as it ends; for workers that wait as the process ends, by the master that they wait for.
//!
//! What stands for a barrier in events is the place of its construct in the program. Teams that are nested in others, or that another
//! thread than the process's first master opens, have marks of their own in it.

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
    /// `self` is the calling thread's: a region lives until all its threads have left it.
    unsafe fn region<'a>(&self) -> Option<&'a Region> {
        // SAFETY: set by `member`, and taken back before the region ends.
        unsafe { self.region.load(Ordering::Relaxed).as_ref() }
    }

    /// When all had arrived at the end of a region, if that is still known.
    fn end_of(&self, number: u64) -> Option<u64> {
        let (of, time) = &self.ends[number as usize % KEPT];
        // Acquire: its time. A master that has gone on may overwrite it meanwhile; the number is then another one.
        let known = |()| of.load(Ordering::Acquire) == number;
        Some(()).filter(|()| known(())).map(|()| time.load(Ordering::Relaxed)).filter(|_| known(()))
    }
}

/// What a thread was in before.
pub(super) struct Outer {
    region: *mut Region,
    running: usize,
}

/// The thread begins to run a function of a region.
fn enter(teams: &Teams, region: *const Region, function: Function) -> Outer {
    Outer {
        region: teams.region.swap(region.cast_mut(), Ordering::Relaxed),
        running: teams.running.swap(function as *const () as usize, Ordering::Relaxed),
    }
}

/// It has run it.
fn leave(teams: &Teams, outer: &Outer) {
    teams.region.store(outer.region, Ordering::Relaxed);
    teams.running.store(outer.running, Ordering::Relaxed);
}

/// The region that a thread is in, for a task that it creates; null: none.
pub(super) fn region_of(thread: &Thread) -> *const Region {
    thread.teams.region.load(Ordering::Relaxed)
}

/// The thread begins to run a task of a region, perhaps at the region's end, where it has left the region's function.
///
/// # Safety
/// The region has not ended: its end waits for its tasks.
pub(super) unsafe fn begin_task(thread: &Thread, region: *const Region, function: Function, task: u64) -> Outer {
    events::begin_task(thread, task);
    enter(&thread.teams, region, function)
}

/// It has run it.
///
/// # Safety
/// As for [`begin_task`].
pub(super) unsafe fn end_task(thread: &Thread, region: *const Region, outer: &Outer, task: u64) {
    leave(&thread.teams, outer);
    let moment = events::end_task(thread, task);
    // Release: the master finds it. Who waits at the region's end waits for the last task, too.
    // SAFETY: the region's end waits for the task that this thread has not left yet.
    unsafe { (*region).last.fetch_max(moment, Ordering::Release) };
}

// Where this library's own code begins, and where it ends.
unsafe extern "C" {
    static __ehdr_start: u8;
    static etext: u8;
}

/// The call site as it is told. A function of the program that ends with the call leaves nothing but its own caller's address,
/// which is ours: then that function stands for the place.
pub(super) fn site(at: usize) -> usize {
    let ours = (&raw const __ehdr_start).addr()..(&raw const etext).addr();
    if !ours.contains(&at) {
        return at;
    }
    match thread::current().teams.running.load(Ordering::Relaxed) {
        0 => at,
        // As behind a call in it.
        function => function + 1,
    }
}

/// The first thread that opened a region.
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());

/// What stands for a barrier at a place of the program, of the team of a master.
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
    // No address of a user's has bit 47.
    1 << 47 | mark.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

impl Region {
    /// The calling thread opens it.
    pub(super) fn open(run: Function, data: *mut c_void, site: usize) -> Region {
        let master = thread::current();
        // SAFETY: the calling thread's own.
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

    /// The runtime has returned to the master: all have arrived.
    pub(super) fn close(&self) {
        if self.arrived.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Acquire: all that was stored there. The runtime's own barrier orders them, too.
        let last = self.last.load(Ordering::Acquire);
        events::leave_team(self.master, self.barrier);
        let (number, time) = &self.master.teams.ends[self.number as usize % KEPT];
        number.store(0, Ordering::Relaxed);
        core::sync::atomic::fence(Ordering::Release);
        time.store(last, Ordering::Relaxed);
        // Release: `end_of` finds the time with it.
        number.store(self.number, Ordering::Release);
    }
}

/// What every thread of the team runs in place of the region's function. Nothing here has a destructor, as a thread's exit may unwind
/// through it.
pub(super) unsafe extern "C-unwind" fn member(region: *mut c_void) {
    // SAFETY: the master's, which waits until all have arrived.
    let region = unsafe { &*region.cast::<Region>() };
    let thread = thread::current();
    let teams = &thread.teams;
    let is_master = core::ptr::eq(thread, region.master);
    let threads = super::late::threads(region.site);
    let idled = !is_master && settle(thread, true);
    events::begin_team(thread, region.barrier, threads, idled);
    let outer = enter(teams, region, region.run);
    // SAFETY: as the program asked.
    unsafe { (region.run)(region.data) };
    leave(teams, &outer);
    events::construct(thread, region.barrier, Construct::Region);
    let moment = events::arrive_at_team(thread, region.barrier, region.site);
    if !is_master {
        teams.number.store(region.number, Ordering::Relaxed);
        teams.barrier.store(region.barrier, Ordering::Relaxed);
        teams.arrived.store(moment, Ordering::Relaxed);
        // Release: the thread that ends the wait in this one's place finds where it waits.
        teams.behind.store(core::ptr::from_ref(region.master).cast_mut(), Ordering::Release);
    }
    region.arrived.store(1, Ordering::Relaxed);
    // Release: the master finds it. It is the last that touches the region.
    region.last.fetch_max(moment, Ordering::Release);
}

/// In [`Teams::behind`]: what it waited behind is being written down, by itself or by its master as the process ends.
const WRITTEN: *mut Thread = core::ptr::without_provenance_mut(1);

/// Writes down when the thread's wait at the end of its last region was over, if it is behind one. Gives whether it has waited for
/// the next region since.
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
        // Acquire: where the thread waits.
        match teams.behind.compare_exchange(behind, WRITTEN, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => break,
            Err(now) => behind = now,
        }
    }
    // SAFETY: neither null nor the mark: a record, never given back.
    let master = unsafe { &*behind };
    let arrived = teams.arrived.load(Ordering::Relaxed);
    // Where it is known no more, the thread's own arrival is what is left.
    let end = master.teams.end_of(teams.number.load(Ordering::Relaxed)).unwrap_or(arrived).max(arrived);
    events::left_team(thread, teams.barrier.load(Ordering::Relaxed), end + 1, idles);
    // Release: what was written, for a thread that goes on after its master wrote.
    teams.behind.store(core::ptr::null_mut(), Ordering::Release);
    true
}

/// What teams do as threads end.
pub static CALLBACKS: Callbacks = Callbacks { thread_ends, ..Callbacks::NONE };

/// A thread is about to end.
fn thread_ends(thread: &Thread) {
    if events::is_recording() {
        settle(thread, false);
    }
}

/// The process ends in order. Workers that wait for the calling thread's next region run no more: what they have not written down is
/// written for them.
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

/// The barrier that stands for a construct at a place, in the calling thread's team; `None` outside of regions.
pub(super) fn barrier(thread: &'static Thread, site: usize) -> Option<usize> {
    // SAFETY: the calling thread's own.
    let region = unsafe { thread.teams.region() };
    region.map(|region| address(region.master, region.depth, site))
}

/// Numbers that a thread takes at a time.
const NUMBERS: u64 = 4096;
static NEXT_TASK: AtomicU64 = AtomicU64::new(1);

/// A number for a task.
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
