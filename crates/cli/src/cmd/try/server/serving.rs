//! A server and its load, from their start to their end. Whatever happens in between, both have
//! ended when the value is dropped, with all processes that they started.

use anyhow::Context;
use baton_host::launch::entries::Entries;
use baton_host::launch::exec::Exec;
use baton_host::launch::{family, program};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time that a server has to end after SIGTERM, before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// The time that a load has to end after SIGTERM, before it is killed.
const LOAD_GRACE: Duration = Duration::from_secs(2);
/// The interval at which an ending process is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How many bytes at the end of a process's output are read.
const TAIL: u64 = 64 * 1024;
/// How many of the last lines of a process's output are shown.
const LINES: usize = 6;

/// A process in a group of its own, and what it prints.
pub(super) struct Started {
    child: Child,
    printed: File,
    /// The process's exit status, once it was seen to end.
    ended: Option<ExitStatus>,
}

impl Started {
    /// Starts a program without input. The program is killed when Baton ends.
    fn start(mut exec: Exec) -> anyhow::Result<Started> {
        let name = exec.name().to_owned();
        let printed = tempfile::tempfile().context("cannot make a file for what the server prints")?;
        let copy = || printed.try_clone().context("cannot share a file");
        exec.ends_with_us();
        let mut command = exec.into_command()?;
        command.stdin(Stdio::null()).stdout(copy()?).stderr(copy()?).process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Started { child, printed, ended: None })
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns how the process ended; `None` while it runs.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().context("cannot wait for a process")?;
        }
        Ok(self.ended)
    }

    /// Returns the end of what the process has printed.
    pub(super) fn printed(&mut self) -> String {
        let mut bytes = Vec::new();
        let length = self.printed.metadata().map_or(0, |meta| meta.len());
        // The process and this reader would move the same position in the file, so the reader opens
        // the file anew, by its path.
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.printed));
        if let Ok(mut file) = File::open(path) {
            let _ = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
            let _ = file.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the last lines that the process printed, each indented behind a line break; empty if
    /// there are none.
    pub(super) fn last_lines(&mut self) -> String {
        let printed = self.printed();
        let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = |line: &&str| line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        lines.iter().rev().take(LINES).rev().map(|line| format!("\n  {}", shown(line))).collect()
    }
}

/// How a process ended, in words.
pub(super) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in a way that the kernel does not tell".to_owned(),
    }
}

/// A server that was started, and its load, once the load was started.
pub(super) struct Serving {
    pub(super) server: Started,
    pub(super) load: Option<Started>,
    entries: Option<Entries>,
}

impl Serving {
    /// Starts the server. Entries of `functions`, which are addresses in the server's own file, are
    /// counted.
    pub(super) fn start(mut exec: Exec, functions: &[u64]) -> anyhow::Result<Serving> {
        if functions.is_empty() {
            return Ok(Serving { server: Started::start(exec)?, load: None, entries: None });
        }
        exec.stops_when_executed();
        let mut serving = Serving { server: Started::start(exec)?, load: None, entries: None };
        serving.entries = Some(Entries::of(serving.server.pid(), functions)?);
        Ok(serving)
    }

    /// The number of entries of functions so far; `None` if none are counted.
    pub(super) fn entries(&self) -> Option<u64> {
        self.entries.as_ref().map(Entries::count)
    }

    /// Starts the load: a command for the shell.
    pub(super) fn start_load(&mut self, command: &str) -> anyhow::Result<()> {
        let shell = program::find(OsStr::new("sh"))?;
        let exec = Exec::new(shell, vec!["sh".into(), "-c".into(), command.into()]);
        self.load = Some(Started::start(exec).context("cannot start the load")?);
        Ok(())
    }

    /// The server's processes.
    pub(super) fn family(&self) -> BTreeSet<u32> {
        family::descendants(&self.load.iter().map(Started::pid).collect::<Vec<_>>())
    }

    /// How the server ended, if it has: a server whose first process ends may go on in the
    /// background.
    pub(super) fn server_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let ended = self.server.ended()?;
        Ok(ended.filter(|_| self.family().is_empty()))
    }

    /// Ends the load, then the server.
    pub(super) fn end(&mut self) {
        if let Some(load) = &mut self.load {
            end_load(load);
        }
        self.end_server();
    }

    /// Ends the server by its first process, as its user would, then what is left of it.
    fn end_server(&mut self) {
        let known: Vec<u32> = [&self.server].into_iter().chain(&self.load).map(Started::pid).collect();
        if matches!(self.server.ended(), Ok(None)) {
            family::signal([self.server.pid()], libc::SIGTERM);
            self.await_first_process();
        }
        family::signal(self.family(), libc::SIGTERM);
        if !family::are_gone(|| self.family(), &known, GRACE) {
            family::signal(self.family(), libc::SIGKILL);
            family::are_gone(|| self.family(), &known, GRACE);
        }
        if self.server.ended.is_none() {
            self.server.ended = self.server.child.wait().ok();
        }
    }

    fn await_first_process(&mut self) {
        let start = Instant::now();
        while matches!(self.server.ended(), Ok(None)) && start.elapsed() < GRACE {
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a load: the shell, and what it has started in its group.
fn end_load(load: &mut Started) {
    let group = load.pid();
    for (signal, patience) in [(libc::SIGTERM, LOAD_GRACE), (libc::SIGKILL, LOAD_GRACE)] {
        family::signal_group(group, signal);
        let start = Instant::now();
        while start.elapsed() < patience {
            family::bury(&[group]);
            if matches!(load.ended(), Ok(Some(_)) | Err(_)) && !family::has_group(group) {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}
