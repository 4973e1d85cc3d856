//! The pipeline and the firewall by name, with a queue of the registry.

use super::buffers::Buffers;
use super::flow::{Flow, USUAL_POOL};
use super::{clusters, firewall, guarded, rules::Rules, traffic::Traffic};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Native, Wait};
use baton_sync::flow::device::{self, DeviceFlows};
use baton_sync::flow::soft::Soft;
use baton_sync::flow::{FlowOrder, Shape};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue, mpmc::Mpmc, qmd::Qmd};
use baton_workloads::flows;
use baton_workloads::work::{Measured, Work};
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use std::sync::Arc;

/// Makes the team of a pipeline at a queue of the registry.
#[derive(Clone)]
pub struct Clusters {
    queue: &'static QueueInfo,
    settings: clusters::ClusterSettings,
    traffic: Traffic,
}

/// The queues of a firewall: of the registry, or with flows and with this name and shape.
#[derive(Clone, Copy)]
enum Queues {
    Plain(&'static QueueInfo),
    Flows(&'static str, Shape),
}

/// Makes the team of a firewall.
#[derive(Clone)]
pub struct Firewall {
    queues: Queues,
    settings: firewall::FirewallSettings,
    input: firewall::Input,
}

/// The settings of packets and of their movement, from the command line.
fn flow(knobs: &Knobs<'_>) -> Result<(Flow, Traffic), Refused> {
    let inputs = knobs.inputs;
    let traffic = match inputs.packets {
        Some(file) => Traffic::open(file).map_err(Refused::because)?,
        None => Traffic::Made { seed: knobs.seed, suspicious: inputs.suspicious },
    };
    let flow = Flow {
        packets: knobs.iterations_or(traffic.usual()),
        bulk: knobs.bulk,
        capacity: knobs.capacity,
        pool: inputs.pool,
        blocks: inputs.blocks,
        prefetch: inputs.prefetch,
        prepush: inputs.prepush,
    };
    flow.check()?;
    Ok((flow, traffic))
}

/// Bytes of guest memory for the buffers and, as an upper bound, for the queues.
fn bytes(flow: &Flow, threads: u32) -> usize {
    let least = (threads as usize).saturating_mul(flow.bulk).saturating_mul(2);
    let buffers = flow.pool.unwrap_or(USUAL_POOL).max(least);
    let places = flow.capacity.saturating_add(buffers).saturating_mul(16);
    Buffers::<Native>::bytes(buffers).saturating_add(places.saturating_mul(threads as usize))
}

struct Make<'a, S>(&'a S, Wait);

impl<M: Machine> QueueVisitor<M> for Make<'_, Clusters> {
    type Out = Result<Work<clusters::Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.settings.work::<M, Q>(&self.0.traffic, self.1)
    }
}

impl<M: Machine> QueueVisitor<M> for Make<'_, Firewall> {
    type Out = Result<Work<firewall::Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.settings.work::<M, Q>(&self.0.input, self.1)
    }
}

/// The team of a workload that is made with the queue of that name.
fn team<M, R, V>(queue: &str, make: V) -> Result<Team, Refused>
where
    M: Machine,
    R: Measured + Clone + Send + 'static,
    V: QueueVisitor<M, Out = Result<Work<R>, Refused>>,
{
    let work = queue::visit::<M, _>(queue, make).map_err(Refused::because)??;
    Ok(work.into_team().0)
}

impl Workload for Clusters {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "clusters",
        what: "Packets pass through clusters of threads, and their buffers return to a pool that is a queue",
        figure: "measured.cycles_a_packet",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Clusters, Refused> {
        let (flow, traffic) = flow(knobs)?;
        let stages = knobs.inputs.clusters.to_vec();
        let settings = clusters::ClusterSettings { flow, stages, think: Cycles(knobs.think), spread: knobs.spread };
        settings.check()?;
        if let Some(threads) = knobs.threads.filter(|threads| *threads != settings.threads()) {
            let needed = settings.threads();
            return Err(Refused::because(format!(
                "these clusters have {needed} threads, not {threads}: --clusters says how many"
            )));
        }
        Ok(Clusters { queue: knobs.queue()?, settings, traffic })
    }

    fn threads(&self) -> u32 {
        self.settings.threads()
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        team::<M, _, _>(self.queue.name, Make(self, wait))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue.name)
    }

    fn charge(&self) -> Charge {
        Charge::of_items(self.queue.counted, self.queue.counted_bulk, self.settings.flow.bulk)
    }

    fn bytes(&self) -> usize {
        bytes(&self.settings.flow, self.threads())
    }
}

impl Workload for Firewall {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "firewall",
        what: "A source, filters with rules, an analyser and a sink, with packets of --packets or made ones",
        figure: "measured.cycles_a_packet",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Firewall, Refused> {
        let (flow, mut traffic) = flow(knobs)?;
        let queues = match flows::chosen(knobs) {
            true => flows::shape(knobs).map(|(queue, shape)| Queues::Flows(queue, shape))?,
            false => Queues::Plain(knobs.queue()?),
        };
        if let Queues::Flows(..) = queues {
            traffic = traffic.of_flows(&knobs.inputs)?;
        }
        let rules = match knobs.inputs.rules {
            Some(file) => Rules::open(file).map_err(Refused::because)?,
            None if knobs.inputs.packets.is_some() => {
                return Err(Refused::because("--packets needs --rules FILE: what a firewall is to do with them"));
            }
            None => Rules::usual(),
        };
        let threads = knobs.threads.unwrap_or(7);
        if threads < 4 {
            let needed = "a source, a filter at least, an analyser and a sink";
            return Err(Refused::because(format!("a firewall has {needed}: at least 4 threads, not {threads}")));
        }
        let (settings, rules) = (firewall::FirewallSettings { flow, filters: threads - 3 }, Arc::new(rules));
        Ok(Firewall { queues, settings, input: firewall::Input { traffic, rules } })
    }

    fn threads(&self) -> u32 {
        self.settings.threads()
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let (settings, input) = (&self.settings, &self.input);
        let work = match self.queues {
            Queues::Plain(queue) => return team::<M, _, _>(queue.name, Make(self, wait)),
            Queues::Flows(device::NAME, shape) => {
                settings.on_flows::<M, Qmd<M, u64>, DeviceFlows<M>>(input, shape, wait)
            }
            Queues::Flows(_, shape) => settings.on_flows::<M, Mpmc<M, u64>, Soft<M>>(input, shape, wait),
        };
        Ok(work?.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.queues {
            Queues::Plain(queue) => queue.name,
            Queues::Flows(queue, _) => queue,
        })
    }

    fn charge(&self) -> Charge {
        match self.queues {
            Queues::Plain(queue) => Charge::of_items(queue.counted, queue.counted_bulk, self.settings.flow.bulk),
            Queues::Flows(..) => Charge::Typical,
        }
    }

    fn bytes(&self) -> usize {
        let table = matches!(self.queues, Queues::Flows(_, Shape { order: FlowOrder::Atomic, .. }));
        bytes(&self.settings.flow, self.threads()) + if table { guarded::TABLE_BYTES } else { 0 }
    }
}
