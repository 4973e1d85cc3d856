//! The log of a run: its setup, and each input with the decisions that the core made. The same
//! inputs give the same bytes, which [`replay`] shows.
//!
//! A line is `TIME_NS INPUT:` and, for each decision, ` DECISION;`. Times count from the start of
//! the run.

use crate::core::Core;
use crate::input::{self, Decision, Input};
use crate::setup::{Setup, clip};
use baton_units::Cycles;
use std::fmt::Write as _;

/// The latest time of a log: some 146 years, so that a time and a time slice can be added.
const LATEST_NS: u64 = 1 << 62;

/// A line of a log, with its end.
pub fn line(now: u64, input: &Input, decisions: &[Decision]) -> String {
    let mut line = format!("{now} {}:", input.text());
    for decision in decisions {
        let _ = write!(line, " {};", decision.text());
    }
    line.push('\n');
    line
}

/// What a replay gave.
pub struct Replayed {
    /// Number of inputs and of decisions.
    pub inputs: u64,
    pub decisions: u64,
    /// The first line whose decisions differ: its number, the line of the log, and the line of the
    /// replay.
    pub differs: Option<(usize, String, String)>,
    /// Whether the log ends in the middle of a line, which was left out: its writer was killed.
    pub cut: bool,
    /// The core at the end.
    pub core: Core,
}

/// Gives the inputs of a log to a new core.
///
/// # Errors
/// If a line of the log cannot be; the error names the line and what was expected.
pub fn replay(log: &str) -> Result<Replayed, String> {
    let cut = !log.ends_with('\n');
    let log = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let (setup, head) = Setup::read(log)?;
    let mut core = Core::new(setup);
    let (mut inputs, mut decided, mut differs) = (0, 0, None);
    for (number, logged) in (1..).zip(log.lines()).skip(head) {
        let (now, input) = read(logged)
            .ok_or_else(|| format!("line {number}: `{}`; expected `TIME INPUT: DECISION;`", clip(logged)))?;
        let decisions = core.hear(now.0, &input).map_err(|why| format!("line {number}: `{}`; {why}", clip(logged)))?;
        inputs += 1;
        decided += decisions.len() as u64;
        let replayed = line(now.0, &input, &decisions);
        if differs.is_none() && replayed.trim_end_matches('\n') != logged {
            differs = Some((number, logged.to_owned(), replayed.trim_end().to_owned()));
        }
    }
    Ok(Replayed { inputs, decisions: decided, differs, cut, core })
}

/// Reads a line; `None` if it is not one.
fn read(line: &str) -> Option<(Cycles, Input)> {
    let (input, decisions) = line.split_once(':')?;
    let words: Vec<&str> = input.split_whitespace().collect();
    let (now, words) = words.split_first()?;
    let now = now.parse().ok().filter(|&now| now <= LATEST_NS)?;
    let mut rest = decisions.split(';');
    let last = rest.next_back()?;
    let well = last.is_empty() && rest.all(input::is_decision);
    well.then_some((Cycles(now), Input::read(words)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::{begins, run};
    use crate::setup::tests::setup;
    use baton_sched::ThreadId;
    use baton_units::CpuId;
    use proptest::prelude::*;

    fn log() -> String {
        let (id, slow) = (ThreadId(0), CpuId(1));
        let inputs = [
            (0, begins(0, 0, "0-1")),
            (10, Input::Runs(id, slow)),
            (21_000_000, Input::Tick),
            (22_000_000, Input::Runs(id, CpuId(0))),
            (23_000_000, Input::Ends(id)),
        ];
        let (_, log) = run(setup("pa", "fast slow", 1), &inputs);
        log
    }

    #[test]
    fn a_log_replays() {
        let log = log();
        assert!(log.contains("\n21000000 tick: mask 0 0 move;\n"), "{log}");
        let replayed = replay(&log).unwrap();
        assert_eq!((replayed.inputs, replayed.decisions, replayed.cut), (5, 1, false));
        assert_eq!(replayed.differs, None);
        assert_eq!(replayed.core.had()[0].moves, 1);
    }

    #[test]
    fn the_longest_times_add_up() {
        let ids = (0..5).map(ThreadId);
        let mut inputs: Vec<(u64, Input)> = ids.clone().map(|id| (0, begins(id.0, 0, "0-1"))).collect();
        inputs.extend(ids.map(|id| (0, Input::Waits(id, CpuId(1)))));
        inputs.push((LATEST_NS, Input::Tick));
        let (core, log) = run(setup("pa", "fast slow", 1), &inputs);
        assert_eq!(core.had()[0].waits_ns, u64::MAX, "five times the longest time");
        assert_eq!(replay(&log).unwrap().differs, None);
    }

    #[test]
    fn another_decision_is_found_by_its_line() {
        let other = log().replace("mask 0 0 move", "mask 0 1 move");
        let (number, logged, replayed) = replay(&other).unwrap().differs.unwrap();
        assert_eq!(other.lines().nth(number - 1), Some(&*logged));
        assert_eq!(replayed, "21000000 tick: mask 0 0 move;");
    }

    #[test]
    fn a_log_that_was_cut_off_is_read_up_to_there() {
        let log = log();
        let replayed = replay(&log[..log.len() - 3]).unwrap();
        assert_eq!((replayed.inputs, replayed.cut, replayed.differs), (4, true, None));
        assert!(replay("").err().unwrap().contains("the log ends before its events"));
    }

    proptest! {
        #![proptest_config(baton_needs::property!(256))]

        /// Damaged logs give an error or a replay, and nothing else.
        #[test]
        fn any_text_is_replayed_or_refused(at in 0..1_000_usize, byte in 0..128_u8, cut in 0..1_000_usize) {
            let mut bytes = log().into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % length);
            let _ = replay(&String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_damaged_line_is_told() {
        let log = log();
        let wrong = |from: &str, to: &str, told: &str| {
            let said = replay(&log.replacen(from, to, 1)).err().unwrap();
            assert!(said.contains(told), "{said}");
        };
        wrong("10 runs 0 1:", "10 runs 0 1", "`10 runs 0 1`; expected `TIME INPUT: DECISION;`");
        wrong("10 runs 0 1:", "10 runs 0 7:", "there is no CPU 7");
        wrong("10 runs 0 1:", "10 runs 1 1:", "no thread 1 lives");
        wrong("23000000 ends", "3 ends", "the time 3 is before 22000000");
        wrong("0 begins 0", "0 begins 4000000000", "the next thread to begin is 0, not 4000000000");
        wrong("app 0 pid", "app 9 pid", "there is no application 9");
        wrong("mask 0 0 move", "mask 0 0 x", "expected `TIME INPUT: DECISION;`");
        wrong("23000000", "99999999999999999999", "expected `TIME INPUT: DECISION;`");
    }
}
