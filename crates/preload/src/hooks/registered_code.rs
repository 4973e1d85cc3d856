//! Notices code that a compiler at run time registers for its exceptions: from then on, a walk over
//! the stack may take a lock, and memory from `malloc` ([`unwind`]).

use super::real;
use super::table::{Code, slot};
use crate::base::unwind;
use core::ffi::c_void;

/// Points the slots of the registration functions to this file's.
pub fn install() {
    slot::__register_frame.set(frame as Code);
    slot::__register_frame_info.set(info as Code);
    slot::__register_frame_info_bases.set(info_bases as Code);
    slot::__register_frame_table.set(table as Code);
}

unsafe extern "C-unwind" fn frame(begin: *mut c_void, _: usize) {
    unwind::code_is_registered();
    // SAFETY: passed on.
    unsafe { real::__register_frame.get()(begin) }
}

unsafe extern "C-unwind" fn info(begin: *const c_void, object: *mut c_void, _: usize) {
    unwind::code_is_registered();
    // SAFETY: passed on.
    unsafe { real::__register_frame_info.get()(begin, object) }
}

unsafe extern "C-unwind" fn info_bases(
    begin: *const c_void,
    object: *mut c_void,
    text: *mut c_void,
    data: *mut c_void,
    _: usize,
) {
    unwind::code_is_registered();
    // SAFETY: passed on.
    unsafe { real::__register_frame_info_bases.get()(begin, object, text, data) }
}

unsafe extern "C-unwind" fn table(begin: *mut c_void, _: usize) {
    unwind::code_is_registered();
    // SAFETY: passed on.
    unsafe { real::__register_frame_table.get()(begin) }
}
