//! Atomic updates for which the compiler has no instruction: one after another, in the runtime's
//! atomic section.
//!
//! Clang makes instructions, or calls of libatomic, of all its atomic constructs. These calls are
//! those of a compiler that leaves the update to a function of its own.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::critical::{GOMP_atomic_end, GOMP_atomic_start};
use crate::kmp::ident::Ident;
use core::ffi::c_void;

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_start() {
    GOMP_atomic_start();
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_end() {
    GOMP_atomic_end();
}

/// Writes to the first address what the update makes of the second and the third.
type Update = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void);

macro_rules! updates {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _at: *const Ident, _thread: i32, left: *mut c_void, right: *mut c_void, update: Update,
        ) {
            GOMP_atomic_start();
            // SAFETY: the compiler made the update for variables of this size.
            unsafe { update(left, left, right) };
            GOMP_atomic_end();
        }
    )*};
}

updates! {
    __kmpc_atomic_1 __kmpc_atomic_2 __kmpc_atomic_4 __kmpc_atomic_8
    __kmpc_atomic_10 __kmpc_atomic_16 __kmpc_atomic_20 __kmpc_atomic_32
}
