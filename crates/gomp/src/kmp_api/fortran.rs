//! Fortran's forms of the functions with arguments, which it passes by their addresses.
#![allow(clippy::missing_safety_doc, reason = "each pointer leads to an argument of the program's")]

use crate::kmp_api::affinity::Mask;
use crate::kmp_api::{affinity, memory, queries};
use core::ffi::c_void;

macro_rules! forms {
    ($($name:ident = $of:path, ($($arg:ident: $type:ty),*) ($($as_is:ident: $same:ty),*) $(-> $out:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some of these functions are safe")]
        pub unsafe extern "C" fn $name($($arg: *const $type,)* $($as_is: $same),*) $(-> $out)? {
            // SAFETY: the program passes the addresses of the arguments.
            unsafe { $of($($arg.read(),)* $($as_is),*) }
        }
    )*};
}

forms! {
    kmp_set_blocktime_ = queries::kmp_set_blocktime, (n: i32) ();
    kmp_set_stacksize_ = queries::kmp_set_stacksize, (n: i32) ();
    kmp_set_stacksize_s_ = queries::kmp_set_stacksize_s, (n: usize) ();
    kmp_set_library_ = queries::kmp_set_library, (n: i32) ();
    kmp_set_disp_num_buffers_ = queries::kmp_set_disp_num_buffers, (n: i32) ();
    kmp_get_cancellation_status_ = queries::kmp_get_cancellation_status, (n: i32) () -> i32;
    kmp_malloc_ = memory::kmp_malloc, (bytes: usize) () -> *mut c_void;
    kmp_aligned_malloc_ = memory::kmp_aligned_malloc, (bytes: usize, alignment: usize) () -> *mut c_void;
    kmp_calloc_ = memory::kmp_calloc, (count: usize, bytes: usize) () -> *mut c_void;
    kmp_realloc_ = memory::kmp_realloc, (old: *mut c_void, bytes: usize) () -> *mut c_void;
    kmp_free_ = memory::kmp_free, (old: *mut c_void) ();
    kmp_set_affinity_mask_proc_ = affinity::kmp_set_affinity_mask_proc, (cpu: i32) (mask: *const Mask) -> i32;
    kmp_unset_affinity_mask_proc_ = affinity::kmp_unset_affinity_mask_proc, (cpu: i32) (mask: *const Mask) -> i32;
    kmp_get_affinity_mask_proc_ = affinity::kmp_get_affinity_mask_proc, (cpu: i32) (mask: *const Mask) -> i32;
}
