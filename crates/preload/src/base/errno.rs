//! `errno` belongs to the program: the library's own calls leave it as they found it.

use core::ffi::c_int;

/// Runs `f`, and puts `errno` back to what it was before.
#[inline]
pub fn kept<R>(f: impl FnOnce() -> R) -> R {
    let before = get();
    let out = f();
    set(before);
    out
}

/// The program's `errno`.
#[inline]
pub fn get() -> c_int {
    // SAFETY: glibc returns a pointer to the calling thread's own `errno`, valid while the thread
    // lives.
    unsafe { *libc::__errno_location() }
}

/// Sets the program's `errno`.
#[inline]
pub fn set(value: c_int) {
    // SAFETY: glibc returns a pointer to the calling thread's own `errno`, valid while the thread
    // lives.
    unsafe { *libc::__errno_location() = value };
}
