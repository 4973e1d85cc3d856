//! The C interface that `include/baton.h` declares: objects in the caller's memory, and locks and
//! barriers of all algorithms that are chosen by name at run time.
//!
//! | file | holds |
//! | --- | --- |
//! | [`lock`] | locks of all algorithms behind one type |
//! | [`barrier`] | barriers of all algorithms behind one type |
//! | [`fixed`] | objects in the caller's memory, without allocation |
//! | [`queue`] | a queue in the caller's memory |
//! | [`spsc`] | a queue for one producer and one consumer, which lends its places |
//! | [`unbounded`] | a queue without a bound |
//! | [`choice`] | a queue whose algorithm the user of the program chooses |
//! | [`processes`] | queues between processes |
//! | `cells` | queues that copy items of any one size |
//! | `calls` | what the functions of C have in common |
//! | `time` | times of C |
//! | [`error`] | the last error, as text |
//!
//! The markers of `baton.h` are inline functions that find the preload library by themselves, so no
//! code for them is here.

#![warn(missing_docs)]

pub mod barrier;
mod calls;
mod cells;
pub mod choice;
pub mod error;
pub mod fixed;
pub mod lock;
pub mod processes;
pub mod queue;
pub mod spsc;
mod time;
pub mod unbounded;

use baton_machine::{Native, Wait};
use std::ffi::{CStr, c_char};

/// Returns the text of a C string, or `None` for a null pointer or a string that is not UTF-8.
///
/// # Safety
/// `text` is null, or a string that does not change while the result is used.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, so by the caller's promise it is a string.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Returns the first wait policy in a comma-separated list that this machine has; without a list,
/// the policy that `takes` chooses. The error says why there is none: `takes` refuses a policy that
/// the list names, or the machine has none of them.
fn first_wait(list: Option<&str>, takes: impl Fn(Option<Wait>) -> Result<Wait, String>) -> Result<Wait, String> {
    let available = |wait: Wait| Native::check(wait).map(|()| wait).map_err(|missing| missing.to_string());
    let Some(list) = list else { return available(takes(None)?) };
    let mut missing = String::new();
    for name in list.split(',').map(str::trim) {
        let wait = takes(Some(name.parse().map_err(|e: baton_machine::wait::UnknownWait| e.to_string())?))?;
        match available(wait) {
            Ok(wait) => return Ok(wait),
            Err(why) => missing = why,
        }
    }
    Err(missing)
}
