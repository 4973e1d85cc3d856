//! `baton profile --check`: runs the program unrecorded, to tell how much recording slowed it down.

use crate::ui;
use baton_host::launch::child;
use baton_host::launch::choice::Choice;
use baton_host::launch::{exec::Exec, library, program};
use std::ffi::OsString;
use std::time::Duration;

/// Runs the program `times` times without a recorder, under the lock of `choice`, with no input and
/// no output, each run for at most `limit`. Returns the median of the runs' times; `None` if a run
/// was killed or exceeded the limit.
pub(super) fn median(
    times: u32,
    program: &[OsString],
    choice: Option<&Choice>,
    limit: Option<Duration>,
) -> anyhow::Result<Option<Duration>> {
    let mut took = Vec::new();
    for _ in 0..times {
        let end = child::run(exec(program, choice)?, limit, None, |_| {}, ui::warn)?;
        if end.timed_out || end.status.code().is_none() {
            ui::warn(
                "--check: the program did not run to its end unrecorded; how much recording slows it down is an estimate",
            );
            return Ok(None);
        }
        took.push(end.elapsed);
    }
    took.sort_unstable();
    Ok(took.get(took.len() / 2).copied())
}

fn exec(command: &[OsString], choice: Option<&Choice>) -> anyhow::Result<Exec> {
    let mut exec = Exec::new(program::find(&command[0])?, command.to_vec());
    exec.silent();
    if let Some(choice) = choice {
        exec.preload(&library::find()?);
        exec.set("BATON_LOCK", choice.lock.name).set("BATON_WAIT", choice.wait.to_string());
    }
    Ok(exec)
}
