//! Starts the program and waits for its end. Signals that are meant for the program are passed on,
//! and its exit status is kept.

use super::crowd::Crowd;
use super::exec::Exec;
use super::signals::PassedOn;
use crate::error::Failed;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// The time that a program has to end after SIGTERM, before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// The interval at which a running program is checked, where polling is needed.
const LOOK: Duration = Duration::from_millis(20);

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The exit status that the kernel reported.
    pub status: ExitStatus,
    /// Whether Baton ended the program because its time limit was over.
    pub timed_out: bool,
    /// The time from start to end.
    pub elapsed: Duration,
    pub pid: u32,
}

impl End {
    /// The exit code to pass on: the program's own, or 128 + the signal that killed it, as in
    /// shells. 0 if Baton ended the program at its time limit.
    pub fn code(&self) -> u8 {
        match (self.timed_out, self.status.code(), self.status.signal()) {
            (true, ..) => 0,
            (_, Some(code), _) => code as u8,
            (_, None, Some(signal)) => 128u8.wrapping_add(signal as u8),
            (_, None, None) => 255,
        }
    }

    /// Like [`code`](Self::code), as a value for `main`.
    pub fn exit(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// What ended the program, if it did not exit by itself.
    pub fn violently(&self) -> Option<String> {
        if self.timed_out {
            return Some("the end of its --duration".into());
        }
        let signal = self.status.signal()?;
        // SAFETY: strsignal returns a string that stays until this thread's next call; it is copied at once.
        let name = unsafe { std::ffi::CStr::from_ptr(libc::strsignal(signal)) };
        Some(format!("signal {signal}, {}", name.to_string_lossy()))
    }
}

/// Runs the program to its end, or until `limit` is over. `started` gets its process number.
/// `crowd` watches the number of threads; its warning, if any, goes to `warn` while the program
/// runs.
pub fn run(
    exec: Exec,
    limit: Option<Duration>,
    mut crowd: Option<Crowd>,
    started: impl FnOnce(u32),
    mut warn: impl FnMut(String),
) -> Result<End, Failed> {
    let name = exec.name().to_owned();
    let passed_on = PassedOn::begin();
    let start = Instant::now();
    let mut child = exec.into_command()?.spawn().map_err(Failed::because(format!("cannot start {name}")))?;
    passed_on.to(child.id());
    let pid = child.id();
    started(pid);
    let mut ended = |child: &mut Child, until: Option<Instant>| -> std::io::Result<Option<ExitStatus>> {
        loop {
            if until.is_none() && crowd.is_none() {
                return child.wait().map(Some);
            }
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
            if let Some(warning) = crowd.as_ref().and_then(|crowd| crowd.look(pid)) {
                warn(warning);
                crowd = None;
            }
            std::thread::sleep(LOOK);
        }
    };
    let mut see_through = || -> std::io::Result<(ExitStatus, bool)> {
        if let Some(status) = ended(&mut child, limit.map(|limit| start + limit))? {
            return Ok((status, false));
        }
        // SAFETY: the child has not been waited for, so its id is still its own.
        unsafe { libc::kill(pid as i32, libc::SIGTERM) };
        match ended(&mut child, Some(Instant::now() + GRACE))? {
            Some(status) => Ok((status, true)),
            None => {
                child.kill()?;
                Ok((child.wait()?, true))
            }
        }
    };
    let (status, timed_out) = see_through().map_err(Failed::because(format!("cannot wait for {name}")))?;
    Ok(End { status, timed_out, elapsed: start.elapsed(), pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::program;
    use std::ffi::OsStr;

    fn sh(script: &str, limit: Option<Duration>) -> End {
        let args = vec!["sh".into(), "-c".into(), script.into()];
        run(
            Exec::new(program::find(OsStr::new("sh")).unwrap(), args),
            limit,
            None,
            |_| {},
            |warning| panic!("{warning}"),
        )
        .unwrap()
    }

    #[test]
    fn the_exit_code_is_kept() {
        assert_eq!(sh("exit 0", None).code(), 0);
        assert_eq!(sh("exit 37", None).code(), 37);
        let killed = sh("kill -SEGV $$", None);
        assert_eq!(killed.code(), 128 + 11);
        assert!(killed.violently().unwrap().starts_with("signal 11"), "{killed:?}");
    }

    #[test]
    fn a_limit_ends_the_program_and_an_early_end_is_its_own() {
        let limit = Some(Duration::from_millis(50));
        let end = sh("exec sleep 60", limit);
        assert!(end.timed_out && end.code() == 0, "{end:?}");
        assert!(end.elapsed >= Duration::from_millis(50) && end.elapsed < Duration::from_secs(30), "{end:?}");
        assert_eq!(sh("exit 3", Some(Duration::from_secs(60))).code(), 3);
    }
}
