//! What most calls begin with: where they stand in the source, and the thread's number.

use baton_machine::{Machine, Native};
use core::ffi::c_char;

/// LLVM's `ident_t`: a place in the program's source, and what the compiler says about it.
#[repr(C)]
pub struct Ident {
    reserved: i32,
    /// Bits that the compiler sets.
    pub flags: i32,
    more: [i32; 2],
    /// `;FILE;FUNCTION;LINE;COLUMN;;`, or null.
    pub source: *const c_char,
}

/// The number by which LLVM's interface knows the calling thread: from 0, and no two living threads
/// have the same.
#[inline]
pub(crate) fn number() -> i32 {
    Native::local().index() as i32
}
