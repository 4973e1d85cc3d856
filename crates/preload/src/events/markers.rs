//! Markers and regions of interest: the functions that the inline functions of `baton.h` find by
//! name while the program is recorded or its markers are counted.

use super::session::SESSION;
use crate::base::errno;
use crate::progress;
use crate::thread::{self, Thread};
use baton_trace::What;
use baton_trace::writer::{SiteAnswer, SiteTable};
use core::ffi::{CStr, c_char};

/// Number of different names in a process; markers and regions of any further name are not
/// recorded.
const NAMES: usize = 1 << 10;
/// The numbers of names, by a hash of their text, as the same text may stand at many addresses. If
/// two names have the same 64-bit hash, the second is recorded under the name of the first.
static NAME: SiteTable<NAMES> = SiteTable::new();

/// The number of a name. The name is written into the trace when it is first seen.
fn number(thread: &Thread, name: &CStr) -> Option<u32> {
    // The hash is FNV-1a. A hash of 0 becomes 1, because 0 stands for an empty place in the table.
    let hash =
        name.to_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    match NAME.number(hash.max(1)) {
        SiteAnswer::Known(id) => Some(id.0),
        SiteAnswer::New(id) => {
            thread.pen.name_marker(&SESSION, id.0, name.to_bytes());
            Some(id.0)
        }
        SiteAnswer::Full => None,
    }
}

/// Writes the event that `what` makes of the name's number, if the trace is open.
///
/// # Safety
/// `name` is null or a string.
unsafe fn post(name: *const c_char, what: impl FnOnce(u32) -> What) {
    if name.is_null() || !SESSION.is_open() {
        return;
    }
    errno::kept(|| {
        let thread = thread::current();
        // SAFETY: by contract.
        if let Some(name) = number(thread, unsafe { CStr::from_ptr(name) }) {
            thread.pen.post_ordered(&SESSION, what(name));
        }
    });
}

/// `baton_marker` of `baton.h`.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_preload_marker(name: *const c_char, value: u64) {
    // SAFETY: by contract.
    unsafe { progress::marked(name) };
    // An event has 48 bits for the value.
    let value = value & 0xffff_ffff_ffff;
    // SAFETY: by contract.
    unsafe { post(name, |name| What::Marker { name, value }) };
}

/// `baton_roi_begin` of `baton.h`.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_preload_roi_begin(name: *const c_char) {
    // SAFETY: by contract.
    unsafe { post(name, |name| What::RoiBegin { name }) };
}

/// `baton_roi_end` of `baton.h`.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_preload_roi_end(name: *const c_char) {
    // SAFETY: by contract.
    unsafe { post(name, |name| What::RoiEnd { name }) };
}

/// Forgets all names in a fork's child, whose trace has none yet.
pub fn after_fork() {
    NAME.clear();
}
