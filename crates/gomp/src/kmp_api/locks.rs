//! Locks: those with hints, and the forms of `omp_*_lock` that take a place in the source.
//!
//! LLVM's nested lock has 8 bytes where GCC's has 16. So at LLVM's version the nested locks of C
//! are those that Fortran has in GCC's interface: the address of a lock.
#![allow(clippy::missing_safety_doc, reason = "programs call these; LLVM documents the interface")]

use crate::fortran;
use crate::kmp::ident::Ident;
use crate::locks::{self, NestLock};

/// LLVM's `omp_lock_t` and `omp_nest_lock_t` are a pointer each.
type Word = usize;

const _: () = assert!(size_of::<u32>() <= size_of::<Word>() && size_of::<*mut NestLock>() <= size_of::<Word>());

/// Defines a function for simple locks and one for nested locks, by the functions without a place.
macro_rules! locks {
    ($($simple:ident $nested:ident = $lock:ident $nest:ident $(-> $out:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $simple(_at: *const Ident, _thread: i32, lock: *mut Word) $(-> $out)? {
            // SAFETY: the program passes its lock.
            unsafe { locks::$lock(lock.cast()) }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $nested(_at: *const Ident, _thread: i32, lock: *mut Word) $(-> $out)? {
            // SAFETY: as above.
            unsafe { fortran::$nest(lock.cast()) }
        }
    )*};
}

locks! {
    __kmpc_init_lock __kmpc_init_nest_lock = omp_init_lock omp_init_nest_lock_;
    __kmpc_destroy_lock __kmpc_destroy_nest_lock = omp_destroy_lock omp_destroy_nest_lock_;
    __kmpc_set_lock __kmpc_set_nest_lock = omp_set_lock omp_set_nest_lock_;
    __kmpc_unset_lock __kmpc_unset_nest_lock = omp_unset_lock omp_unset_nest_lock_;
    __kmpc_test_lock __kmpc_test_nest_lock = omp_test_lock omp_test_nest_lock_ -> i32;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_init_lock_with_hint(at: *const Ident, thread: i32, lock: *mut Word, _hint: usize) {
    // SAFETY: by contract.
    unsafe { __kmpc_init_lock(at, thread, lock) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_init_nest_lock_with_hint(at: *const Ident, thread: i32, lock: *mut Word, _hint: usize) {
    // SAFETY: by contract.
    unsafe { __kmpc_init_nest_lock(at, thread, lock) };
}

/// Defines the functions with a hint, in C and in Fortran. A hint changes nothing here.
macro_rules! with_hint {
    ($($name:ident ($($hint:ty)?) $init:path;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: *mut Word $(, _hint: $hint)?) {
            // SAFETY: the program passes its lock.
            unsafe { $init(lock.cast()) };
        }
    )*};
}

with_hint! {
    omp_init_lock_with_hint (u32) locks::omp_init_lock;
    omp_init_lock_with_hint_ (*const u32) locks::omp_init_lock;
    omp_init_nest_lock_with_hint (u32) fortran::omp_init_nest_lock_;
    omp_init_nest_lock_with_hint_ (*const u32) fortran::omp_init_nest_lock_;
}
