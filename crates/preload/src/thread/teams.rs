//! What a thread knows of its OpenMP teams, and the record of a parallel region while it runs. The
//! room `omp` has the logic.

use super::record::Thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A function that a thread of a team runs.
pub type Function = unsafe extern "C-unwind" fn(*mut c_void);

/// How many of its regions' ends a master remembers.
pub const KEPT: usize = 16;

/// What a thread knows of its teams.
pub struct Teams {
    /// The number of regions that the thread has opened.
    pub opened: AtomicU64,
    /// When all threads had arrived at the end of each of the latest regions: the region's number,
    /// the time.
    pub ends: [(AtomicU64, AtomicU64); KEPT],
    /// The region that the thread is in; null: none.
    pub region: AtomicPtr<Region>,
    /// The master of the region at whose end the thread waits; null: it does not wait; `WRITTEN`
    /// (`omp::team`): the end of its wait is being recorded.
    pub behind: AtomicPtr<Thread>,
    /// The number and barrier of the region at whose end the thread waits, and when it arrived
    /// there.
    pub number: AtomicU64,
    pub barrier: AtomicUsize,
    pub arrived: AtomicU64,
    /// The program's function that the thread runs by a function of this library: a region's or a
    /// task's; 0: none.
    pub running: AtomicUsize,
    /// The call site at which the thread entered a `single` whose values it will hand out.
    pub single: AtomicUsize,
    /// The next task number that the thread may give out, and the end of its numbers.
    pub tasks: AtomicU64,
    pub tasks_end: AtomicU64,
}

impl Teams {
    /// The state of a thread that has been in no team.
    pub const fn new() -> Teams {
        Teams {
            opened: AtomicU64::new(0),
            ends: [const { (AtomicU64::new(0), AtomicU64::new(0)) }; KEPT],
            region: AtomicPtr::new(core::ptr::null_mut()),
            behind: AtomicPtr::new(core::ptr::null_mut()),
            number: AtomicU64::new(0),
            barrier: AtomicUsize::new(0),
            arrived: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            single: AtomicUsize::new(0),
            tasks: AtomicU64::new(0),
            tasks_end: AtomicU64::new(0),
        }
    }

    /// Resets the state for another thread, which has the record now. The numbers of regions go on,
    /// because a worker may still ask for the end of an old region.
    pub fn forget(&self) {
        self.region.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.running.store(0, Ordering::Relaxed);
        self.behind.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A parallel region while it runs.
pub struct Region {
    pub run: Function,
    pub data: *mut c_void,
    pub master: &'static Thread,
    pub number: u64,
    pub barrier: usize,
    pub site: usize,
    /// The number of regions around this one that the same master opened.
    pub depth: u32,
    /// The latest arrival at the region's end so far, or the latest end of a task.
    pub last: AtomicU64,
    /// Whether any thread has arrived (0 or 1).
    pub arrived: AtomicU32,
}
