//! A function of a call site, and whether it is the program's own code.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// A function, with a source location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// The readable name; `module+0x12` if no symbol is known, and the bare address outside of all
    /// modules.
    pub function: String,
    /// The source file, as the compiler recorded it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// Whether the compiler inlined this function into the function of the next frame.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub inlined: bool,
    /// Whether this is a standard library's thin wrapper around a lock or a thread, which says
    /// nothing about the program's own code.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub library: bool,
}

impl Frame {
    /// A frame of which only the name is known.
    pub fn named(function: impl Into<String>) -> Frame {
        Frame { function: function.into(), file: None, line: None, inlined: false, library: false }
    }

    /// `file.c:12`, with only the last part of the file's path; `file.c` without a line, and `None`
    /// without a file.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        let name = Path::new(file).file_name().map_or(file.into(), |n| n.to_string_lossy());
        Some(match self.line {
            Some(line) => format!("{name}:{line}"),
            None => name.into_owned(),
        })
    }
}

/// The innermost frame that is no wrapper of a standard library, or the innermost of all if each
/// one is.
pub(crate) fn own(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| !is_wrapper(frame)).or(frames.first())
}

/// Whether a frame is a standard library's thin wrapper around a lock or a thread. A wrapper says
/// nothing about the program's own code.
pub(crate) fn is_wrapper(frame: &Frame) -> bool {
    let (name, file) = (frame.function.as_str(), frame.file.as_deref().unwrap_or(""));
    ["/include/c++/", "/gthr-", "/rustc/", "/lock_api-", "/baton.hpp", "/baton_queues.hpp"]
        .iter()
        .any(|library| file.contains(library))
        || name.starts_with("__gthread_")
        || name.starts_with("std::mutex::")
        || name.starts_with("std::recursive_mutex::")
        || name.starts_with("std::shared_mutex::")
        || name.starts_with("std::__shared_mutex_")
        || name.starts_with("std::condition_variable::")
        || name.starts_with("std::thread::_")
        || name.starts_with("std::__invoke")
        || name.starts_with("std::sys::")
        || ["queue", "spsc", "unbounded", "choice", "process_sender", "process_receiver", "fast_mutex", "shared_mutex"]
            .iter()
            .any(|class| name.strip_prefix("baton::").is_some_and(|rest| rest.starts_with(class)))
        || name.trim_start_matches('<').starts_with("baton_sync::")
        || name.trim_start_matches('<').starts_with("baton_machine::")
        || ["lock_guard<", "unique_lock<", "scoped_lock<", "shared_lock<"]
            .iter()
            .any(|w| name.contains(&format!("std::{w}")))
}
