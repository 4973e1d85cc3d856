//! Atomic updates by type, for libraries of other compilers than clang, which makes instructions of
//! them.
//!
//! An update `l = l OP r` has up to four forms: plain; `cpt`, which returns the value before or
//! after; `rev`, which is `l = r OP l`; and `cpt_rev`. Variables are aligned to their size. Numbers of
//! 8 and 16 bits are shifted as C shifts them, with 32 bits.
#![allow(clippy::missing_safety_doc, reason = "compilers call these; LLVM documents the interface")]

use crate::kmp::ident::Ident;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

/// A type with atomic updates.
trait Cell: Copy {
    /// Replaces the value at `at` by what `new` makes of it, as one step. Returns both values.
    ///
    /// # Safety
    /// `at` is a variable of this type that is accessed atomically meanwhile.
    unsafe fn update(at: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self);
}

macro_rules! cells {
    ($($type:ty as $atomic:ident $to:expr, $from:expr;)*) => {$(
        impl Cell for $type {
            #[inline]
            unsafe fn update(at: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self) {
                // SAFETY: by contract; the atomic has the type's size and bits.
                let cell = unsafe { $atomic::from_ptr(at.cast()) };
                // SeqCst: the interface says no order, so the strongest one holds.
                let mut bits = cell.load(SeqCst);
                loop {
                    let old = $from(bits);
                    let made = new(old);
                    match cell.compare_exchange(bits, $to(made), SeqCst, SeqCst) {
                        Ok(_) => return (old, made),
                        Err(now) => bits = now,
                    }
                }
            }
        }
    )*};
}

cells! {
    i8 as AtomicU8 |value| value as u8, |bits| bits as i8;
    u8 as AtomicU8 |value| value, |bits| bits;
    i16 as AtomicU16 |value| value as u16, |bits| bits as i16;
    u16 as AtomicU16 |value| value, |bits| bits;
    i32 as AtomicU32 |value| value as u32, |bits| bits as i32;
    u32 as AtomicU32 |value| value, |bits| bits;
    i64 as AtomicU64 |value| value as u64, |bits| bits as i64;
    u64 as AtomicU64 |value| value, |bits| bits;
    f32 as AtomicU32 f32::to_bits, f32::from_bits;
    f64 as AtomicU64 f64::to_bits, f64::from_bits;
}

/// Defines updates: the plain form and `cpt`, in which a `flag` other than 0 asks for the value
/// after the update.
macro_rules! updates {
    ($($type:ty, $left:ident $right:ident => $new:expr, $plain:ident $cpt:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $plain(_at: *const Ident, _thread: i32, to: *mut $type, $right: $type) {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe { <$type>::update(to, |$left| $new) };
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cpt(
            _at: *const Ident, _thread: i32, to: *mut $type, $right: $type, flag: i32,
        ) -> $type {
            // SAFETY: as above.
            let (before, after) = unsafe { <$type>::update(to, |$left| $new) };
            if flag != 0 { after } else { before }
        }
    )*};
}

/// Defines reads, writes and exchanges.
macro_rules! accesses {
    ($($type:ty: $read:ident $write:ident $swap:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $read(_at: *const Ident, _thread: i32, from: *mut $type) -> $type {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe { <$type>::update(from, |value| value) }.0
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $write(_at: *const Ident, _thread: i32, to: *mut $type, value: $type) {
            // SAFETY: as above.
            unsafe { <$type>::update(to, |_| value) };
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $swap(_at: *const Ident, _thread: i32, to: *mut $type, value: $type) -> $type {
            // SAFETY: as above.
            unsafe { <$type>::update(to, |_| value) }.0
        }
    )*};
}

/// Defines updates by a number of type `f64`, in which the operation is done.
macro_rules! by_f64 {
    ($($type:ty, $left:ident $right:ident => $new:expr, $name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(_at: *const Ident, _thread: i32, to: *mut $type, $right: f64) {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe {
                <$type>::update(to, |value| {
                    let $left = value as f64;
                    ($new) as $type
                })
            };
        }
    )*};
}

updates! {
    i8, l r => l.wrapping_add(r), __kmpc_atomic_fixed1_add __kmpc_atomic_fixed1_add_cpt;
    i8, l r => l.wrapping_sub(r), __kmpc_atomic_fixed1_sub __kmpc_atomic_fixed1_sub_cpt;
    i8, l r => r.wrapping_sub(l), __kmpc_atomic_fixed1_sub_rev __kmpc_atomic_fixed1_sub_cpt_rev;
    i8, l r => l.wrapping_mul(r), __kmpc_atomic_fixed1_mul __kmpc_atomic_fixed1_mul_cpt;
    i8, l r => l.wrapping_div(r), __kmpc_atomic_fixed1_div __kmpc_atomic_fixed1_div_cpt;
    i8, l r => r.wrapping_div(l), __kmpc_atomic_fixed1_div_rev __kmpc_atomic_fixed1_div_cpt_rev;
    i8, l r => l & r, __kmpc_atomic_fixed1_andb __kmpc_atomic_fixed1_andb_cpt;
    i8, l r => l | r, __kmpc_atomic_fixed1_orb __kmpc_atomic_fixed1_orb_cpt;
    i8, l r => l ^ r, __kmpc_atomic_fixed1_xor __kmpc_atomic_fixed1_xor_cpt;
    i8, l r => i8::from(l != 0 && r != 0), __kmpc_atomic_fixed1_andl __kmpc_atomic_fixed1_andl_cpt;
    i8, l r => i8::from(l != 0 || r != 0), __kmpc_atomic_fixed1_orl __kmpc_atomic_fixed1_orl_cpt;
    i8, l r => l ^ !r, __kmpc_atomic_fixed1_eqv __kmpc_atomic_fixed1_eqv_cpt;
    i8, l r => l ^ r, __kmpc_atomic_fixed1_neqv __kmpc_atomic_fixed1_neqv_cpt;
    i8, l r => l.min(r), __kmpc_atomic_fixed1_min __kmpc_atomic_fixed1_min_cpt;
    i8, l r => l.max(r), __kmpc_atomic_fixed1_max __kmpc_atomic_fixed1_max_cpt;
    i8, l r => i32::from(l).wrapping_shl(r as u32) as i8, __kmpc_atomic_fixed1_shl __kmpc_atomic_fixed1_shl_cpt;
    i8, l r => i32::from(r).wrapping_shl(l as u32) as i8, __kmpc_atomic_fixed1_shl_rev __kmpc_atomic_fixed1_shl_cpt_rev;
    i8, l r => i32::from(l).wrapping_shr(r as u32) as i8, __kmpc_atomic_fixed1_shr __kmpc_atomic_fixed1_shr_cpt;
    i8, l r => i32::from(r).wrapping_shr(l as u32) as i8, __kmpc_atomic_fixed1_shr_rev __kmpc_atomic_fixed1_shr_cpt_rev;
    u8, l r => l.wrapping_div(r), __kmpc_atomic_fixed1u_div __kmpc_atomic_fixed1u_div_cpt;
    u8, l r => r.wrapping_div(l), __kmpc_atomic_fixed1u_div_rev __kmpc_atomic_fixed1u_div_cpt_rev;
    u8, l r => i32::from(l).wrapping_shr(r as u32) as u8, __kmpc_atomic_fixed1u_shr __kmpc_atomic_fixed1u_shr_cpt;
    u8, l r => i32::from(r).wrapping_shr(l as u32) as u8, __kmpc_atomic_fixed1u_shr_rev __kmpc_atomic_fixed1u_shr_cpt_rev;
    i16, l r => l.wrapping_add(r), __kmpc_atomic_fixed2_add __kmpc_atomic_fixed2_add_cpt;
    i16, l r => l.wrapping_sub(r), __kmpc_atomic_fixed2_sub __kmpc_atomic_fixed2_sub_cpt;
    i16, l r => r.wrapping_sub(l), __kmpc_atomic_fixed2_sub_rev __kmpc_atomic_fixed2_sub_cpt_rev;
    i16, l r => l.wrapping_mul(r), __kmpc_atomic_fixed2_mul __kmpc_atomic_fixed2_mul_cpt;
    i16, l r => l.wrapping_div(r), __kmpc_atomic_fixed2_div __kmpc_atomic_fixed2_div_cpt;
    i16, l r => r.wrapping_div(l), __kmpc_atomic_fixed2_div_rev __kmpc_atomic_fixed2_div_cpt_rev;
    i16, l r => l & r, __kmpc_atomic_fixed2_andb __kmpc_atomic_fixed2_andb_cpt;
    i16, l r => l | r, __kmpc_atomic_fixed2_orb __kmpc_atomic_fixed2_orb_cpt;
    i16, l r => l ^ r, __kmpc_atomic_fixed2_xor __kmpc_atomic_fixed2_xor_cpt;
    i16, l r => i16::from(l != 0 && r != 0), __kmpc_atomic_fixed2_andl __kmpc_atomic_fixed2_andl_cpt;
    i16, l r => i16::from(l != 0 || r != 0), __kmpc_atomic_fixed2_orl __kmpc_atomic_fixed2_orl_cpt;
    i16, l r => l ^ !r, __kmpc_atomic_fixed2_eqv __kmpc_atomic_fixed2_eqv_cpt;
    i16, l r => l ^ r, __kmpc_atomic_fixed2_neqv __kmpc_atomic_fixed2_neqv_cpt;
    i16, l r => l.min(r), __kmpc_atomic_fixed2_min __kmpc_atomic_fixed2_min_cpt;
    i16, l r => l.max(r), __kmpc_atomic_fixed2_max __kmpc_atomic_fixed2_max_cpt;
    i16, l r => i32::from(l).wrapping_shl(r as u32) as i16, __kmpc_atomic_fixed2_shl __kmpc_atomic_fixed2_shl_cpt;
    i16, l r => i32::from(r).wrapping_shl(l as u32) as i16, __kmpc_atomic_fixed2_shl_rev __kmpc_atomic_fixed2_shl_cpt_rev;
    i16, l r => i32::from(l).wrapping_shr(r as u32) as i16, __kmpc_atomic_fixed2_shr __kmpc_atomic_fixed2_shr_cpt;
    i16, l r => i32::from(r).wrapping_shr(l as u32) as i16, __kmpc_atomic_fixed2_shr_rev __kmpc_atomic_fixed2_shr_cpt_rev;
    u16, l r => l.wrapping_div(r), __kmpc_atomic_fixed2u_div __kmpc_atomic_fixed2u_div_cpt;
    u16, l r => r.wrapping_div(l), __kmpc_atomic_fixed2u_div_rev __kmpc_atomic_fixed2u_div_cpt_rev;
    u16, l r => i32::from(l).wrapping_shr(r as u32) as u16, __kmpc_atomic_fixed2u_shr __kmpc_atomic_fixed2u_shr_cpt;
    u16, l r => i32::from(r).wrapping_shr(l as u32) as u16, __kmpc_atomic_fixed2u_shr_rev __kmpc_atomic_fixed2u_shr_cpt_rev;
    i32, l r => l.wrapping_add(r), __kmpc_atomic_fixed4_add __kmpc_atomic_fixed4_add_cpt;
    i32, l r => l.wrapping_sub(r), __kmpc_atomic_fixed4_sub __kmpc_atomic_fixed4_sub_cpt;
    i32, l r => r.wrapping_sub(l), __kmpc_atomic_fixed4_sub_rev __kmpc_atomic_fixed4_sub_cpt_rev;
    i32, l r => l.wrapping_mul(r), __kmpc_atomic_fixed4_mul __kmpc_atomic_fixed4_mul_cpt;
    i32, l r => l.wrapping_div(r), __kmpc_atomic_fixed4_div __kmpc_atomic_fixed4_div_cpt;
    i32, l r => r.wrapping_div(l), __kmpc_atomic_fixed4_div_rev __kmpc_atomic_fixed4_div_cpt_rev;
    i32, l r => l & r, __kmpc_atomic_fixed4_andb __kmpc_atomic_fixed4_andb_cpt;
    i32, l r => l | r, __kmpc_atomic_fixed4_orb __kmpc_atomic_fixed4_orb_cpt;
    i32, l r => l ^ r, __kmpc_atomic_fixed4_xor __kmpc_atomic_fixed4_xor_cpt;
    i32, l r => i32::from(l != 0 && r != 0), __kmpc_atomic_fixed4_andl __kmpc_atomic_fixed4_andl_cpt;
    i32, l r => i32::from(l != 0 || r != 0), __kmpc_atomic_fixed4_orl __kmpc_atomic_fixed4_orl_cpt;
    i32, l r => l ^ !r, __kmpc_atomic_fixed4_eqv __kmpc_atomic_fixed4_eqv_cpt;
    i32, l r => l ^ r, __kmpc_atomic_fixed4_neqv __kmpc_atomic_fixed4_neqv_cpt;
    i32, l r => l.min(r), __kmpc_atomic_fixed4_min __kmpc_atomic_fixed4_min_cpt;
    i32, l r => l.max(r), __kmpc_atomic_fixed4_max __kmpc_atomic_fixed4_max_cpt;
    i32, l r => l.wrapping_shl(r as u32), __kmpc_atomic_fixed4_shl __kmpc_atomic_fixed4_shl_cpt;
    i32, l r => r.wrapping_shl(l as u32), __kmpc_atomic_fixed4_shl_rev __kmpc_atomic_fixed4_shl_cpt_rev;
    i32, l r => l.wrapping_shr(r as u32), __kmpc_atomic_fixed4_shr __kmpc_atomic_fixed4_shr_cpt;
    i32, l r => r.wrapping_shr(l as u32), __kmpc_atomic_fixed4_shr_rev __kmpc_atomic_fixed4_shr_cpt_rev;
    u32, l r => l.wrapping_div(r), __kmpc_atomic_fixed4u_div __kmpc_atomic_fixed4u_div_cpt;
    u32, l r => r.wrapping_div(l), __kmpc_atomic_fixed4u_div_rev __kmpc_atomic_fixed4u_div_cpt_rev;
    u32, l r => l.wrapping_shr(r as u32), __kmpc_atomic_fixed4u_shr __kmpc_atomic_fixed4u_shr_cpt;
    u32, l r => r.wrapping_shr(l as u32), __kmpc_atomic_fixed4u_shr_rev __kmpc_atomic_fixed4u_shr_cpt_rev;
    i64, l r => l.wrapping_add(r), __kmpc_atomic_fixed8_add __kmpc_atomic_fixed8_add_cpt;
    i64, l r => l.wrapping_sub(r), __kmpc_atomic_fixed8_sub __kmpc_atomic_fixed8_sub_cpt;
    i64, l r => r.wrapping_sub(l), __kmpc_atomic_fixed8_sub_rev __kmpc_atomic_fixed8_sub_cpt_rev;
    i64, l r => l.wrapping_mul(r), __kmpc_atomic_fixed8_mul __kmpc_atomic_fixed8_mul_cpt;
    i64, l r => l.wrapping_div(r), __kmpc_atomic_fixed8_div __kmpc_atomic_fixed8_div_cpt;
    i64, l r => r.wrapping_div(l), __kmpc_atomic_fixed8_div_rev __kmpc_atomic_fixed8_div_cpt_rev;
    i64, l r => l & r, __kmpc_atomic_fixed8_andb __kmpc_atomic_fixed8_andb_cpt;
    i64, l r => l | r, __kmpc_atomic_fixed8_orb __kmpc_atomic_fixed8_orb_cpt;
    i64, l r => l ^ r, __kmpc_atomic_fixed8_xor __kmpc_atomic_fixed8_xor_cpt;
    i64, l r => i64::from(l != 0 && r != 0), __kmpc_atomic_fixed8_andl __kmpc_atomic_fixed8_andl_cpt;
    i64, l r => i64::from(l != 0 || r != 0), __kmpc_atomic_fixed8_orl __kmpc_atomic_fixed8_orl_cpt;
    i64, l r => l ^ !r, __kmpc_atomic_fixed8_eqv __kmpc_atomic_fixed8_eqv_cpt;
    i64, l r => l ^ r, __kmpc_atomic_fixed8_neqv __kmpc_atomic_fixed8_neqv_cpt;
    i64, l r => l.min(r), __kmpc_atomic_fixed8_min __kmpc_atomic_fixed8_min_cpt;
    i64, l r => l.max(r), __kmpc_atomic_fixed8_max __kmpc_atomic_fixed8_max_cpt;
    i64, l r => l.wrapping_shl(r as u32), __kmpc_atomic_fixed8_shl __kmpc_atomic_fixed8_shl_cpt;
    i64, l r => r.wrapping_shl(l as u32), __kmpc_atomic_fixed8_shl_rev __kmpc_atomic_fixed8_shl_cpt_rev;
    i64, l r => l.wrapping_shr(r as u32), __kmpc_atomic_fixed8_shr __kmpc_atomic_fixed8_shr_cpt;
    i64, l r => r.wrapping_shr(l as u32), __kmpc_atomic_fixed8_shr_rev __kmpc_atomic_fixed8_shr_cpt_rev;
    u64, l r => l.wrapping_div(r), __kmpc_atomic_fixed8u_div __kmpc_atomic_fixed8u_div_cpt;
    u64, l r => r.wrapping_div(l), __kmpc_atomic_fixed8u_div_rev __kmpc_atomic_fixed8u_div_cpt_rev;
    u64, l r => l.wrapping_shr(r as u32), __kmpc_atomic_fixed8u_shr __kmpc_atomic_fixed8u_shr_cpt;
    u64, l r => r.wrapping_shr(l as u32), __kmpc_atomic_fixed8u_shr_rev __kmpc_atomic_fixed8u_shr_cpt_rev;
    f32, l r => l + r, __kmpc_atomic_float4_add __kmpc_atomic_float4_add_cpt;
    f32, l r => l - r, __kmpc_atomic_float4_sub __kmpc_atomic_float4_sub_cpt;
    f32, l r => r - l, __kmpc_atomic_float4_sub_rev __kmpc_atomic_float4_sub_cpt_rev;
    f32, l r => l * r, __kmpc_atomic_float4_mul __kmpc_atomic_float4_mul_cpt;
    f32, l r => l / r, __kmpc_atomic_float4_div __kmpc_atomic_float4_div_cpt;
    f32, l r => r / l, __kmpc_atomic_float4_div_rev __kmpc_atomic_float4_div_cpt_rev;
    f32, l r => l.min(r), __kmpc_atomic_float4_min __kmpc_atomic_float4_min_cpt;
    f32, l r => l.max(r), __kmpc_atomic_float4_max __kmpc_atomic_float4_max_cpt;
    f64, l r => l + r, __kmpc_atomic_float8_add __kmpc_atomic_float8_add_cpt;
    f64, l r => l - r, __kmpc_atomic_float8_sub __kmpc_atomic_float8_sub_cpt;
    f64, l r => r - l, __kmpc_atomic_float8_sub_rev __kmpc_atomic_float8_sub_cpt_rev;
    f64, l r => l * r, __kmpc_atomic_float8_mul __kmpc_atomic_float8_mul_cpt;
    f64, l r => l / r, __kmpc_atomic_float8_div __kmpc_atomic_float8_div_cpt;
    f64, l r => r / l, __kmpc_atomic_float8_div_rev __kmpc_atomic_float8_div_cpt_rev;
    f64, l r => l.min(r), __kmpc_atomic_float8_min __kmpc_atomic_float8_min_cpt;
    f64, l r => l.max(r), __kmpc_atomic_float8_max __kmpc_atomic_float8_max_cpt;
}

accesses! {
    i8: __kmpc_atomic_fixed1_rd __kmpc_atomic_fixed1_wr __kmpc_atomic_fixed1_swp;
    i16: __kmpc_atomic_fixed2_rd __kmpc_atomic_fixed2_wr __kmpc_atomic_fixed2_swp;
    i32: __kmpc_atomic_fixed4_rd __kmpc_atomic_fixed4_wr __kmpc_atomic_fixed4_swp;
    i64: __kmpc_atomic_fixed8_rd __kmpc_atomic_fixed8_wr __kmpc_atomic_fixed8_swp;
    f32: __kmpc_atomic_float4_rd __kmpc_atomic_float4_wr __kmpc_atomic_float4_swp;
    f64: __kmpc_atomic_float8_rd __kmpc_atomic_float8_wr __kmpc_atomic_float8_swp;
}

by_f64! {
    i8, l r => l * r, __kmpc_atomic_fixed1_mul_float8;
    i8, l r => l / r, __kmpc_atomic_fixed1_div_float8;
    i16, l r => l * r, __kmpc_atomic_fixed2_mul_float8;
    i16, l r => l / r, __kmpc_atomic_fixed2_div_float8;
    i32, l r => l * r, __kmpc_atomic_fixed4_mul_float8;
    i32, l r => l / r, __kmpc_atomic_fixed4_div_float8;
    i64, l r => l * r, __kmpc_atomic_fixed8_mul_float8;
    i64, l r => l / r, __kmpc_atomic_fixed8_div_float8;
    f32, l r => l + r, __kmpc_atomic_float4_add_float8;
    f32, l r => l - r, __kmpc_atomic_float4_sub_float8;
    f32, l r => l * r, __kmpc_atomic_float4_mul_float8;
    f32, l r => l / r, __kmpc_atomic_float4_div_float8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_update_differ_in_what_they_return_and_in_their_order() {
        let (at, thread) = (core::ptr::null(), 0);
        let (mut n, mut x) = (7i32, 1.5f64);
        let (to, real) = (&raw mut n, &raw mut x);
        // SAFETY: both variables are local.
        unsafe {
            __kmpc_atomic_fixed4_add(at, thread, to, 3);
            assert_eq!(__kmpc_atomic_fixed4_sub_cpt(at, thread, to, 4, 1), 6);
            assert_eq!(__kmpc_atomic_fixed4_sub_cpt(at, thread, to, 4, 0), 6);
            __kmpc_atomic_fixed4_sub_rev(at, thread, to, 12);
            assert_eq!(__kmpc_atomic_fixed4_rd(at, thread, to), 10);
            __kmpc_atomic_fixed4_mul_float8(at, thread, to, 0.25);
            __kmpc_atomic_fixed4_eqv(at, thread, to, 2);
            assert_eq!(__kmpc_atomic_fixed4_swp(at, thread, to, 5), -1);
            assert_eq!(__kmpc_atomic_float8_div_cpt_rev(at, thread, real, 3.0, 1), 2.0);
            let mut byte = 200u8;
            __kmpc_atomic_fixed1u_shr(at, thread, &raw mut byte, 3);
            assert_eq!((n, byte), (5, 25));
            let (mut small, mut short) = (-3i8, 1i16);
            assert_eq!(__kmpc_atomic_fixed2_shl_cpt(at, thread, &raw mut short, 17, 1), 0);
            assert_eq!(__kmpc_atomic_fixed1_shr_cpt(at, thread, &raw mut small, 9, 1), -1);
            assert_eq!(__kmpc_atomic_fixed1u_shr_cpt(at, thread, &raw mut byte, 10, 1), 0);
        }
    }

    #[test]
    fn no_update_is_lost_between_threads() {
        let mut n = 0.0f32;
        let to = (&raw mut n).expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let to = core::ptr::with_exposed_provenance_mut(to);
                    // SAFETY: the variable outlives the threads.
                    (0..1000).for_each(|_| unsafe { __kmpc_atomic_float4_add(core::ptr::null(), 0, to, 1.0) });
                });
            }
        });
        assert_eq!(n, 3000.0);
    }
}
