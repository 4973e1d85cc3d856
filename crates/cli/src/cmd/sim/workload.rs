//! From the command line to guest threads: names are looked up, and what cannot be is refused before the run.

use super::Args;
use super::probe::Recorder;
use crate::error::BadInput;
use baton_chip::{Chip, Simulated};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_sync::barrier::{BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, ZeroInit};
use baton_sync::queue::{QUEUES, QueueVisitor, RawQueue, Side};
use baton_sync::{barrier, lock, queue};
use baton_workloads::Team;
use baton_workloads::barrier::Meetings;
use baton_workloads::lock::Contention;
use baton_workloads::pingpong::PingPong;
use baton_workloads::ring::{BadTransport, Transport};
use std::num::NonZeroU32;

/// What the threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Name {
    /// Think, lock, compute, unlock.
    Lock,
    /// Compute and meet at a barrier.
    Barrier,
    /// Two threads hand a line to and fro.
    Pingpong,
    /// Producers and consumers at a queue.
    Ring,
}

impl Name {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Name::Lock => "lock",
            Name::Barrier => "barrier",
            Name::Pingpong => "pingpong",
            Name::Ring => "ring",
        }
    }
}

enum Workload {
    Lock(&'static str, Contention),
    Barrier(&'static str, Meetings),
    PingPong(PingPong),
    Ring(&'static str, Transport),
}

/// A workload that can run.
pub(crate) struct Chosen {
    workload: Workload,
    pub(crate) wait: Wait,
    pub(crate) recorder: Recorder,
}

/// Looks everything up.
pub(crate) fn choose(args: &Args, chip: &Chip) -> anyhow::Result<Chosen> {
    let unlimited = if args.cycles.is_some() { u64::MAX } else { 1000 };
    let iterations = args.iterations.unwrap_or(unlimited);
    let (think, spread) = (Cycles(args.think), args.spread);
    let mut wait = args.wait.unwrap_or_default();
    let workload = match args.workload {
        Name::Lock => {
            let names = LOCKS.iter().map(|lock| lock.name);
            let info = lock::info(&args.lock).map_err(|_| BadInput::unknown("lock", &args.lock, names))?;
            wait = info.wait(args.wait).map_err(BadInput::new)?;
            let (threads, critical, lines) = (args.threads, Cycles(args.cs), args.lines);
            Workload::Lock(info.name, Contention { threads, critical, think, spread, lines, iterations })
        }
        Name::Barrier => {
            let names = || BARRIERS.iter().map(|barrier| barrier.name);
            let unknown = || BadInput::unknown("barrier", &args.barrier, names());
            let name = names().find(|name| *name == args.barrier).ok_or_else(unknown)?;
            let threads = NonZeroU32::new(args.threads).ok_or_else(|| BadInput::new("a barrier needs a thread"))?;
            Workload::Barrier(name, Meetings { threads, think, spread, iterations })
        }
        Name::Pingpong if args.threads != 2 => {
            return Err(BadInput::new(format!("pingpong is for 2 threads, not {}", args.threads)).into());
        }
        Name::Pingpong => Workload::PingPong(PingPong { iterations }),
        Name::Ring => {
            let names = QUEUES.iter().map(|queue| queue.name);
            let info = QUEUES.iter().find(|queue| queue.name == args.queue);
            let info = info.ok_or_else(|| BadInput::unknown("queue", &args.queue, names))?;
            if args.threads < 2 {
                return Err(BadInput::new("a ring needs a producer and a consumer: at least 2 threads").into());
            }
            let one_sided = |side, threads| if side == Side::Single { 1 } else { threads };
            let producers = one_sided(info.producers, args.threads / 2);
            let consumers = one_sided(info.consumers, args.threads - producers);
            // Rounded up so that the items can be shared out evenly.
            let round = u64::from(consumers);
            let iterations =
                if iterations == u64::MAX { u64::MAX / round * round } else { iterations.next_multiple_of(round) };
            let capacity = args.capacity;
            Workload::Ring(info.name, Transport { producers, consumers, capacity, think, spread, iterations })
        }
    };
    chip.check_wait(wait).map_err(BadInput::new)?;
    Ok(Chosen { workload, wait, recorder: Recorder::default() })
}

impl Chosen {
    /// The threads; called inside the simulation.
    pub(crate) fn team(&self) -> anyhow::Result<Team> {
        let wait = self.wait;
        Ok(match &self.workload {
            Workload::Lock(name, contention) => lock::visit(name, Locks(*contention, wait, self.recorder.clone()))?,
            Workload::Barrier(name, meetings) => barrier::visit(name, Barriers(*meetings, wait))?,
            Workload::PingPong(pingpong) => pingpong.team::<Simulated>(wait),
            Workload::Ring(name, transport) => queue::visit(name, Queues(*transport, wait))?.map_err(BadInput::new)?,
        })
    }

    /// The lock, barrier or queue.
    pub(crate) fn algorithm(&self) -> Option<&'static str> {
        match &self.workload {
            Workload::Lock(name, _) | Workload::Barrier(name, _) | Workload::Ring(name, _) => Some(name),
            Workload::PingPong(_) => None,
        }
    }

    /// Threads that were really made: a ring with one-sided queues may use fewer than asked for.
    pub(crate) fn threads(&self) -> u32 {
        match &self.workload {
            Workload::Lock(_, contention) => contention.threads,
            Workload::Barrier(_, meetings) => meetings.threads.get(),
            Workload::PingPong(_) => 2,
            Workload::Ring(_, transport) => transport.producers + transport.consumers,
        }
    }
}

struct Locks(Contention, Wait, Recorder);
impl LockVisitor<Simulated> for Locks {
    type Out = Team;
    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Team {
        self.0.team::<Simulated, L, _>(self.1, self.2)
    }
}

struct Barriers(Meetings, Wait);
impl BarrierVisitor<Simulated> for Barriers {
    type Out = Team;
    fn visit<B: RawBarrier<Simulated>>(self) -> Team {
        self.0.team::<Simulated, B>(self.1)
    }
}

struct Queues(Transport, Wait);
impl QueueVisitor<Simulated> for Queues {
    type Out = Result<Team, BadTransport>;
    fn visit<Q: RawQueue<Simulated, Item = u64>>(self) -> Self::Out {
        self.0.team::<Simulated, Q>(self.1)
    }
}
