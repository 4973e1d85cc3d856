//! The distributor by name, with a queue of the registry.

use super::hands::LAST;
use super::{DistributorSettings, Outcome};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue};
use baton_workloads::inputs::Dispatch;
use baton_workloads::work::Work;
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};

/// Makes the team of the distributor at a queue of the registry.
#[derive(Clone, Copy)]
pub struct Distributor {
    queue: &'static QueueInfo,
    settings: DistributorSettings,
}

struct Make(DistributorSettings, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Work<Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.work::<M, Q>(self.1)
    }
}

impl Workload for Distributor {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "distributor",
        what: "A producer hands jobs to workers: by a slot each, by queues, or by a queue device that balances",
        figure: "measured.cycles_a_job",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Distributor, Refused> {
        let (queue, threads) = (knobs.queue()?, knobs.threads.unwrap_or(5));
        if threads < 2 {
            return Err(Refused::because("a distributor needs a producer and a worker: at least 2 threads"));
        }
        let usual = if queue.device { Dispatch::Balanced } else { Dispatch::Slots };
        let dispatch = knobs.inputs.dispatch.unwrap_or(usual);
        let (think, spread) = (Cycles(knobs.think), knobs.spread);
        let (jobs, capacity) = (knobs.iterations_or(1000).min(LAST - 1), knobs.capacity);
        Ok(Distributor {
            queue,
            settings: DistributorSettings { workers: threads - 1, jobs, think, spread, capacity, dispatch },
        })
    }

    fn threads(&self) -> u32 {
        self.settings.workers + 1
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let work = queue::visit::<M, _>(self.queue.name, Make(self.settings, wait)).map_err(Refused::because)??;
        Ok(work.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.settings.dispatch {
            Dispatch::Slots | Dispatch::Balanced | Dispatch::Steal => self.settings.dispatch.name(),
            Dispatch::Shared | Dispatch::Dealt => self.queue.name,
        })
    }

    fn charge(&self) -> Charge {
        match self.settings.dispatch {
            Dispatch::Slots => Charge::Typical,
            _ => Charge::Counted(self.queue.counted),
        }
    }
}
