//! What most calls begin with: where they stand in the source, and the thread's number.

use crate::ompt::{self, Sync, WorkKind};
use crate::process::has_tool;
use baton_machine::{Machine, Native};
use core::ffi::{CStr, c_char};

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

/// Bits of [`Ident::flags`]: where a barrier comes from, and what work it is.
const BARRIER_EXPLICIT: i32 = 0x20;
const BARRIER_IMPLICIT: i32 = 0x40;
const SECTIONS: i32 = 0x400;
const DISTRIBUTE: i32 = 0x800;

/// What the compiler says of a place.
unsafe fn flags(at: *const Ident) -> i32 {
    // SAFETY: the compiler passes its own description, or null.
    unsafe { at.as_ref() }.map_or(0, |at| at.flags)
}

/// The kind of the barrier at a place.
pub(crate) fn barrier_at(at: *const Ident) -> Sync {
    // SAFETY: the compiler passes the place.
    match unsafe { flags(at) } {
        flags if flags & BARRIER_EXPLICIT != 0 => Sync::BarrierExplicit,
        flags if flags & BARRIER_IMPLICIT != 0 => Sync::BarrierOfShare,
        _ => Sync::Barrier,
    }
}

/// The kind of the work at a place, whose iterations are divided beforehand.
pub(crate) fn work_at(at: *const Ident) -> WorkKind {
    // SAFETY: the compiler passes the place.
    match unsafe { flags(at) } {
        flags if flags & SECTIONS != 0 => WorkKind::Sections,
        flags if flags & DISTRIBUTE != 0 => WorkKind::Distribute,
        _ => WorkKind::LoopStatic,
    }
}

/// The severity of an `error` directive that ends the program.
const FATAL: i32 = 2;

/// Prints a message for a place of the program, and ends the program if the severity says so.
///
/// # Safety
/// The place is the compiler's, or null, and the message is a string, or null.
pub(crate) unsafe fn error(at: *const Ident, severity: i32, message: *const c_char) {
    if has_tool() {
        // SAFETY: the compiler passes a string, or null.
        let length = if message.is_null() { 0 } else { unsafe { CStr::from_ptr(message) }.count_bytes() };
        ompt::constructs::error(severity, message, length);
    }
    let text = |text: *const c_char| {
        // SAFETY: the compiler passes strings, or null.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    // SAFETY: the compiler passes its own description, or null.
    let place = text(unsafe { at.as_ref() }.map_or(core::ptr::null(), |at| at.source));
    // The place is `;FILE;FUNCTION;LINE;COLUMN;;`.
    let mut parts = place.as_deref().unwrap_or("").split(';').skip(1);
    let (file, _, line) = (parts.next().unwrap_or(""), parts.next(), parts.next().unwrap_or(""));
    let message = text(message).unwrap_or_else(|| "error directive encountered".to_owned());
    eprintln!("libbaton_gomp: {file}:{line}: {message}");
    if severity == FATAL {
        std::process::exit(1);
    }
}

/// The number by which LLVM's interface knows the calling thread: from 0, and no two living threads
/// have the same.
#[inline]
pub(crate) fn number() -> i32 {
    Native::local().index() as i32
}
