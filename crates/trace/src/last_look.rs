//! What the launcher saw of the program's threads when it looked at them for the last time.
//!
//! The kernel knows every thread, and whether it ran; the trace knows only the threads that the
//! recorder met. The launcher's look and the trace together tell whether a program stands still.

use crate::meta::Meta;
use serde::{Deserialize, Serialize};

/// The name of the entry in [`Meta::extra`] that holds what the launcher saw.
pub const LAST_LOOK: &str = "last-look";

/// The threads of the started process, as the launcher saw them shortly before its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct LastLook {
    /// The kernel's number of the process.
    pub pid: u32,
    /// The kernel's numbers of the process's threads.
    pub threads: Vec<u32>,
    /// For how many nanoseconds before the look none of these threads had run, and none of the
    /// processes that the program started.
    pub still_ns: u64,
    /// Whether processes lived that the program had started.
    pub children: bool,
    /// The signals for which the process has handlers: bit 0 stands for signal 1.
    pub handlers: u64,
}

/// The signals whose handlers do not let a waiting thread go on: those that the kernel sends to a thread
/// for what it does itself (SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS), and
/// those that the C library uses itself (32 and 33).
const OWN: [u32; 10] = [4, 5, 6, 7, 8, 11, 13, 31, 32, 33];

impl LastLook {
    /// Returns what the launcher saw of the threads; `None` if it did not look, or the entry is
    /// damaged.
    pub fn of(meta: &Meta) -> Option<LastLook> {
        serde_json::from_value(meta.extra.get(LAST_LOOK)?.clone()).ok()
    }

    /// Returns name and value of the entry for [`Meta::extra`].
    pub fn entry(&self) -> Option<(String, serde_json::Value)> {
        Some((LAST_LOOK.to_owned(), serde_json::to_value(self).ok()?))
    }

    /// Returns the signals that another process, a terminal or a timer sends and for which the process
    /// has a handler.
    pub fn handled(&self) -> impl Iterator<Item = u32> + '_ {
        (1..=64).filter(|signal| self.handlers >> (signal - 1) & 1 != 0 && !OWN.contains(signal))
    }
}
