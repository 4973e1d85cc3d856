//! `--progress`: the points that count as a program's progress, or as its requests.

use crate::error::BadInput;
use baton_report::model::PROGRESS;
use baton_trace::Trace;
use baton_trace::point::Progress;

/// The option of the commands that read or make a recording.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct ProgressArgs {
    /// A progress point, whose passages are counted, or BEGIN..END for requests of one thread: a
    /// system call (recv, accept, epoll_wait, write), lock:NAME, cond:NAME or mark:NAME, each with
    /// @FILE:LINE or @FUNCTION if only that place counts. Left out: requests are found at sockets
    /// (docs/reference/analysis.md).
    #[arg(long, value_name = "POINT")]
    progress: Option<String>,
}

impl ProgressArgs {
    /// Returns the progress point as the user wrote it; `None` without the option.
    ///
    /// # Errors
    /// Fails if the user's text is no progress point.
    pub(crate) fn text(&self) -> Result<Option<&str>, BadInput> {
        if let Some(text) = &self.progress {
            text.parse::<Progress>().map_err(|error| BadInput::new(format!("--progress: {error}")))?;
        }
        Ok(self.progress.as_deref())
    }

    /// Adds the point to the trace's description.
    ///
    /// # Errors
    /// Fails if the user's text is no progress point.
    pub(crate) fn tell(&self, trace: &mut Trace) -> Result<(), BadInput> {
        if let Some(text) = self.text()? {
            trace.meta.get_or_insert_default().extra.insert(PROGRESS.to_owned(), text.into());
        }
        Ok(())
    }
}
