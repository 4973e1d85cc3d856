//! The watchdog: a process that gives masks back when the daemon was killed or stopped.
//!
//! The watchdog holds the reading end of a pipe of which only the daemon has the other end. The
//! daemon's death closes it, however the daemon dies. A stopped daemon does not close it, so the
//! watchdog also looks at the daemon's state.

use crate::journal::{Head, Journal};
use crate::restore;
use baton_host::BadInput;
use std::io::{Read, Result, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The time between two looks at the daemon's state.
const LOOK_MS: i32 = 200;
/// What the daemon writes when it has given all masks back.
const DONE: &[u8; 4] = b"done";

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

    /// Ends the watchdog. The masks must be the users' before.
    pub(crate) fn end(&mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            // A watchdog that has ended needs no word.
            let _ = input.write_all(DONE);
        }
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

/// Waits until standard input ends, and then gives the masks of a journal back, unless the daemon has
/// said that it did. Returns the number of masks that changed. While the daemon is stopped, the masks
/// are the users' as well.
///
/// # Errors
/// If the journal cannot be read.
pub fn watch(path: &Path) -> std::result::Result<u64, BadInput> {
    let mut changed = 0;
    // An open journal can be read after the file was removed.
    let (mut open, mut head) = (Journal::open(path).ok(), None);
    while !input_ended() {
        open = Journal::open(path).ok().or(open);
        let read = || Journal::read_from(open.as_ref()?, path).ok();
        // The head stays the same, and the threads are read only if their masks must be given back.
        head = head.or_else(|| Some(read()?.head));
        let stopped = head.as_ref().and_then(Head::writer).is_some_and(|stat| matches!(stat.state, 'T' | 't'));
        if let Some(journal) = stopped.then(read).flatten() {
            changed += restore::restore(&journal);
        }
    }
    let mut word = [0; DONE.len()];
    if std::io::stdin().read_exact(&mut word).is_ok() && word == *DONE {
        return Ok(changed);
    }
    let journal = match Journal::open(path).ok().or(open) {
        Some(file) => Journal::read_from(&file, path)?,
        None => Journal::read(path)?,
    };
    changed += restore::restore(&journal);
    let _ = std::fs::remove_file(path);
    Ok(changed)
}

/// Waits for a while. Returns whether the other end of standard input is closed.
fn input_ended() -> bool {
    let mut input = libc::pollfd { fd: 0, events: 0, revents: 0 };
    // SAFETY: the kernel writes into one structure, a local variable.
    let ready = unsafe { libc::poll(&raw mut input, 1, LOOK_MS) };
    ready > 0 && input.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}
