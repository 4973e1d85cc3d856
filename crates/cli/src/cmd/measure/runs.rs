//! Interleaved runs: by turns, so that what changes on the machine meanwhile hits all alike.

use anyhow::{Context, ensure};
use baton_host::launch::choice::Choice;
use baton_host::launch::exec::Exec;
use baton_host::launch::program::Program;
use baton_host::launch::signals::PassedOn;
use baton_report::html::Predicted;
use baton_units::Nanos;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// A lock to run the program under.
pub(super) struct Candidate {
    /// None: the program as it is, with glibc's.
    pub(super) choice: Option<Choice>,
    /// It is the one that was recorded.
    pub(super) recorded: bool,
}

impl Candidate {
    /// The program as it is, as it was recorded.
    pub(super) fn bare() -> Candidate {
        Candidate { choice: None, recorded: true }
    }

    /// With its locks replaced.
    pub(super) fn replaced(choice: Choice) -> Candidate {
        Candidate { choice: Some(choice), recorded: false }
    }
}

/// How long the runs of a candidate took.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    pub(super) times: Vec<Nanos>,
}

impl Taken {
    /// Enters median and range into a row.
    pub(super) fn enter(&self, row: &mut Predicted) {
        let mut times = self.times.clone();
        times.sort_unstable();
        if let (Some(&low), Some(&high)) = (times.first(), times.last()) {
            row.measured_ns = Some(times[times.len() / 2]);
            row.measured_range_ns = Some((low, high));
        }
    }
}

/// What a run gave, but for its time.
#[derive(PartialEq, Eq)]
struct Result {
    code: Option<i32>,
    output: Vec<u8>,
}

/// Runs the command under each candidate in turn, `rounds` times over.
pub(super) fn interleaved(
    program: &Program,
    command: &[OsString],
    library: &Path,
    candidates: &[Candidate],
    rounds: u32,
) -> anyhow::Result<Vec<Taken>> {
    let bar = indicatif::ProgressBar::new(u64::from(rounds) * candidates.len() as u64);
    let mut taken = vec![Taken::default(); candidates.len()];
    let mut first: Option<Result> = None;
    for _ in 0..rounds {
        for (candidate, taken) in candidates.iter().zip(&mut taken) {
            let mut exec = Exec::new(program.clone(), command.to_vec());
            if let Some(choice) = &candidate.choice {
                exec.preload(library).set("BATON_LOCK", choice.lock.name).set("BATON_WAIT", choice.wait.to_string());
            }
            let (result, time) = once(exec)?;
            taken.times.push(time);
            let expected = first.get_or_insert_with(|| Result { code: result.code, output: result.output.clone() });
            ensure!(
                *expected == result,
                "under {} the program gave another result (exit code {:?}, {} bytes of output) than at first \
                 (exit code {:?}, {} bytes): its times say nothing",
                candidate.choice.as_ref().map_or("glibc", |c| c.lock.name),
                result.code,
                result.output.len(),
                expected.code,
                expected.output.len()
            );
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(taken)
}

fn once(exec: Exec) -> anyhow::Result<(Result, Nanos)> {
    let name = exec.name().to_owned();
    let passed_on = PassedOn::begin();
    let mut command = exec.into_command()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    passed_on.to(child.id());
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {name}"))?;
    let time = Nanos(start.elapsed().as_nanos() as u64);
    ensure!(output.status.code().is_some(), "{name} was killed ({}): its times say nothing", output.status);
    Ok((Result { code: output.status.code(), output: output.stdout }, time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_host::launch::program;
    use std::ffi::OsStr;

    fn bare(script: &str, rounds: u32) -> anyhow::Result<Vec<Taken>> {
        let command = ["sh", "-c", script].map(OsString::from);
        let sh = program::find(OsStr::new("sh")).unwrap();
        interleaved(&sh, &command, Path::new("/unused"), &[Candidate::bare(), Candidate::bare()], rounds)
    }

    #[test]
    fn each_runs_as_often() {
        let taken = bare("echo same; exit 3", 2).unwrap();
        assert!(taken.len() == 2 && taken.iter().all(|t| t.times.len() == 2));
    }

    #[test]
    fn a_run_that_gives_something_else_is_an_error() {
        let error = bare("echo $$", 1).unwrap_err().to_string();
        assert!(error.contains("another result"), "{error}");
        let error = bare("kill -9 $$", 1).unwrap_err().to_string();
        assert!(error.contains("was killed"), "{error}");
    }
}
