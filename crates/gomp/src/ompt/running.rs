//! The tool that runs, if there is one.

use super::callbacks;
use baton_machine::Native;
use baton_omp::Runtime;
use core::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// OMPT's `ompt_start_tool_result_t`, with the tool's own word behind the two functions.
#[repr(C)]
pub(super) struct Started {
    pub(super) initialize: Option<unsafe extern "C" fn(Lookup, c_int, *mut c_void) -> c_int>,
    pub(super) finalize: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(super) word: u64,
}

pub(super) type Lookup = unsafe extern "C" fn(*const c_char) -> *const c_void;
/// Whether there is a tool, or one that may still be started.
pub(super) static ON: AtomicBool = AtomicBool::new(false);
/// What the tool returned; null: there is none, or it has ended.
pub(super) static TOOL: AtomicPtr<Started> = AtomicPtr::new(core::ptr::null_mut());
pub(super) static RUNTIME: OnceLock<&'static Runtime<Native>> = OnceLock::new();

/// Whether there is a tool, or one that may still be started.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    // Relaxed: the word changes while the library is loaded, and when the tool ends.
    ON.load(Ordering::Relaxed)
}

pub(super) fn runtime() -> Option<&'static Runtime<Native>> {
    RUNTIME.get().copied()
}

/// Ends the tool, which is told of nothing any more.
pub(super) fn end() {
    // AcqRel: the thread sees what the tool did, and only one thread ends it.
    let tool = TOOL.swap(core::ptr::null_mut(), Ordering::AcqRel);
    ON.store(false, Ordering::Relaxed);
    if !tool.is_null() {
        // SAFETY: the tool returned these functions, and its word stands behind them.
        unsafe {
            let end = (*tool).finalize;
            end.into_iter().for_each(|end| end((&raw mut (*tool).word).cast()));
        }
        callbacks::clear();
    }
}
