//! Allocators, and memory by `kmp_malloc`.
#![allow(clippy::missing_safety_doc, reason = "programs call these; LLVM documents the interface")]

use crate::memory::{self, Trait};
use core::ffi::c_void;

/// Defines functions that take the thread's number before the arguments of an OpenMP function.
macro_rules! with_thread {
    ($($name:ident = $of:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some of these functions are safe")]
        pub unsafe extern "C" fn $name(_thread: i32, $($arg: $type),*) $(-> $out)? {
            // SAFETY: the compiler passes what the OpenMP function takes.
            unsafe { memory::$of($($arg),*) }
        }
    )*};
}

with_thread! {
    __kmpc_init_allocator = omp_init_allocator(space: usize, count: i32, traits: *const Trait) -> usize;
    __kmpc_destroy_allocator = omp_destroy_allocator(handle: usize);
    __kmpc_set_default_allocator = omp_set_default_allocator(handle: usize);
    __kmpc_get_default_allocator = omp_get_default_allocator() -> usize;
    __kmpc_alloc = omp_alloc(bytes: usize, handle: usize) -> *mut c_void;
    __kmpc_aligned_alloc = omp_aligned_alloc(alignment: usize, bytes: usize, handle: usize) -> *mut c_void;
    __kmpc_calloc = omp_calloc(count: usize, bytes: usize, handle: usize) -> *mut c_void;
    __kmpc_realloc = omp_realloc(memory: *mut c_void, bytes: usize, handle: usize, free: usize) -> *mut c_void;
    __kmpc_free = omp_free(memory: *mut c_void, handle: usize);
}

/// The allocator of `kmp_malloc`.
const DEFAULT: usize = 1;

#[unsafe(no_mangle)]
pub extern "C" fn kmp_malloc(bytes: usize) -> *mut c_void {
    memory::omp_alloc(bytes, DEFAULT)
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_aligned_malloc(bytes: usize, alignment: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        return core::ptr::null_mut();
    }
    memory::omp_aligned_alloc(alignment, bytes, DEFAULT)
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_calloc(count: usize, bytes: usize) -> *mut c_void {
    memory::omp_calloc(count, bytes, DEFAULT)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_realloc(old: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the program passes memory that one of these functions returned.
    unsafe { memory::omp_realloc(old, bytes, DEFAULT, DEFAULT) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_free(old: *mut c_void) {
    // SAFETY: as above.
    unsafe { memory::omp_free(old, DEFAULT) };
}
