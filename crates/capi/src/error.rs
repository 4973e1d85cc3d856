//! The last error of each thread, as text.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Stores why a call of this thread failed.
pub(crate) fn set(why: impl Into<String>) {
    let mut why: Vec<u8> = why.into().into_bytes();
    why.retain(|&b| b != 0);
    let why = CString::new(why).unwrap_or_default();
    // A thread whose storage is already destroyed (in a destructor of a thread-local) has no place
    // for the message.
    let _ = LAST.try_with(|last| *last.borrow_mut() = why);
}

/// Returns why the last failed call of the calling thread failed: a string that is valid until the
/// thread's next failed call, empty if none failed.
#[unsafe(no_mangle)]
pub extern "C" fn baton_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
