//! The recorded program that is tried, and whether its user still wants that.

use baton_host::launch::signals::asked_to_end;
use baton_report::Profile;
use baton_trace::Meta;
use std::path::PathBuf;

/// The subject of a trial: a recorded program.
pub(super) struct Subject {
    pub(super) profile: Profile,
    pub(super) meta: Meta,
    /// The profile's directory, as the user's commands name it.
    pub(super) place: String,
    /// The profile's directory as an absolute path.
    pub(super) directory: PathBuf,
    /// Removes the profile when dropped, if it is not to be kept.
    pub(super) _temporary: Option<tempfile::TempDir>,
}

/// The user has asked to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted: nothing was left behind")]
pub(super) struct Interrupted;

/// Fails once the user has asked to end.
pub(super) fn still_wanted() -> Result<(), Interrupted> {
    if asked_to_end() { Err(Interrupted) } else { Ok(()) }
}
