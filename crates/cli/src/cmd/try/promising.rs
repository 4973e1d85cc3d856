//! Chooses the locks to measure: those that the replay of the recording predicts to be fastest.

use super::subject::still_wanted;
use crate::cmd::measure::runs::Candidate;
use crate::cmd::named::changes;
use crate::cmd::named::program::{Found, OneByOne};
use crate::cmd::named::recorded::Recorded;
use crate::cmd::whatif::choices;
use crate::ui;
use baton_chip::Chip;
use baton_host::launch::choice;
use baton_replay::change::Change;
use baton_replay::predict::Predicted;
use baton_replay::run::Choice as Replayed;
use baton_replay::{Ask, predict};
use baton_report::Profile;
use baton_sync::lock::{LOCKS, Posix};
use baton_trace::Trace;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A lock to measure.
pub(super) struct Promising {
    pub(super) candidate: Candidate,
    /// The predicted time of the program; `None` if nothing could be predicted.
    pub(super) predicted_ns: Option<u64>,
}

/// The locks to choose from.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Locks for all mutexes.
    pub(super) locks: Vec<Replayed>,
    /// Choices that name locks one by one; all of them are measured.
    pub(super) one_by_one: Vec<String>,
}

/// The locks to choose from: those that the user names, or every lock whose waiters sleep and that
/// can replace a mutex. A lock whose waiters only spin is no advice for a program that may have
/// more threads than CPUs.
pub(super) fn choices(asked: &[String], chip: &Chip) -> anyhow::Result<Asked> {
    let (names, one_by_one) = changes::sorted(asked);
    for text in &one_by_one {
        // Wrong names of locks are reported before anything runs; the program's own names are known
        // only after the recording.
        OneByOne::new(text, None, |_| Ok(Found::default()))?;
    }
    let sleeps = |lock: &&baton_sync::lock::LockInfo| {
        matches!(lock.posix, Posix::Yes) && lock.wait_of_a_mutex(None).is_ok_and(|wait| wait.parks())
    };
    let locks = match (names.is_empty(), one_by_one.is_empty()) {
        (false, _) => choices::choose(&names, &[], chip)?,
        (true, false) => Vec::new(),
        (true, true) => {
            let names: Vec<String> = LOCKS.iter().filter(sleeps).map(|lock| lock.name.to_owned()).collect();
            choices::choose(&names, &[], chip)?
        }
    };
    Ok(Asked { locks, one_by_one })
}

/// A choice of locks one by one, with the profile's names looked up, for the replay and for runs.
fn looked_up(text: &str, chip: &Chip, profile: &Profile) -> anyhow::Result<(Change, Candidate)> {
    let recorded = Recorded::of(profile);
    let change = changes::one_by_one(text, chip, &recorded)?;
    let places = |name: &str| Ok(Found { places: recorded.places(name, &recorded.find(name)?)?, except: Vec::new() });
    Ok((change, Candidate::one_by_one(OneByOne::new(text, None, places)?)))
}

/// At most `most` locks for all mutexes, and all that were named one by one, the fastest predicted
/// first. Locks for all mutexes are left out if a replay was cut off. If the recording cannot be
/// replayed, that is reported, and locks are measured that let a running thread overtake a sleeping
/// one, because these hold up best with more threads than CPUs.
pub(super) fn promising(
    directory: &Path,
    profile: &Profile,
    chip: &Chip,
    asked: Asked,
    most: usize,
) -> anyhow::Result<Vec<Promising>> {
    let one_by_one = asked.one_by_one.iter().map(|text| looked_up(text, chip, profile));
    let (changes, named): (Vec<Change>, Vec<Candidate>) =
        one_by_one.collect::<anyhow::Result<Vec<_>>>()?.into_iter().unzip();
    let ask = Ask { choices: asked.locks.clone(), changes, ..Ask::default() };
    let here = |replayed: &Replayed| {
        let choice = choice::check(&replayed.lock, Some(&replayed.wait.to_string())).ok()?;
        Some(Candidate::replaced(choice))
    };
    let bar = indicatif::ProgressBar::new(baton_replay::predict::runs(&ask));
    // The replay runs on its own thread with its own trace, so that Ctrl-C need not wait for it.
    let (send, receive) = channel();
    let trace = Trace::open(directory)?;
    let (chip, seen) = (chip.clone(), bar.clone());
    std::thread::spawn(move || {
        let predicted = predict(&trace, &chip, &ask, &|| seen.inc(1));
        // After Ctrl-C no thread waits for the result.
        let _ = send.send(predicted);
    });
    let predicted = loop {
        match receive.recv_timeout(Duration::from_millis(50)) {
            Ok(predicted) => break predicted,
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the prediction failed"),
            Err(RecvTimeoutError::Timeout) => still_wanted()?,
        }
    };
    bar.finish_and_clear();
    let locks = asked.locks.iter().map(here);
    let all = locks.chain(named.iter().cloned().map(Some));
    let mut ranked: Vec<Promising> = match predicted {
        Ok(prediction) => {
            // The recorded lock's row comes first; the others are in the order asked.
            let rows = prediction.results.iter().skip(1).zip(all);
            let bears = |(row, candidate): &(&Predicted, Option<Candidate>)| {
                row.cut_off == 0 || candidate.as_ref().is_some_and(|candidate| candidate.one_by_one.is_some())
            };
            let one = |(row, candidate): (&Predicted, Option<Candidate>)| {
                let known = row.failed.is_none().then_some(row.time_ns.median);
                Some(Promising { candidate: candidate?, predicted_ns: known })
            };
            rows.filter(bears).filter_map(one).collect()
        }
        Err(error) => {
            ui::warn(format_args!("{error}: nothing is predicted; locks that let running threads pass are measured"));
            let barges = |lock: &str| LOCKS.iter().any(|info| info.name == lock && !info.fifo);
            let measured = all.flatten().filter(|one| one.one_by_one.is_some() || barges(one.lock()));
            measured.map(|candidate| Promising { candidate, predicted_ns: None }).collect()
        }
    };
    ranked.sort_by_key(|one| one.predicted_ns.unwrap_or(u64::MAX));
    let mut room = most;
    ranked.retain(|one| {
        let keep = one.candidate.one_by_one.is_some() || room > 0;
        room -= usize::from(keep && one.candidate.one_by_one.is_none());
        keep
    });
    Ok(ranked)
}
