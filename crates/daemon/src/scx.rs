//! The program `baton-scx` as the daemon drives it: it loads a scheduler into the kernel (sched_ext)
//! and reads from a pipe where threads belong. `crates/scx/src/protocol.rs` has the lines.
//!
//! No write waits for the program: what the pipe does not take stays here until the next look.

use crate::error::Error;
use crate::sys::proc;
use baton_host::BadInput;
use baton_machine::discover::cpulist;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the kernel may take to load a scheduler: some tenths of a second, and more in an emulator.
const LOADS: Duration = Duration::from_secs(60);
/// How long the program may take to end.
const ENDS: Duration = Duration::from_secs(5);
/// The most bytes that wait for the program. A program that reads nothing is stopped or hangs.
const MOST: usize = 1 << 20;

/// What to start.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The program `baton-scx`.
    pub program: PathBuf,
    /// Whether it schedules all threads of the machine.
    pub all: bool,
}

/// What the scheduler in the kernel came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InKernel {
    /// Why it was ended before the run was.
    pub left: Option<String>,
    /// What it counted.
    pub counts: BTreeMap<String, u64>,
}

/// The kind of CPUs to which a thread belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    Fast,
    Slow,
    Any,
}

/// The running program.
pub(crate) struct Scx {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    waiting: Vec<u8>,
    said: Vec<u8>,
    result: InKernel,
}

impl Scx {
    /// Starts the program, and waits until the scheduler is loaded.
    ///
    /// # Errors
    /// [`Error::Bad`] with the program's reason if no scheduler can be loaded.
    pub(crate) fn start(scheduler: &Scheduler, fast: &[u32]) -> Result<Scx, Error> {
        let cannot = || Error::because(format!("cannot start {}", scheduler.program.display()));
        let mut command = Command::new(&scheduler.program);
        command.args(["--fast", &cpulist::show(fast)]).args(scheduler.all.then_some("--all"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(cannot())?;
        let input = child.stdin.take().expect("it is piped");
        let output = child.stdout.take().expect("it is piped");
        set_nonblocking(&input).and_then(|()| set_nonblocking(&output)).map_err(cannot())?;
        let (waiting, said) = (Vec::new(), Vec::new());
        let mut scx = Scx { child, input: Some(input), output, waiting, said, result: InKernel::default() };
        let begun = Instant::now();
        loop {
            let open = scx.read();
            if scx.said.starts_with(b"ready\n") {
                return Ok(scx);
            }
            if !open || begun.elapsed() > LOADS {
                return Err(Error::Bad(scx.refused()));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Why no scheduler was loaded.
    fn refused(&mut self) -> BadInput {
        // A program that hangs says nothing more.
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(error) = &mut self.child.stderr {
            let _ = error.read_to_string(&mut said);
        }
        let _ = self.child.wait();
        let said = said.trim().trim_start_matches("baton-scx: ");
        let why = if said.is_empty() { "baton-scx loads no scheduler, and does not say why" } else { said };
        BadInput::new(format!("--backend scx: {why}")).hint("--backend affinity needs no scheduler in the kernel")
    }

    /// Says where a thread belongs.
    pub(crate) fn place(&mut self, tid: u32, belongs: Belongs) {
        let class = match belongs {
            Belongs::Fast => "fast",
            Belongs::Slow => "slow",
            Belongs::Any => "any",
        };
        self.waiting.extend_from_slice(format!("place {tid} {class}\n").as_bytes());
    }

    /// Gives a sign of life with all that waits, and hears what the program says.
    pub(crate) fn beat(&mut self) {
        self.waiting.extend_from_slice(b"beat\n");
        self.write();
        self.read();
        if self.result.left.is_none() {
            let said = String::from_utf8_lossy(&self.said);
            self.result.left = said.lines().find_map(|line| line.strip_prefix("left ")).map(str::to_owned);
        }
    }

    /// Writes what the pipe takes.
    fn write(&mut self) {
        let Some(input) = &mut self.input else { return self.waiting.clear() };
        while !self.waiting.is_empty() {
            match input.write(&self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.waiting.len() < MOST => return,
                Err(error) => {
                    let why = format!("baton-scx does not read any more: {error}");
                    (self.input, self.result.left) = (None, self.result.left.take().or(Some(why)));
                    return self.waiting.clear();
                }
            }
        }
    }

    /// Reads what the program has said. Returns whether it may say more.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match self.output.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.said.extend_from_slice(&bytes[..count]),
                Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
            }
        }
    }

    /// Unloads the scheduler. If the program does not end by itself, it is killed, which unloads the
    /// scheduler as well, and these threads get their class back here.
    pub(crate) fn end(&mut self, threads: impl Iterator<Item = u32>) {
        self.beat();
        // The end of its input ends the program.
        self.input = None;
        let begun = Instant::now();
        let mut ended = None;
        while ended.is_none() && begun.elapsed() < ENDS {
            std::thread::sleep(Duration::from_millis(2));
            self.read();
            ended = self.child.try_wait().ok().flatten();
        }
        if ended.and_then(|status| status.code()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.result.left.get_or_insert("baton-scx was killed".to_owned());
            threads.for_each(proc::leave_ext);
        }
        self.read();
        let said = String::from_utf8_lossy(&self.said).into_owned();
        let counts = said.lines().find_map(|line| line.strip_prefix("counts ")).unwrap_or_default();
        let words: Vec<&str> = counts.split_ascii_whitespace().collect();
        let pairs = words.chunks_exact(2).filter_map(|pair| Some((pair[0].to_owned(), pair[1].parse().ok()?)));
        self.result.counts = pairs.collect();
    }

    /// What the scheduler came to.
    pub(crate) fn result(self) -> InKernel {
        self.result
    }
}

fn set_nonblocking(pipe: &impl AsRawFd) -> std::io::Result<()> {
    // SAFETY: the descriptor is open while it is borrowed, and `F_SETFL` takes a number.
    match unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// A program that is a script, in the place of `baton-scx`.
    fn program(folder: &Path, script: &str) -> Scheduler {
        let program = folder.join("baton-scx");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Scheduler { program, all: true }
    }

    #[test]
    fn the_program_is_told_and_heard() {
        let folder = tempfile::tempdir().unwrap();
        let told = folder.path().join("told");
        let script = format!("echo \"$@\" > {0}; echo ready; cat >> {0}; echo counts wakes 7 moves x", told.display());
        let mut scx = Scx::start(&program(folder.path(), &script), &[0, 1, 4]).unwrap();
        scx.place(12, Belongs::Fast);
        scx.place(13, Belongs::Slow);
        scx.beat();
        scx.place(12, Belongs::Any);
        scx.end(std::iter::empty());
        let result = scx.result();
        assert_eq!((result.left, result.counts), (None, BTreeMap::from([("wakes".to_owned(), 7)])));
        let told = std::fs::read_to_string(told).unwrap();
        assert_eq!(told, "--fast 0-1,4 --all\nplace 12 fast\nplace 13 slow\nbeat\nplace 12 any\nbeat\n");
    }

    #[test]
    fn a_scheduler_that_ends_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo ready; read line; echo left runnable task stall: x; echo counts; exit 1";
        let mut scx = Scx::start(&program(folder.path(), script), &[0]).unwrap();
        let begun = Instant::now();
        while scx.result.left.is_none() && begun.elapsed() < LOADS {
            scx.beat();
            std::thread::sleep(Duration::from_millis(1));
        }
        // The pipe may break before the line is read.
        scx.end(std::iter::empty());
        let left = scx.result().left.unwrap();
        assert!(left == "runnable task stall: x" || left.starts_with("baton-scx does not read any more"), "{left}");
    }

    #[test]
    fn a_program_that_loads_nothing_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo 'baton-scx: this kernel has no sched_ext' >&2; exit 2";
        let Err(Error::Bad(why)) = Scx::start(&program(folder.path(), script), &[0]) else { panic!("refused") };
        assert_eq!(why.to_string(), "--backend scx: this kernel has no sched_ext");
        let missing = Scheduler { program: folder.path().join("none"), all: false };
        assert!(matches!(Scx::start(&missing, &[0]), Err(Error::Failed { .. })));
    }

    #[test]
    fn a_program_that_reads_nothing_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut scx = Scx::start(&program(folder.path(), "echo ready; kill -STOP $$"), &[0]).unwrap();
        while scx.result.left.is_none() {
            (0..10_000).for_each(|tid| scx.place(tid, Belongs::Any));
            scx.beat();
        }
        assert!(scx.result.left.as_ref().unwrap().starts_with("baton-scx does not read any more"));
        // It is stopped, so the end of its input does not end it.
        scx.end(std::iter::empty());
        assert!(scx.result().counts.is_empty());
    }
}
