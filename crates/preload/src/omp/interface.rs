//! What programs of clang pass to LLVM's runtime, and get from it.

use core::ffi::{c_char, c_int, c_void};

/// LLVM's `ident_t`: a place in the program's source, and what the compiler says of it in bits.
#[repr(C)]
pub(super) struct Ident {
    reserved: i32,
    pub(super) flags: i32,
    more: [i32; 2],
    source: *const c_char,
}

/// A task's function.
pub(super) type Entry = unsafe extern "C-unwind" fn(c_int, *mut Task) -> c_int;

/// The beginning of LLVM's `kmp_task_t`: the words that the task shares with its creator, and its
/// function.
#[repr(C)]
pub(super) struct Task {
    pub(super) shared: *mut c_void,
    pub(super) entry: Entry,
}
