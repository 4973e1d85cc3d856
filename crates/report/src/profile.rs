//! A trace with all that is said about it: what every subcommand and export starts from.

use crate::build::{Numbers, build};
use crate::intervals::{Interval, walk};
use crate::model::Report;
use baton_trace::analysis::{Analysis, ThreadOffCpu, Window, off_cpu};
use baton_trace::{ReadError, Trace};
use std::path::{Path, PathBuf};

/// A trace, analysed and described.
pub struct Profile {
    /// The trace.
    pub trace: Trace,
    /// What the analysis found, in ticks.
    pub analysis: Analysis,
    /// The same for people, in nanoseconds and with names.
    pub report: Report,
    numbers: Numbers,
    off_cpu: Vec<ThreadOffCpu>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The directory holds no trace that can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The trace can be read and says nothing.
    #[error("{}: {}", directory.display(), nothing_recorded(losses))]
    Empty {
        /// The directory.
        directory: PathBuf,
        /// What the reader lost.
        losses: Vec<String>,
    },
}

/// What is said of a trace without events: that there were none, or that they were lost.
pub fn nothing_recorded(losses: &[String]) -> String {
    if losses.is_empty() {
        "an empty trace: the program started no thread and took no lock (is it static, or a script?)".to_owned()
    } else {
        format!("an empty trace: what was recorded is lost: {}", losses.join("; "))
    }
}

impl Profile {
    /// Reads and analyses the trace in a directory.
    ///
    /// # Errors
    /// If it holds no trace, or an empty one. A damaged one is read as far as it goes; the report's limits say what was lost.
    pub fn open(directory: &Path) -> Result<Profile, ProfileError> {
        Profile::open_as(directory, &directory.display().to_string())
    }

    /// The same, of a directory that will have another name: the one that the report's commands are to say.
    ///
    /// # Errors
    /// As [`Profile::open`].
    pub fn open_as(directory: &Path, name: &str) -> Result<Profile, ProfileError> {
        let trace = Trace::open(directory)?;
        if trace.is_empty() {
            let losses = trace.losses.iter().map(ToString::to_string).collect();
            return Err(ProfileError::Empty { directory: directory.to_owned(), losses });
        }
        Ok(Profile::named(trace, name))
    }

    /// Analyses a trace of which no directory is known.
    pub fn of(trace: Trace) -> Profile {
        Profile::named(trace, "DIR")
    }

    fn named(trace: Trace, name: &str) -> Profile {
        let analysis = Analysis::of(&trace, Window::whole(&trace));
        let off_cpu = off_cpu(&trace);
        let (report, numbers) = build(&trace, &analysis, &off_cpu, name);
        Profile { trace, analysis, report, numbers, off_cpu }
    }

    /// Goes over the trace and gives each wait, hold and so on to `sink`, in the order of their ends. Their numbers are places in
    /// [`Profile::report`].
    ///
    /// # Errors
    /// The first error of `sink` ends the walk.
    pub fn intervals<E>(&self, sink: impl FnMut(&Interval) -> Result<(), E>) -> Result<(), E> {
        walk(&self.trace, &self.off_cpu, &self.numbers, sink)
    }
}
