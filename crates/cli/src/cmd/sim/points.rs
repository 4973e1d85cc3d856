//! A point of a sweep of `sim`.

use super::args::Args;
use super::figures::SimFigures;
use super::shape::{Shape, Shaped};
use super::{apps, one, places, workload};
use crate::cmd::sweep::{Matched, PointChips, Ready, Swept, key_names};
use baton_chip::Chip;
use baton_studio::subject::Figure;
use baton_studio::value::{Kind, Value};
use clap::Args as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `baton sim` as the subject of a sweep.
#[derive(Default)]
pub(crate) struct Sim {
    chips: PointChips,
}

impl Sim {
    fn chip(&self, args: &Args) -> anyhow::Result<Arc<(Chip, String)>> {
        self.chips.get(&args.chip, || args.chip.open())
    }

    /// The options of a point.
    pub(super) fn args(point: &Matched) -> anyhow::Result<Args> {
        let mut args: Args = point.args()?;
        places::settle(&mut args)?;
        Ok(args)
    }
}

impl Swept for Sim {
    const COMMAND: &'static str = "sim";
    const NOT_OF_A_POINT: &'static [&'static str] = &["sweep", "least", "most", "pairs", "figure", "plot", "json"];
    // These options shape the chip, and a point's identity is the whole expanded chip.
    const EXPANDED: &'static [&'static str] = &["chip", "cores", "set", "window"];
    const TAKES_KEYS: bool = true;

    fn options() -> clap::Command {
        Args::augment_args(clap::Command::new("sim"))
    }

    fn ready(&self, point: &Matched) -> anyhow::Result<Ready> {
        let args = Sim::args(point)?;
        let known = self.chip(&args)?;
        let chosen = workload::choose(&args, &known.0)?;
        let threads = chosen.threads();
        places::cpus(&args, threads, &known.0)?;
        // A rough estimate: threads times the cycles of one of them.
        let rounds = args.iterations.unwrap_or(1000) as f64;
        let cycles = args.cycles.map_or(f64::INFINITY, |cycles| cycles as f64);
        let cost = f64::from(threads) * cycles.min(rounds * (args.cs as f64 + args.think as f64 + 100.0));
        let memory = one::memory(&args, &chosen, &known.0);
        let identity = known.1.clone();
        Ok(Ready {
            identity,
            cost,
            memory,
            run: Box::new(move || Ok(serde_json::to_value(one::run(&args, &known.0)?)?)),
        })
    }

    fn value(&self, point: &Matched, name: &str) -> anyhow::Result<Option<Value>> {
        PointChips::value(name, || self.chip(&Sim::args(point)?))
    }

    fn names(&self) -> Vec<String> {
        key_names()
    }

    fn figures(&self) -> Vec<Figure> {
        let shape = SimFigures::shape();
        let figure = |(path, field): (String, &super::shape::Field)| Figure {
            path,
            kind: if field.shape.is_whole() { Kind::Whole } else { Kind::Number },
            unit: field.unit.to_owned(),
            what: field.what.to_owned(),
        };
        shape.numbers("").into_iter().map(figure).collect()
    }

    fn usual(&self, point: &Matched) -> Vec<String> {
        let Ok(args) = Sim::args(point) else { return Vec::new() };
        let mut usual = vec![args.workload.figure(), "cycles", "acquisitions", "context_switches", "flit_hops"];
        if args.workload.has_locks() && !args.no_trace {
            usual.extend(["lock.contended", "lock.overhead_cycles", "lock.handoff_mean_cycles"]);
        }
        if args.energy {
            usual.push("energy.total_joules");
        }
        let mut once: Vec<String> = Vec::new();
        for name in usual {
            if !once.iter().any(|known| known == name) {
                once.push(name.to_owned());
            }
        }
        once
    }

    fn within(&self, option: &str, text: &str) -> Vec<(String, String)> {
        if option == "app" { apps::words(text) } else { Vec::new() }
    }

    fn input(&self, option: &str, path: &Path) -> PathBuf {
        if option == "profile" { workload::program(path) } else { path.to_owned() }
    }
}

impl Shape {
    /// Whether values of this form are whole numbers, or null.
    fn is_whole(&self) -> bool {
        match self {
            Shape::Whole => true,
            Shape::Nullable(shape) | Shape::List(shape) => shape.is_whole(),
            _ => false,
        }
    }
}
