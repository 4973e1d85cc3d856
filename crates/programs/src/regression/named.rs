//! The regression as a workload, with a queue of the registry.

use super::table::row_bytes;
use super::{Data, Outcome, RegressionSettings};
use baton_machine::{Machine, Wait};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue};
use baton_workloads::inputs::Reduction;
use baton_workloads::work::Work;
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use std::sync::Arc;

/// Makes the team of the regression at a queue of the registry.
#[derive(Clone)]
pub struct Regression {
    queue: &'static QueueInfo,
    settings: RegressionSettings,
    data: Arc<Data>,
}

struct Make<'a>(&'a Regression, Wait);
impl<M: Machine> QueueVisitor<M> for Make<'_> {
    type Out = Result<Work<Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.settings.work::<M, Q>(&self.0.data, self.1)
    }
}

impl Workload for Regression {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "regression",
        what: "Workers learn a logistic regression from --data or made rows, and add vectors by queues or a queue device",
        figure: "measured.cycles_an_iteration",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Regression, Refused> {
        let (queue, inputs) = (knobs.queue()?, knobs.inputs);
        let data = match inputs.data {
            Some(file) => Data::open(file).map_err(Refused::because)?,
            None => Data::made(knobs.seed),
        };
        let usual = if queue.device { Reduction::Device } else { Reduction::Master };
        let settings = RegressionSettings {
            workers: knobs.threads.unwrap_or(4),
            rows: inputs.rows,
            iterations: knobs.iterations_or(100),
            step: inputs.step,
            reduction: inputs.reduction.unwrap_or(usual),
            seed: knobs.seed,
        };
        settings.check()?;
        Ok(Regression { queue, settings, data: Arc::new(data) })
    }

    fn threads(&self) -> u32 {
        self.settings.workers
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let work = queue::visit::<M, _>(self.queue.name, Make(self, wait)).map_err(Refused::because)??;
        Ok(work.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.settings.reduction {
            Reduction::Master => self.queue.name,
            Reduction::Device => "reducer",
        })
    }

    fn charge(&self) -> Charge {
        Charge::of_items(self.queue.counted, self.queue.counted_bulk, self.data.attributes)
    }

    fn bytes(&self) -> usize {
        let (attributes, workers) = (self.data.attributes, self.settings.workers as usize);
        self.data.rows() * row_bytes(attributes) + workers * (2048 + 64 * attributes)
    }
}
