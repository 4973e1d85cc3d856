//! The paper's applications (figures 10 to 12, 18 and 19), which are workloads of
//! `baton_workloads`: a pipeline of clusters, a firewall, a job distributor, logistic regression.

use super::experiments::Setting;
use super::run::{Figures, instructions, run};
use crate::kit::{Body, Crew};
use baton_chip::{Chip, Simulated};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_programs::distributor;
use baton_programs::packets::{Flow, Rules, Traffic, clusters, firewall};
use baton_programs::regression::{self, Data};
use baton_sync::queue::{self, QueueVisitor, RawQueue};
use baton_workloads::{Dispatch, Prepush, Reduction, Team};
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// An application at one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum App {
    /// One source, two clusters of four threads, one sink. `nops` is the number of cycles that each
    /// thread computes for a packet.
    Clusters { bulk: usize, nops: u64 },
    /// One source, four filters, an analyser, a sink.
    Firewall { bulk: usize },
    /// A producer and four workers. `nops` is the number of cycles of a job.
    Distributor { nops: u64 },
    /// Workers, each with `rows` rows per iteration.
    Regression { workers: u32, rows: u32 },
    /// Producers and as many consumers, as in the loads `1-1`, `2-2` and so on. By [`By::Lanes`],
    /// each pair of threads has its own queue.
    Pairs { pairs: u32, bulk: usize },
}

/// How an application moves its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum By {
    /// The paper's software.
    Software,
    /// Other software: a queue for each pair of threads; for the distributor, one queue
    /// that all share.
    Lanes,
    /// The device.
    Device,
    /// The device, and prepush.
    Prepush,
    /// The device at its ideal, and prepush: the oracle arm.
    Ideal,
}

impl By {
    /// Whether the items move through the device.
    fn device(self) -> bool {
        matches!(self, By::Device | By::Prepush | By::Ideal)
    }

    /// Whether the device pushes packets.
    fn pushes(self) -> bool {
        matches!(self, By::Prepush | By::Ideal)
    }
}

/// A run of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    pub(super) app: App,
    pub(super) by: By,
    pub(super) window: Option<&'static str>,
    pub(super) seed: u64,
}

/// The number of packets, and of jobs, that are measured.
const ITEMS: u64 = 2000;
/// Iterations of the regression.
const ITERATIONS: u64 = 60;

impl App {
    /// The queue's name.
    fn queue(self, by: By) -> &'static str {
        match (by, self) {
            (By::Device | By::Prepush | By::Ideal, _) => "qmd",
            (By::Lanes, App::Distributor { .. }) => "mpmc",
            (By::Lanes, _) => "spsc",
            // The master has a queue to and from each worker.
            (By::Software, App::Regression { .. }) => "ring-single",
            (By::Software, _) => "ring",
        }
    }

    /// The number of items that a call of the queue moves.
    fn bulk(self) -> usize {
        match self {
            App::Clusters { bulk, .. } | App::Firewall { bulk } | App::Pairs { bulk, .. } => bulk,
            App::Distributor { .. } => 1,
            // The items of a bulk are a vector of the regression.
            App::Regression { .. } => 13,
        }
    }

    /// The number of items that are measured: packets, jobs, or iterations of the regression.
    fn items(self) -> u64 {
        if matches!(self, App::Regression { .. }) { ITERATIONS } else { ITEMS }
    }
}

struct Make(Case);

impl QueueVisitor<Simulated> for Make {
    type Out = Result<Team, String>;

    fn visit<Q: RawQueue<Simulated, Item = u64>>(self) -> Self::Out {
        let Case { app, by, seed, .. } = self.0;
        let device = by.device();
        let flow = |bulk: usize| {
            let prepush = if by.pushes() { Prepush::Shared } else { Prepush::None };
            Flow { packets: ITEMS, bulk, prepush, ..Flow::default() }
        };
        let wait = Wait::Pause;
        let traffic = Traffic::Made { seed, suspicious: 8 };
        let team = match app {
            App::Clusters { bulk, nops } => {
                let settings =
                    clusters::ClusterSettings { flow: flow(bulk), think: Cycles(nops), ..Default::default() };
                settings.work::<Simulated, Q>(&traffic, wait).map(|work| work.into_team().0)
            }
            App::Pairs { pairs, bulk } => {
                let flow = Flow { blocks: 1, ..flow(bulk) };
                let settings = clusters::ClusterSettings { flow, stages: vec![pairs; 2], ..Default::default() };
                settings.work::<Simulated, Q>(&traffic, wait).map(|work| work.into_team().0)
            }
            App::Firewall { bulk } => {
                let input = firewall::Input { traffic, rules: Arc::new(Rules::usual()) };
                let settings = firewall::FirewallSettings { flow: flow(bulk), ..Default::default() };
                settings.work::<Simulated, Q>(&input, wait).map(|work| work.into_team().0)
            }
            App::Distributor { nops } => {
                let dispatch = match by {
                    By::Software => Dispatch::Slots,
                    By::Lanes => Dispatch::Shared,
                    By::Device | By::Prepush | By::Ideal => Dispatch::Balanced,
                };
                let (jobs, think) = (ITEMS, Cycles(nops));
                let settings = distributor::DistributorSettings { jobs, think, dispatch, ..Default::default() };
                settings.work::<Simulated, Q>(wait).map(|work| work.into_team().0)
            }
            App::Regression { workers, rows } => {
                let reduction = if device { Reduction::Device } else { Reduction::Master };
                let iterations = ITERATIONS;
                let settings =
                    regression::RegressionSettings { workers, rows, iterations, reduction, seed, ..Default::default() };
                settings.work::<Simulated, Q>(&Arc::new(Data::made(seed)), wait).map(|work| work.into_team().0)
            }
        };
        team.map_err(|refused| refused.to_string())
    }
}

impl Case {
    /// The keys of the chip that the run needs. A regression with a queue to and from each of many
    /// workers needs more queues than the device has otherwise.
    pub(super) fn keys(self) -> Vec<String> {
        let many = matches!(self.app, App::Regression { workers, .. } if 2 * workers > 16);
        let queues = many.then(|| "device.qmd.queues=32".to_owned());
        let ideal = if self.by == By::Ideal { Setting::free().keys } else { Vec::new() };
        queues.into_iter().chain(ideal).collect()
    }

    /// Does the run, and compares what the threads computed with what a single thread computes.
    pub(super) fn figures(self, chip: &Chip) -> Result<Figures, String> {
        let name = self.app.queue(self.by);
        let each = Rc::new(Cell::new(0.0));
        let shown = each.clone();
        let crew = || {
            let made = queue::visit::<Simulated, _>(name, Make(self)).map_err(|error| error.to_string())?;
            let Team { bodies, verify, figures } = made?;
            let check = move || {
                verify()?;
                let first = figures().into_iter().next().ok_or("the application shows nothing")?;
                shown.set(first.value);
                Ok(())
            };
            let bodies = (0..).zip(bodies).map(|(core, body)| (core, body as Body)).collect();
            Ok(Crew { bodies, check: Box::new(check) })
        };
        let figures = run(chip, self.seed, instructions(name, self.app.bulk()), crew)?;
        let items = self.app.items();
        // `each` is in nanoseconds per item; `cycles` are those of all items.
        let cycles = each.get() * items as f64 * chip.core.clock.0 as f64 / 1e9;
        Ok(Figures { cycles: cycles.round() as u64, items, ..figures })
    }
}
