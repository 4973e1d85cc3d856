//! Rows on standard output as they come, and progress on standard error.

use crate::ui;
use baton_studio::store::Row;
use baton_studio::sweep::{Plan, SweepProgress, Watch};
use baton_studio::value::Value;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value as Json};
use std::time::Duration;

/// The number of failures that get a warning each.
const TOLD: u64 = 10;

/// Prints the rows of a sweep as they come, and shows the sweep's progress.
pub(super) struct Watcher {
    bar: ProgressBar,
    /// Names of coordinates and figures.
    coordinates: Vec<String>,
    figures: Vec<String>,
    /// The number of axes; their coordinates come first.
    axes: usize,
    widths: Vec<usize>,
    goal: Option<String>,
    json: bool,
    headed: bool,
}

impl Watcher {
    pub(super) fn new(plan: &Plan, json: bool) -> Watcher {
        let space = plan.space();
        let coordinates: Vec<String> = space.names().map(ToOwned::to_owned).collect();
        let figures: Vec<String> =
            plan.columns()[coordinates.len()..].iter().map(|column| column.name.clone()).collect();
        let widest = |axis: &baton_studio::space::Axis| {
            axis.values.iter().map(|value| value.to_string().chars().count()).max().unwrap_or(0).max(axis.name.len())
        };
        let mut widths: Vec<usize> = space.axes.iter().map(widest).collect();
        widths.push("seed".len());
        widths.extend(figures.iter().map(|name| name.len().max(10)));
        let bar = ProgressBar::new(plan.rows());
        bar.set_style(
            ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let goal =
            space.goal.as_ref().map(|goal| format!("{} {}", if goal.most { "most" } else { "least" }, goal.metric));
        Watcher { bar, coordinates, figures, axes: space.axes.len(), widths, goal, json, headed: false }
    }

    /// The best value of this run as a sentence; `None` without a goal, and before a row has a
    /// value.
    pub(super) fn best(&self, state: &SweepProgress) -> Option<String> {
        let best = state.best.as_ref()?;
        Some(format!("{} of this run: {} at {}", self.goal.as_deref()?, shown(best.value), best.point))
    }

    /// Removes the progress.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, cells: &[String]) -> String {
        let padded = cells.iter().zip(&self.widths).map(|(cell, width)| format!("{cell:>width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }

    fn print(&mut self, row: &Row) {
        if self.json {
            println!("{}", self.object(row));
            return;
        }
        if !self.headed {
            self.headed = true;
            let names = self.coordinates[..self.axes].iter().cloned().chain(["seed".to_owned()]);
            let names: Vec<String> = names.chain(self.figures.iter().cloned()).collect();
            println!("{}", self.line(&names));
        }
        let cell = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), short);
        let mut cells: Vec<String> = row.coordinates[..self.axes].iter().map(cell).collect();
        cells.push(row.seed.to_string());
        match &row.failure {
            None => cells.extend(row.figures.iter().map(cell)),
            Some(failure) => cells.push(failure.why.name().to_owned()),
        }
        println!("{}", self.line(&cells));
    }

    fn object(&self, row: &Row) -> Json {
        let value = |value: &Option<Value>| value.as_ref().map_or(Json::Null, Value::json);
        let mut object: Map<String, Json> = Map::new();
        object.insert("key".into(), row.key.to_string().into());
        object.extend(self.coordinates.iter().cloned().zip(row.coordinates.iter().map(value)));
        object.insert("seed".into(), row.seed.into());
        object.extend(self.figures.iter().cloned().zip(row.figures.iter().map(value)));
        object.insert("failure".into(), row.failure.as_ref().map(|failure| failure.why.name()).into());
        object.insert("reason".into(), row.failure.as_ref().map(|failure| failure.reason.as_str()).into());
        object.insert("command".into(), row.command.as_str().into());
        object.into()
    }
}

impl Watch for Watcher {
    fn row(&mut self, row: &Row, state: &SweepProgress) {
        let bar = self.bar.clone();
        bar.suspend(|| {
            self.print(row);
            match &row.failure {
                Some(failure) if state.failed <= TOLD => {
                    let first = failure.reason.lines().next().unwrap_or_default();
                    ui::warn(format_args!("{}: {first}\n  {}", failure.why.name(), row.command));
                }
                Some(_) if state.failed == TOLD + 1 => ui::warn("more failures: the rows say why"),
                _ => {}
            }
        });
    }

    fn tick(&mut self, state: &SweepProgress) {
        self.bar.set_length(state.whole.max(state.before + state.added));
        self.bar.set_position(state.before + state.added);
        let mut said = format!("{:.1}/s", state.rate());
        if let Some(left) = state.left() {
            said += &format!(", {} left", time(left));
        }
        if state.failed > 0 {
            said += &format!(", {} failed", state.failed);
        }
        if let (Some(best), Some(goal)) = (&state.best, &self.goal) {
            said += &format!(", {goal}: {} at {}", shown(best.value), best.point);
        }
        self.bar.set_message(said);
    }
}

/// A value for a terminal.
pub(super) fn short(value: &Value) -> String {
    match value {
        Value::Number(x) => shown(*x),
        value => value.to_string(),
    }
}

/// A number with six significant digits, or with all digits before its point if these are more.
fn shown(x: f64) -> String {
    if x == 0.0 || (1e-4..1e15).contains(&x.abs()) {
        let digits = (5 - x.abs().max(1.0).log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.5e}")
    }
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let all = [0.0, 0.25, 12.345678, 1234567.8, 0.00001234, 1e20, -3.5].map(shown);
        assert_eq!(all, ["0", "0.25", "12.3457", "1234568", "1.23400e-5", "1.00000e20", "-3.5"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!([5, 65, 3700].map(|s| time(Duration::from_secs(s))), ["5 s", "1 min 5 s", "1 h 1 min"]);
    }
}
