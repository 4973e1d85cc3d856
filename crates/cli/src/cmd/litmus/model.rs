//! The abstract machine's verdicts on tests, as a table.

use super::files::Found;
use crate::error::BadInput;
use baton_chip::Chip;
use baton_chip::config::device::YoungerStores as OfChip;
use baton_litmus::Quantifier;
use baton_litmus::tso::{Endless, Model, Outcomes, YoungerStores};
use rayon::prelude::*;
use std::fmt::Write as _;

/// Largest number of configurations of a test that are looked at.
const MOST: usize = 2_000_000;

/// The model with the paper's ordering, and the chip's choice for younger stores.
pub(super) fn of(chip: &Chip) -> Model {
    Model::paper(match chip.devices.as_ref().map(|devices| devices.younger_stores) {
        Some(OfChip::Pass) => YoungerStores::Pass,
        Some(OfChip::Wait) | None => YoungerStores::Wait,
    })
}

/// The column of verdicts for tests with queues.
pub(super) fn column(younger_stores: YoungerStores) -> &'static str {
    match younger_stores {
        YoungerStores::Wait => "verdict_caf_wait",
        YoungerStores::Pass => "verdict_caf_pass",
    }
}

/// The outcomes that the model allows a test.
pub(super) fn explore(found: &Found, model: Model) -> Result<Outcomes, BadInput> {
    model.outcomes(&found.test, MOST).ok_or_else(|| {
        BadInput::new(format_args!("{}: the model has more than {MOST} configurations of it", found.path.display()))
    })
}

/// The error of a test in which a thread can wait for ever.
pub(super) fn endless(found: &Found, Endless { thread, queue }: Endless, on: &str) -> BadInput {
    let file = found.path.file_name().unwrap_or(found.path.as_os_str()).to_string_lossy();
    let test = &found.test;
    let at = queue.map_or(String::new(), |queue| format!(" for queue `{}`", test.queues[queue].name));
    BadInput::new(format_args!("{file}: P{thread} can wait for ever{at} {on} ({})", found.path.display()))
        .hint("give each dequeue an item and each enqueue a place in every execution")
}

/// The verdict on a test, in the words of a table.
fn verdict(found: &Found, younger_stores: YoungerStores) -> Result<&'static str, BadInput> {
    let test = &found.test;
    let outcomes = explore(found, Model::paper(younger_stores))?;
    if let Some(thread) = outcomes.endless {
        return Err(endless(found, thread, "in the model"));
    }
    let observed = test.observed(outcomes.states.iter());
    match (test.condition.quantifier, observed) {
        (Quantifier::Exists | Quantifier::NotExists, true) => Ok("Allow"),
        (Quantifier::Exists | Quantifier::NotExists, false) => Ok("Forbid"),
        (Quantifier::Forall, true) => Ok("Required-holds"),
        (Quantifier::Forall, false) => Err(BadInput::new(format_args!(
            "{}: its `forall` need not hold, which is no verdict; ask with `exists` for what breaks it",
            found.path.display()
        ))),
    }
}

/// The table of verdicts: a row for each test, in the order of the tests' paths.
pub(super) fn table(tests: &[Found]) -> Result<String, BadInput> {
    let both = [YoungerStores::Wait, YoungerStores::Pass];
    let row = |found: &Found| {
        let [wait, pass] = both.map(|younger_stores| verdict(found, younger_stores));
        Ok(format!("{},{},{},{}", found.suite, found.test.name, wait?, pass?))
    };
    let rows: Result<Vec<String>, BadInput> = tests.par_iter().map(row).collect();
    let [wait, pass] = both.map(column);
    let mut table = format!("suite,test,{wait},{pass}\n");
    for row in rows? {
        writeln!(table, "{row}").unwrap_or_default();
    }
    Ok(table)
}
