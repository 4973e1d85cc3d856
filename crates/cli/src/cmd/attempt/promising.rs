//! Which locks to measure: those that the replay of the recording takes to be the fastest.

use crate::cmd::whatif::choices;
use crate::ui;
use baton_chip::Chip;
use baton_host::launch::choice::{self, Choice};
use baton_replay::run::Choice as Replayed;
use baton_replay::{Ask, predict};
use baton_sync::lock::{LOCKS, Posix};
use baton_trace::Trace;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A lock to measure.
pub(super) struct Promising {
    pub(super) choice: Choice,
    /// The program's time under it, as predicted; none where nothing could be.
    pub(super) predicted_ns: Option<u64>,
}

/// The locks to choose from: those asked for, or every one whose waiters sleep in the place of a mutex. One whose waiters only spin
/// is no advice for a program that may have more threads than CPUs.
pub(super) fn choices(asked: &[String], chip: &Chip) -> anyhow::Result<Vec<Replayed>> {
    if !asked.is_empty() {
        return choices::choose(asked, &[], chip);
    }
    let sleeps = |lock: &&baton_sync::lock::LockInfo| {
        matches!(lock.posix, Posix::Yes) && lock.wait_of_a_mutex(None).is_ok_and(|wait| wait.parks())
    };
    let names: Vec<String> = LOCKS.iter().filter(sleeps).map(|lock| lock.name.to_owned()).collect();
    choices::choose(&names, &[], chip)
}

/// The most promising ones, the best first. Where the recording cannot be replayed that is said, and those that let a running
/// thread pass a sleeping one are measured: they hold up best with more threads than CPUs.
pub(super) fn promising(
    directory: &Path,
    chip: &Chip,
    choices: Vec<Replayed>,
    most: usize,
) -> anyhow::Result<Vec<Promising>> {
    let ask = Ask {
        choices: choices.clone(),
        changes: Vec::new(),
        networks: Vec::new(),
        seeds: 1,
        cpus: None,
        threads: None,
    };
    let bar = indicatif::ProgressBar::new(baton_replay::predict::runs(&ask));
    // In a thread of its own with a trace of its own, so that Ctrl-C need not wait for it.
    let (send, receive) = channel();
    let trace = Trace::open(directory)?;
    let (chip, seen) = (chip.clone(), bar.clone());
    std::thread::spawn(move || {
        let predicted = predict(&trace, &chip, &ask, &|| seen.inc(1));
        // No one waits for it any more after Ctrl-C.
        let _ = send.send(predicted);
    });
    let predicted = loop {
        match receive.recv_timeout(Duration::from_millis(50)) {
            Ok(predicted) => break predicted,
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the prediction failed"),
            Err(RecvTimeoutError::Timeout) => super::still_wanted()?,
        }
    };
    bar.finish_and_clear();
    let ranked: Vec<(Replayed, Option<u64>)> = match predicted {
        Ok(prediction) => {
            let mut rows: Vec<_> = prediction.results.iter().filter(|row| !row.recorded && row.cut_off == 0).collect();
            rows.sort_by_key(|row| row.time_ns.median);
            let of = |row: &&baton_replay::predict::Predicted| {
                let asked = choices.iter().find(|c| c.lock == row.lock && c.wait.to_string() == row.wait)?;
                Some((asked.clone(), Some(row.time_ns.median)))
            };
            rows.iter().filter_map(of).collect()
        }
        Err(error) => {
            ui::warn(format_args!("{error}: nothing is predicted; locks that let running threads pass are measured"));
            let barges = |choice: &Replayed| LOCKS.iter().any(|lock| lock.name == choice.lock && !lock.fifo);
            choices.into_iter().filter(barges).map(|choice| (choice, None)).collect()
        }
    };
    let here = |(replayed, predicted_ns): (Replayed, Option<u64>)| {
        let choice = choice::check(&replayed.lock, Some(&replayed.wait.to_string())).ok()?;
        Some(Promising { choice, predicted_ns })
    };
    Ok(ranked.into_iter().filter_map(here).take(most).collect())
}
