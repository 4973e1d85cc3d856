//! `--until` and `--background`: what the user says of the ends of a recorded program's threads.

use crate::error::BadInput;
use baton_trace::Trace;
use baton_trace::analysis::unknown_names;

/// Options of the commands that read a recording.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct EndsArgs {
    /// Threads whose work the program waits for, by name or number, with commas. Left out: all but
    /// background threads, which end within one turn of their own loop after another thread came to
    /// join them (docs/reference/analysis.md).
    #[arg(long, value_name = "THREADS", value_delimiter = ',')]
    until: Vec<String>,
    /// Threads that go on until another thread ends them, by name or number, with commas: a monitor,
    /// a flusher. The program does not wait for their work.
    #[arg(long, value_name = "THREADS", value_delimiter = ',')]
    background: Vec<String>,
}

impl EndsArgs {
    /// Adds what the user says to the trace's description.
    ///
    /// # Errors
    /// If no thread of the trace has one of the names.
    pub(crate) fn tell(&self, trace: &mut Trace) -> anyhow::Result<()> {
        if self.until.is_empty() && self.background.is_empty() {
            return Ok(());
        }
        let ends = &mut trace.meta.get_or_insert_default().ends;
        ends.until.extend_from_slice(&self.until);
        ends.background.extend_from_slice(&self.background);
        match unknown_names(trace).first() {
            None => Ok(()),
            Some(name) => {
                let error = BadInput::new(format!("no thread of this recording is called `{name}`"));
                Err(error.hint(format!("its threads: {}", names(trace))).into())
            }
        }
    }
}

/// How many threads an error lists.
const LISTED: usize = 12;

fn names(trace: &Trace) -> String {
    let name = |(number, thread): (usize, &baton_trace::Thread)| match &thread.name {
        Some(name) => format!("{number} ({name})"),
        None => number.to_string(),
    };
    let mut names: Vec<String> = trace.threads.iter().enumerate().take(LISTED).map(name).collect();
    if trace.threads.len() > LISTED {
        names.push(format!("and {} more", trace.threads.len() - LISTED));
    }
    names.join(", ")
}
