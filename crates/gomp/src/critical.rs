//! Locks of the program, and the critical sections and atomic sections that the compiler makes of
//! them.
//!
//! By default a lock is a word in place, and an uncontended section takes one exchange at its begin
//! and one at its end. A lock of another algorithm is found by a pointer.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::ompt::{self, LockKind};
use crate::process::{IN_PLACE, PLAIN, has_tool, place, runtime};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, LockNotice, Machine, Native, Ordering, Wait};
use baton_omp::Why;
use baton_omp::objects::{AnyLock, lock};
use baton_sync::lock::adaptive::Adaptive;
use baton_sync::lock::{RawLock, TryLock};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use std::sync::OnceLock;

/// A lock in place.
#[repr(transparent)]
struct Word(Adaptive<Native>);

impl Word {
    /// A free lock.
    const fn free() -> Self {
        // SAFETY: on this machine a zeroed lock of this algorithm is a free one (`ZeroInit`).
        Word(unsafe { MaybeUninit::zeroed().assume_init() })
    }

    /// Takes the lock if it is free and locks are [`PLAIN`].
    #[inline(always)]
    fn takes_plainly(&self) -> bool {
        PLAIN.load(Ordering::Relaxed) && self.0.try_lock().is_some()
    }

    /// Releases the lock if locks are [`PLAIN`]. Returns whether they are.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline(always)]
    unsafe fn leaves_plainly(&self) -> bool {
        let plain = PLAIN.load(Ordering::Relaxed);
        if plain {
            // SAFETY: by contract. This algorithm wakes sleepers whatever the policy.
            unsafe { self.0.unlock((), Wait::Futex) };
        }
        plain
    }
}

impl AnyLock<Native> for Word {
    fn lock(&self, wait: Wait) {
        self.0.lock(wait);
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock().is_some()
    }

    unsafe fn unlock(&self, wait: Wait) {
        // SAFETY: by contract.
        unsafe { self.0.unlock((), wait) };
    }
}

/// Takes a lock, and tells a checker of races and a scheduler that listens.
fn take(lock: &dyn AnyLock<Native>) {
    let address = core::ptr::from_ref(lock).addr();
    if !Native::hears_locks() {
        lock.lock(place().waits().of(Why::Lock));
    } else {
        if !lock.try_lock() {
            Native::notify_lock(LockNotice::Wanted, address);
            lock.lock(place().waits().of(Why::Lock));
        }
        Native::notify_lock(LockNotice::Taken, address);
    }
    Native::happens_after(core::ptr::from_ref(lock).cast());
}

/// Does what [`take`] does, and tells a tool, if there is one. `wait`: by what the tool knows the lock.
#[cold]
#[inline(never)]
fn take_told(kind: LockKind, wait: usize, lock: &dyn AnyLock<Native>) {
    if !has_tool() {
        return take(lock);
    }
    ompt::locks::acquire(kind, 0, wait, || {
        take(lock);
        true
    });
}

/// Does what [`leave`] does, and tells a tool, if there is one.
///
/// # Safety
/// The calling thread holds the lock.
#[cold]
#[inline(never)]
unsafe fn leave_told(kind: LockKind, wait: usize, lock: &dyn AnyLock<Native>) {
    // SAFETY: by contract.
    unsafe { leave(lock) };
    if ompt::is_on() {
        ompt::locks::released(kind, wait);
    }
}

/// Releases a lock, and tells a checker of races and a scheduler that listens.
///
/// # Safety
/// The calling thread holds the lock.
unsafe fn leave(lock: &dyn AnyLock<Native>) {
    // Only the address is used afterwards: the lock may be freed.
    let address = core::ptr::from_ref(lock).addr();
    Native::happens_before(core::ptr::from_ref(lock).cast());
    // SAFETY: by contract.
    unsafe { lock.unlock(place().waits().of(Why::Lock)) };
    Native::notify_lock(LockNotice::Left, address);
}

/// A lock of the algorithm that the settings name, which has no place of its own.
type Apart = Box<dyn AnyLock<Native>>;

fn new_lock() -> Apart {
    lock::<Native>(&runtime().settings.lock).expect("the settings name a lock that there is")
}

/// Whether locks are words in place, and no checker of races must be told of them.
pub(crate) fn is_plain() -> bool {
    runtime();
    // Relaxed: what the runtime's making stored is seen with it.
    PLAIN.load(Ordering::Relaxed)
}

fn is_in_place() -> bool {
    runtime().settings.lock == IN_PLACE
}

/// A lock of the algorithm that the settings name.
pub(crate) struct Lock {
    word: Word,
    apart: OnceLock<Apart>,
}

impl Lock {
    /// A free lock.
    pub(crate) const fn free() -> Self {
        Lock { word: Word::free(), apart: OnceLock::new() }
    }

    fn any(&self) -> &dyn AnyLock<Native> {
        if is_in_place() { &self.word } else { &**self.apart.get_or_init(new_lock) }
    }

    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn lock(&self) {
        if !self.word.takes_plainly() {
            self.lock_any();
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_any(&self) {
        take(self.any());
    }

    /// Takes the lock if it is free. Returns whether it did.
    pub(crate) fn try_lock(&self) -> bool {
        let lock = self.any();
        let taken = lock.try_lock();
        if taken {
            Native::notify_lock(LockNotice::Taken, core::ptr::from_ref(lock).addr());
            Native::happens_after(core::ptr::from_ref(lock).cast());
        }
        taken
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline(always)]
    pub(crate) unsafe fn unlock(&self) {
        // SAFETY: by contract.
        unsafe {
            if !self.word.leaves_plainly() {
                self.unlock_any();
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn unlock_any(&self) {
        // SAFETY: by contract.
        unsafe { leave(self.any()) };
    }
}

static CRITICAL: Lock = Lock::free();
static ATOMIC: Lock = Lock::free();

impl Lock {
    /// Takes the lock of a section of this kind.
    #[inline(always)]
    fn enter(&'static self, kind: LockKind) {
        if !self.word.takes_plainly() {
            take_told(kind, core::ptr::from_ref(self).addr(), self.any());
        }
    }

    /// Releases the lock of a section of this kind.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline(always)]
    unsafe fn exit(&'static self, kind: LockKind) {
        // SAFETY: by contract.
        unsafe {
            if !self.word.leaves_plainly() {
                leave_told(kind, core::ptr::from_ref(self).addr(), self.any());
            }
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_start() {
    CRITICAL.enter(LockKind::Critical);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_end() {
    // SAFETY: the compiler ends each section in the thread that began it.
    unsafe { CRITICAL.exit(LockKind::Critical) };
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_start() {
    ATOMIC.enter(LockKind::Atomic);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_end() {
    // SAFETY: as above.
    unsafe { ATOMIC.exit(LockKind::Atomic) };
}

/// The word that the compiler reserves for the name of a critical section, zero at first: a lock in
/// place, or the address of a lock that is never freed.
type Name = *mut *mut c_void;

const _: () = assert!(size_of::<Word>() <= size_of::<*mut c_void>() && align_of::<Word>() <= align_of::<*mut c_void>());

/// The lock in the word of a critical section's name.
///
/// # Safety
/// `name` is the word of a critical section, and locks are in place or [`PLAIN`] is false.
#[inline(always)]
unsafe fn word(name: Name) -> &'static Word {
    // SAFETY: the caller says that this is a section's word, which is never freed. It has room for
    // the lock, and holds zeroes or that lock.
    unsafe { &*name.cast::<Word>() }
}

/// The lock of a critical section's name.
///
/// # Safety
/// `name` is the word of a critical section.
unsafe fn named(name: Name) -> &'static dyn AnyLock<Native> {
    if is_in_place() {
        // SAFETY: by contract.
        return unsafe { word(name) };
    }
    // SAFETY: the caller says that this is the section's word, which is zero or holds what
    // `name_it` stored; a native cell has a pointer's layout.
    let word = unsafe { &*name.cast::<Pointer>() };
    // Acquire: the thread sees the lock to which the address leads.
    let known = word.load(Ordering::Acquire);
    if known.is_null() {
        return name_it(word);
    }
    // SAFETY: `name_it` stored the address of this lock, which is never freed.
    unsafe { &**known.0 }
}

type Pointer = <Native as Machine>::Atomic<Ptr<Apart>>;

fn name_it(word: &Pointer) -> &'static dyn AnyLock<Native> {
    let made = Box::into_raw(Box::new(new_lock()));
    // Release: other threads see the lock with its address. Acquire: if another thread was first,
    // this thread sees that thread's lock.
    match word.compare_exchange(Ptr::NULL, Ptr(made), Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the lock was published just now, and is never freed.
        Ok(_) => unsafe { &**made },
        Err(first) => {
            // SAFETY: `made` was made above, and no other thread has seen it; the lock of the
            // thread that was first is never freed.
            unsafe {
                drop(Box::from_raw(made));
                &**first.0
            }
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn lock_named(name: Name) {
    // SAFETY: by contract.
    take_told(LockKind::Critical, name.addr(), unsafe { named(name) });
}

#[cold]
#[inline(never)]
unsafe fn unlock_named(name: Name) {
    // SAFETY: by contract.
    unsafe { leave_told(LockKind::Critical, name.addr(), named(name)) };
}

/// Takes the lock of a name, of which no tool is told.
///
/// # Safety
/// `name` is the word of a name.
pub(crate) unsafe fn take_named(name: Name) {
    // SAFETY: by contract.
    unsafe {
        if !word(name).takes_plainly() {
            take(named(name));
        }
    }
}

/// Releases the lock of a name, of which no tool is told.
///
/// # Safety
/// The calling thread holds the lock of the name.
pub(crate) unsafe fn leave_named(name: Name) {
    // SAFETY: by contract.
    unsafe {
        if !word(name).leaves_plainly() {
            leave(named(name));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_start(name: *mut *mut c_void) {
    // SAFETY: the compiler passes the section's word.
    unsafe {
        if !word(name).takes_plainly() {
            lock_named(name);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_end(name: *mut *mut c_void) {
    // SAFETY: the compiler passes the section's word, and ends each section in the thread that
    // began it.
    unsafe {
        if !word(name).leaves_plainly() {
            unlock_named(name);
        }
    }
}
