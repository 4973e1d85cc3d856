//! `omp_*_lock`. By default the program's word, of four bytes, is the lock itself: its values begin at
//! [`FREE`]. If the settings name another algorithm, or a checker of races must be told of locks, the
//! word holds the number of a lock in a table. Numbers begin at 1: a zero there means that the lock was
//! never initialised, or that it was destroyed.
//!
//! Programs of GCC 4.3 and before call the same names at the version `OMP_1.0`. Their simple locks
//! are the same; their nested locks have eight bytes and belong to a thread, not to a task.
#![allow(clippy::missing_safety_doc, reason = "programs call these; the OpenMP specification documents them")]

use crate::critical::{Lock, is_plain};
use crate::ompt;
use crate::process::{has_tool, place};
use baton_machine::{Atomic, Machine, Native};
use baton_omp::Why;
use baton_sync::lock::adaptive::Words;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// An entry of the table of locks. An entry is never freed: its number is used again after the
/// program destroys the lock.
struct Entry {
    lock: Lock,
    initialised: AtomicBool,
    /// The thread that holds the lock, if it is a nested lock of the old form; 0: none.
    thread: AtomicUsize,
}

impl Entry {
    fn new() -> Self {
        Entry { lock: Lock::free(), initialised: AtomicBool::new(false), thread: AtomicUsize::new(0) }
    }
}

/// Locks by number, from 1: chunk *n* has the locks from 2^n on. Chunks and entries never move, so
/// finding a lock takes no other lock.
static TABLE: [AtomicPtr<Entry>; u32::BITS as usize] = [const { AtomicPtr::new(null_mut()) }; u32::BITS as usize];

/// The free numbers, and the greatest number ever used. A thread that makes a chunk holds this
/// mutex.
static NUMBERS: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));

#[cold]
fn fail(what: &str) -> ! {
    // The name of an old form has a zero at its end.
    let what = what.replace('\0', "");
    eprintln!("libbaton_gomp: {what}");
    std::process::abort()
}

#[cold]
#[inline(never)]
fn is_not_initialised(caller: &str) -> ! {
    fail(&format!("{caller} of a lock that is not initialised"))
}

/// The place of a number in the table, if its chunk is there.
#[inline]
fn entry(number: u32) -> Option<&'static Entry> {
    let chunk = number.checked_ilog2()?;
    // Acquire: the chunk's entries are seen with its address.
    let entries = TABLE[chunk as usize].load(Ordering::Acquire);
    // SAFETY: a chunk that is not null has 2^chunk entries, and the number without its first bit is
    // less.
    (!entries.is_null()).then(|| unsafe { &*entries.add((number ^ (1 << chunk)) as usize) })
}

/// The value of a lock's word, if the word is the lock itself and no thread holds it. Numbers of locks
/// in the table are smaller.
const FREE: u32 = 0xffff_fff0;
/// The value if a thread holds the lock, and if threads may sleep until it is released.
const HELD: u32 = FREE + 1;
const AWAITED: u32 = FREE + 2;

/// The program's word.
type Word = <Native as Machine>::Atomic<u32>;

/// How many tries waiters of the locks have needed on average: a lock's word has no room for it, so
/// that locks whose addresses have the same hash share a mean.
#[repr(align(128))]
struct Mean(Word);

const MEANS: usize = 64;

static MEAN: [Mean; MEANS] = [const { Mean(Word::new(0)) }; MEANS];

/// The lock in a program's word.
#[inline]
fn in_place(word: &Word) -> Words<'_, Native, FREE> {
    let hash = (core::ptr::from_ref(word).addr() >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Words { word, mean: &MEAN[hash >> (usize::BITS - MEANS.ilog2())].0 }
}

/// Makes a lock. Returns what the program's word then holds.
fn make(caller: &str) -> u32 {
    has_tool();
    if is_plain() { FREE } else { make_number(caller) }
}

fn make_number(caller: &str) -> u32 {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    let (free, last) = &mut *numbers;
    let number = free.pop().unwrap_or_else(|| {
        if *last + 1 == FREE {
            fail(&format!("{caller}: more than 4,294,967,279 locks"));
        }
        *last += 1;
        *last
    });
    if number.is_power_of_two() && entry(number).is_none() {
        let entries: Box<[Entry]> = (0..number).map(|_| Entry::new()).collect();
        // Release: a thread that sees the chunk's address sees its entries. They are never given
        // back.
        TABLE[number.ilog2() as usize].store(Box::into_raw(entries).cast(), Ordering::Release);
    }
    let entry = entry(number).expect("numbers are given out in order, and the first of a chunk makes it");
    // Relaxed suffices: if the program hands its lock to another thread, it orders that itself.
    entry.initialised.store(true, Ordering::Relaxed);
    number
}

#[inline]
fn find(number: u32, caller: &str) -> &'static Entry {
    match entry(number) {
        // Relaxed suffices, as in `make`.
        Some(entry) if entry.initialised.load(Ordering::Relaxed) => entry,
        _ => is_not_initialised(caller),
    }
}

fn destroy_number(number: u32, caller: &str) {
    let entry = find(number, caller);
    if !entry.lock.try_lock() {
        fail(&format!("{caller} of a lock that is held"));
    }
    // SAFETY: this function took the lock just above, by a try. From here on the number may stand
    // for another lock.
    unsafe { entry.lock.unlock() };
    entry.initialised.store(false, Ordering::Relaxed);
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).0.push(number);
}

fn destroy(word: &Word, caller: &str) {
    // Relaxed, all accesses: if the program hands its lock to another thread, it orders that itself.
    match word.compare_exchange(FREE, 0, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {}
        Err(HELD | AWAITED) => fail(&format!("{caller} of a lock that is held")),
        Err(number) => {
            destroy_number(number, caller);
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// `omp_nest_lock_t` of GCC on 64-bit machines.
#[repr(C)]
pub struct NestLock {
    word: Word,
    count: i32,
    owner: usize,
}

impl Default for NestLock {
    /// A lock that is not initialised.
    fn default() -> Self {
        NestLock { word: Word::new(0), count: 0, owner: 0 }
    }
}

/// The program's word at this address.
///
/// # Safety
/// It is the word of a lock of the program, which stays meanwhile.
#[inline(always)]
unsafe fn at<'a>(lock: *mut u32) -> &'a Word {
    // SAFETY: by contract; a native cell has the layout of its number.
    unsafe { &*lock.cast::<Word>() }
}

/// The name of a function of the interface, with a zero at its end, for messages.
type Caller = *const c_char;

/// # Safety
/// The name is that of a function, as [`Caller`] says.
unsafe fn text(caller: Caller) -> &'static str {
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(caller) }.to_str().unwrap_or("omp_lock")
}

/// Takes the lock. The call of the slow way stands last, takes the same arguments and cannot unwind,
/// here and below, so that the common way needs no stack frame.
///
/// # Safety
/// As for [`text`].
#[inline(always)]
unsafe fn set(word: &Word, caller: Caller) {
    // Acquire: the thread sees what the last holder did.
    if word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
        // SAFETY: by contract.
        unsafe { set_slowly(word, caller) };
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn set_slowly(word: &Word, caller: Caller) {
    // Relaxed, here and below: the word's kind does not change while the program uses the lock.
    match word.load(Ordering::Relaxed) {
        FREE | HELD | AWAITED => in_place(word).lock(place().waits().of(Why::Lock)),
        number => {
            // SAFETY: by contract.
            let caller = unsafe { text(caller) };
            let take = || find(number, caller).lock.lock();
            ompt::locks::set(caller, core::ptr::from_ref(word).addr(), take);
        }
    }
}

/// Releases the lock.
///
/// # Safety
/// As for [`text`]. OpenMP demands that the calling task holds the lock.
#[inline(always)]
unsafe fn unset(word: &Word, caller: Caller) {
    // Release: the next holder sees what this thread did.
    if word.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: by contract.
        unsafe { unset_slowly(word, caller) };
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn unset_slowly(word: &Word, caller: Caller) {
    // SAFETY: by contract.
    unsafe {
        match word.load(Ordering::Relaxed) {
            FREE | HELD | AWAITED => in_place(word).unlock(),
            number => {
                find(number, text(caller)).lock.unlock();
                ompt::locks::unset(text(caller), core::ptr::from_ref(word).addr());
            }
        }
    }
}

/// Takes the lock if it is free. Returns whether it did.
///
/// # Safety
/// As for [`text`].
#[inline(always)]
unsafe fn test(word: &Word, caller: Caller) -> bool {
    // Acquire: as in `set`.
    match word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => true,
        Err(HELD | AWAITED) => false,
        Err(number) => {
            // SAFETY: by contract.
            let caller = unsafe { text(caller) };
            let take = || find(number, caller).lock.try_lock();
            ompt::locks::test(caller, core::ptr::from_ref(word).addr(), take)
        }
    }
}

/// Identifies the calling task, which may hold nested locks: by its thread's context, and by the
/// number of tasks that the thread has begun and not ended.
fn me() -> usize {
    let place = place();
    (core::ptr::from_ref(place).addr() << 16) + (place.depth.get() & 0xffff) as usize
}

/// Defines a function and its Fortran form.
macro_rules! both {
    ($($name:ident $fortran:ident ($at:ident: $type:ty) $(-> $out:ty)? $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($at: *mut $type) $(-> $out)? {
            $body
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($at: *mut $type) $(-> $out)? {
            // SAFETY: the same.
            unsafe { $name($at) }
        }
    )*};
}

both! {
    omp_init_lock omp_init_lock_ (lock: u32) {
        // SAFETY: the program passes its lock, which no other thread uses yet.
        unsafe { lock.write(make("omp_init_lock")) };
        ompt::locks::made(false, 0, lock.addr());
    }
    omp_destroy_lock omp_destroy_lock_ (lock: u32) {
        // SAFETY: the program passes its lock, which no other thread uses any more.
        destroy(unsafe { at(lock) }, "omp_destroy_lock");
        ompt::locks::destroyed(false, lock.addr());
    }
    omp_set_lock omp_set_lock_ (lock: u32) {
        // SAFETY: the program passes its lock.
        unsafe { set(at(lock), c"omp_set_lock".as_ptr()) };
    }
    omp_unset_lock omp_unset_lock_ (lock: u32) {
        // SAFETY: as above.
        unsafe { unset(at(lock), c"omp_unset_lock".as_ptr()) };
    }
    omp_test_lock omp_test_lock_ (lock: u32) -> i32 {
        // SAFETY: as above.
        i32::from(unsafe { test(at(lock), c"omp_test_lock".as_ptr()) })
    }
}

/// Takes a nested lock, or takes it once more; without `wait`, only if it is free or the task's
/// own. Returns how often the task holds it now, 0 if not.
///
/// # Safety
/// `lock` is a nested lock of the program. Other threads may hold and change it meanwhile, so
/// `owner` is read and written by volatile accesses.
unsafe fn nest(lock: *mut NestLock, caller: Caller, wait: bool) -> i32 {
    // SAFETY: the caller says that `lock` is a nested lock; `owner` equals this task's mark only if
    // this thread wrote it, and only the holder writes the count.
    unsafe {
        let word = &(*lock).word;
        if (&raw const (*lock).owner).read_volatile() != me() {
            if wait {
                set(word, caller);
            } else if !test(word, caller) {
                return 0;
            }
            (&raw mut (*lock).owner).write_volatile(me());
        } else {
            ompt::locks::taken_again(!wait, lock.addr());
        }
        (*lock).count += 1;
        (*lock).count
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock.
    unsafe { lock.write(NestLock { word: Word::new(make("omp_init_nest_lock")), count: 0, owner: 0 }) };
    ompt::locks::made(true, 0, lock.addr());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock, which no thread uses.
    unsafe { destroy(&(*lock).word, "omp_destroy_nest_lock") };
    ompt::locks::destroyed(true, lock.addr());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock.
    unsafe { nest(lock, c"omp_set_nest_lock".as_ptr(), true) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_test_nest_lock(lock: *mut NestLock) -> i32 {
    // SAFETY: the program passes its lock.
    unsafe { nest(lock, c"omp_test_nest_lock".as_ptr(), false) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_unset_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock, which the calling thread holds.
    unsafe {
        (*lock).count -= 1;
        if (*lock).count == 0 {
            (&raw mut (*lock).owner).write_volatile(0);
            unset(&(*lock).word, c"omp_unset_nest_lock".as_ptr());
        } else {
            ompt::locks::given_back(lock.addr());
        }
    }
}

/// `omp_nest_lock_t` of GCC 4.3 and before, which has no room for a task.
#[repr(C)]
pub struct OldNestLock {
    number: u32,
    count: i32,
}

/// Identifies the calling thread among the living ones, by the address of a thread-local variable.
fn thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// Does what [`nest`] does for a nested lock of the old form, which belongs to a thread.
///
/// # Safety
/// `lock` is a nested lock of the old form; its number does not change meanwhile.
unsafe fn old_nest(lock: *mut OldNestLock, caller: &str, wait: bool) -> i32 {
    // SAFETY: by contract.
    let number = unsafe { (*lock).number };
    let entry = find(number, caller);
    // Relaxed here and in the store below: the value equals this thread's only if this thread
    // stored it.
    if entry.thread.load(Ordering::Relaxed) != thread() {
        if wait {
            entry.lock.lock();
        } else if !entry.lock.try_lock() {
            return 0;
        }
        entry.thread.store(thread(), Ordering::Relaxed);
    }
    // SAFETY: the calling thread holds the lock, and only the holder touches the count.
    unsafe {
        (*lock).count += 1;
        (*lock).count
    }
}

/// Defines the old form of a function, for programs of GCC 4.3 and before: the C name and the
/// Fortran name get a second symbol at the version `OMP_1.0`.
///
/// The map of versions can give a name one version only, so the symbols are set in assembly. The
/// linker drops a name without a version if a versioned name has the same address, so an old form
/// has code of its own: its messages name the function with `@OMP_1.0`.
macro_rules! old {
    ($($name:ident as $outside:ident $fortran:ident ($at:ident: $type:ty, $caller:ident) $(-> $out:ty)? $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($at: *mut $type) $(-> $out)? {
            let $caller = concat!(stringify!($outside), "@OMP_1.0\0");
            $body
        }
        core::arch::global_asm!(
            concat!(".symver ", stringify!($name), ", ", stringify!($outside), "@OMP_1.0"),
            concat!(".symver ", stringify!($name), ", ", stringify!($fortran), "@OMP_1.0"),
        );
    )*};
}

old! {
    baton_gomp_init_lock_25 as omp_init_lock omp_init_lock_ (lock: u32, caller) {
        // SAFETY: the program passes its lock, which no other thread uses yet.
        unsafe { lock.write(make(caller)) };
    }
    baton_gomp_destroy_lock_25 as omp_destroy_lock omp_destroy_lock_ (lock: u32, caller) {
        // SAFETY: the program passes its lock, which no other thread uses any more.
        destroy(unsafe { at(lock) }, caller);
    }
    baton_gomp_set_lock_25 as omp_set_lock omp_set_lock_ (lock: u32, caller) {
        // SAFETY: the program passes its lock.
        unsafe { set(at(lock), caller.as_ptr().cast()) };
    }
    baton_gomp_unset_lock_25 as omp_unset_lock omp_unset_lock_ (lock: u32, caller) {
        // SAFETY: as above.
        unsafe { unset(at(lock), caller.as_ptr().cast()) };
    }
    baton_gomp_test_lock_25 as omp_test_lock omp_test_lock_ (lock: u32, caller) -> i32 {
        // SAFETY: as above.
        i32::from(unsafe { test(at(lock), caller.as_ptr().cast()) })
    }
    baton_gomp_init_nest_lock_25 as omp_init_nest_lock omp_init_nest_lock_ (lock: OldNestLock, caller) {
        // SAFETY: the program passes its lock, which no other thread uses yet.
        unsafe { lock.write(OldNestLock { number: make_number(caller), count: 0 }) };
    }
    baton_gomp_destroy_nest_lock_25 as omp_destroy_nest_lock omp_destroy_nest_lock_ (lock: OldNestLock, caller) {
        // SAFETY: the program passes its lock, which no other thread uses any more.
        unsafe { destroy_number((*lock).number, caller) };
    }
    baton_gomp_set_nest_lock_25 as omp_set_nest_lock omp_set_nest_lock_ (lock: OldNestLock, caller) {
        // SAFETY: the program passes its lock.
        unsafe { old_nest(lock, caller, true) };
    }
    baton_gomp_test_nest_lock_25 as omp_test_nest_lock omp_test_nest_lock_ (lock: OldNestLock, caller) -> i32 {
        // SAFETY: the program passes its lock.
        unsafe { old_nest(lock, caller, false) }
    }
    baton_gomp_unset_nest_lock_25 as omp_unset_nest_lock omp_unset_nest_lock_ (lock: OldNestLock, caller) {
        // SAFETY: the program passes its lock, which the calling thread holds.
        unsafe {
            (*lock).count -= 1;
            if (*lock).count == 0 {
                // Relaxed suffices, as in `old_nest`.
                let entry = find((*lock).number, caller);
                entry.thread.store(0, Ordering::Relaxed);
                entry.lock.unlock();
            }
        }
    }
}
