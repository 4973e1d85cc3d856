//! What the library knows of each thread: counters, its place in a condition variable's queue, its trace.
//!
//! A thread's record comes from a pool that is never given back, so that another thread may look at it (a cancellation, the
//! sum of the counters at exit) whatever has become of its thread. The thread finds it through one word of thread-local
//! storage at a fixed offset: no call, no allocation, usable in a signal handler, and alive until the thread's very end.
//! A thread that locks after the last destructors of its keys takes another record, which goes back when it is dead.

use crate::stack::BlockStack;
use baton_trace::sys;
use baton_trace::writer::ThreadWriter;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

// Two words of thread-local storage: the record, and whether the thread has left it for good. Rust's own would be reached by a call to `__tls_get_addr`; a library that is preloaded
// always has room in the static block, so the offset is a constant of the process (the initial-exec model).
core::arch::global_asm!(
    ".pushsection .tbss.baton_preload,\"awT\",@nobits",
    ".balign 8",
    ".type baton_preload_thread,@object",
    ".size baton_preload_thread,16",
    ".globl baton_preload_thread",
    ".hidden baton_preload_thread",
    "baton_preload_thread:",
    ".zero 16",
    ".popsection",
);

/// A count that its own thread writes and others may read.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more. Not one atomic step: only the thread itself counts, and no signal handler does.
    #[inline(always)]
    pub fn add_one(&self) {
        self.add(1);
    }

    /// So many more.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many locks a thread holds, as far as its own events tell: one that another thread gives up for it stays in the count.
#[derive(Default)]
pub struct Holds(AtomicU32);

impl Holds {
    /// One more. Like [`Count`], its own thread's alone.
    #[inline(always)]
    pub fn take(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// One less.
    #[inline(always)]
    pub fn give(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }

    /// None.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// A new thread holds none.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// What is counted of a thread. They stay when the thread goes, and its successor in the record counts on.
#[derive(Default)]
#[repr(C)]
pub struct Counts {
    /// Mutex acquisitions that the named lock served.
    pub served: Count,
    /// Those that the spare lock served in its place.
    pub spare: Count,
    /// Those of them that came through OpenMP.
    pub openmp: Count,
    /// Acquisitions that glibc served, by [`crate::mutex::Passed`].
    pub passed: [Count; crate::mutex::Passed::NUMBER],
    /// Condition waits on Baton's condition variables.
    pub condition_waits: Count,
    /// Waiters that its broadcasts moved to their mutex.
    pub moved: Count,
    /// Condition waits that were an error, as a process-shared variable cannot wait with a replaced mutex.
    pub refused_waits: Count,
    /// Barrier episodes on Baton's barriers.
    pub barrier_waits: Count,
}

/// One thread.
#[repr(C, align(128))]
pub struct Thread {
    /// The pool's link while nobody has the record.
    link: AtomicUsize,
    /// The record behind in the list of all.
    next_of_all: AtomicPtr<Thread>,
    /// Its `pthread_t`; 0 while nobody has the record.
    handle: AtomicUsize,
    /// The kernel's number of it.
    tid: AtomicU32,
    /// How often the destructors of thread-local keys have come by.
    rounds: AtomicU32,
    /// Its numbers.
    pub counts: Counts,
    /// Its place in a condition variable's queue.
    pub waiter: crate::cond::Waiter,
    /// Whether it may leave a wait at any instruction: bits of [`crate::leaving`].
    pub leaves: AtomicU32,
    /// The block that it keeps for a mutex whose lock does not fit into it.
    pub block: AtomicUsize,
    /// Its trace.
    pub pen: ThreadWriter,
    /// The locks that it holds, where they are recorded.
    pub holds: Holds,
    /// Its call stacks.
    pub stacks: crate::capture::Stacks,
    /// Its context switches.
    pub switches: crate::capture::Ring,
    /// Its teams in OpenMP's regions.
    pub teams: crate::omp::Teams,
    /// Its signal mask before the fork that it is in, if signals are blocked for it.
    pub mask: AtomicU64,
    /// Whether they are.
    pub blocked: AtomicBool,
}

// SAFETY: all fields are atomics but the pen, which only the record's own thread uses; as the process ends, its master writes for a
// worker that waits for the master's next region (`omp::finish`), and so runs nothing of ours.
unsafe impl Sync for Thread {}

static FREE: BlockStack = BlockStack::new();
/// Records that threads took after they had left theirs: nothing tells of such a thread's end.
static LATE: BlockStack = BlockStack::new();
static ALL: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// Threads that have had a record.
static ADOPTED: Count = Count(AtomicU64::new(0));
/// The pthread key whose destructor ends a record, plus one; 0 until it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// A number of the calling thread that no other live thread has, and that it keeps in a fork's child: its thread pointer.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: the x86-64 ABI keeps the thread pointer at offset 0 of the block that it points to.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    pointer
}

/// The calling thread's word.
#[inline(always)]
fn word() -> *mut Thread {
    let word: *mut Thread;
    // SAFETY: the loader puts the word's offset into the GOT; the word lives as long as the thread.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

fn set_word(thread: *const Thread) {
    // SAFETY: as in `word`; only this thread writes it.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// Whether the calling thread has left its record, after the destructors of its keys.
fn has_left() -> bool {
    let left: usize;
    // SAFETY: as in `word`; the second of the two words.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0} + 8]",
            out(reg) left,
            options(nostack, preserves_flags, readonly),
        );
    }
    left != 0
}

fn set_left() {
    // SAFETY: as in `has_left`; only this thread writes it.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0} + 8], {1}",
            out(reg) _,
            in(reg) 1usize,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread's record, made at first use.
#[inline(always)]
pub fn current() -> &'static Thread {
    let word = word();
    if word.is_null() {
        return adopt();
    }
    // SAFETY: records are never given back.
    unsafe { &*word }
}

/// The record, if the thread has one.
pub fn existing() -> Option<&'static Thread> {
    // SAFETY: records are never given back.
    unsafe { word().as_ref() }
}

#[cold]
#[inline(never)]
fn adopt() -> &'static Thread {
    take_back();
    let thread = match FREE.pop() {
        // SAFETY: records are never given back, and this one is ours now.
        Some(block) => unsafe { &*block.cast::<Thread>() },
        None => allocate(),
    };
    if let Some(other) = existing() {
        // A signal handler came in between and has given the thread a record.
        // SAFETY: nobody has seen this one.
        unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
        return other;
    }
    thread.rounds.store(0, Ordering::Relaxed);
    thread.blocked.store(false, Ordering::Relaxed);
    thread.waiter.renew();
    thread.leaves.store(0, Ordering::Relaxed);
    thread.holds.forget();
    thread.teams.forget();
    thread.tid.store(sys::tid(), Ordering::Relaxed);
    if has_left() {
        // An allocator that locks while the thread's remains are freed. Its locks are served and recorded as any other's, but as
        // those of a thread without a beginning and an end; its handle may already be another thread's.
        crate::capture::late_thread(thread);
        set_word(thread);
        // SAFETY: a record, never given back. Its link is free as long as a thread has it.
        unsafe { LATE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
        return thread;
    }
    ADOPTED.0.fetch_add(1, Ordering::Relaxed);
    thread.handle.store(pointer(), Ordering::Release);
    set_word(thread);
    arm(thread);
    crate::capture::thread_begins(thread);
    thread
}

/// Takes back the records of late threads that are dead by now: of up to two, as each thread leaves one at most.
fn take_back() {
    // A process that shares its parent's memory for a while (vfork) knows nothing of the parent's threads.
    if !crate::fork::is_process() {
        return;
    }
    let mut alive = [core::ptr::null_mut(); 2];
    for alive in &mut alive {
        let Some(block) = LATE.pop() else { break };
        // SAFETY: a record, never given back; nobody else has it while it is off the stack, but its own thread, if that lives.
        let thread = unsafe { &*block.cast::<Thread>() };
        if sys::is_alive(sys::pid(), thread.tid()) {
            *alive = block;
        } else {
            crate::capture::late_thread_ended(thread);
            // SAFETY: nobody has the record now.
            unsafe { FREE.push(block) };
        }
    }
    for block in alive.into_iter().filter(|block| !block.is_null()) {
        // SAFETY: a record, as it was taken.
        unsafe { LATE.push(block) };
    }
}

/// Records for threads that take their first lock when there is no memory left. They take none until they are used.
struct Reserve {
    records: UnsafeCell<[MaybeUninit<Thread>; Reserve::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: each record is given out once.
unsafe impl Sync for Reserve {}
static RESERVE: Reserve =
    Reserve { records: UnsafeCell::new([const { MaybeUninit::uninit() }; Reserve::SIZE]), used: AtomicUsize::new(0) };

impl Reserve {
    const SIZE: usize = 256;

    /// Memory for a record; null if all are taken.
    fn take(&self) -> *mut Thread {
        let next = self.used.fetch_add(1, Ordering::Relaxed);
        let records = self.records.get().cast::<Thread>();
        if next < Reserve::SIZE { records.wrapping_add(next) } else { core::ptr::null_mut() }
    }
}

fn allocate() -> &'static Thread {
    // SAFETY: the layout's size is not zero. The memory is for one record, and never given back.
    let thread: &'static Thread = unsafe {
        let mut memory = crate::alloc::PRIVATE.alloc(Layout::new::<Thread>()).cast::<Thread>();
        if memory.is_null() {
            memory = RESERVE.take();
        }
        if memory.is_null() {
            crate::message::die("no memory for the record of a thread, and the reserve is used up");
        }
        memory.write(Thread {
            link: AtomicUsize::new(0),
            next_of_all: AtomicPtr::new(core::ptr::null_mut()),
            handle: AtomicUsize::new(0),
            tid: AtomicU32::new(0),
            rounds: AtomicU32::new(0),
            counts: Counts::default(),
            waiter: crate::cond::Waiter::new(),
            leaves: AtomicU32::new(0),
            block: AtomicUsize::new(0),
            pen: ThreadWriter::new(),
            holds: Holds::default(),
            stacks: crate::capture::Stacks::new(),
            switches: crate::capture::Ring::new(),
            teams: crate::omp::Teams::new(),
            mask: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
        });
        &*memory
    };
    let me = core::ptr::from_ref(thread).cast_mut();
    let mut first = ALL.load(Ordering::Relaxed);
    loop {
        thread.next_of_all.store(first, Ordering::Relaxed);
        // Release: who finds the record finds it filled.
        match ALL.compare_exchange_weak(first, me, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return thread,
            Err(now) => first = now,
        }
    }
}

/// All records, those without a thread too.
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let at = |pointer: &AtomicPtr<Thread>| {
        // SAFETY: records are never given back.
        unsafe { pointer.load(Ordering::Acquire).as_ref() }
    };
    core::iter::successors(at(&ALL), move |thread| at(&thread.next_of_all))
}

/// The live thread whose `pthread_t` is `handle`, if it has a record.
pub fn find(handle: usize) -> Option<&'static Thread> {
    all().find(|thread| thread.handle.load(Ordering::Acquire) == handle)
}

impl Thread {
    /// Its `pthread_t`.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Whether it may leave a wait without a step of its own.
    #[inline(always)]
    pub fn may_leave(&self) -> bool {
        self.leaves.load(Ordering::Relaxed) != 0
    }

    /// Says once why the spare lock serves it, now that it has to wait.
    pub fn say_why_spare(&self) {
        crate::leaving::say_why(self.leaves.load(Ordering::Relaxed));
    }

    /// The kernel's number of it.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }
}

/// Makes the key, at start.
pub fn start() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is ours; `came_by` takes what `arm` sets.
    if unsafe { libc::pthread_key_create(&mut key, Some(came_by)) } != 0 {
        crate::message::die("no pthread key left");
    }
    KEY.store(key + 1, Ordering::Relaxed);
}

/// Has the thread's end told to us.
fn arm(thread: &'static Thread) {
    let key = KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: the key exists; the value is only handed back to `came_by`.
        unsafe { libc::pthread_setspecific(key - 1, core::ptr::from_ref(thread).cast()) };
    }
}

/// glibc goes over the keys of an ending thread up to four times, as destructors may set values again. We leave in the third
/// round, when the program's own destructors, which may lock, have most likely been done.
unsafe extern "C" fn came_by(thread: *mut c_void) {
    // SAFETY: the value is the record of this very thread.
    let thread: &'static Thread = unsafe { &*thread.cast::<Thread>() };
    if thread.rounds.fetch_add(1, Ordering::Relaxed) < 2 {
        arm(thread);
        return;
    }
    crate::capture::thread_ends(thread);
    set_word(core::ptr::null());
    set_left();
    thread.handle.store(0, Ordering::Release);
    // SAFETY: the record has no thread now; a later use of it by this one takes a new record.
    unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
}

/// In a fork's child: the other threads are gone, and it counts from zero.
pub fn after_fork() {
    ADOPTED.0.store(existing().is_some().into(), Ordering::Relaxed);
    if let Some(thread) = existing() {
        thread.tid.store(sys::tid(), Ordering::Relaxed);
    }
    let me = existing().map(core::ptr::from_ref);
    // Late threads of the parent: their records are put in order by who takes them next.
    while let Some(block) = LATE.pop() {
        if me != Some(block.cast_const().cast()) {
            // SAFETY: the thread that had the record is not in this process.
            unsafe { FREE.push(block) };
        }
    }
    for thread in all() {
        if Some(core::ptr::from_ref(thread)) != me {
            thread.handle.store(0, Ordering::Relaxed);
        }
        thread.switches.forget();
        for count in thread.counts.each() {
            count.0.store(0, Ordering::Relaxed);
        }
    }
}

/// How many threads have had a record so far.
pub fn adopted() -> u64 {
    ADOPTED.get()
}

impl Counts {
    fn each(&self) -> impl Iterator<Item = &Count> {
        [
            &self.served,
            &self.spare,
            &self.openmp,
            &self.condition_waits,
            &self.moved,
            &self.refused_waits,
            &self.barrier_waits,
        ]
        .into_iter()
        .chain(&self.passed)
    }
}
