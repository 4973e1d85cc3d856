//! The watchdog: a process that gives masks back when the daemon was killed or stopped.
//!
//! The watchdog holds the reading end of a pipe of which only the daemon has the other end. The
//! daemon's death closes it, however the daemon dies. A stopped daemon does not close it, so the
//! watchdog also looks at the daemon's state.

use crate::journal::Journal;
use crate::restore;
use crate::sys::proc::Stat;
use baton_host::BadInput;
use std::io::Result;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The time between two looks at the daemon's state.
const LOOK_MS: i32 = 200;

/// The watchdog's process, as the daemon sees it.
pub(crate) struct Watchdog {
    command: PathBuf,
    journal: PathBuf,
    child: Child,
    /// How often it was started.
    pub(crate) starts: u64,
}

impl Watchdog {
    /// Starts `COMMAND sched restore --watch JOURNAL`.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub(crate) fn start(command: &Path, journal: &Path) -> Result<Watchdog> {
        let child = spawn(command, journal)?;
        Ok(Watchdog { command: command.into(), journal: journal.into(), child, starts: 1 })
    }

    /// Starts the watchdog again if it has ended.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn keep(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            self.child = spawn(&self.command, &self.journal)?;
            self.starts += 1;
        }
        Ok(())
    }

    /// Ends the watchdog. The journal must be gone before.
    pub(crate) fn end(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn spawn(command: &Path, journal: &Path) -> Result<Child> {
    let mut watchdog = Command::new(command);
    watchdog.args(["sched", "restore", "--watch"]).arg(journal).stdin(Stdio::piped()).stdout(Stdio::null());
    let own_session = || {
        // SAFETY: `setsid` may be called between fork and exec, and takes nothing.
        unsafe { libc::setsid() };
        Ok(())
    };
    // SAFETY: the closure calls `setsid` alone. In a session of its own the watchdog outlives signals
    // of the terminal.
    unsafe { watchdog.pre_exec(own_session) };
    watchdog.spawn()
}

/// Waits until standard input ends, and then gives the masks of a journal back. Returns the number of
/// masks that changed. While the daemon is stopped, the masks are the users' as well.
///
/// # Errors
/// If the journal cannot be read.
pub fn watch(journal: &Path) -> std::result::Result<u64, BadInput> {
    let (mut changed, mut given_back) = (0, false);
    while !input_ended() {
        let Ok(journal) = Journal::read(journal) else { continue };
        let (pid, start) = journal.head.daemon;
        let stat = Stat::of(pid, pid).filter(|stat| stat.start == start);
        let stopped = stat.is_some_and(|stat| matches!(stat.state, 'T' | 't'));
        if stopped && !given_back {
            changed += restore::restore(&journal);
        }
        given_back = stopped;
    }
    if !journal.exists() {
        return Ok(changed);
    }
    changed += restore::restore(&Journal::read(journal)?);
    let _ = std::fs::remove_file(journal);
    Ok(changed)
}

/// Waits for a while. Returns whether the other end of standard input is closed.
fn input_ended() -> bool {
    let mut input = libc::pollfd { fd: 0, events: 0, revents: 0 };
    // SAFETY: the kernel writes into one structure, a local variable.
    let ready = unsafe { libc::poll(&raw mut input, 1, LOOK_MS) };
    ready > 0 && input.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}
