//! A trace together with its analysis and report, which every subcommand and export starts from.

use crate::build::{Numbers, build};
use crate::intervals::{Interval, walk};
use crate::model::Report;
use baton_trace::analysis::{Analysis, Ending, ThreadOffCpu, Window, off_cpu};
use baton_trace::{ReadError, Trace};
use std::path::{Path, PathBuf};

/// A trace, analysed and described.
pub struct Profile {
    pub trace: Trace,
    /// The result of the analysis, in ticks.
    pub analysis: Analysis,
    /// The threads' waits and the standstills at the end of the trace.
    pub ending: Ending,
    /// The report for people, in nanoseconds and with names.
    pub report: Report,
    numbers: Numbers,
    off_cpu: Vec<ThreadOffCpu>,
}

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The directory holds no readable trace.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The trace is readable, but contains no events.
    #[error("{}: {}", directory.display(), nothing_recorded(losses))]
    Empty {
        directory: PathBuf,
        /// The losses that the reader found.
        losses: Vec<String>,
    },
}

/// The message for a trace without events: either none were recorded, or they were lost.
pub fn nothing_recorded(losses: &[String]) -> String {
    if losses.is_empty() {
        "an empty trace: the program started no thread and took no lock (is it static, or a script?)".to_owned()
    } else {
        format!("an empty trace: what was recorded is lost: {}", losses.join("; "))
    }
}

impl Profile {
    /// Reads and analyses the trace in a directory. A damaged trace is read as far as possible; the
    /// report's limits then say what was lost.
    ///
    /// # Errors
    /// If the directory holds no trace, or an empty one.
    pub fn open(directory: &Path) -> Result<Profile, ProfileError> {
        Profile::open_as(directory, &directory.display().to_string())
    }

    /// Like [`Profile::open`], for a directory that will be renamed. Commands in the report use
    /// `name`.
    ///
    /// # Errors
    /// Like [`Profile::open`].
    pub fn open_as(directory: &Path, name: &str) -> Result<Profile, ProfileError> {
        Profile::open_telling(directory, name, &|_| {})
    }

    /// The names of the steps, in order, that [`Profile::open_telling`] passes to `tell`.
    pub const STEPS: [&str; 5] =
        ["reading the recording", "how it ended", "waits and holds", "context switches", "critical path and names"];

    /// Like [`Profile::open_as`]. Each step is named before it begins.
    ///
    /// # Errors
    /// Like [`Profile::open`].
    pub fn open_telling(directory: &Path, name: &str, tell: &dyn Fn(&str)) -> Result<Profile, ProfileError> {
        Ok(Profile::named(Profile::trace(directory, tell)?, name, tell))
    }

    /// Reads a trace that is to be analysed, the first of the steps.
    ///
    /// # Errors
    /// Like [`Profile::open`].
    pub fn trace(directory: &Path, tell: &dyn Fn(&str)) -> Result<Trace, ProfileError> {
        tell(Profile::STEPS[0]);
        let trace = Trace::open(directory)?;
        if trace.is_empty() {
            let losses = trace.losses.iter().map(ToString::to_string).collect();
            return Err(ProfileError::Empty { directory: directory.to_owned(), losses });
        }
        Ok(trace)
    }

    /// Like [`Profile::open`], for a program that still runs: its waits last until now.
    ///
    /// # Errors
    /// Like [`Profile::open`].
    pub fn open_running(directory: &Path) -> Result<Profile, ProfileError> {
        let mut trace = Trace::open(directory)?;
        if trace.is_empty() {
            return Err(ProfileError::Empty { directory: directory.to_owned(), losses: Vec::new() });
        }
        trace.ends_now();
        Ok(Profile::named(trace, "DIR", &|_| {}))
    }

    /// Analyses a trace whose directory is unknown.
    pub fn of(trace: Trace) -> Profile {
        Profile::named(trace, "DIR", &|_| {})
    }

    /// Analyses a trace, which is the work of all steps but the first. Commands in the report call
    /// the trace's directory `name`.
    pub fn named(mut trace: Trace, name: &str, tell: &dyn Fn(&str)) -> Profile {
        tell(Profile::STEPS[1]);
        trace.keep_events();
        let ending = Ending::of(&trace);
        tell(Profile::STEPS[2]);
        let analysis = Analysis::of(&trace, Window::until(&trace, ending.until));
        tell(Profile::STEPS[3]);
        let off_cpu = off_cpu(&trace);
        tell(Profile::STEPS[4]);
        let (report, numbers) = build(&trace, &analysis, &ending, &off_cpu, name);
        // What comes after the analysis, such as replays, needs the memory.
        trace.forget_events();
        Profile { trace, analysis, ending, report, numbers, off_cpu }
    }

    /// Walks over the trace and passes each interval (wait, hold and so on) to `sink`, in the order
    /// that [`crate::intervals`] states. Numbers in an interval are indices into
    /// [`Profile::report`].
    ///
    /// # Errors
    /// The first error of `sink` ends the walk.
    pub fn intervals<E>(&self, sink: impl FnMut(&Interval) -> Result<(), E>) -> Result<(), E> {
        walk(&self.trace, self.analysis.window.end(), &self.off_cpu, &self.numbers, sink)
    }
}
