//! The answer: one sentence, the command that makes it true, and the measurements.

use super::contest::{Contest, Standing};
use super::promising::Promising;
use super::significance::Faster;
use super::subject::Subject;
use crate::cmd::measure::runs::Candidate;
use crate::ui;
use baton_report::format::{duration, percent, quoted, shell};
use baton_report::model::{NextStep, Report};
use baton_units::Nanos;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The name and version of the JSON, which docs/schema/try.schema.json describes. A change that
/// breaks readers raises the version.
const SCHEMA: &str = "baton-try/1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// Another lock is faster.
    Use,
    /// Locks are hardly ever free while threads wait for them, so another lock cannot win much;
    /// nothing was measured.
    NoLockHelps,
    /// No measured lock is faster.
    NoneFaster,
    /// There is no certainty: the budget was used up, or the recording cannot tell what limits the
    /// program.
    CannotTell,
    /// The program is slower than the base, by more than the tolerance.
    Regression,
    /// The program is not slower than the base, or by too little to matter.
    NoRegression,
}

impl Outcome {
    /// The outcome of a contest in which no lock is certainly faster.
    fn undecided(contest: &Contest) -> Outcome {
        if contest.entrants[1..].iter().any(|entrant| entrant.standing == Standing::Open) {
            Outcome::CannotTell
        } else {
            Outcome::NoneFaster
        }
    }
}

/// A measured lock. The first one is what the others are compared with.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    lock: String,
    wait: String,
    predicted_ns: Option<u64>,
    median_ns: u64,
    times_ns: Vec<u64>,
    standing: Standing,
    faster: Option<Faster>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    schema: &'static str,
    pub(super) answer: Outcome,
    /// The answer as a sentence.
    text: String,
    /// The command that makes the answer true, if there is one.
    run: Option<String>,
    /// The command that tries the lock on one class of mutexes only, if that class has almost all
    /// of the waiting.
    alone: Option<String>,
    /// The profile's directory; `None` if the profile was not kept.
    profile: Option<String>,
    command: Vec<String>,
    /// The share of the time in which a lock was free while a thread waited for it. Another lock
    /// cannot win more.
    most_by_lock: f64,
    /// The relative saving of time, with its 95% interval.
    faster: Option<Faster>,
    measured: Vec<Measured>,
    /// Further steps that the report advises, without `baton try` itself.
    next: Vec<NextStep>,
    /// The reasons not to trust the figures.
    doubts: Vec<String>,
    pub(super) exit_code: u8,
}

impl Measured {
    /// The measured locks: names with times.
    pub(super) fn of(candidates: &[Candidate], ranked: &[Promising], contest: &Contest) -> Vec<Measured> {
        let one = |(n, (candidate, entrant)): (usize, (&Candidate, &super::contest::Entrant))| {
            let mut sorted = entrant.times_ns.clone();
            sorted.sort_unstable();
            Measured {
                lock: candidate.lock().to_owned(),
                wait: candidate.wait(),
                predicted_ns: n.checked_sub(1).and_then(|n| ranked.get(n)).and_then(|one| one.predicted_ns),
                median_ns: sorted.get(sorted.len() / 2).copied().unwrap_or(0),
                times_ns: entrant.times_ns.clone(),
                standing: entrant.standing,
                faster: entrant.faster,
            }
        };
        candidates.iter().zip(&contest.entrants).enumerate().map(one).collect()
    }
}

impl Answer {
    fn new(subject: &Subject, answer: Outcome, text: String) -> Answer {
        let verdict = &subject.profile.report.verdict;
        let kept = subject.place != "DIR";
        // Commands that need a profile cannot be given if no profile is kept.
        let next =
            verdict.next.iter().filter(|step| kept || !step.command.as_ref().is_some_and(|c| c.contains(" DIR")));
        Answer {
            schema: SCHEMA,
            exit_code: match answer {
                Outcome::Use | Outcome::NoLockHelps | Outcome::NoneFaster | Outcome::NoRegression => 0,
                Outcome::CannotTell => 3,
                Outcome::Regression => 4,
            },
            answer,
            text,
            run: None,
            alone: None,
            profile: kept.then(|| subject.place.clone()),
            command: subject.meta.command.clone(),
            most_by_lock: verdict.most_by_lock,
            faster: None,
            measured: Vec::new(),
            next: next.filter(|step| !is_this(step)).cloned().collect(),
            doubts: verdict.doubts.clone(),
        }
    }

    /// The answer that no lock will help; or that there is no certainty, if the recording cannot
    /// tell what limits the program.
    pub(super) fn no_lock_helps(subject: &Subject) -> Answer {
        let report = &subject.profile.report;
        let verdict = &report.verdict;
        if verdict.limit == "cannot-tell" {
            return Answer::new(subject, Outcome::CannotTell, verdict.headline.replacen('C', "c", 1));
        }
        let share = if verdict.most_by_lock > 0.0 { percent(verdict.most_by_lock) } else { "0%".to_owned() };
        let look = verdict.next.iter().find(|step| !is_this(step));
        let look = look.map_or_else(String::new, |step| format!("; {}", step.text));
        // A lock that spins on a variable of the program's own would look like its work.
        let unseen = if report.several_threads_run() { " (locks that spin in its own code are not seen)" } else { "" };
        let text = format!(
            "no lock will help: for at most {share} of the time a lock was free while a thread waited for it{unseen}{look}"
        );
        Answer::new(subject, Outcome::NoLockHelps, text)
    }

    /// The answer that a lock is faster.
    pub(super) fn a_lock(subject: &Subject, lock: &Candidate, faster: Faster, measured: Vec<Measured>) -> Answer {
        let (name, wait) = (lock.lock(), lock.wait());
        let text = format!("use {name}: {}", range(&faster));
        let command = shell(&subject.meta.command);
        let wait = match &lock.one_by_one {
            None if wait != name => format!(" --wait '{wait}'"),
            _ => String::new(),
        };
        let run = Some(format!("baton run --lock {}{wait} -- {command}", quoted(name)));
        let alone = lock.choice.as_ref().and_then(|choice| {
            let class = only_one(&subject.profile.report)?;
            let each = format!("{class}={}:{}", choice.lock.name, choice.wait);
            Some(format!("baton try --lock {} -- {command}", quoted(&each)))
        });
        Answer { run, alone, faster: Some(faster), measured, ..Answer::new(subject, Outcome::Use, text) }
    }

    /// The answer that no lock is faster, or that there is no certainty.
    pub(super) fn no_winner(subject: &Subject, measured: Vec<Measured>, contest: &Contest, budget: Duration) -> Answer {
        let kind = Outcome::undecided(contest);
        let names: Vec<&str> = measured.iter().skip(1).map(|one| one.lock.as_str()).collect();
        let text = match kind {
            Outcome::CannotTell => format!(
                "cannot tell within {budget:?} whether {} is faster: {} runs of each; give it a longer --budget, or a quiet machine",
                names.join(" or "),
                contest.entrants[0].times_ns.len()
            ),
            _ if names.is_empty() => "no lock that could be measured here is predicted to hold up".to_owned(),
            _ => format!("keep the lock: none of {} is faster", names.join(", ")),
        };
        Answer { measured, ..Answer::new(subject, kind, text) }
    }

    /// The answer of the regression gate.
    pub(super) fn gate(
        subject: &Subject,
        base: &Path,
        kind: Outcome,
        faster: Option<Faster>,
        tolerance: f64,
        measured: Vec<Measured>,
    ) -> Answer {
        let base = base.display();
        let by = faster.as_ref().map(range).unwrap_or_default();
        let text = match kind {
            Outcome::Regression => format!("slower than {base}: {by}; {} are let pass", percent(tolerance)),
            Outcome::NoRegression => format!("not slower than {base}: {by}"),
            _ if faster.is_none() => format!("cannot tell against {base}: too few runs; give it a longer --budget"),
            _ => format!("cannot tell against {base}: {by}; give it a longer --budget, or a quiet machine"),
        };
        Answer { faster, measured, next: Vec::new(), ..Answer::new(subject, kind, text) }
    }

    /// The answer as text for a terminal.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", ui::paint(&self.text, ui::BOLD));
        if let Some(run) = &self.run {
            out += &format!("  {run}\n");
        }
        if let Some(alone) = &self.alone {
            out += &format!("one class of mutexes has almost all of the waiting; to try it there alone:\n  {alone}\n");
        }
        if !self.measured.is_empty() {
            let cells = |one: &Measured| {
                vec![
                    one.lock.clone(),
                    one.wait.clone(),
                    one.predicted_ns.map_or("-".into(), |ns| duration(Nanos(ns))),
                    duration(Nanos(one.median_ns)),
                    one.times_ns.len().to_string(),
                    one.faster.as_ref().map_or("-".into(), range),
                    said(one.standing).to_owned(),
                ]
            };
            let mut rows: Vec<Vec<String>> = self.measured.iter().map(cells).collect();
            rows[0][6] = "as recorded".to_owned();
            out += "\n";
            out += &ui::table(&["lock", "wait", "predicted", "median", "runs", "against the first", ""], &rows);
        }
        for doubt in &self.doubts {
            out += &format!("{} {doubt}\n", ui::paint("careful:", ui::YELLOW));
        }
        if self.answer != Outcome::Use {
            for step in &self.next {
                out += &format!("next: {}\n", step.text);
                out.extend(step.command.iter().map(|command| format!("  {command}\n")));
            }
        }
        out
    }
}

/// The class of mutexes that has almost all of the waiting for locks, if there are others, in the
/// form that `--lock` takes.
fn only_one(report: &Report) -> Option<&str> {
    const ALMOST_ALL: f64 = 0.9;
    let most = report.classes.iter().max_by_key(|class| class.usage.blocked_ns)?;
    let share = most.usage.blocked_ns.0 as f64 / report.totals.blocked_ns.0.max(1) as f64;
    let can_be_said = most.kind == "mutex" && !most.name.contains(',') && !most.name.starts_with("0x");
    (report.classes.len() > 1 && share >= ALMOST_ALL && can_be_said).then_some(most.name.as_str())
}

/// Whether the next step that a report advises is `baton try` itself.
fn is_this(step: &NextStep) -> bool {
    step.command.as_ref().is_some_and(|command| command.starts_with("baton try "))
}

fn said(standing: Standing) -> &'static str {
    match standing {
        Standing::Faster => "faster",
        Standing::Slower => "slower",
        Standing::Same => "no difference that matters",
        Standing::TooSlow => "many times slower: not measured further",
        Standing::Open => "not decided",
    }
}

/// Formats `8% faster (95%: 5 to 11)`.
fn range(faster: &Faster) -> String {
    let digits = |share: f64| {
        let percent = share * 100.0;
        if percent.abs() < 2.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
    };
    let Faster { estimate, low, high } = *faster;
    if estimate >= 0.0 {
        format!("{}% faster (95%: {} to {})", digits(estimate), digits(low), digits(high))
    } else {
        format!("{}% slower (95%: {} to {})", digits(-estimate), digits(-high), digits(-low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema allows every kind of answer and every standing. The runs of other tests do not
    /// produce them all, so this test makes each.
    #[test]
    fn the_schema_names_what_an_answer_can_be() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../../../docs/schema/try.schema.json")).unwrap();
        let names = |at: &str| schema.pointer(at).and_then(|list| list.as_array()).cloned().expect("a list of names");
        let answers = [
            Outcome::Use,
            Outcome::NoLockHelps,
            Outcome::NoneFaster,
            Outcome::CannotTell,
            Outcome::Regression,
            Outcome::NoRegression,
        ];
        let standings = [Standing::Faster, Standing::Slower, Standing::Same, Standing::TooSlow, Standing::Open];
        assert_eq!(names("/properties/answer/enum"), answers.map(|answer| serde_json::to_value(answer).unwrap()));
        assert_eq!(
            names("/$defs/Measured/properties/standing/enum"),
            standings.map(|standing| serde_json::to_value(standing).unwrap())
        );
        assert_eq!(schema.pointer("/properties/schema/const").unwrap(), SCHEMA);
    }

    #[test]
    fn one_class_is_named_where_it_has_almost_all_of_the_waiting() {
        use baton_trace::{Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};
        let (mode, site) = (Mode::Exclusive, SiteId(1));
        // Two threads wait for a named lock. A second lock, and then a third, is waited for as long
        // as `second`.
        let report = |second: u64| {
            let mut trace = TraceBuilder::new(Clock::nanoseconds());
            for (name, start, waits) in [(1u64, 0, 1000), (2, 10_000, second)] {
                let lock = Lock::mutex(name * 4096);
                for (time, thread, what) in [
                    (start, 0, What::Acquire { lock, mode, site }),
                    (start + 1, 1, What::Request { lock, mode, site }),
                    (start + 1 + waits, 0, What::Release { lock, mode, site }),
                    (start + 2 + waits, 1, What::Acquired { lock, mode, how: How::OPAQUE }),
                    (start + 3 + waits, 1, What::Release { lock, mode, site }),
                ] {
                    trace.push(Ticks(time), ThreadIndex(thread), what);
                }
            }
            let mut report = baton_report::Profile::of(trace.build()).report;
            for class in &mut report.classes {
                class.name = format!("lock {}", class.usage.blocked_ns.0);
            }
            report
        };
        assert_eq!(only_one(&report(10)), Some("lock 1001"));
        assert_eq!(only_one(&report(900)), None);
    }

    #[test]
    fn a_range_reads_as_a_sentence() {
        let range = |estimate, low, high| range(&Faster { estimate, low, high });
        assert_eq!(range(0.08, 0.05, 0.11), "8% faster (95%: 5 to 11)");
        assert_eq!(range(-0.08, -0.11, -0.05), "8% slower (95%: 5 to 11)");
        assert_eq!(range(0.001, -0.004, 0.012), "0.1% faster (95%: -0.4 to 1.2)");
    }
}
