//! `omp_*_lock`: the program's word holds the number of a lock in a table. A number of zero is a lock that was never initialised.
#![allow(clippy::missing_safety_doc, reason = "programs call these; the OpenMP specification documents them")]
#![allow(missing_docs, reason = "the names are OpenMP's")]

use crate::parallel::new_lock;
use crate::process::place;
use baton_machine::Native;
use baton_omp::Why;
use baton_omp::objects::AnyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A lock of the table, which stays: its number is used again once it was destroyed.
struct Entry {
    lock: Box<dyn AnyLock<Native>>,
    initialised: AtomicBool,
}

/// Locks by number, from 1: chunk *n* has those from 2^n on. A chunk and an entry stay where they are, so that a lock is found without
/// another one.
static TABLE: [OnceLock<Box<[OnceLock<Entry>]>>; u32::BITS as usize] = [const { OnceLock::new() }; u32::BITS as usize];

/// The numbers that are free to be used again, and the last one that was used.
static NUMBERS: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));

fn fail(what: &str) -> ! {
    eprintln!("libbaton_gomp: {what}");
    std::process::abort()
}

/// The place of a number (not 0) in the table.
fn entry(number: u32) -> &'static OnceLock<Entry> {
    let chunk = number.ilog2();
    let entries = TABLE[chunk as usize].get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
    &entries[(number - (1 << chunk)) as usize]
}

fn make() -> u32 {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    let (free, last) = &mut *numbers;
    let number = free.pop().unwrap_or_else(|| {
        *last = last.checked_add(1).unwrap_or_else(|| fail("more than 4,294,967,295 locks"));
        *last
    });
    let made = || Entry { lock: new_lock(), initialised: AtomicBool::new(false) };
    // Relaxed: the program hands its lock over to other threads.
    entry(number).get_or_init(made).initialised.store(true, Ordering::Relaxed);
    number
}

fn find(number: u32, caller: &str) -> &'static dyn AnyLock<Native> {
    let chunk = number.checked_ilog2().and_then(|chunk| TABLE[chunk as usize].get());
    let known = chunk.and_then(|entries| entries[(number - (1 << number.ilog2())) as usize].get());
    match known {
        // Relaxed: as in `make`.
        Some(entry) if entry.initialised.load(Ordering::Relaxed) => &*entry.lock,
        _ => fail(&format!("{caller} of a lock that is not initialised")),
    }
}

fn destroy(number: u32, caller: &str) {
    let lock = find(number, caller);
    if !lock.try_lock() {
        fail(&format!("{caller} of a lock that is held"));
    }
    // SAFETY: locked just above, by a try; the number may stand for another lock from now on.
    unsafe { lock.unlock(place().waits().of(Why::Lock)) };
    if let Some(known) = entry(number).get() {
        known.initialised.store(false, Ordering::Relaxed);
    }
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).0.push(number);
}

/// `omp_nest_lock_t` of GCC on 64-bit machines.
#[repr(C)]
#[derive(Default)]
pub struct NestLock {
    number: u32,
    count: i32,
    owner: usize,
}

fn set(number: u32, caller: &str) {
    find(number, caller).lock(place().waits().of(Why::Lock));
}

fn unset(number: u32, caller: &str) {
    // SAFETY: OpenMP asks that the calling task holds it.
    unsafe { find(number, caller).unlock(place().waits().of(Why::Lock)) };
}

/// Who holds a nested lock: a task, by its thread's place and how many tasks that is within.
fn me() -> usize {
    let place = place();
    (core::ptr::from_ref(place).addr() << 16) + (place.depth.get() & 0xffff) as usize
}

/// Makes a function and its Fortran form.
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
        unsafe { lock.write(make()) };
    }
    omp_destroy_lock omp_destroy_lock_ (lock: u32) {
        // SAFETY: the program passes its lock, which no other thread uses any more.
        unsafe { destroy(lock.replace(0), "omp_destroy_lock") };
    }
    omp_set_lock omp_set_lock_ (lock: u32) {
        // SAFETY: the program passes its lock, whose number stays.
        set(unsafe { lock.read() }, "omp_set_lock");
    }
    omp_unset_lock omp_unset_lock_ (lock: u32) {
        // SAFETY: as above.
        unset(unsafe { lock.read() }, "omp_unset_lock");
    }
    omp_test_lock omp_test_lock_ (lock: u32) -> i32 {
        // SAFETY: as above.
        i32::from(find(unsafe { lock.read() }, "omp_test_lock").try_lock())
    }
}

/// # Safety
/// `lock` is a nested lock of the program's. Others may hold it meanwhile, so that its parts are read as they are.
unsafe fn nest(lock: *mut NestLock, caller: &str, wait: bool) -> i32 {
    // SAFETY: by contract; `owner` equals ours only if this thread wrote it, and only the holder writes the count.
    unsafe {
        let number = (*lock).number;
        if (&raw const (*lock).owner).read_volatile() != me() {
            if wait {
                set(number, caller);
            } else if !find(number, caller).try_lock() {
                return 0;
            }
            (&raw mut (*lock).owner).write_volatile(me());
        }
        (*lock).count += 1;
        (*lock).count
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock.
    unsafe { lock.write(NestLock { number: make(), count: 0, owner: 0 }) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock, which no thread uses.
    unsafe { destroy((*lock).number, "omp_destroy_nest_lock") };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock.
    unsafe { nest(lock, "omp_set_nest_lock", true) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_test_nest_lock(lock: *mut NestLock) -> i32 {
    // SAFETY: the program passes its lock.
    unsafe { nest(lock, "omp_test_nest_lock", false) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_unset_nest_lock(lock: *mut NestLock) {
    // SAFETY: the program passes its lock, which the calling thread holds.
    unsafe {
        (*lock).count -= 1;
        if (*lock).count == 0 {
            (&raw mut (*lock).owner).write_volatile(0);
            unset((*lock).number, "omp_unset_nest_lock");
        }
    }
}
