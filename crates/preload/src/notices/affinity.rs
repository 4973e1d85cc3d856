//! Functions that return a thread's CPUs, or their number. While `baton sched` narrows masks, they
//! return the mask that the user gave the thread, so that pools keep their size. A mask that the
//! program sets itself is noted on the page, because the scheduler would else take it for its own.
//!
//! System calls that a program makes without the C library (Go's runtime) are not answered.

use super::stand_before;
use crate::thread;
use baton_machine::native::notices::{MASK, set_own_mask, user_mask};
use baton_trace::sys;
use core::ffi::{c_int, c_long, c_void};
use libc::pthread_t;

stand_before! {
    sched_getaffinity (c_int, usize, *mut c_void) -> c_int;
    pthread_getaffinity_np (pthread_t, usize, *mut c_void) -> c_int;
    sched_setaffinity (c_int, usize, *const c_void) -> c_int;
    pthread_setaffinity_np (pthread_t, usize, *const c_void) -> c_int;
    sysconf (c_int) -> c_long;
    get_nprocs () -> c_int;
}

/// Puts the user's mask in the place of a narrowed one.
///
/// # Safety
/// `mask` points to `bytes` bytes, which the C library has filled.
unsafe fn widen(tid: u32, bytes: usize, mask: *mut c_void) {
    let words = (bytes / 8).min(MASK);
    let mut real = [0; MASK];
    // SAFETY: by contract; the program's memory need not be aligned.
    unsafe { core::ptr::copy_nonoverlapping(mask.cast::<u8>(), real.as_mut_ptr().cast(), words * 8) };
    if let Some(user) = user_mask(tid, &real) {
        // SAFETY: as above.
        unsafe { core::ptr::copy_nonoverlapping(user.as_ptr().cast(), mask.cast::<u8>(), words * 8) };
    }
}

/// The kernel's number of a thread by its handle, 0 for the calling one; `None` if it is not known.
fn number(handle: pthread_t) -> Option<u32> {
    if handle as usize == thread::pointer() { Some(0) } else { thread::find(handle as usize).map(thread::Thread::tid) }
}

unsafe extern "C-unwind" fn sched_getaffinity(tid: c_int, bytes: usize, mask: *mut c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::sched_getaffinity()(tid, bytes, mask, site) };
    if answer == 0 {
        // SAFETY: the C library has filled the mask.
        unsafe { widen(tid as u32, bytes, mask) };
    }
    answer
}

unsafe extern "C-unwind" fn pthread_getaffinity_np(
    handle: pthread_t,
    bytes: usize,
    mask: *mut c_void,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { before::pthread_getaffinity_np()(handle, bytes, mask, site) };
    if let Some(tid) = number(handle).filter(|_| error == 0) {
        // SAFETY: the C library has filled the mask.
        unsafe { widen(tid, bytes, mask) };
    }
    error
}

unsafe extern "C-unwind" fn sched_setaffinity(tid: c_int, bytes: usize, mask: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::sched_setaffinity()(tid, bytes, mask, site) };
    if answer == 0 {
        set_own_mask(tid as u32);
    }
    answer
}

unsafe extern "C-unwind" fn pthread_setaffinity_np(
    handle: pthread_t,
    bytes: usize,
    mask: *const c_void,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { before::pthread_setaffinity_np()(handle, bytes, mask, site) };
    if let Some(tid) = number(handle).filter(|_| error == 0) {
        set_own_mask(tid);
    }
    error
}

/// The number of CPUs for a program. A C library that counts the CPUs of the mask (glibc 2.34) has
/// counted a narrowed one; others count the CPUs that are on, whatever the mask.
fn counted(answer: u32) -> u32 {
    let mut words = [0; sys::AFFINITY_WORDS];
    let Ok(real) = sys::affinity(0, &mut words) else { return answer };
    count(answer, real, |real| user_mask(0, real).map(|user| ones(&user)))
}

fn ones(mask: &[u64]) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

fn count(answer: u32, real: &[u64], user: impl FnOnce(&[u64]) -> Option<u32>) -> u32 {
    if answer == ones(real) { user(real).unwrap_or(answer) } else { answer }
}

unsafe extern "C-unwind" fn sysconf(name: c_int, site: usize) -> c_long {
    // SAFETY: passed on.
    let answer = unsafe { before::sysconf()(name, site) };
    match u32::try_from(answer) {
        Ok(cpus) if name == libc::_SC_NPROCESSORS_ONLN => counted(cpus).into(),
        _ => answer,
    }
}

unsafe extern "C-unwind" fn get_nprocs(site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::get_nprocs()(site) };
    u32::try_from(answer).map_or(answer, |cpus| counted(cpus) as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_the_mask_becomes_one_of_the_users_mask() {
        assert_eq!(count(2, &[0b11, 0], |_| Some(8)), 8);
        assert_eq!(count(2, &[0b11, 0], |_| None), 2, "the mask is the user's");
        assert_eq!(count(16, &[0b11, 0], |_| Some(8)), 16, "all CPUs that are on");
    }
}
