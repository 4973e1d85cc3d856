//! What a tool is told of threads, regions and tasks, and the words that it keeps with them.
//!
//! The interface that tools know, OMPT, is a matter of the process (`crates/gomp/src/ompt`). Without a
//! tool [`Region::told`](crate::team::Region::told) is `None`, and nothing here is made.

use crate::work::Work;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::Relaxed};

/// A word of the tool, OMPT's `ompt_data_t`: zero until the tool changes it.
#[derive(Default)]
#[repr(transparent)]
pub struct Word(UnsafeCell<u64>);

// SAFETY: the runtime never accesses the word; it hands out the address, and the tool orders its own
// accesses.
unsafe impl Sync for Word {}

impl Word {
    /// The word's address.
    pub fn address(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// Where the stack changes between the program's frames and the runtime's: OMPT's `ompt_frame_t`.
/// Relaxed accesses: only the thread that runs the task needs the value.
#[derive(Default)]
#[repr(C)]
pub struct Frame {
    exit: AtomicUsize,
    enter: AtomicUsize,
    exit_flags: AtomicI32,
    enter_flags: AtomicI32,
}

/// The numbers of `ompt_frame_flag_t`: a stack address within a frame of the runtime or of the
/// program.
const IN_RUNTIME: i32 = 0x30;
const IN_PROGRAM: i32 = 0x31;
/// The frame pointer of a function of the runtime.
const FRAME_POINTER: i32 = 0x20;

impl Frame {
    /// Says that the runtime's frame at this stack address called the task's function; 0: none.
    pub fn exits(&self, at: usize) {
        self.exit.store(at, Relaxed);
        self.exit_flags.store(if at == 0 { 0 } else { IN_RUNTIME }, Relaxed);
    }

    /// Where a function that has a frame pointer, and calls the task's function, stores it.
    pub fn exit_slot(&self) -> *mut usize {
        self.exit_flags.store(FRAME_POINTER, Relaxed);
        self.exit.as_ptr()
    }

    /// Says that the program's frame at this stack address called the runtime; 0: none. Returns the
    /// address before.
    pub fn enters(&self, at: usize) -> usize {
        self.enter_flags.store(if at == 0 { 0 } else { IN_PROGRAM }, Relaxed);
        self.enter.swap(at, Relaxed)
    }
}

/// OMPT's flag of a region that is a league of teams.
pub const LEAGUE: i32 = 0x4000_0000;

/// A region, as a tool knows it.
pub struct RegionRecord {
    /// The tool that is told.
    pub tool: &'static dyn Tool,
    /// The tool's word.
    pub word: Word,
    /// The task that began the region; `None` for what is around all regions.
    pub by: Option<Arc<TaskRecord>>,
    /// The number of the region's threads; 0 before they are known.
    pub threads: AtomicU32,
    /// OMPT's flags of the region, for the tool's side.
    pub flags: AtomicI32,
    /// Whether the region's threads begin in sections rather than in a loop, for the tool's side.
    pub in_sections: AtomicBool,
    /// The address in the program at which the region began, for the tool's side.
    pub code: AtomicUsize,
}

impl RegionRecord {
    fn new(tool: &'static dyn Tool, by: Option<Arc<TaskRecord>>) -> RegionRecord {
        RegionRecord {
            tool,
            word: Word::default(),
            by,
            threads: AtomicU32::new(0),
            flags: AtomicI32::new(0),
            in_sections: AtomicBool::new(false),
            code: AtomicUsize::new(0),
        }
    }

    /// Whether the region's threads begin the initial tasks of a league's teams.
    pub fn is_league(&self) -> bool {
        self.flags.load(Relaxed) & LEAGUE != 0
    }

    /// The region around this one.
    pub fn outer(&self) -> Option<&RegionRecord> {
        self.by.as_ref()?.region.as_deref()
    }
}

/// The numbers of `ompt_task_flag_t` that the runtime knows.
pub mod task_flag {
    /// The task around all regions of an initial thread.
    pub const INITIAL: i32 = 1;
    /// A thread's part of a region.
    pub const IMPLICIT: i32 = 2;
    /// A task that the program made.
    pub const EXPLICIT: i32 = 4;
    /// The maker goes on only after the task.
    pub const UNDEFERRED: i32 = 0x0800_0000;
    /// The task's children run at once.
    pub const FINAL: i32 = 0x2000_0000;
}

/// The numbers of `ompt_task_status_t` that the runtime knows: why a thread leaves a task.
pub mod status {
    /// The task has ended.
    pub const COMPLETE: i32 = 1;
    /// The task was cancelled.
    pub const CANCEL: i32 = 3;
    /// Beside [`CANCEL`]: it was cancelled before it began. No number of OMPT.
    pub const DISCARDED: i32 = 1 << 8;
    /// The task's function has ended, and its event is not fulfilled.
    pub const DETACH: i32 = 4;
    /// The event was fulfilled before the task's function ended.
    pub const EARLY_FULFIL: i32 = 5;
    /// The event was fulfilled after the task's function ended.
    pub const LATE_FULFIL: i32 = 6;
    /// The thread goes to another task.
    pub const SWITCH: i32 = 7;
}

/// A task, as a tool knows it.
pub struct TaskRecord {
    /// The tool that is told.
    pub tool: &'static dyn Tool,
    /// The tool's word.
    pub word: Word,
    /// Where the task's stack begins, and where it goes on in the runtime.
    pub frame: Frame,
    /// OMPT's flags of the task.
    pub flags: AtomicI32,
    /// The region that the task belongs to.
    pub region: Option<Arc<RegionRecord>>,
    /// The number, in its team, of the thread that runs the task.
    pub thread: AtomicU32,
    /// The task that made this one, or began its region.
    pub parent: Option<Arc<TaskRecord>>,
    /// Why the task's thread leaves it when its function returns: one of [`status`].
    pub ends: AtomicI32,
}

impl TaskRecord {
    fn new(
        tool: &'static dyn Tool,
        flags: i32,
        region: Option<Arc<RegionRecord>>,
        thread: u32,
        parent: Option<Arc<TaskRecord>>,
    ) -> Arc<TaskRecord> {
        Arc::new(TaskRecord {
            tool,
            word: Word::default(),
            frame: Frame::default(),
            flags: AtomicI32::new(flags),
            region,
            thread: AtomicU32::new(thread),
            parent,
            ends: AtomicI32::new(status::COMPLETE),
        })
    }

    /// The address of the tool's word for the task's region.
    pub fn region_word(&self) -> *mut c_void {
        self.region.as_ref().map_or(core::ptr::null_mut(), |region| region.word.address())
    }

    /// Whether the task has all of these flags.
    pub fn is(&self, flags: i32) -> bool {
        self.flags.load(Relaxed) & flags == flags
    }

    /// An undeferred task that stands for a wait of this one, of which the tool is told.
    pub fn undeferred(self: &Arc<Self>) -> Arc<TaskRecord> {
        self.child(task_flag::UNDEFERRED)
    }

    /// The function of an explicit task has ended, or was left out. `open`: the task has an event that
    /// is not fulfilled.
    #[cold]
    #[inline(never)]
    pub(crate) fn body_ended(&self, ran: bool, open: bool) {
        if !ran {
            self.ends.store(status::CANCEL | status::DISCARDED, Relaxed);
        } else if open {
            self.ends.store(status::DETACH, Relaxed);
        }
    }

    /// A task that this one makes, of which the tool is told.
    pub(crate) fn child(self: &Arc<Self>, flags: i32) -> Arc<TaskRecord> {
        let thread = self.thread.load(Relaxed);
        let made = TaskRecord::new(self.tool, flags, self.region.clone(), thread, Some(self.clone()));
        self.tool.task_made(self, &made);
        made
    }
}

/// What the threads of a region learn of the tool: the region's record, which stays until the last thread
/// has ended the region.
#[derive(Clone, Copy)]
pub struct Told(NonNull<RegionRecord>);

// SAFETY: a record may be shared by threads, as its fields may.
unsafe impl Send for Told {}
// SAFETY: as above.
unsafe impl Sync for Told {}

impl Told {
    /// What is told outside of all regions. It is never freed.
    pub fn outside(tool: &'static dyn Tool) -> Told {
        Told(NonNull::from(Box::leak(Box::new(RegionRecord::new(tool, None)))))
    }

    /// The tool.
    pub fn tool(self) -> &'static dyn Tool {
        // SAFETY: the record stays while a thread is in the region.
        unsafe { self.0.as_ref() }.tool
    }

    /// The record of a region that `by` begins with `asked` threads, of which the tool is told.
    /// [`end`](Told::end) ends it.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin(self, by: Option<&Arc<TaskRecord>>, asked: u32) -> Told {
        let region = Arc::new(RegionRecord::new(self.tool(), by.cloned()));
        self.tool().region_begins(&region, asked);
        // SAFETY: an `Arc` has an address that is not null.
        Told(unsafe { NonNull::new_unchecked(Arc::into_raw(region).cast_mut()) })
    }

    /// Ends a region that [`begin`](Told::begin) began.
    ///
    /// # Safety
    /// Its threads have ended it, and it is ended once.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn end(self) {
        // SAFETY: `begin` made the pointer, and gives up its hold here.
        let region = unsafe { Arc::from_raw(self.0.as_ptr().cast_const()) };
        region.tool.region_ends(&region);
    }

    /// The record of a thread's implicit task.
    ///
    /// # Safety
    /// The calling thread is in the region, which has not ended.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn implicit(self, id: u32, threads: u32) -> Arc<TaskRecord> {
        // SAFETY: the thread that began the region holds it, until all threads have ended it.
        let region = unsafe {
            let region = self.0.as_ptr().cast_const();
            Arc::increment_strong_count(region);
            Arc::from_raw(region)
        };
        region.threads.store(threads, Relaxed);
        let parent = region.by.clone();
        TaskRecord::new(self.tool(), task_flag::IMPLICIT, Some(region), id, parent)
    }

    /// The record of an initial task, which the task `by` leads to.
    #[cold]
    #[inline(never)]
    pub(crate) fn initial(self, by: Option<&Arc<TaskRecord>>) -> Arc<TaskRecord> {
        // The initial tasks of a league's teams belong to the league's region.
        let league = by.and_then(|by| by.region.clone()).filter(|region| region.is_league());
        let region = league.unwrap_or_else(|| {
            let region = Arc::new(RegionRecord::new(self.tool(), by.cloned()));
            region.threads.store(1, Relaxed);
            region
        });
        TaskRecord::new(self.tool(), task_flag::INITIAL, Some(region), 0, by.cloned())
    }
}

impl Drop for TaskRecord {
    fn drop(&mut self) {
        // One by one: a chain of tasks, each made by the one before, may be as long as the program
        // runs.
        let mut next = self.parent.take();
        while let Some(mut last) = next.and_then(Arc::into_inner) {
            next = last.parent.take();
        }
    }
}

/// What a tool's side of the interface is told. The thread that is meant is the calling one.
pub trait Tool: Send + Sync {
    /// A thread begins: one that the program started, or a worker.
    fn thread_begins(&self, initial: bool);
    /// The thread ends.
    fn thread_ends(&self);
    /// A region begins, for which `asked` threads were asked.
    fn region_begins(&self, region: &RegionRecord, asked: u32);
    /// A region has ended.
    fn region_ends(&self, region: &RegionRecord);
    /// A thread begins its implicit task, number `id` of `threads`, or its initial task.
    fn implicit_begins(&self, task: &TaskRecord, threads: u32, id: u32);
    /// A thread ends its implicit task or its initial task.
    fn implicit_ends(&self, task: &TaskRecord, id: u32);
    /// A thread arrives at the end of its region, or leaves it.
    fn joins(&self, task: &TaskRecord, arrives: bool);
    /// A thread has entered the work-share with which its region begins.
    fn shares(&self, task: &TaskRecord, work: &Work);
    /// A task makes another one.
    fn task_made(&self, by: &TaskRecord, made: &TaskRecord);
    /// The thread leaves a task, by one of [`status`], for another one.
    fn task_switches(&self, from: &TaskRecord, why: i32, to: Option<&TaskRecord>);
    /// A task waits for an earlier one.
    fn task_follows(&self, earlier: &TaskRecord, later: &TaskRecord);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;

    impl Tool for Deaf {
        fn thread_begins(&self, _: bool) {}
        fn thread_ends(&self) {}
        fn region_begins(&self, _: &RegionRecord, _: u32) {}
        fn region_ends(&self, _: &RegionRecord) {}
        fn implicit_begins(&self, _: &TaskRecord, _: u32, _: u32) {}
        fn implicit_ends(&self, _: &TaskRecord, _: u32) {}
        fn joins(&self, _: &TaskRecord, _: bool) {}
        fn shares(&self, _: &TaskRecord, _: &Work) {}
        fn task_made(&self, _: &TaskRecord, _: &TaskRecord) {}
        fn task_switches(&self, _: &TaskRecord, _: i32, _: Option<&TaskRecord>) {}
        fn task_follows(&self, _: &TaskRecord, _: &TaskRecord) {}
    }

    #[test]
    fn a_long_chain_of_tasks_is_freed_without_a_deep_stack() {
        let mut task = Told::outside(&Deaf).initial(None);
        for _ in 0..300_000 {
            task = task.child(task_flag::EXPLICIT);
        }
        assert!(task.is(task_flag::EXPLICIT) && !task.is(task_flag::INITIAL));
    }
}
