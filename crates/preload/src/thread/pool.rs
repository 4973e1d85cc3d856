//! The records of all threads: who has which, from a thread's first call to its end.
//!
//! A thread's record comes from a pool that is never given back, so that another thread may look at it (a cancellation, the
//! sum of the counters at exit) whatever has become of its thread. The thread finds it through one word of thread-local
//! storage at a fixed offset: no call, no allocation, usable in a signal handler, and alive until the thread's very end.
//! A thread that locks after the last destructors of its keys takes another record, which goes back when it is dead.

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
/// Records that threads took after they had left theirs: nothing tells of such a thread's end.
static LATE: BlockStack = BlockStack::new();
static ALL: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// Threads that have had a record.
static ADOPTED: Count = Count::new();
/// The pthread key whose destructor ends a record, plus one; 0 until it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

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
    thread.renew();
    thread.tid.store(sys::tid(), Ordering::Relaxed);
    if has_left() {
        // An allocator that locks while the thread's remains are freed. Its locks are served and recorded as any other's, but as
        // those of a thread without a beginning and an end; its handle may already be another thread's.
        callbacks::late_thread_begins(thread);
        set_word(thread);
        // SAFETY: a record, never given back. Its link is free as long as a thread has it.
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

/// Takes back the records of late threads that are dead by now: of up to two, as each thread leaves one at most.
fn take_back() {
    // A process that shares its parent's memory for a while (vfork) knows nothing of the parent's threads.
    if !fork::is_process() {
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
            callbacks::late_thread_ended(thread);
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

/// Makes the key, at start.
pub fn start() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is ours; `came_by` takes what `arm` sets.
    if unsafe { libc::pthread_key_create(&mut key, Some(came_by)) } != 0 {
        message::die("no pthread key left");
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
    callbacks::thread_ends(thread);
    set_word(core::ptr::null());
    set_left();
    thread.handle.store(0, Ordering::Release);
    // SAFETY: the record has no thread now; a later use of it by this one takes a new record.
    unsafe { FREE.push(core::ptr::from_ref(thread).cast_mut().cast()) };
}

/// In a fork's child: the other threads are gone, and it counts from zero.
pub fn after_fork() {
    ADOPTED.set(existing().is_some().into());
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
        thread.counts.each().for_each(|count| count.set(0));
    }
}

/// How many threads have had a record so far.
pub fn adopted() -> u64 {
    ADOPTED.get()
}
