//! The distributor by name, with a queue of the registry.

use super::hands::{LAST, TABLE_BYTES};
use super::{DistributorSettings, Outcome};
use crate::packets::Traffic;
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::flow::device::{self, DeviceFlows};
use baton_sync::flow::soft::Soft;
use baton_sync::flow::{FlowOrder, Shape};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue};
use baton_workloads::flows;
use baton_workloads::inputs::Dispatch;
use baton_workloads::work::Work;
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};

/// How the distributor hands out jobs: by a queue of the registry, or by a queue with flows with
/// this name and shape, whose jobs are the packets of some traffic.
#[derive(Clone)]
enum Queues {
    Plain(&'static QueueInfo),
    Flows(&'static str, Shape, Traffic),
}

/// Makes the team of the distributor.
#[derive(Clone)]
pub struct Distributor {
    queues: Queues,
    settings: DistributorSettings,
}

struct Make(DistributorSettings, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Work<Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.work::<M, Q>(self.1)
    }
}

impl Queues {
    fn choose(knobs: &Knobs<'_>) -> Result<Queues, Refused> {
        let inputs = &knobs.inputs;
        if flows::chosen(knobs) {
            let (queue, shape) = flows::shape(knobs)?;
            let traffic = match inputs.packets {
                Some(file) => Traffic::open(file).map_err(Refused::because)?,
                None => Traffic::Made { seed: knobs.seed, suspicious: 0 },
            };
            return Ok(Queues::Flows(queue, shape, traffic.of_flows(inputs)?));
        }
        match inputs.packets {
            Some(_) => Err(Refused::because("--packets gives jobs flows: expected --kind, or --queue flows")),
            None => Ok(Queues::Plain(knobs.queue()?)),
        }
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
        let (queues, threads) = (Queues::choose(knobs)?, knobs.threads.unwrap_or(5));
        if threads < 2 {
            return Err(Refused::because("a distributor needs a producer and a worker: at least 2 threads"));
        }
        let (usual, usual_jobs) = match &queues {
            Queues::Plain(queue) if queue.device => (Dispatch::Balanced, 1000),
            Queues::Plain(_) => (Dispatch::Slots, 1000),
            Queues::Flows(_, _, traffic) => (Dispatch::Shared, traffic.usual()),
        };
        let dispatch = knobs.inputs.dispatch.unwrap_or(usual);
        if let (Queues::Flows(..), true) = (&queues, dispatch != Dispatch::Shared) {
            return Err(Refused::because("the workers share a queue with flows; expected --dispatch shared"));
        }
        let (think, spread) = (Cycles(knobs.think), knobs.spread);
        let (jobs, capacity) = (knobs.iterations_or(usual_jobs).min(LAST - 1), knobs.capacity);
        Ok(Distributor {
            queues,
            settings: DistributorSettings { workers: threads - 1, jobs, think, spread, capacity, dispatch },
        })
    }

    fn threads(&self) -> u32 {
        self.settings.workers + 1
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let settings = &self.settings;
        let work = match &self.queues {
            Queues::Plain(queue) => {
                queue::visit::<M, _>(queue.name, Make(*settings, wait)).map_err(Refused::because)??
            }
            Queues::Flows(device::NAME, shape, traffic) => {
                settings.on_flows::<M, DeviceFlows<M>>(traffic, *shape, wait)?
            }
            Queues::Flows(_, shape, traffic) => settings.on_flows::<M, Soft<M>>(traffic, *shape, wait)?,
        };
        Ok(work.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.settings.dispatch {
            Dispatch::Slots | Dispatch::Balanced | Dispatch::Steal => self.settings.dispatch.name(),
            Dispatch::Shared | Dispatch::Dealt => match &self.queues {
                Queues::Plain(queue) => queue.name,
                Queues::Flows(queue, ..) => *queue,
            },
        })
    }

    fn charge(&self) -> Charge {
        match &self.queues {
            Queues::Plain(queue) if self.settings.dispatch != Dispatch::Slots => Charge::Counted(queue.counted),
            _ => Charge::Typical,
        }
    }

    fn bytes(&self) -> usize {
        match self.queues {
            Queues::Flows(_, Shape { order: FlowOrder::Atomic, .. }, _) => TABLE_BYTES,
            _ => 0,
        }
    }
}
