//! Interleaved runs: locks take turns, so that changes on the machine affect all of them alike.

use crate::cmd::named::program::OneByOne;
use crate::ui;
use anyhow::{Context, ensure};
use baton_host::launch::choice::{Choice, KEEP_SPINNING};
use baton_host::launch::exec::Exec;
use baton_host::launch::program::Program;
use baton_host::launch::signals::PassedOn;
use baton_machine::Wait;
use baton_report::html::Predicted;
use baton_units::Nanos;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A lock or runtime under which the program runs.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// One lock for all mutexes. If this, `one_by_one` and `openmp` are `None`, the program runs
    /// unchanged, with glibc's locks.
    pub(crate) choice: Option<Choice>,
    /// Locks that are named one by one.
    pub(crate) one_by_one: Option<OneByOne>,
    /// Baton's OpenMP runtime with a barrier.
    pub(crate) openmp: Option<OpenMp>,
    /// Whether this is the lock that was recorded.
    pub(crate) recorded: bool,
}

/// Baton's OpenMP runtime in place of the installed one, with a barrier and its wait policy.
#[derive(Clone)]
pub(crate) struct OpenMp {
    /// The name of the row in `whatif`.
    pub(crate) text: String,
    pub(crate) barrier: &'static str,
    pub(crate) wait: Wait,
    /// Where the loader looks for libraries.
    pub(crate) search_path: OsString,
}

impl Candidate {
    /// The program unchanged, as it was recorded.
    pub(crate) fn bare() -> Candidate {
        Candidate { choice: None, one_by_one: None, openmp: None, recorded: true }
    }

    /// The program with all its locks replaced.
    pub(crate) fn replaced(choice: Choice) -> Candidate {
        Candidate { choice: Some(choice), ..Candidate::bare() }.not_recorded()
    }

    /// The program with locks that are named one by one.
    pub(crate) fn one_by_one(one_by_one: OneByOne) -> Candidate {
        Candidate { one_by_one: Some(one_by_one), ..Candidate::bare() }.not_recorded()
    }

    /// The program on another OpenMP runtime.
    pub(crate) fn openmp(openmp: OpenMp) -> Candidate {
        Candidate { openmp: Some(openmp), ..Candidate::bare() }.not_recorded()
    }

    fn not_recorded(self) -> Candidate {
        Candidate { recorded: false, ..self }
    }

    /// The variables by which the preload library puts the locks in the place of the program's.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if let Some(choice) = &self.choice {
            variables.push(("BATON_LOCK", choice.lock.name.to_owned()));
            variables.push(("BATON_WAIT", choice.wait.to_string()));
            // The measured lock must be the one that was asked for, so the library's fallback is
            // off.
            variables.push((KEEP_SPINNING, "on".to_owned()));
        }
        variables.extend(self.one_by_one.iter().map(|one_by_one| ("BATON_LOCK", one_by_one.variable.clone())));
        variables
    }
}

/// The durations of a candidate's runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    pub(super) times: Vec<Nanos>,
}

impl Taken {
    /// Writes the median and the range into a row.
    pub(super) fn enter(&self, row: &mut Predicted) {
        let mut times = self.times.clone();
        times.sort_unstable();
        if let (Some(&low), Some(&high)) = (times.first(), times.last()) {
            row.measured_ns = Some(times[times.len() / 2]);
            row.measured_range_ns = Some((low, high));
        }
    }
}

/// The result of a run, other than its time.
pub(crate) struct Result {
    pub(crate) code: i32,
    pub(crate) output: Vec<u8>,
}

/// Runs one command under candidates. Each run must give the result of the first run. If the
/// program's output differs from run to run by itself, as that of a program that prints times does,
/// only the exit codes are compared.
pub(crate) struct Turns<'a> {
    program: &'a Program,
    command: &'a [OsString],
    library: &'a Path,
    first: Option<(Candidate, Result)>,
    /// Whether the output differs from run to run under the first candidate.
    varies: bool,
}

impl<'a> Turns<'a> {
    /// Turns without a run so far.
    pub(crate) fn new(program: &'a Program, command: &'a [OsString], library: &'a Path) -> Turns<'a> {
        Turns { program, command, library, first: None, varies: false }
    }

    /// Runs the command once. `None`: it took longer than `limit` and was killed.
    pub(crate) fn run(&mut self, candidate: &Candidate, limit: Option<Duration>) -> anyhow::Result<Option<Nanos>> {
        let Some((result, time)) = self.once(candidate, limit)? else { return Ok(None) };
        let Some((first, expected)) = &self.first else {
            self.first = Some((candidate.clone(), result));
            return Ok(Some(time));
        };
        ensure!(
            expected.code == result.code,
            "under {} the program ended with exit code {}, and with {} at first: its times say nothing",
            candidate.lock(),
            result.code,
            expected.code
        );
        if !self.varies && expected.output != result.output {
            // A second run under the first candidate shows whether the program or the lock changes
            // the output.
            let again = self.once(first, None)?;
            ensure!(
                again.is_some_and(|(again, _)| again.output != expected.output),
                "under {} the program printed something else ({} bytes) than at first and than under {} again ({} bytes): its \
                 times say nothing",
                candidate.lock(),
                result.output.len(),
                first.lock(),
                expected.output.len()
            );
            self.varies = true;
            ui::warn("the program's output differs from run to run: only its exit code is compared");
        }
        Ok(Some(time))
    }

    fn once(&self, candidate: &Candidate, limit: Option<Duration>) -> anyhow::Result<Option<(Result, Nanos)>> {
        let mut exec = Exec::new(self.program.clone(), self.command.to_vec());
        let variables = candidate.variables();
        if !variables.is_empty() {
            exec.preload(self.library);
        }
        for (name, value) in variables {
            exec.set(name, value);
        }
        if let Some(openmp) = &candidate.openmp {
            exec.set("LD_LIBRARY_PATH", &openmp.search_path);
            exec.set("BATON_OMP_BARRIER", openmp.barrier).set("BATON_OMP_WAIT", openmp.wait.to_string());
        }
        once(exec, limit)
    }
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
    let mut turns = Turns::new(program, command, library);
    for _ in 0..rounds {
        for (candidate, taken) in candidates.iter().zip(&mut taken) {
            taken.times.extend(turns.run(candidate, None)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(taken)
}

/// Runs the program once. `None`: it took longer than `limit` and was killed.
pub(crate) fn once(exec: Exec, limit: Option<Duration>) -> anyhow::Result<Option<(Result, Nanos)>> {
    let name = exec.name().to_owned();
    let passed_on = PassedOn::begin();
    let mut command = exec.into_command()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    passed_on.to(child.id());
    // The output is read while the program runs, because a full pipe would stop the program.
    let pipe = child.stdout.take().context("no pipe from the program")?;
    let reader = std::thread::spawn(move || {
        let (mut pipe, mut output) = (pipe, Vec::new());
        pipe.read_to_end(&mut output).map(|_| output)
    });
    let ended = ends_within(&child, limit).with_context(|| format!("cannot wait for {name}"))?;
    let time = Nanos(start.elapsed().as_nanos() as u64);
    if !ended {
        child.kill().with_context(|| format!("cannot end {name}"))?;
    }
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    if !ended {
        return Ok(None);
    }
    let output = reader.join().map_err(|_| anyhow::anyhow!("reading the output of {name} failed"))?;
    let output = output.with_context(|| format!("cannot read the output of {name}"))?;
    let code = status.code().with_context(|| format!("{name} was killed ({status}): its times say nothing"))?;
    Ok(Some((Result { code, output }, time)))
}

/// Waits until the child has ended, without taking its status. Returns `false` if the limit comes
/// first.
fn ends_within(child: &Child, limit: Option<Duration>) -> std::io::Result<bool> {
    // SAFETY: the call takes a process id and flags. The child has not been waited for, so no other
    // process can have its id.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, and no other value owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let start = Instant::now();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
        let millis = left.map_or(-1, |left| left.as_millis().clamp(1, i32::MAX as u128) as i32);
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is one structure, as the count says, and lives through the call.
        match unsafe { libc::poll(&raw mut poll, 1, millis) } {
            0 if limit.is_some_and(|limit| start.elapsed() >= limit) => return Ok(false),
            0 => {}
            n if n > 0 => return Ok(true),
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
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
    fn another_exit_code_is_an_error_and_an_output_that_differs_by_itself_is_none() {
        assert!(bare("echo $$", 1).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs").display().to_string();
        let error = bare(&format!("echo >> {runs}; exit $(wc -l < {runs})"), 1).unwrap_err().to_string();
        assert!(error.contains("ended with exit code 2, and with 1 at first"), "{error}");
        let error = bare("kill -9 $$", 1).unwrap_err().to_string();
        assert!(error.contains("was killed"), "{error}");
    }

    #[test]
    fn a_run_that_takes_too_long_is_killed() {
        let command = ["sh", "-c", "exec sleep 1000"].map(OsString::from);
        let sh = program::find(OsStr::new("sh")).unwrap();
        let mut turns = Turns::new(&sh, &command, Path::new("/unused"));
        assert_eq!(turns.run(&Candidate::bare(), Some(Duration::from_millis(30))).unwrap(), None);
        let command = ["sh", "-c", "echo quick"].map(OsString::from);
        let mut turns = Turns::new(&sh, &command, Path::new("/unused"));
        assert!(turns.run(&Candidate::bare(), Some(Duration::from_secs(600))).unwrap().is_some());
    }
}
