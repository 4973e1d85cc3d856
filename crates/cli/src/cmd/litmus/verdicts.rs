//! Compares the states that were seen with a reference.

use super::Row;
use crate::error::BadInput;
use crate::ui;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// The share of the tests with the verdict `Allow` whose outcome must be seen; otherwise the exit
/// code is 1.
const ENOUGH: f64 = 0.95;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    Forbid,
    /// The condition of a `forall` must always hold.
    Holds,
}

/// How the rows of a run compare with verdicts.
#[derive(Default)]
pub(super) struct Comparison {
    /// The number of tests whose outcome is forbidden, or must always hold.
    pub(super) forbidden: usize,
    /// Names of the tests in which a forbidden outcome was seen.
    pub(super) wrong: Vec<String>,
    /// The number of tests whose outcome is allowed.
    pub(super) allowed: usize,
    /// Names of the allowed tests whose outcome was not seen.
    pub(super) missed: Vec<String>,
    /// The number of tests without a verdict.
    pub(super) unknown: usize,
}

/// Verdicts by suite and test.
pub(super) struct Verdicts(BTreeMap<(String, String), Verdict>);

impl Verdicts {
    /// Reads a table with the columns `suite` and `test`. Verdicts come from the column whose name
    /// is in `queues`, if the table has it, otherwise from `verdict_x86_tso`.
    pub(super) fn open(path: &Path, queues: &str) -> Result<Verdicts, BadInput> {
        let bad = |line: usize, what: String| BadInput::new(format_args!("{}:{line}: {what}", path.display()));
        let text = baton_trace::files::read_text(path, 64 << 20)
            .map_err(|error| BadInput::new(format_args!("cannot read `{}`: {error}", path.display())))?;
        let mut lines = text.lines().enumerate();
        let header: Vec<&str> = lines.next().map(|(_, line)| line.split(',').collect()).unwrap_or_default();
        let find = |name: &str| header.iter().position(|found| found.trim() == name);
        let none = |name: &str| {
            bad(1, format!("no column `{name}`; expected suite, test and verdict_x86_tso (with queues: {queues})"))
        };
        let column = |name: &str| find(name).ok_or_else(|| none(name));
        let verdict = find(queues).or(find("verdict_x86_tso")).ok_or_else(|| none("verdict_x86_tso"))?;
        let (suite, test) = (column("suite")?, column("test")?);
        let mut all = BTreeMap::new();
        for (i, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let cell = |at: usize| cells.get(at).copied().ok_or_else(|| bad(i + 1, "too few columns".into()));
            let says = match cell(verdict)? {
                "Allow" => Verdict::Allow,
                "Forbid" => Verdict::Forbid,
                "Required-holds" => Verdict::Holds,
                other => return Err(bad(i + 1, format!("`{other}`; expected Allow, Forbid or Required-holds"))),
            };
            all.insert((cell(suite)?.to_owned(), cell(test)?.to_owned()), says);
        }
        Ok(Verdicts(all))
    }

    /// Compares the rows with the verdicts on their tests.
    pub(super) fn count(&self, rows: &[Row]) -> Comparison {
        let mut found = Comparison::default();
        let Comparison { forbidden, wrong, allowed, missed, unknown } = &mut found;
        for row in rows {
            let name = format!("{}/{}", row.suite, row.test);
            match self.0.get(&(row.suite.clone(), row.test.clone())) {
                None => *unknown += 1,
                Some(Verdict::Allow) => {
                    *allowed += 1;
                    if !row.observed {
                        missed.push(name);
                    }
                }
                Some(Verdict::Forbid | Verdict::Holds) => {
                    *forbidden += 1;
                    if row.observed != (self.0[&(row.suite.clone(), row.test.clone())] == Verdict::Holds) {
                        wrong.push(name);
                    }
                }
            }
        }
        found
    }

    /// Prints the comparison on standard error. Returns exit code 1 if a forbidden outcome was
    /// seen, or too few of the allowed ones ([`ENOUGH`]).
    pub(super) fn compare(&self, rows: &[Row]) -> ExitCode {
        let Comparison { forbidden, wrong, allowed, missed, unknown } = self.count(rows);
        let seen = allowed - missed.len();
        ui::note(format_args!("forbidden: {} of {forbidden} seen{}", wrong.len(), list(&wrong)));
        ui::note(format_args!("allowed: {seen} of {allowed} seen"));
        if !missed.is_empty() {
            ui::note(format_args!("allowed and not seen{}", list(&missed)));
        }
        if unknown > 0 {
            ui::warn(format_args!("{unknown} tests have no verdict"));
        }
        if !wrong.is_empty() || (seen as f64) < ENOUGH * allowed as f64 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}
