//! Compare-and-swap by type, for libraries of other compilers than clang, which makes instructions of
//! it.
//!
//! | form | returns | writes to its last address |
//! | --- | --- | --- |
//! | `bool` | whether the variable was exchanged | |
//! | `val` | the value before | |
//! | `bool`, `cpt` | whether the variable was exchanged | the value before, if it was not exchanged |
//! | `val`, `cpt` | the value before | the value after |
#![allow(clippy::missing_safety_doc, reason = "compilers call these; LLVM documents the interface")]

use crate::kmp::ident::Ident;
use std::sync::atomic::{AtomicI8, AtomicI16, AtomicI32, AtomicI64, Ordering::SeqCst};

macro_rules! swaps {
    ($($type:ty as $atomic:ident: $bool:ident $val:ident $bool_cpt:ident $val_cpt:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $bool(at: *const Ident, thread: i32, to: *mut $type, expected: $type, new: $type) -> bool {
            // SAFETY: by contract.
            unsafe { $val(at, thread, to, expected, new) == expected }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $val(_at: *const Ident, _thread: i32, to: *mut $type, expected: $type, new: $type) -> $type {
            // SAFETY: the compiler passes a variable of the program's, aligned to its size.
            let cell = unsafe { $atomic::from_ptr(to) };
            // SeqCst: the interface says no order, so the strongest one holds.
            match cell.compare_exchange(expected, new, SeqCst, SeqCst) {
                Ok(before) | Err(before) => before,
            }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $bool_cpt(
            at: *const Ident, thread: i32, to: *mut $type, expected: $type, new: $type, out: *mut $type,
        ) -> bool {
            // SAFETY: by contract; the compiler passes a variable for the value.
            unsafe {
                let before = $val(at, thread, to, expected, new);
                if before != expected {
                    out.write(before);
                }
                before == expected
            }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $val_cpt(
            at: *const Ident, thread: i32, to: *mut $type, expected: $type, new: $type, out: *mut $type,
        ) -> $type {
            // SAFETY: as above.
            unsafe {
                let before = $val(at, thread, to, expected, new);
                out.write(if before == expected { new } else { before });
                before
            }
        }
    )*};
}

swaps! {
    i8 as AtomicI8:
        __kmpc_atomic_bool_1_cas __kmpc_atomic_val_1_cas __kmpc_atomic_bool_1_cas_cpt __kmpc_atomic_val_1_cas_cpt;
    i16 as AtomicI16:
        __kmpc_atomic_bool_2_cas __kmpc_atomic_val_2_cas __kmpc_atomic_bool_2_cas_cpt __kmpc_atomic_val_2_cas_cpt;
    i32 as AtomicI32:
        __kmpc_atomic_bool_4_cas __kmpc_atomic_val_4_cas __kmpc_atomic_bool_4_cas_cpt __kmpc_atomic_val_4_cas_cpt;
    i64 as AtomicI64:
        __kmpc_atomic_bool_8_cas __kmpc_atomic_val_8_cas __kmpc_atomic_bool_8_cas_cpt __kmpc_atomic_val_8_cas_cpt;
}
