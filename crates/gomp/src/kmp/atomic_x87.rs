//! Atomic updates of `long double` and of complex numbers of two, one after another, in the runtime's
//! atomic section.
//!
//! These numbers have 80 bits. C passes them on the stack and returns them in the registers of the
//! x87 unit, which Rust's functions cannot: each function of the interface passes the addresses on
//! which a function of this file works, and loads the result. The forms of an update are those of
//! [`atomic_types`](super::atomic_types).
#![allow(clippy::missing_safety_doc, reason = "compilers call these; LLVM documents the interface")]

use crate::kmp::atomic_complex::{Complex, in_turn};
use crate::kmp::ident::Ident;
use core::arch::{asm, naked_asm};
use core::marker::PhantomData;

/// A `long double` in memory: 80 bits, and bits that mean nothing.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Long {
    significand: u64,
    sign_and_exponent: u16,
}

const NOTHING: Long = Long { significand: 0, sign_and_exponent: 0 };

unsafe extern "C" {
    // The compiler's own library has multiplication and division as C defines them. `by_call` alone
    // calls these functions, as they take four `long double`.
    fn __mulxc3();
    fn __divxc3();
}

/// What becomes of `left` in an update by `right`.
trait Change<V> {
    fn change(left: V, right: V) -> V;
}

/// An operation with its operands exchanged.
struct Reversed<O>(PhantomData<O>);

impl<V, O: Change<V>> Change<V> for Reversed<O> {
    fn change(left: V, right: V) -> V {
        O::change(right, left)
    }
}

/// Replaces the value.
struct Write;

impl<V> Change<V> for Write {
    fn change(_: V, right: V) -> V {
        right
    }
}

/// Defines operations by an instruction that replaces the two numbers on top of the x87 stack, `right`
/// above `left`, by the result.
macro_rules! by_instruction {
    ($($operation:ident $instruction:literal;)*) => {$(
        struct $operation;

        impl Change<Long> for $operation {
            fn change(left: Long, right: Long) -> Long {
                let mut result = NOTHING;
                // SAFETY: the operands are local; the x87 stack is empty again behind the
                // instructions.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{left}]",
                        "fld tbyte ptr [{right}]",
                        $instruction,
                        "fstp tbyte ptr [{result}]",
                        left = in(reg) &raw const left,
                        right = in(reg) &raw const right,
                        result = in(reg) &raw mut result,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                result
            }
        }
    )*};
}

by_instruction! {
    Add "faddp st(1), st";
    Sub "fsubp st(1), st";
    Mul "fmulp st(1), st";
    Div "fdivp st(1), st";
}

/// Whether `left` is less than `right`; false if they cannot be compared.
fn is_less(left: Long, right: Long) -> bool {
    let less: u8;
    // SAFETY: as for the operations.
    unsafe {
        asm!(
            "fld tbyte ptr [{left}]",
            "fld tbyte ptr [{right}]",
            "fcomip st, st(1)",
            "fstp st(0)",
            "seta {less}",
            left = in(reg) &raw const left,
            right = in(reg) &raw const right,
            less = out(reg_byte) less,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack),
        );
    }
    less != 0
}

struct Min;
struct Max;

impl Change<Long> for Min {
    fn change(left: Long, right: Long) -> Long {
        if is_less(right, left) { right } else { left }
    }
}

impl Change<Long> for Max {
    fn change(left: Long, right: Long) -> Long {
        if is_less(left, right) { right } else { left }
    }
}

/// Operations that are done with each part by itself.
macro_rules! by_parts {
    ($($operation:ident)*) => {$(
        impl Change<Complex<Long>> for $operation {
            fn change(left: Complex<Long>, right: Complex<Long>) -> Complex<Long> {
                Complex { re: Self::change(left.re, right.re), im: Self::change(left.im, right.im) }
            }
        }
    )*};
}

by_parts! { Add Sub }

impl Change<Complex<Long>> for Mul {
    fn change(left: Complex<Long>, right: Complex<Long>) -> Complex<Long> {
        // SAFETY: the function takes and returns such numbers.
        unsafe { by_call(__mulxc3, left, right) }
    }
}

impl Change<Complex<Long>> for Div {
    fn change(left: Complex<Long>, right: Complex<Long>) -> Complex<Long> {
        // SAFETY: as above.
        unsafe { by_call(__divxc3, left, right) }
    }
}

/// Calls a function that takes the four parts as `long double`, and returns a complex number of two.
///
/// # Safety
/// The function does.
unsafe fn by_call(function: unsafe extern "C" fn(), left: Complex<Long>, right: Complex<Long>) -> Complex<Long> {
    let parts = [left, right];
    let mut result = Complex { re: NOTHING, im: NOTHING };
    // SAFETY: by contract. The copy of the parts lies where the stack ends, aligned as for a call,
    // and is taken off again.
    unsafe {
        asm!(
            "sub rsp, 64",
            "movups xmm0, [{parts}]",
            "movups xmm1, [{parts} + 16]",
            "movups xmm2, [{parts} + 32]",
            "movups xmm3, [{parts} + 48]",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "call {function}",
            "fstp tbyte ptr [r12]",
            "fstp tbyte ptr [r12 + 16]",
            "add rsp, 64",
            parts = in(reg) &raw const parts,
            function = in(reg) function,
            in("r12") &raw mut result,
            clobber_abi("C"),
        );
    }
    result
}

/// Updates the variable at `to` by the number at `right`.
unsafe extern "C" fn plain<V: Copy, O: Change<V>>(_at: *const Ident, _thread: i32, to: *mut V, right: *const V) {
    // SAFETY: the compiler passes a variable of the program's; `right` lies on its caller's stack.
    unsafe { in_turn(to, |left| O::change(left, right.read())) };
}

/// Updates the variable at `to` by the number at `right`. Writes the value before to `out`, or, if the
/// `flag` is not 0, the value after.
unsafe extern "C" fn captured<V: Copy, O: Change<V>>(
    _at: *const Ident,
    _thread: i32,
    to: *mut V,
    flag: i32,
    right: *const V,
    out: *mut V,
) {
    // SAFETY: as above; `out` has room for the result.
    unsafe {
        let (before, after) = in_turn(to, |left| O::change(left, right.read()));
        out.write(if flag != 0 { after } else { before });
    }
}

/// Replaces the value of the variable at `to` by the number at `right`. Writes the value before to
/// `out`.
unsafe extern "C" fn swap<V: Copy>(_at: *const Ident, _thread: i32, to: *mut V, _: i32, right: *const V, out: *mut V) {
    // SAFETY: as above.
    unsafe { out.write(in_turn(to, |_| right.read()).0) };
}

/// Reads the variable at `from`.
unsafe extern "C" fn read<V: Copy>(_at: *const Ident, _thread: i32, from: *mut V, _: i32, _: *const V, out: *mut V) {
    // SAFETY: as above.
    unsafe { out.write(in_turn(from, |value| value).0) };
}

/// Defines functions that return nothing. Their last argument lies on the stack, behind the return
/// address; `$then` gets its address.
macro_rules! plain {
    ($($value:ty, $operation:ty: $name:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!("lea rcx, [rsp + 8]", "jmp {then}", then = sym plain::<$value, $operation>);
        }
    )*};
}

/// Defines functions that return a number, which `$then` writes to the address that it gets, in
/// addition to what [`plain`] passes. `$load`: how the number is loaded.
macro_rules! returning {
    ($($then:ident $generics:tt $load:tt: $name:ident;)*) => {$( returning! { @one $then $generics $load $name } )*};
    (@one $then:ident [$($generic:ty),*] [$($load:literal),*] $name:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "lea r8, [rsp + 8]",
                "sub rsp, 40",
                ".cfi_def_cfa_offset 48",
                "mov r9, rsp",
                "call {then}",
                $($load,)*
                "add rsp, 40",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                then = sym $then::<$($generic),*>,
            );
        }
    };
}

/// Defines the functions for `long double`.
macro_rules! of_long {
    ($($operation:ty: $plain:ident $cpt:ident;)*) => {
        plain! { $(Long, $operation: $plain;)* }
        returning! { $(captured [Long, $operation] ["fld tbyte ptr [rsp]"]: $cpt;)* }
    };
}

/// Defines the functions for complex numbers. The real part is loaded last.
macro_rules! of_complex {
    ($($operation:ty: $plain:ident $cpt:ident;)*) => {
        plain! { $(Complex<Long>, $operation: $plain;)* }
        returning! {
            $(captured [Complex<Long>, $operation] ["fld tbyte ptr [rsp + 16]", "fld tbyte ptr [rsp]"]: $cpt;)*
        }
    };
}

of_long! {
    Add: __kmpc_atomic_float10_add __kmpc_atomic_float10_add_cpt;
    Sub: __kmpc_atomic_float10_sub __kmpc_atomic_float10_sub_cpt;
    Reversed<Sub>: __kmpc_atomic_float10_sub_rev __kmpc_atomic_float10_sub_cpt_rev;
    Mul: __kmpc_atomic_float10_mul __kmpc_atomic_float10_mul_cpt;
    Div: __kmpc_atomic_float10_div __kmpc_atomic_float10_div_cpt;
    Reversed<Div>: __kmpc_atomic_float10_div_rev __kmpc_atomic_float10_div_cpt_rev;
    Min: __kmpc_atomic_float10_min __kmpc_atomic_float10_min_cpt;
    Max: __kmpc_atomic_float10_max __kmpc_atomic_float10_max_cpt;
}

of_complex! {
    Add: __kmpc_atomic_cmplx10_add __kmpc_atomic_cmplx10_add_cpt;
    Sub: __kmpc_atomic_cmplx10_sub __kmpc_atomic_cmplx10_sub_cpt;
    Reversed<Sub>: __kmpc_atomic_cmplx10_sub_rev __kmpc_atomic_cmplx10_sub_cpt_rev;
    Mul: __kmpc_atomic_cmplx10_mul __kmpc_atomic_cmplx10_mul_cpt;
    Div: __kmpc_atomic_cmplx10_div __kmpc_atomic_cmplx10_div_cpt;
    Reversed<Div>: __kmpc_atomic_cmplx10_div_rev __kmpc_atomic_cmplx10_div_cpt_rev;
}

plain! {
    Long, Write: __kmpc_atomic_float10_wr;
    Complex<Long>, Write: __kmpc_atomic_cmplx10_wr;
}

returning! {
    read [Long] ["fld tbyte ptr [rsp]"]: __kmpc_atomic_float10_rd;
    swap [Long] ["fld tbyte ptr [rsp]"]: __kmpc_atomic_float10_swp;
    read [Complex<Long>] ["fld tbyte ptr [rsp + 16]", "fld tbyte ptr [rsp]"]: __kmpc_atomic_cmplx10_rd;
    swap [Complex<Long>] ["fld tbyte ptr [rsp + 16]", "fld tbyte ptr [rsp]"]: __kmpc_atomic_cmplx10_swp;
}
