//! Starts the program and sees it through: signals meant for it reach it, and its end is kept to be passed on.

use anyhow::Context;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How long a program has, once it was asked to end (SIGTERM), before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often a time limit is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// As the kernel reported it.
    pub(crate) status: ExitStatus,
    /// We ended it, because the time that it was given was over.
    pub(crate) timed_out: bool,
}

impl End {
    /// The program's exit code, 128 + the signal if one killed it, as shells have it; 0 if we ended it as asked.
    pub(crate) fn code(&self) -> u8 {
        match (self.timed_out, self.status.code(), self.status.signal()) {
            (true, ..) => 0,
            (_, Some(code), _) => code as u8,
            (_, None, Some(signal)) => 128u8.wrapping_add(signal as u8),
            (_, None, None) => 255,
        }
    }

    /// As an exit code of ours.
    pub(crate) fn exit(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The signal that killed it, in words.
    pub(crate) fn killed_by(&self) -> Option<String> {
        let signal = self.status.signal().filter(|_| !self.timed_out)?;
        // SAFETY: strsignal returns a string that stays until this thread's next call; it is copied at once.
        let name = unsafe { std::ffi::CStr::from_ptr(libc::strsignal(signal)) };
        Some(format!("signal {signal} ({})", name.to_string_lossy()))
    }
}

/// The child that signals are passed on to; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Runs `command` to its end, at the longest for `limit`.
///
/// Ctrl-C and Ctrl-\ go to the whole foreground group, so the program has them already: we only outlive them, to
/// leave a report. SIGTERM and SIGHUP are sent to us alone and are passed on.
pub(crate) fn run(command: &mut Command, limit: Option<Duration>) -> anyhow::Result<End> {
    let _kept = [
        Handler::install(libc::SIGINT, outlive),
        Handler::install(libc::SIGQUIT, outlive),
        Handler::install(libc::SIGTERM, pass_on),
        Handler::install(libc::SIGHUP, pass_on),
    ];
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let end = match limit {
        None => child.wait().map(|status| End { status, timed_out: false }),
        Some(limit) => wait_for(&mut child, limit),
    };
    CHILD.store(0, Ordering::SeqCst);
    end.context("cannot wait for the program")
}

fn wait_for(child: &mut Child, limit: Duration) -> std::io::Result<End> {
    let poll = |child: &mut Child, limit: Duration| -> std::io::Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            match child.try_wait()? {
                Some(status) => return Ok(Some(status)),
                None if start.elapsed() >= limit => return Ok(None),
                None => std::thread::sleep(LOOK.min(limit)),
            }
        }
    };
    if let Some(status) = poll(child, limit)? {
        return Ok(End { status, timed_out: false });
    }
    // SAFETY: the child has not been waited for, so its id is still its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let status = match poll(child, GRACE)? {
        Some(status) => status,
        None => {
            child.kill()?;
            child.wait()?
        }
    };
    Ok(End { status, timed_out: true })
}

/// A signal handler that is taken back when this goes.
struct Handler {
    signal: i32,
    before: libc::sigaction,
}

impl Handler {
    fn install(signal: i32, handler: extern "C" fn(i32)) -> Handler {
        // SAFETY: the structures are ours, all-zero bytes are a valid one, and the handlers below only do what a
        // handler may: load an atomic and call kill. (A program started by exec gets the default action back, but
        // keeps a signal that was ignored ignored: so that is left as it is.)
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as extern "C" fn(i32) as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            Handler { signal, before }
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: `before` is what the kernel gave us.
        unsafe { libc::sigaction(self.signal, &self.before, std::ptr::null_mut()) };
    }
}

extern "C" fn outlive(_: i32) {}

extern "C" fn pass_on(signal: i32) {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: kill may be called in a handler; the child is not yet waited for, or the signal goes nowhere.
        unsafe { libc::kill(child, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Option<Duration>) -> End {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn the_exit_code_is_kept() {
        assert_eq!(sh("exit 0", None).code(), 0);
        assert_eq!(sh("exit 37", None).code(), 37);
        let killed = sh("kill -SEGV $$", None);
        assert_eq!(killed.code(), 128 + 11);
        assert!(killed.killed_by().unwrap().starts_with("signal 11"), "{killed:?}");
    }

    #[test]
    fn a_limit_ends_the_program_and_an_early_end_is_its_own() {
        let limit = Some(Duration::from_millis(50));
        let end = sh("exec sleep 60", limit);
        assert!(end.timed_out && end.code() == 0 && end.killed_by().is_none(), "{end:?}");
        assert_eq!(sh("exit 3", Some(Duration::from_secs(60))).code(), 3);
    }
}
