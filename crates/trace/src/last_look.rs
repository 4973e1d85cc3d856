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
    /// For how many nanoseconds before the look none of these threads had run.
    pub still_ns: u64,
}

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
}
