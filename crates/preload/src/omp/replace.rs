//! OpenMP's critical sections and locks, served by the named lock.
//!
//! A critical section's name is a cell of a pointer's size, zero at first: the hooks store a
//! pointer to a mutex into it. An `omp_lock_t` has four bytes in libgomp, too few for a pointer:
//! they hold a number, under which the mutex stands in a table. (An OpenMP lock must be
//! initialised, so a lock of all zeros need not work.)

use super::forward::{critical, lock};
use super::late::OmpLock;
use crate::base::stack::BlockStack;
use crate::events::{self, Probe};
use crate::hooks::{Code, slot};
use crate::posix::mutex::{Functions, Mutex};
use crate::thread;
use baton_trace::{Lock, Mode};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The functions by which the named lock serves a mutex, without recording: lock, trylock, unlock.
#[derive(Clone, Copy)]
pub struct Inner {
    /// `pthread_mutex_lock`.
    pub lock: unsafe extern "C-unwind" fn(*mut Mutex, usize) -> c_int,
    /// `pthread_mutex_trylock`.
    pub trylock: unsafe extern "C-unwind" fn(*mut Mutex, usize) -> c_int,
    /// `pthread_mutex_unlock`.
    pub unlock: unsafe extern "C-unwind" fn(*mut Mutex, usize) -> c_int,
}

impl Inner {
    /// The three functions, out of all `functions` of a way to serve mutexes.
    pub fn of(functions: &Functions) -> Inner {
        Inner { lock: functions.lock, trylock: functions.trylock, unlock: functions.unlock }
    }
}

/// The functions of the named lock, once they are chosen.
struct Chosen(UnsafeCell<Option<Inner>>);
// SAFETY: written at start, when there is one thread, before any slot points to a function that
// reads it.
unsafe impl Sync for Chosen {}
static INNER: Chosen = Chosen(UnsafeCell::new(None));

fn inner() -> Inner {
    // SAFETY: see `Chosen`.
    unsafe { *INNER.0.get() }.expect("chosen at start")
}

/// Stores `inner`, and points the slots of critical sections and locks to the functions of this
/// file.
pub(super) fn install<P: Probe>(inner: Inner) {
    // SAFETY: see `Chosen`.
    unsafe { *INNER.0.get() = Some(inner) };
    slot::GOMP_critical_start.set(critical_start::<P> as Code);
    slot::GOMP_critical_end.set(critical_end::<P> as Code);
    slot::GOMP_critical_name_start.set(critical_name_start::<P> as Code);
    slot::GOMP_critical_name_end.set(critical_name_end::<P> as Code);
    slot::omp_init_lock.set(init::<P, false> as Code);
    slot::omp_init_nest_lock.set(init::<P, true> as Code);
    slot::omp_init_lock_with_hint.set(init_with_hint::<P, false> as Code);
    slot::omp_init_nest_lock_with_hint.set(init_with_hint::<P, true> as Code);
    slot::omp_destroy_lock.set(destroy::<P> as Code);
    slot::omp_destroy_nest_lock.set(destroy::<P> as Code);
    slot::omp_set_lock.set(set::<P> as Code);
    slot::omp_set_nest_lock.set(set::<P> as Code);
    slot::omp_unset_lock.set(unset::<P> as Code);
    slot::omp_unset_nest_lock.set(unset::<P> as Code);
    slot::omp_test_lock.set(test::<P> as Code);
    slot::omp_test_nest_lock.set(test::<P> as Code);
}

/// Takes `mutex`, and records the acquisition of `lock`.
fn take<P: Probe>(mutex: &Mutex, lock: Lock, site: usize) {
    thread::current().counts.openmp.add_one();
    let at = core::ptr::from_ref(mutex).cast_mut();
    // A nested acquisition has no event.
    let nested = mutex.kind().is_recursive() && mutex.is_mine();
    // SAFETY: the mutex is one of this file's, and `inner` has the functions of the lock that
    // serves it.
    unsafe {
        if !P::ON || nested {
            (inner().lock)(at, site);
        } else if (inner().trylock)(at, site) == 0 {
            events::lock_acquire::<P>(lock, Mode::Exclusive, site);
        } else {
            events::lock_request::<P>(lock, Mode::Exclusive, site);
            let watch = events::Watch::begin::<P>();
            (inner().lock)(at, site);
            events::lock_acquired::<P>(lock, Mode::Exclusive, watch.how::<P>());
        }
    }
}

/// Releases `mutex`, and records the release of `lock` unless it stays held by an outer
/// acquisition.
fn give<P: Probe>(mutex: &Mutex, lock: Lock, site: usize) {
    if mutex.count.load(Ordering::Relaxed) == 0 {
        events::lock_release::<P>(lock, Mode::Exclusive, site);
    }
    // SAFETY: the mutex is one of this file's, and `inner` has the functions of the lock that
    // serves it.
    unsafe { (inner().unlock)(core::ptr::from_ref(mutex).cast_mut(), site) };
    events::lock_released::<P>();
}

/// The mutex of the critical section without a name.
static UNNAMED: AtomicPtr<Mutex> = AtomicPtr::new(core::ptr::null_mut());

/// The mutex to which `cell` points, made at first use.
fn behind(cell: &AtomicPtr<Mutex>) -> &'static Mutex {
    // Acquire: the mutex that another thread made is seen zeroed.
    let mut at = cell.load(Ordering::Acquire);
    if at.is_null() {
        let new = fresh();
        at = match cell.compare_exchange(at, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(theirs) => {
                // SAFETY: no other thread has seen the mutex that this thread made.
                unsafe { FREE.push(new.cast()) };
                theirs
            }
        };
    }
    // SAFETY: `fresh` made the mutex, and its memory is never given back.
    unsafe { &*at }
}

/// The cell that a critical section's name points to.
fn cell<'a>(name: *mut *mut ()) -> &'a AtomicPtr<Mutex> {
    // SAFETY: the compiler makes the cell, aligned and zero, for the runtime alone, whose functions
    // this file replaces.
    unsafe { &*name.cast::<AtomicPtr<Mutex>>() }
}

unsafe extern "C-unwind" fn critical_start<P: Probe>(site: usize) {
    take::<P>(behind(&UNNAMED), critical(None), site);
}

unsafe extern "C-unwind" fn critical_end<P: Probe>(site: usize) {
    give::<P>(behind(&UNNAMED), critical(None), site);
}

unsafe extern "C-unwind" fn critical_name_start<P: Probe>(name: *mut *mut (), site: usize) {
    enter::<P>(name, site);
}

unsafe extern "C-unwind" fn critical_name_end<P: Probe>(name: *mut *mut (), site: usize) {
    leave::<P>(name, site);
}

/// Enters the critical section with this name.
pub(super) fn enter<P: Probe>(name: *mut *mut (), site: usize) {
    take::<P>(behind(cell(name)), critical(Some(name)), site);
}

/// Leaves the critical section with this name.
pub(super) fn leave<P: Probe>(name: *mut *mut (), site: usize) {
    give::<P>(behind(cell(name)), critical(Some(name)), site);
}

/// A mutex on cache lines of its own, with its number in the table.
#[repr(C, align(64))]
struct Numbered {
    mutex: Mutex,
    number: u32,
}

/// Mutexes of destroyed locks, and mutexes that two threads made for one critical section where one
/// sufficed. [`fresh`] uses them again.
static FREE: BlockStack = BlockStack::new();
/// Locks in a page of the table, and pages in it: 16 million locks at most.
const PAGE: usize = 4096;
const PAGES: usize = 4096;
static TABLE: [AtomicPtr<[AtomicPtr<Numbered>; PAGE]>; PAGES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; PAGES];
/// The next free number. Numbers begin at 1, because 0 stands in zeroed memory, in which no lock
/// was initialised.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Zeroed memory for a `T`, which is never given back.
fn zeroed<T>() -> *mut T {
    // SAFETY: the size of `T` is not zero.
    let memory = unsafe { crate::base::alloc::PRIVATE.alloc_zeroed(Layout::new::<T>()) };
    if memory.is_null() {
        crate::base::message::die("no memory for an OpenMP lock");
    }
    memory.cast()
}

/// A free mutex with a number in the table.
fn fresh() -> *mut Mutex {
    if let Some(block) = FREE.pop() {
        let numbered = block.cast::<Numbered>();
        // SAFETY: a mutex from the free list is used by no thread; its number, beside it, stays.
        unsafe { (&raw mut (*numbered).mutex).write_bytes(0, 1) };
        return numbered.cast();
    }
    let numbered = zeroed::<Numbered>();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: ours alone.
    unsafe { (*numbered).number = number };
    let Some(page) = TABLE.get(number as usize / PAGE) else {
        crate::base::message::die("more than 16 million OpenMP locks");
    };
    if page.load(Ordering::Acquire).is_null() {
        // Two threads may both make the page; the one that is not stored stays unused.
        let _ = page.compare_exchange(core::ptr::null_mut(), zeroed(), Ordering::AcqRel, Ordering::Acquire);
    }
    // SAFETY: the page was stored above, zeroed (which is null pointers), and is never given back.
    let page = unsafe { &*page.load(Ordering::Acquire) };
    page[number as usize % PAGE].store(numbered, Ordering::Release);
    numbered.cast()
}

/// The mutex whose number stands in the OpenMP lock.
fn of<'a>(at: OmpLock) -> &'a Mutex {
    // SAFETY: the program passes a lock, into which `init` wrote the number.
    let number = unsafe { at.read() } as usize;
    let page = TABLE.get(number / PAGE).map_or(core::ptr::null_mut(), |page| page.load(Ordering::Acquire));
    // SAFETY: pages and mutexes of the table are never given back.
    match unsafe { page.as_ref().and_then(|page| page[number % PAGE].load(Ordering::Acquire).as_ref()) } {
        Some(numbered) => &numbered.mutex,
        None => crate::base::message::die("an OpenMP lock is used that was not initialised"),
    }
}

unsafe extern "C-unwind" fn init<P: Probe, const NEST: bool>(at: OmpLock, site: usize) {
    let mutex = fresh();
    // SAFETY: the mutex is fresh; the program passes a lock of at least four bytes.
    unsafe {
        (*mutex).set_recursive(NEST);
        at.write((*mutex.cast::<Numbered>()).number);
    }
    events::lock_init::<P>(lock(at), site);
}

/// Ignores the hint: it would choose the algorithm, and `BATON_LOCK` has chosen it.
unsafe extern "C-unwind" fn init_with_hint<P: Probe, const NEST: bool>(at: OmpLock, _: c_uint, site: usize) {
    // SAFETY: passed on.
    unsafe { init::<P, NEST>(at, site) };
}

unsafe extern "C-unwind" fn destroy<P: Probe>(at: OmpLock, _: usize) {
    events::lock_destroy::<P>(lock(at));
    // SAFETY: OpenMP demands that no thread uses the lock any more, so the mutex is free for
    // another. (If the named lock lies behind a pointer in the mutex, its memory stays unused.)
    unsafe { FREE.push(core::ptr::from_ref(of(at)).cast_mut().cast()) };
}

unsafe extern "C-unwind" fn set<P: Probe>(at: OmpLock, site: usize) {
    take::<P>(of(at), lock(at), site);
}

unsafe extern "C-unwind" fn unset<P: Probe>(at: OmpLock, site: usize) {
    give::<P>(of(at), lock(at), site);
}

/// Tries the lock. Returns how often the calling thread holds the lock now; 0 if another thread
/// holds it.
unsafe extern "C-unwind" fn test<P: Probe>(at: OmpLock, site: usize) -> c_int {
    let mutex = of(at);
    // SAFETY: the mutex is one of this file's, and `inner` has the functions of the lock that
    // serves it.
    if unsafe { (inner().trylock)(core::ptr::from_ref(mutex).cast_mut(), site) } != 0 {
        events::lock_try_failed::<P>(lock(at), Mode::Exclusive, site);
        return 0;
    }
    thread::current().counts.openmp.add_one();
    let held = mutex.count.load(Ordering::Relaxed) + 1;
    if held == 1 {
        events::lock_acquire::<P>(lock(at), Mode::Exclusive, site);
        events::lock_bounded::<P>(lock(at));
    }
    held as c_int
}
