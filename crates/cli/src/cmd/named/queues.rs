//! `--queue ring,mpmc=64` and `--queue NAME=ring`: other queues in the place of the recorded ones.

use super::name::{Fit, fit};
use super::recorded::Recorded;
use crate::error::BadInput;
use baton_chip::Chip;
use baton_host::closest_first;
use baton_machine::Wait;
use baton_replay::change::{Change, QueuePart};
use baton_replay::queues::{QueueKind, Service};

/// The name that stands for all queues that no other name stands for.
const DEFAULT: &str = "default";
/// The largest capacity of a queue.
const MOST: u32 = 1 << 30;
/// Largest number of names that an error lists.
const LISTED: usize = 12;

/// A queue that was asked for: the name of the recorded queues, and the kind, with its capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    name: Option<String>,
    kind: QueueKind,
    capacity: Option<u32>,
}

impl Asked {
    /// Reads `ring`, `ring=64`, `NAME=ring` or `NAME=ring=64`.
    fn parse(text: &str) -> Result<Asked, BadInput> {
        let text = text.trim();
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (text, capacity) = match text.rsplit_once('=') {
            Some((before, last)) if number(last.trim()) => {
                let capacity = last.trim().parse().ok().filter(|capacity| (1..=MOST).contains(capacity));
                let bad = || BadInput::new(format!("--queue {text}: a queue holds 1 to {MOST} items"));
                (before.trim(), Some(capacity.ok_or_else(bad)?))
            }
            _ => (text, None),
        };
        let (name, kind) = match text.rsplit_once('=') {
            Some((name, kind)) => (Some(name.trim().to_owned()), kind.trim()),
            None => (None, text),
        };
        let known = || QueueKind::ALL.into_iter().map(QueueKind::name);
        let kind = QueueKind::named(kind).ok_or_else(|| BadInput::unknown("queue", kind, known()))?;
        if name.as_deref() == Some("") {
            return Err(BadInput::new(format!("--queue {text}: expected NAME={}", kind.name())));
        }
        Ok(Asked { name, kind, capacity })
    }

    /// The text of a row, in the form of the option.
    fn text(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!("{name}="));
        let capacity = self.capacity.map_or_else(String::new, |capacity| format!("={capacity}"));
        format!("{name}{}{capacity}", self.kind.name())
    }
}

/// The rows of the options: one for each kind that is to serve all queues, and one for each option that
/// names queues. Each has a row for each policy.
pub(in crate::cmd) fn rows(
    options: &[String],
    waits: &[String],
    chip: &Chip,
    recorded: &Recorded<'_>,
) -> Result<Vec<Change>, BadInput> {
    let waits = policies(waits, chip)?;
    let mut changes: Vec<Change> = Vec::new();
    for option in options {
        let asked = option.split(',').map(Asked::parse).collect::<Result<Vec<_>, _>>()?;
        if let Some(one) = asked.iter().find(|one| one.kind == QueueKind::Qmd && !has_device(chip)) {
            return Err(BadInput::new(format!("--queue {}: chip `{}` has no queue device", one.text(), chip.name))
                .hint("--device qmd gives the chip one, or name a chip with one, as in --chip caf16"));
        }
        let (named, all): (Vec<&Asked>, Vec<&Asked>) = asked.iter().partition(|one| one.name.is_some());
        if !named.is_empty() && !all.is_empty() {
            let message = format!("--queue {option}: either kinds for all queues, or NAME=KIND,…,default=KIND");
            return Err(BadInput::new(message));
        }
        let rows: Vec<Vec<&Asked>> =
            if named.is_empty() { all.into_iter().map(|one| vec![one]).collect() } else { vec![named] };
        for row in rows {
            for &wait in &waits {
                let change = change(&row, wait, recorded)?;
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
        }
    }
    Ok(changes)
}

/// Whether the chip has a device for queues.
pub(in crate::cmd) fn has_device(chip: &Chip) -> bool {
    let device = QueueKind::Qmd.name();
    chip.devices.as_ref().is_some_and(|devices| devices.each().any(|one| one.kind.name == device))
}

/// The policies of the queues' threads: the library's own, if the user names none.
fn policies(waits: &[String], chip: &Chip) -> Result<Vec<Wait>, BadInput> {
    if waits.is_empty() {
        let own = <baton_sync::Adaptive as baton_sync::WaitPolicy>::WAIT;
        return Ok(vec![if chip.check_wait(own).is_ok() { own } else { Wait::Futex }]);
    }
    let parse = |name: &String| {
        let wait = name.trim().parse::<Wait>().map_err(BadInput::new)?;
        chip.check_wait(wait).map_err(|missing| BadInput::new(format!("chip `{}`: {missing}", chip.name)))?;
        Ok(wait)
    };
    waits.iter().map(parse).collect()
}

fn change(row: &[&Asked], wait: Wait, recorded: &Recorded<'_>) -> Result<Change, BadInput> {
    let mut left = (0..recorded.queues().len()).collect::<Vec<_>>();
    let mut parts = Vec::new();
    let of = |one: &Asked, queues: Vec<usize>| {
        let service = Service { kind: one.kind, capacity: one.capacity, wait };
        QueuePart { queues: recorded.queue_lives(&queues), service }
    };
    let is_rest = |one: &Asked| one.name.as_deref().is_none_or(|name| name == DEFAULT);
    for one in row.iter().filter(|one| !is_rest(one)) {
        let found = recorded.find_queues(one.name.as_deref().unwrap_or_default())?;
        left.retain(|queue| !found.contains(queue));
        parts.push(of(one, found));
    }
    if let Some(rest) = row.iter().find(|one| is_rest(one)) {
        if recorded.queues().is_empty() {
            return Err(recorded.no_queue());
        }
        parts.push(of(rest, left));
    }
    let text = row.iter().map(|one| one.text()).collect::<Vec<_>>().join(",");
    Ok(Change { text: format!("queue {text}"), queues: parts, ..Change::default() })
}

/// A name without its number, and the number.
fn numbered(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(" #") {
        Some((bare, number)) if number.parse::<u32>().is_ok() => (bare, Some(number)),
        _ => (name, None),
    }
}

impl Recorded<'_> {
    /// The numbers, in the order of the report, of the queues for which a name stands.
    fn find_queues(&self, typed: &str) -> Result<Vec<usize>, BadInput> {
        let queues = self.queues();
        let (bare, number) = numbered(typed);
        let fits = |least: Fit| {
            let is = |name: &str| {
                let (of, nth) = numbered(name);
                (number.is_none() || number == nth) && fit(bare, of).is_some_and(|fit| fit >= least)
            };
            (0..queues.len()).filter(|queue| is(&queues[*queue].name)).collect::<Vec<_>>()
        };
        let found = [fits(Fit::Whole), fits(Fit::Part)].into_iter().find(|found| !found.is_empty());
        found.ok_or_else(|| {
            if queues.is_empty() {
                return self.no_queue();
            }
            let names = queues.iter().map(|queue| queue.name.as_str());
            let names: Vec<String> =
                closest_first(typed, names).iter().take(LISTED).map(|name| format!("`{name}`")).collect();
            BadInput::new(format!("no queue `{typed}` in the recording; it has {}", names.join(", ")))
        })
    }

    fn no_queue(&self) -> BadInput {
        BadInput::new("--queue: the recording has no queue")
            .hint("`baton profile` sees the queues of baton-sync, in a program that is built with the feature `record`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_names_and_capacities_are_read() {
        let asked = |name: Option<&str>, kind, capacity| Asked { name: name.map(str::to_owned), kind, capacity };
        for (text, expected) in [
            ("ring", asked(None, QueueKind::Ring, None)),
            ("ring-single=7", asked(None, QueueKind::RingSingle, Some(7))),
            (" words = mpmc ", asked(Some("words"), QueueKind::Mpmc, None)),
            ("from main (a.rs:1) #2=spsc=64", asked(Some("from main (a.rs:1) #2"), QueueKind::Spsc, Some(64))),
        ] {
            let read = Asked::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read, expected, "{text}");
            assert_eq!(Asked::parse(&read.text()).unwrap_or_else(|error| panic!("{text}: {error}")), read);
        }
        for (text, says) in [
            ("rang", "rang"),
            ("ring=0", "1 to 1073741824"),
            ("ring=99999999999", "1 to 1073741824"),
            ("=ring", "expected NAME=ring"),
            ("ring=x", "unknown queue `x`"),
            ("", "queue"),
        ] {
            let error = Asked::parse(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
