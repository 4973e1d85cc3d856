//! The verdicts on the pages of results follow from the figures beside them.

use crate::{Interval, Rule, Verdict};
use std::path::Path;

/// The rows of the table of claims, each as the cells between its bars.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let table = page.split("\n## ").find_map(|section| section.strip_prefix("Claims\n")).expect("a table of claims");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")).skip(1);
    rows.map(|row| row.splitn(8, " | ").collect()).filter(|cells: &Vec<&str>| cells.len() == 8).collect()
}

/// The rule that a cell begins with; `None` for conditions, whose figures the page does not have.
fn rule(cell: &str) -> Option<Rule> {
    let text = cell.split("; ").next()?;
    if text == Rule::Positive.to_string() {
        return Some(Rule::Positive);
    }
    if let Some(most) = text.strip_prefix("at most ").and_then(|text| text.strip_suffix(" away from 0")) {
        return Some(Rule::AtMost(most.parse().ok()?));
    }
    let most = text.strip_prefix("within ")?.strip_suffix(" of the paper's figure")?;
    Some(match most.strip_suffix('%') {
        Some(percent) => Rule::Within(percent.parse::<f64>().ok()? / 100.0),
        None => Rule::Points(most.parse().ok()?),
    })
}

fn interval(ours: &str, ends: &str) -> Option<Interval> {
    let mean = ours.parse().ok()?;
    let ends = ends.split_once(" to ").map(|(low, high)| (low.parse::<f64>().unwrap(), high.parse::<f64>().unwrap()));
    Some(Interval { mean, half: ends.map(|(low, high)| (high - low) / 2.0) })
}

/// The page of a study.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/results/{name}.md"));
    std::fs::read_to_string(&path).unwrap()
}

/// The reason of a claim that does not hold names an arm, in backticks, or says that it is a guess. The
/// page of `pa` is of that study's first run, whose reasons did not name their arms yet.
#[test]
fn a_reason_names_its_arm_or_is_a_guess() {
    let mut seen = 0;
    for name in ["ocor", "caf", "mwmon", "mwait"] {
        for cells in rows(&page(name)).iter().filter(|cells| ["no", "cannot show"].contains(&cells[6])) {
            let [id, what, .., why] = cells[..] else { continue };
            let arm = why.split('`').nth(1).is_some_and(|arm| !arm.is_empty());
            assert!(arm || why.contains("a guess"), "{name}, {id}, {what}: {why}");
            seen += 1;
        }
    }
    assert!(seen >= 60, "only {seen} reasons were read");
}

#[test]
fn a_verdict_on_a_page_follows_from_its_figures() {
    let mut judged = 0;
    for name in ["ocor", "caf", "mwmon", "pa", "mwait"] {
        for cells in rows(&page(name)) {
            let [id, what, paper, ours, ends, "predicted", holds, why] = cells[..] else { continue };
            let (Some(rule), Ok(paper)) = (rule(why), paper.parse()) else { continue };
            let Some(ours) = interval(ours, ends) else { continue };
            let said = match holds {
                "yes" => Verdict::Holds,
                // A claim that cannot be shown does not hold either.
                "no" | "cannot show" => Verdict::DoesNotHold,
                "cannot tell" => Verdict::CannotTell,
                other => panic!("{name}, {id}: `{other}` is no verdict of a claim with figures"),
            };
            // A gain of CAF must hold under a second window too, which is then named.
            let stricter = said == Verdict::DoesNotHold && why.contains("`window`: under the ");
            assert!(stricter || rule.judge(paper, ours) == said, "{name}, {id}, {what}: {holds}, {ours:?}, {why}");
            judged += 1;
        }
    }
    assert!(judged >= 100, "only {judged} rows were read");
}
