//! How a governor set the cores' clocks, in JSON and as a table.

use super::shape::figures;
use crate::ui;
use baton_chip::Outcome;

figures! {
    /// How clocks were governed.
    pub(super) struct Clocks {
        /// The governor.
        governor: &'static str,
        /// How often it decided.
        decisions: u64 as "times",
        /// Changes of a core's clock that it asked for.
        changes: u64 as "times",
        /// How long the cores in use had each clock. Sums to cycles for each core.
        at: Vec<AtClock>,
    }
}

figures! {
    /// A clock.
    struct AtClock {
        /// The clock.
        clock_hz: u64 as "hertz",
        /// How long the cores in use had it, all together.
        core_cycles: u64 as "cycles",
    }
}

/// How clocks were governed; `None` without a governor.
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
    /// For people.
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
