//! Atomic updates of complex numbers of two `float` or two `double`, one after another, in the
//! runtime's atomic section.
//!
//! The forms of an update are those of [`atomic_types`](super::atomic_types), but for numbers of two
//! `float`: `cpt` and `swp` write their result to an address.
#![allow(clippy::missing_safety_doc, reason = "compilers call these; LLVM documents the interface")]

use crate::critical::{GOMP_atomic_end, GOMP_atomic_start};
use crate::kmp::ident::Ident;

/// A complex number, as C passes and returns it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

unsafe extern "C" {
    // The compiler's own library has multiplication and division as C defines them, infinite parts
    // included.
    safe fn __mulsc3(a: f32, b: f32, c: f32, d: f32) -> Complex<f32>;
    safe fn __divsc3(a: f32, b: f32, c: f32, d: f32) -> Complex<f32>;
    safe fn __muldc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
    safe fn __divdc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
}

macro_rules! arithmetic {
    ($($part:ty: $times:ident $over:ident;)*) => {$(
        impl Complex<$part> {
            fn plus(self, other: Self) -> Self {
                Complex { re: self.re + other.re, im: self.im + other.im }
            }
            fn minus(self, other: Self) -> Self {
                Complex { re: self.re - other.re, im: self.im - other.im }
            }
            fn times(self, other: Self) -> Self {
                $times(self.re, self.im, other.re, other.im)
            }
            fn over(self, other: Self) -> Self {
                $over(self.re, self.im, other.re, other.im)
            }
        }
    )*};
}

arithmetic! {
    f32: __mulsc3 __divsc3;
    f64: __muldc3 __divdc3;
}

impl Complex<f32> {
    fn wide(self) -> Complex<f64> {
        Complex { re: self.re.into(), im: self.im.into() }
    }
}

impl Complex<f64> {
    fn narrow(self) -> Complex<f32> {
        Complex { re: self.re as f32, im: self.im as f32 }
    }
}

/// Replaces the value at `at` by what `new` makes of it, in the atomic section. Returns both values.
///
/// # Safety
/// `at` is a variable of this type, which other threads access in the atomic section alone.
pub(crate) unsafe fn in_turn<V: Copy>(at: *mut V, new: impl FnOnce(V) -> V) -> (V, V) {
    GOMP_atomic_start();
    // SAFETY: by contract.
    let both = unsafe {
        let before = at.read();
        let after = new(before);
        at.write(after);
        (before, after)
    };
    GOMP_atomic_end();
    both
}

/// Defines updates: the plain form and `cpt`, in which a `flag` other than 0 asks for the value after
/// the update. Where an address `out` is named, `cpt` writes its result there.
macro_rules! updates {
    ($($part:ty $(, $out:ident)?: $left:ident $right:ident => $new:expr, $plain:ident $cpt:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $plain(_at: *const Ident, _thread: i32, to: *mut Complex<$part>, $right: Complex<$part>) {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe { in_turn(to, |$left| $new) };
        }
        updates! { @cpt $part $(, $out)?: $left $right => $new, $cpt }
    )*};
    (@cpt $part:ty: $left:ident $right:ident => $new:expr, $cpt:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cpt(
            _at: *const Ident, _thread: i32, to: *mut Complex<$part>, $right: Complex<$part>, flag: i32,
        ) -> Complex<$part> {
            // SAFETY: as above.
            let (before, after) = unsafe { in_turn(to, |$left| $new) };
            if flag != 0 { after } else { before }
        }
    };
    (@cpt $part:ty, $out:ident: $left:ident $right:ident => $new:expr, $cpt:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cpt(
            _at: *const Ident, _thread: i32, to: *mut Complex<$part>, $right: Complex<$part>, $out: *mut Complex<$part>, flag: i32,
        ) {
            // SAFETY: as above; the compiler passes a variable for the result.
            unsafe {
                let (before, after) = in_turn(to, |$left| $new);
                $out.write(if flag != 0 { after } else { before });
            }
        }
    };
}

updates! {
    f32, out: l r => l.plus(r), __kmpc_atomic_cmplx4_add __kmpc_atomic_cmplx4_add_cpt;
    f32, out: l r => l.minus(r), __kmpc_atomic_cmplx4_sub __kmpc_atomic_cmplx4_sub_cpt;
    f32, out: l r => r.minus(l), __kmpc_atomic_cmplx4_sub_rev __kmpc_atomic_cmplx4_sub_cpt_rev;
    f32, out: l r => l.times(r), __kmpc_atomic_cmplx4_mul __kmpc_atomic_cmplx4_mul_cpt;
    f32, out: l r => l.over(r), __kmpc_atomic_cmplx4_div __kmpc_atomic_cmplx4_div_cpt;
    f32, out: l r => r.over(l), __kmpc_atomic_cmplx4_div_rev __kmpc_atomic_cmplx4_div_cpt_rev;
    f64: l r => l.plus(r), __kmpc_atomic_cmplx8_add __kmpc_atomic_cmplx8_add_cpt;
    f64: l r => l.minus(r), __kmpc_atomic_cmplx8_sub __kmpc_atomic_cmplx8_sub_cpt;
    f64: l r => r.minus(l), __kmpc_atomic_cmplx8_sub_rev __kmpc_atomic_cmplx8_sub_cpt_rev;
    f64: l r => l.times(r), __kmpc_atomic_cmplx8_mul __kmpc_atomic_cmplx8_mul_cpt;
    f64: l r => l.over(r), __kmpc_atomic_cmplx8_div __kmpc_atomic_cmplx8_div_cpt;
    f64: l r => r.over(l), __kmpc_atomic_cmplx8_div_rev __kmpc_atomic_cmplx8_div_cpt_rev;
}

/// Defines updates of two `float` by two `double`, in which the operation is done.
macro_rules! by_wide {
    ($($operation:ident $name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(_at: *const Ident, _thread: i32, to: *mut Complex<f32>, right: Complex<f64>) {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe { in_turn(to, |left| left.wide().$operation(right).narrow()) };
        }
    )*};
}

by_wide! {
    plus __kmpc_atomic_cmplx4_add_cmplx8;
    minus __kmpc_atomic_cmplx4_sub_cmplx8;
    times __kmpc_atomic_cmplx4_mul_cmplx8;
    over __kmpc_atomic_cmplx4_div_cmplx8;
}

/// Defines reads and writes.
macro_rules! accesses {
    ($($part:ty: $read:ident $write:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $read(_at: *const Ident, _thread: i32, from: *mut Complex<$part>) -> Complex<$part> {
            // SAFETY: the compiler passes a variable of the program's.
            unsafe { in_turn(from, |value| value) }.0
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $write(_at: *const Ident, _thread: i32, to: *mut Complex<$part>, value: Complex<$part>) {
            // SAFETY: as above.
            unsafe { in_turn(to, |_| value) };
        }
    )*};
}

accesses! {
    f32: __kmpc_atomic_cmplx4_rd __kmpc_atomic_cmplx4_wr;
    f64: __kmpc_atomic_cmplx8_rd __kmpc_atomic_cmplx8_wr;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_atomic_cmplx4_swp(
    _at: *const Ident,
    _thread: i32,
    to: *mut Complex<f32>,
    value: Complex<f32>,
    out: *mut Complex<f32>,
) {
    // SAFETY: the compiler passes a variable of the program's, and one for the result.
    unsafe { out.write(in_turn(to, |_| value).0) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_atomic_cmplx8_swp(
    _at: *const Ident,
    _thread: i32,
    to: *mut Complex<f64>,
    value: Complex<f64>,
) -> Complex<f64> {
    // SAFETY: as above.
    unsafe { in_turn(to, |_| value) }.0
}
