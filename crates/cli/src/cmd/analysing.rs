//! Analysing a recording with a bar on the terminal, which says which step is under way.

use baton_report::{Profile, ProfileError};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::Duration;

/// The bar, on standard error; nothing is shown where standard error is no terminal.
pub(super) struct Steps(ProgressBar);

impl Steps {
    /// A bar for the steps of opening a profile and `more` further ones.
    pub(super) fn new(more: u64) -> Steps {
        let bar = ProgressBar::new(Profile::STEPS.len() as u64 + more);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}, {elapsed}") {
            bar.set_style(style);
        }
        // A step of a long recording takes a minute: the time that passes shows that it is alive.
        bar.enable_steady_tick(Duration::from_millis(200));
        Steps(bar)
    }

    /// Begins the next step.
    pub(super) fn begin(&self, what: &str) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        self.0.set_message(what.to_owned());
    }

    /// Opens a profile, as [`Profile::open_as`] does.
    pub(super) fn open(&self, directory: &Path, name: &str) -> Result<Profile, ProfileError> {
        Profile::open_telling(directory, name, &|step| self.begin(step))
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
