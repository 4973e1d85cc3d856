//! Output that a program asks for: the settings, threads and their affinity, and messages of
//! `error` directives.
#![allow(clippy::missing_safety_doc, reason = "programs call these; the OpenMP specification documents them")]

use crate::environment::environment;
use crate::process::{bound_place, runtime};
use crate::shown;
use core::ffi::{CStr, c_char};
use std::sync::PoisonError;

/// Shows the settings.
#[unsafe(no_mangle)]
pub extern "C" fn omp_display_env(verbose: i32) {
    shown::show_settings(&runtime().settings, verbose);
}

/// The format that the program passes; if it passes null or an empty one, the format that the
/// environment or the program set last.
unsafe fn chosen(format: *const c_char) -> Vec<u8> {
    // SAFETY: the program passes a string or null.
    let given = (!format.is_null()).then(|| unsafe { CStr::from_ptr(format) }.to_bytes().to_vec());
    given.filter(|format| !format.is_empty()).unwrap_or_else(shown::format)
}

/// Writes as much of `text` as fits into `size` bytes, with a zero at its end. Returns the length
/// of the whole text.
unsafe fn give(text: &[u8], buffer: *mut c_char, size: usize) -> usize {
    if size != 0 {
        let n = text.len().min(size - 1);
        // SAFETY: the program's buffer has `size` bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), n);
            buffer.add(n).write(0);
        }
    }
    text.len()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format(format: *const c_char) {
    // SAFETY: the program passes a string.
    let own = unsafe { CStr::from_ptr(format) }.to_bytes().to_vec();
    *environment().format.write().unwrap_or_else(PoisonError::into_inner) = own;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: by contract.
    unsafe { give(&shown::format(), buffer, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity(buffer: *mut c_char, size: usize, format: *const c_char) -> usize {
    // SAFETY: by contract.
    unsafe { give(&shown::formatted(bound_place(), &chosen(format)), buffer, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity(format: *const c_char) {
    // SAFETY: by contract.
    shown::show_affinity(bound_place(), &unsafe { chosen(format) });
}

/// The text of an `error` directive behind a colon, or nothing if the directive has no text.
/// `bytes` is the text's length; `usize::MAX`: the text ends with a zero.
unsafe fn message(text: *const c_char, bytes: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the compiler passes a string of `bytes` bytes, or one that a zero ends.
    let text = unsafe {
        if bytes == usize::MAX {
            CStr::from_ptr(text).to_bytes()
        } else {
            core::slice::from_raw_parts(text.cast(), bytes)
        }
    };
    format!(": {}", String::from_utf8_lossy(text))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_warning(text: *const c_char, bytes: usize) {
    // SAFETY: by contract.
    eprintln!("\nlibgomp: error directive encountered{}", unsafe { message(text, bytes) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_error(text: *const c_char, bytes: usize) {
    // SAFETY: by contract.
    eprintln!("\nlibgomp: fatal error: error directive encountered{}", unsafe { message(text, bytes) });
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::place;

    #[test]
    fn a_format_has_short_and_long_names() {
        assert_eq!(shown::formatted(place(), b"%L|%{nesting_level}|%0.3{thread_num}|%%"), b"0|0|000|%");
        assert_eq!(shown::formatted(place(), b"%3N."), b"1  .");
    }
}
