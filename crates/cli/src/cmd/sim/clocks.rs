//! How a governor set the cores' clocks, as JSON and as a table.

use super::shape::figures;
use crate::ui;
use baton_chip::Outcome;

figures! {
    /// How clocks were governed.
    pub(super) struct Clocks {
        /// Name of the governor.
        governor: &'static str,
        /// Number of times that the governor decided.
        decisions: u64 as "times",
        /// Number of changes of a core's clock that the governor asked for.
        changes: u64 as "times",
        /// Time that the cores in use had each clock. The times of a core sum to cycles.
        at: Vec<AtClock>,
    }
}

figures! {
    /// The time at one clock.
    struct AtClock {
        /// The clock.
        clock_hz: u64 as "hertz",
        /// Time that the cores in use had this clock, all cores together.
        core_cycles: u64 as "cycles",
    }
}

/// The figures of the clocks; `None` without a governor.
pub(super) fn figures(outcome: &Outcome) -> Option<Clocks> {
    let clocks = outcome.clocks.as_ref()?;
    let at =
        |&(clock, time): &(baton_units::Hertz, baton_units::Cycles)| AtClock { clock_hz: clock.0, core_cycles: time.0 };
    Some(Clocks {
        governor: clocks.governor,
        decisions: clocks.periods,
        changes: clocks.changes,
        at: clocks.at.iter().map(at).collect(),
    })
}

impl Clocks {
    /// The figures as text.
    pub(super) fn text(&self) -> String {
        let whole = self.at.iter().map(|at| at.core_cycles).sum::<u64>().max(1);
        let rows = self.at.iter().map(|at| {
            let share = 100.0 * at.core_cycles as f64 / whole as f64;
            let clock = format!("{:.3} GHz", at.clock_hz as f64 * 1e-9);
            vec![clock, at.core_cycles.to_string(), format!("{share:.1}")]
        });
        let table = ui::table(&["clock", "core cycles", "%"], &rows.collect::<Vec<_>>());
        format!(
            "governor {}: {} decisions, {} changes of a clock\n{table}",
            self.governor, self.decisions, self.changes
        )
    }
}
