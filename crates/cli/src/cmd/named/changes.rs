//! `--lock NAME=LOCK`, `--shrink`, `--split` and `--rw` as changes of a replay, with a row for each
//! option.

use super::recorded::Recorded;
use crate::error::BadInput;
use baton_chip::Chip;
use baton_replay::change::{Change, FACTORS, Part, Treatment, WAYS};
use baton_replay::run::Choice;
use baton_sync::lock;
use baton_sync::lock::assign::{self, DEFAULT};

/// The changes that the user asked for: each option with its values.
#[derive(clap::Args, Clone, Debug, Default)]
pub(in crate::cmd) struct ChangeArgs {
    /// Shorter critical sections: the work under the lock takes FACTOR of its time (0.5), or is
    /// divided by FACTOR (2x). Each option is one row; several changes with commas are one row
    /// together.
    #[arg(long, value_name = "NAME=FACTOR")]
    pub(in crate::cmd) shrink: Vec<String>,
    /// The lock split into N locks: each acquisition takes one of them, drawn by the seed.
    #[arg(long, value_name = "NAME=N")]
    pub(in crate::cmd) split: Vec<String>,
    /// A reader-writer lock instead of the lock: this share of the holds (0.9, or 90%), drawn by
    /// the seed, only reads.
    #[arg(long, value_name = "NAME=SHARE")]
    pub(in crate::cmd) rw: Vec<String>,
}

impl ChangeArgs {
    /// Whether the user asked for no change.
    pub(in crate::cmd) fn is_empty(&self) -> bool {
        self.shrink.is_empty() && self.split.is_empty() && self.rw.is_empty()
    }

    /// The changes, in the order of the options.
    pub(in crate::cmd) fn changes(&self, recorded: &Recorded<'_>) -> Result<Vec<Change>, BadInput> {
        let all = [("--shrink", &self.shrink), ("--split", &self.split), ("--rw", &self.rw)];
        let each = all.into_iter().flat_map(|(option, values)| values.iter().map(move |text| (option, text)));
        each.map(|(option, text)| change(option, text, recorded)).collect()
    }
}

fn change(option: &str, text: &str, recorded: &Recorded<'_>) -> Result<Change, BadInput> {
    let part = |part: &str| {
        let (name, value) = part
            .rsplit_once('=')
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(|| BadInput::new(format!("{option} {text}: expected NAME={}", expected(option))))?;
        let treatment = treatment(option, value).ok_or_else(|| {
            BadInput::new(format!("{option} {text}: `{value}` is not to be had; expected NAME={}", expected(option)))
        })?;
        let locks = recorded.lives(&recorded.find(name)?);
        Ok(Part { name: name.to_owned(), locks, treatment })
    };
    let parts: Vec<Part> = text.split(',').map(part).collect::<Result<_, BadInput>>()?;
    Ok(Change { text: format!("{} {text}", option.trim_start_matches('-')), parts, ..Change::default() })
}

fn expected(option: &str) -> String {
    match option {
        "--shrink" => format!("a factor from {} to {}, as in 0.5 or 2x", FACTORS.start(), FACTORS.end()),
        "--split" => format!("a number from {} to {}", WAYS.start(), WAYS.end()),
        _ => "a share from 0 to 1, as in 0.9 or 90%".to_owned(),
    }
}

fn treatment(option: &str, value: &str) -> Option<Treatment> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match option {
        "--shrink" => {
            let factor = match value.strip_suffix('x') {
                Some(times) => 1.0 / number(times).filter(|times| *times > 0.0)?,
                None => number(value)?,
            };
            FACTORS.contains(&factor).then_some(Treatment::Shrink(factor))
        }
        "--split" => value.parse().ok().filter(|ways| WAYS.contains(ways)).map(Treatment::Split),
        _ => {
            let share = match value.strip_suffix('%') {
                Some(percent) => number(percent)? / 100.0,
                None => number(value)?,
            };
            (0.0..=1.0).contains(&share).then_some(Treatment::ReadWrite(share))
        }
    }
}

/// The options of `--lock`, sorted into locks for all mutexes and locks that are named one by one.
pub(in crate::cmd) fn sorted(locks: &[String]) -> (Vec<String>, Vec<String>) {
    let (one_by_one, all): (Vec<String>, Vec<String>) =
        locks.iter().cloned().partition(|text| assign::is_assignment(text));
    let names = all.iter().flat_map(|text| text.split(',')).map(|name| name.trim().to_owned());
    (names.collect(), one_by_one)
}

/// Reads `cache_lock=mcs,default=glibc` as a change of the replay, and checks the names against the
/// recording.
pub(in crate::cmd) fn one_by_one(text: &str, chip: &Chip, recorded: &Recorded<'_>) -> Result<Change, BadInput> {
    let (mut default, mut parts, mut said) = (Some(choice(assign::GLIBC, None, chip)?), Vec::new(), Vec::new());
    for part in assign::parse(text).map_err(|error| BadInput::new(format!("--lock {error}")))? {
        let choice = choice(&part.lock, part.wait.as_deref(), chip)?;
        if part.name != DEFAULT || !part.is_glibc() {
            said.push(part.to_string());
        }
        if part.name == DEFAULT {
            default = Some(choice);
            continue;
        }
        let locks = recorded.lives(&recorded.find(&part.name)?);
        parts.push(Part { name: part.name, locks, treatment: Treatment::Lock(choice) });
    }
    let text = if said.is_empty() { text.to_owned() } else { said.join(",") };
    Ok(Change { text, default, parts, ..Change::default() })
}

/// A lock of the replay, in which glibc's mutex is the three-state `futex` lock.
fn choice(name: &str, wait: Option<&str>, chip: &Chip) -> Result<Choice, BadInput> {
    let named = if name == assign::GLIBC { "futex" } else { name };
    let info =
        lock::info(named).map_err(|_| BadInput::unknown("lock", name, lock::locks().iter().map(|lock| lock.name)))?;
    if let lock::Posix::No(why) = info.posix {
        return Err(BadInput::new(format!("lock `{name}` cannot stand in for a pthread mutex: {why}")));
    }
    let wait = wait.map(|wait| wait.parse().map_err(BadInput::new)).transpose()?;
    let wait = info.wait_of_a_mutex(wait).map_err(BadInput::new)?;
    chip.check_wait(wait).map_err(|missing| BadInput::new(format!("chip `{}`: {missing}", chip.name)))?;
    Ok(Choice { lock: info.name.to_owned(), wait })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_either_form_and_others_refused() {
        assert_eq!(treatment("--shrink", "2x"), Some(Treatment::Shrink(0.5)));
        assert_eq!(treatment("--shrink", "0.25"), Some(Treatment::Shrink(0.25)));
        assert_eq!(treatment("--split", "4"), Some(Treatment::Split(4)));
        assert_eq!(treatment("--rw", "90%"), Some(Treatment::ReadWrite(0.9)));
        for (option, value) in [
            ("--shrink", "-1"),
            ("--shrink", "0x"),
            ("--shrink", "nan"),
            ("--shrink", "101"),
            ("--split", "1"),
            ("--split", "1.5"),
            ("--split", "9999"),
            ("--rw", "1.1"),
            ("--rw", "x"),
        ] {
            assert_eq!(treatment(option, value), None, "{option} {value}");
        }
    }

    #[test]
    fn locks_for_all_and_one_by_one_are_told_apart() {
        let asked = ["mcs, ticket".to_owned(), "a=mcs,default=glibc".to_owned(), "clh".to_owned()];
        let (all, one_by_one) = sorted(&asked);
        assert_eq!(all, ["mcs", "ticket", "clh"]);
        assert_eq!(one_by_one, ["a=mcs,default=glibc"]);
    }
}
