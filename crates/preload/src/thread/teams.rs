//! What a thread knows of its OpenMP teams, and a parallel region while it goes on. The room of OpenMP has the logic.

use super::record::Thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What a thread of a team runs.
pub type Function = unsafe extern "C-unwind" fn(*mut c_void);

/// Ends of regions that a master remembers.
pub const KEPT: usize = 16;

/// What a thread knows of its teams.
pub struct Teams {
    /// Regions that it has opened.
    pub opened: AtomicU64,
    /// When all had arrived at the ends of the latest of them: number, time.
    pub ends: [(AtomicU64, AtomicU64); KEPT],
    /// The region that it is in; null: none.
    pub region: AtomicPtr<Region>,
    /// The master behind whose region it waits; null: it does not.
    pub behind: AtomicPtr<Thread>,
    /// That region's number and barrier, and when this thread arrived.
    pub number: AtomicU64,
    pub barrier: AtomicUsize,
    pub arrived: AtomicU64,
    /// The program's function that it runs for us: a region's or a task's; 0: none.
    pub running: AtomicUsize,
    /// Where it entered a `single` whose values it will hand out.
    pub single: AtomicUsize,
    /// Numbers for tasks that it may give out.
    pub tasks: AtomicU64,
    pub tasks_end: AtomicU64,
}

impl Teams {
    /// Of a thread that has been in none.
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

    /// Another thread has the record now. Numbers of regions go on: a worker may still ask for the end of an old one.
    pub fn forget(&self) {
        self.region.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.running.store(0, Ordering::Relaxed);
        self.behind.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A parallel region while it goes on.
pub struct Region {
    pub run: Function,
    pub data: *mut c_void,
    pub master: &'static Thread,
    pub number: u64,
    pub barrier: usize,
    pub site: usize,
    /// Regions of the same master around it.
    pub depth: u32,
    /// The latest arrival at its end so far, or the latest end of a task.
    pub last: AtomicU64,
    /// Threads that have arrived.
    pub arrived: AtomicU32,
}
