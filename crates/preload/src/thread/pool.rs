//! The records of all threads, and which thread has which, from a thread's first call to its end.
//!
//! A record's memory is never given back, so that another thread may look at the record (a
//! cancellation, the sum of the counters at exit) even after its thread has ended. The thread finds
//! its record through one word of thread-local storage at a fixed offset: no call, no allocation,
//! usable in a signal handler, and alive until the thread's very end. A thread that locks after the
//! last destructors of its keys takes another record, which is free again once the thread has
//! ended.

use super::counts::Count;
use super::pointer::{has_left, pointer, set_left, set_word, word};
use super::record::Thread;
use super::{callbacks, fork};
use crate::base::alloc::PRIVATE;
use crate::base::message;
use crate::base::stack::BlockStack;
use baton_trace::sys;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

static FREE: BlockStack = BlockStack::new();
/// Records of threads that had left their first record already. No callback tells when such a
/// thread ends.
static LATE: BlockStack = BlockStack::new();
static ALL: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// How many threads have had a record.
static ADOPTED: Count = Count::new();
/// The pthread key whose destructor frees a thread's record, plus one; 0 until the key is made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The calling thread's record, taken at the first use.
#[inline(always)]
pub fn current() -> &'static Thread {
    let word = word();
    if word.is_null() {
        return adopt();
    }
    // SAFETY: a record's memory is never given back.
    unsafe { &*word }
}

/// The calling thread's record, if it has one.
pub fn existing() -> Option<&'static Thread> {
    // SAFETY: a record's memory is never given back.
    unsafe { word().as_ref() }
}

#[cold]
#[inline(never)]
fn adopt() -> &'static Thread {
    take_back();
    let thread = match FREE.pop() {
        // SAFETY: a record's memory is never given back, and this record was free until now.
        Some(block) => unsafe { &*block.cast::<Thread>() },
        None => allocate(),
    };
    if let Some(other) = existing() {
        // A signal handler has run in between and has given the thread a record.
        // SAFETY: no other thread has seen the record that is put back.
        unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
        return other;
    }
    thread.renew();
    thread.tid.store(sys::tid(), Ordering::Relaxed);
    if has_left() {
        // An allocator takes a lock while the thread's remains are freed. The lock is served and
        // recorded, but as that of a thread without a beginning and an end; the thread's handle may
        // already belong to another thread.
        callbacks::late_thread_begins(thread);
        set_word(thread);
        // SAFETY: `thread` is a record, whose memory is never given back. Its link is unused while
        // a thread has the record.
        unsafe { LATE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
        return thread;
    }
    ADOPTED.add_one_shared();
    thread.handle.store(pointer(), Ordering::Release);
    set_word(thread);
    arm(thread);
    callbacks::thread_begins(thread);
    thread
}

/// Frees the records of late threads that have ended by now. Looks at up to two, because each
/// thread leaves at most one.
fn take_back() {
    // A `vfork` child, which only shares its parent's memory for a while, cannot tell which threads
    // of the parent live.
    if !fork::is_process() {
        return;
    }
    let mut alive = [core::ptr::null_mut(); 2];
    for alive in &mut alive {
        let Some(block) = LATE.pop() else { break };
        // SAFETY: a record's memory is never given back. While it is off the stack no other thread
        // uses it, except its own thread, if that lives.
        let thread = unsafe { &*block.cast::<Thread>() };
        if sys::is_alive(sys::pid(), thread.tid()) {
            *alive = block;
        } else {
            callbacks::late_thread_ended(thread);
            // SAFETY: the record's thread has ended, and no other thread has the record.
            unsafe { FREE.push(block) };
        }
    }
    for block in alive.into_iter().filter(|block| !block.is_null()) {
        // SAFETY: the block is a record, just taken from this stack.
        unsafe { LATE.push(block) };
    }
}

/// Records for threads that take their first lock when there is no memory left. The reserve takes
/// no memory until it is used.
struct Reserve {
    records: UnsafeCell<[MaybeUninit<Thread>; Reserve::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: `take` gives each record to one thread only.
unsafe impl Sync for Reserve {}
static RESERVE: Reserve =
    Reserve { records: UnsafeCell::new([const { MaybeUninit::uninit() }; Reserve::SIZE]), used: AtomicUsize::new(0) };

impl Reserve {
    const SIZE: usize = 256;

    /// Memory for a record; null if all records of the reserve are given out.
    fn take(&self) -> *mut Thread {
        let next = self.used.fetch_add(1, Ordering::Relaxed);
        let records = self.records.get().cast::<Thread>();
        if next < Reserve::SIZE { records.wrapping_add(next) } else { core::ptr::null_mut() }
    }
}

fn allocate() -> &'static Thread {
    // SAFETY: the layout's size is not zero; the memory fits one record, and is never given back.
    let thread: &'static Thread = unsafe {
        let mut memory = PRIVATE.alloc(Layout::new::<Thread>()).cast::<Thread>();
        if memory.is_null() {
            memory = RESERVE.take();
        }
        if memory.is_null() {
            message::die("no memory for the record of a thread, and the reserve is used up");
        }
        memory.write(Thread::new());
        &*memory
    };
    let me = core::ptr::from_ref(thread).cast_mut();
    let mut first = ALL.load(Ordering::Relaxed);
    loop {
        thread.next_of_all.store(first, Ordering::Relaxed);
        // Release: a thread that finds the record finds it filled.
        match ALL.compare_exchange_weak(first, me, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return thread,
            Err(now) => first = now,
        }
    }
}

/// All records, including those that no thread has.
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let at = |pointer: &AtomicPtr<Thread>| {
        // SAFETY: a record's memory is never given back.
        unsafe { pointer.load(Ordering::Acquire).as_ref() }
    };
    core::iter::successors(at(&ALL), move |thread| at(&thread.next_of_all))
}

/// The live thread whose `pthread_t` is `handle`, if it has a record.
pub fn find(handle: usize) -> Option<&'static Thread> {
    all().find(|thread| thread.handle.load(Ordering::Acquire) == handle)
}

/// Makes the pthread key, at start.
pub fn start() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is a local variable; the destructor `came_by` gets the value that `arm` sets,
    // which is a record.
    if unsafe { libc::pthread_key_create(&mut key, Some(came_by)) } != 0 {
        message::die("no pthread key left");
    }
    KEY.store(key + 1, Ordering::Relaxed);
}

/// Sets the thread's value of the key, so that glibc calls `came_by` when the thread ends.
fn arm(thread: &'static Thread) {
    let key = KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: the key exists, and glibc only hands the value back to `came_by`.
        unsafe { libc::pthread_setspecific(key - 1, core::ptr::from_ref(thread).cast()) };
    }
}

/// The destructor of the key. glibc calls it up to four times as a thread ends, because destructors
/// may set values again. The thread leaves its record in the third round, when the program's own
/// destructors, which may lock, have most likely run.
unsafe extern "C" fn came_by(thread: *mut c_void) {
    // SAFETY: the value is the record of this very thread, which `arm` set.
    let thread: &'static Thread = unsafe { &*thread.cast::<Thread>() };
    if thread.rounds.fetch_add(1, Ordering::Relaxed) < 2 {
        arm(thread);
        return;
    }
    callbacks::thread_ends(thread);
    set_word(core::ptr::null());
    set_left();
    thread.handle.store(0, Ordering::Release);
    // SAFETY: no thread has the record now; if this thread needs one again, it takes a new one.
    unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
}

/// Called in a fork's child: frees the records of the parent's other threads, and sets all counts to
/// zero. Nothing in the child leads to such a record any more: lists of waiters of the parent are
/// emptied before they are used. A record that its thread was just taking or giving back has no
/// handle, and is not used again.
pub fn after_fork() {
    ADOPTED.set(existing().is_some().into());
    if let Some(thread) = existing() {
        thread.tid.store(sys::tid(), Ordering::Relaxed);
    }
    let me = existing().map(core::ptr::from_ref);
    // Records of the parent's late threads: each is put in order when a thread takes it next.
    while let Some(block) = LATE.pop() {
        if me != Some(block.cast_const().cast()) {
            // SAFETY: the thread that had the record does not exist in this process.
            unsafe { FREE.push(block) };
        }
    }
    for thread in all() {
        if Some(core::ptr::from_ref(thread)) != me && thread.handle.swap(0, Ordering::Relaxed) != 0 {
            // SAFETY: the thread that had the record does not exist in this process, and a record
            // with a handle is on no stack.
            unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
        }
        thread.counts.each().for_each(|count| count.set(0));
    }
}

/// How many threads have had a record so far.
pub fn adopted() -> u64 {
    ADOPTED.get()
}
