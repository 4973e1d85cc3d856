//! `errno` belongs to the program: what we do in between leaves it as it was.

use core::ffi::c_int;

/// Runs `f` and puts `errno` back.
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
    // SAFETY: errno is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets the program's `errno`.
#[inline]
pub fn set(value: c_int) {
    // SAFETY: errno is this thread's own.
    unsafe { *libc::__errno_location() = value };
}
