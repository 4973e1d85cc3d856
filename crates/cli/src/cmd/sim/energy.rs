//! The energy account of a run, as JSON and as a table.

use super::args::Args;
use super::shape::figures;
use crate::error::BadInput;
use crate::ui;
use baton_chip::energy::{Account, Component, Line, Quantity};
use baton_chip::{Chip, Outcome};
use std::collections::BTreeMap;

figures! {
    /// The energy of a run.
    pub(super) struct EnergyFigures {
        /// Energy of the whole run.
        total_joules: f64 as "joules",
        /// Energy of the run without the platform's base.
        without_base_joules: f64 as "joules",
        /// Mean power.
        average_watts: f64 as "watts",
        /// Mean power without the platform's base.
        without_base_watts: f64 as "watts",
        /// By component: cpus, caches, network, memory, devices, base. Sums to total_joules.
        by_component_joules: BTreeMap<&'static str, f64>,
        /// A line for each price, with the amount that it was multiplied by. The lines sum to
        /// total_joules.
        lines: Vec<LineFigures>,
    }
}

figures! {
    /// A line of the account.
    struct LineFigures {
        /// The component: cpus, caches, network, memory, devices or base.
        component: &'static str,
        /// The price's key in the chip file.
        key: &'static str,
        /// The clock of the CPUs; null if the price does not depend on it.
        clock_hz: Option<u64> as "hertz",
        /// Time of all units together; null for events.
        seconds: Option<f64> as "seconds",
        /// Number of events; null for states.
        events: Option<u64> as "events",
        /// Watts, or joules per event.
        price: f64,
        /// The product of price and amount.
        joules: f64 as "joules",
    }
}

impl LineFigures {
    fn new(line: &Line) -> LineFigures {
        let (seconds, events) = match line.quantity {
            Quantity::Seconds(seconds) => (Some(seconds), None),
            Quantity::Events(events) => (None, Some(events)),
        };
        LineFigures {
            component: line.component.name(),
            key: line.key,
            clock_hz: line.clock.map(|clock| clock.0),
            seconds,
            events,
            price: line.price,
            joules: line.joules,
        }
    }
}

/// The account of a run.
pub(super) fn figures(args: &Args, chip: &Chip, outcome: &Outcome) -> anyhow::Result<EnergyFigures> {
    let account = Account::of(chip, outcome).map_err(|missing| {
        let hint = format!("give it in the chip file, with its source, or with --set {}=…", missing.key);
        BadInput::new(format!("{}: {missing}", args.chip.name())).hint(hint)
    })?;
    let seconds = account.seconds.max(f64::MIN_POSITIVE);
    Ok(EnergyFigures {
        total_joules: account.total(),
        without_base_joules: account.without_base(),
        average_watts: account.watts(),
        without_base_watts: account.without_base() / seconds,
        by_component_joules: Component::ALL.map(|part| (part.name(), account.component(part))).into(),
        lines: account.lines.iter().map(LineFigures::new).collect(),
    })
}

impl EnergyFigures {
    /// The account as text.
    pub(super) fn text(&self) -> String {
        let mut out = format!(
            "energy {:.6} J ({:.1} W), {:.6} J ({:.1} W) without the platform's base\n",
            self.total_joules, self.average_watts, self.without_base_joules, self.without_base_watts,
        );
        let rows = self.lines.iter().map(|line| {
            let amount = match (line.seconds, line.events) {
                (Some(seconds), _) => format!("{:.3} ms", seconds * 1e3),
                (None, events) => events.unwrap_or_default().to_string(),
            };
            let price = match line.seconds {
                Some(_) => format!("{:.3} W", line.price),
                None => format!("{:.3} nJ", line.price * 1e9),
            };
            let clock = line.clock_hz.map_or(String::new(), |hz| format!("{:.2} GHz", hz as f64 * 1e-9));
            let share = 100.0 * line.joules / self.total_joules.max(f64::MIN_POSITIVE);
            vec![line.key.to_owned(), clock, amount, price, format!("{:.6}", line.joules), format!("{share:.1}")]
        });
        out += &ui::table(&["price", "clock", "amount", "each", "joules", "%"], &rows.collect::<Vec<_>>());
        out
    }
}
