//! The answer in points per second: one sentence, the command that makes it true, and the turns.

use super::super::contest::{Contest, Entrant, Standing};
use super::super::significance::Faster;
use super::turn::{FEW, Turns};
use crate::cmd::measure::runs::Candidate;
use crate::ui;
use baton_host::launch::entries;
use baton_report::format::{quoted, shell};
use serde::Serialize;
use std::ffi::OsString;
use std::time::Duration;

/// The name and version of the JSON, which docs/schema/try-server.schema.json describes.
const SCHEMA: &str = "baton-try-server/1";
/// Picoseconds in a second.
const PICOS: f64 = 1e12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// Under another lock the point comes more often.
    Use,
    /// Under no other lock the point comes more often.
    NoneFaster,
    /// The budget was used up before there was certainty.
    CannotTell,
}

/// By how much more often a point comes, as a share: 0.08 is 8% more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct More {
    estimate: f64,
    low: f64,
    high: f64,
}

impl More {
    /// Converts a saving of time for each point to how much more often the point comes.
    fn of(faster: &Faster) -> More {
        let more = |saved: f64| 1.0 / (1.0 - saved) - 1.0;
        More { estimate: more(faster.estimate), low: more(faster.low), high: more(faster.high) }
    }

    /// Formats `8% more (95%: 5 to 11)`.
    fn text(&self) -> String {
        let digits = |share: f64| {
            let percent = share * 100.0;
            if percent.abs() < 2.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
        };
        let More { estimate, low, high } = *self;
        if estimate >= 0.0 {
            format!("{}% more (95%: {} to {})", digits(estimate), digits(low), digits(high))
        } else {
            format!("{}% fewer (95%: {} to {})", digits(-estimate), digits(-high), digits(-low))
        }
    }
}

/// The turns of one lock. The first lock is what the others are compared with.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    lock: String,
    wait: String,
    /// Points per second in the middle turn; `None` without any turn that had points.
    median_per_second: Option<f64>,
    per_second: Vec<f64>,
    standing: Standing,
    more: Option<More>,
}

/// What `baton try --for` answers, as `--json` prints it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rates {
    schema: &'static str,
    answer: Outcome,
    text: String,
    run: Option<String>,
    progress: String,
    /// The length of each turn's window.
    window_ns: u64,
    warmup_ns: u64,
    load: Option<String>,
    command: Vec<String>,
    more: Option<More>,
    measured: Vec<Measured>,
    doubts: Vec<String>,
    pub(super) exit_code: u8,
}

impl Rates {
    /// The answer that the turns give.
    pub(super) fn new(
        turns: &Turns<'_>,
        command: &[OsString],
        candidates: &[Candidate],
        held: &Contest,
        budget: Duration,
    ) -> Rates {
        let point = &turns.how.point.name;
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<String>>();
        let measured: Vec<Measured> =
            candidates.iter().zip(&held.entrants).map(|(candidate, entrant)| measured(candidate, entrant)).collect();
        let winner = held.winner().map(|(n, faster)| (n, More::of(&faster)));
        let answer = match winner {
            Some(_) => Outcome::Use,
            None if held.entrants[1..].iter().any(|one| one.standing == Standing::Open) => Outcome::CannotTell,
            None => Outcome::NoneFaster,
        };
        let others = || measured[1..].iter().map(|one| one.lock.as_str()).collect::<Vec<_>>().join(", ");
        let text = match (answer, &winner) {
            (Outcome::Use, Some((n, more))) => format!("use {}: {point} comes {}", measured[*n].lock, more.text()),
            (Outcome::NoneFaster, _) => format!("keep the lock: under none of {} {point} comes more often", others()),
            _ => {
                let turns = held.entrants[0].times_ns.len();
                format!(
                    "cannot tell within {budget:?} whether {point} comes more often under {}: {turns} turns of each; give it a \
                     longer --budget or --for, or a quiet machine",
                    others()
                )
            }
        };
        Rates {
            schema: SCHEMA,
            answer,
            text,
            run: winner.map(|(n, _)| run(&candidates[n], &shell(&command))),
            progress: point.clone(),
            window_ns: turns.how.window.as_nanos() as u64,
            warmup_ns: turns.how.warmup.as_nanos() as u64,
            load: turns.how.load.clone(),
            command,
            more: winner.map(|(_, more)| more),
            measured,
            doubts: doubts(turns, &held.entrants[0]),
            exit_code: if answer == Outcome::CannotTell { 3 } else { 0 },
        }
    }

    /// The answer as text for a terminal.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", ui::paint(&self.text, ui::BOLD));
        out.extend(self.run.iter().map(|run| format!("  {run}\n")));
        let cells = |one: &Measured| {
            vec![
                one.lock.clone(),
                one.wait.clone(),
                one.median_per_second
                    .map_or(if one.standing == Standing::TooSlow { "none" } else { "-" }.to_owned(), rate),
                one.per_second.len().to_string(),
                one.more.as_ref().map_or("-".into(), More::text),
                said(one.standing).to_owned(),
            ]
        };
        let mut rows: Vec<Vec<String>> = self.measured.iter().map(cells).collect();
        rows[0][5] = "the program's own".to_owned();
        let median = format!("{} a second", self.progress);
        out += "\n";
        out += &ui::table(&["lock", "wait", &median, "turns", "against the first", ""], &rows);
        for doubt in &self.doubts {
            out += &format!("{} {doubt}\n", ui::paint("careful:", ui::YELLOW));
        }
        out
    }
}

fn measured(candidate: &Candidate, entrant: &Entrant) -> Measured {
    let mut per_second: Vec<f64> = entrant.times_ns.iter().map(|picos| PICOS / *picos as f64).collect();
    let in_order = per_second.clone();
    per_second.sort_by(f64::total_cmp);
    Measured {
        lock: candidate.lock().to_owned(),
        wait: candidate.wait(),
        median_per_second: per_second.get(per_second.len() / 2).copied(),
        per_second: in_order,
        standing: entrant.standing,
        more: entrant.faster.as_ref().map(More::of),
    }
}

/// The command that runs the server with this lock.
fn run(candidate: &Candidate, command: &str) -> String {
    let wait = match &candidate.one_by_one {
        None if candidate.wait() != candidate.lock() => format!(" --wait '{}'", candidate.wait()),
        _ => String::new(),
    };
    format!("baton run --lock {}{wait} -- {command}", quoted(candidate.lock()))
}

/// The reasons not to trust the figures. `first` is the program as it is.
fn doubts(turns: &Turns<'_>, first: &Entrant) -> Vec<String> {
    let few = turns.fewest.filter(|points| *points < FEW);
    let few = few.map(|points| format!("a turn had only {points} points: a longer --for has finer figures"));
    let per_second = first.times_ns.iter().map(|picos| PICOS / *picos as f64).fold(0.0, f64::max);
    let traps = (!turns.how.point.functions.is_empty()).then(entries::cost).flatten();
    few.into_iter().chain(traps.map(|cost| traps_cost(cost, per_second))).collect()
}

/// Says what counting entries of a function costs the program.
fn traps_cost(cost: Duration, per_second: f64) -> String {
    let (each, share) = (cost.as_secs_f64() * 1e6, 100.0 * cost.as_secs_f64() * per_second);
    format!("each entry of the function costs a trap of {each:.1} µs: {share:.0}% of a CPU's time, under every lock")
}

fn said(standing: Standing) -> &'static str {
    match standing {
        Standing::Faster => "more often",
        Standing::Slower => "less often",
        Standing::Same => "no difference that matters",
        Standing::TooSlow => "no point came: not measured further",
        Standing::Open => "not decided",
    }
}

/// Formats a rate with three digits or more: `3.25`, `52.1`, `1,234,567`.
fn rate(per_second: f64) -> String {
    match per_second {
        small if small < 10.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        large => grouped(large.round() as u64),
    }
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_or_more() {
        assert_eq!([3.254, 52.06, 999.6, 1_234_567.0].map(rate), ["3.25", "52.1", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_saving_of_time_is_more_points() {
        let more = More::of(&Faster { estimate: 0.2, low: 0.0, high: 0.5 });
        assert_eq!((more.estimate, more.low, more.high), (0.25, 0.0, 1.0));
        assert_eq!(more.text(), "25% more (95%: 0.0 to 100)");
        let fewer = More::of(&Faster { estimate: -1.0, low: -3.0, high: -0.25 });
        assert_eq!(fewer.text(), "50% fewer (95%: 20 to 75)");
    }

    #[test]
    fn what_counting_entries_costs_is_told() {
        let said = traps_cost(Duration::from_micros(4), 25_000.0);
        assert_eq!(said, "each entry of the function costs a trap of 4.0 µs: 10% of a CPU's time, under every lock");
    }

    #[test]
    fn a_lock_without_points_has_a_row_that_says_so() {
        let entrant = Entrant { times_ns: Vec::new(), faster: None, standing: Standing::TooSlow };
        let row = measured(&Candidate::bare(), &entrant);
        assert_eq!((row.median_per_second, said(row.standing)), (None, "no point came: not measured further"));
    }

    #[test]
    fn the_schema_names_what_an_answer_can_be() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../../../../docs/schema/try-server.schema.json")).unwrap();
        let names = |at: &str| schema.pointer(at).and_then(|list| list.as_array()).cloned().expect("a list of names");
        let answers = [Outcome::Use, Outcome::NoneFaster, Outcome::CannotTell];
        assert_eq!(names("/properties/answer/enum"), answers.map(|answer| serde_json::to_value(answer).unwrap()));
        assert_eq!(schema.pointer("/properties/schema/const").unwrap(), SCHEMA);
    }
}
