//! From the command line to guest threads: names are looked up, and what cannot be is refused before the run.

use super::Args;
use super::probe::Recorder;
use super::program::Whole;
use crate::error::BadInput;
use baton_chip::{Chip, Instructions, Simulated};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_sync::barrier::{BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, ZeroInit};
use baton_sync::queue::{QUEUES, QueueVisitor, RawQueue, Side};
use baton_sync::{barrier, lock, queue};
use baton_workloads::Team;
use baton_workloads::barrier::Meetings;
use baton_workloads::chase::Chase;
use baton_workloads::hot::Hot;
use baton_workloads::lock::Contention;
use baton_workloads::mostly::Mostly;
use baton_workloads::pingpong::PingPong;
use baton_workloads::programs::Program;
use baton_workloads::ring::{BadTransport, Transport};
use baton_workloads::sharing::Sharing;
use baton_workloads::stream::{self, Stream};
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
    /// One dependent load after another: the latency of the level that --bytes fit into.
    Chase,
    /// Long ranges of --bytes a thread: bandwidth.
    Stream,
    /// Each thread counts in a word of its own, --spacing bytes from the next.
    FalseSharing,
    /// --lines that all read, and one access in --one-write-in writes.
    ReadMostly,
    /// One word that all add to.
    HotLine,
    /// A program: blur and gradient of an image, strips from a queue under a lock.
    ImageFilter,
    /// A program: chunks, hashes, looks up, compresses, writes in order.
    Dedup,
    /// A program: the build of a k-d tree.
    Kdtree,
    /// A program: a merge sort by tasks.
    Sort,
    /// A program: the alignment of two sequences, a wave of tasks.
    Align,
    /// A draw of --profile: a synthetic program that stands in for a real one.
    Profile,
}

impl Name {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Name::Lock => "lock",
            Name::Barrier => "barrier",
            Name::Pingpong => "pingpong",
            Name::Ring => "ring",
            Name::Chase => "chase",
            Name::Stream => "stream",
            Name::FalseSharing => "false-sharing",
            Name::ReadMostly => "read-mostly",
            Name::HotLine => "hot-line",
            Name::Profile => "profile",
            Name::ImageFilter | Name::Dedup | Name::Kdtree | Name::Sort | Name::Align => {
                self.program().map_or("", |program| program.info().name)
            }
        }
    }

    /// The program of that name.
    pub(super) fn program(self) -> Option<Program> {
        match self {
            Name::ImageFilter => Some(Program::ImageFilter),
            Name::Dedup => Some(Program::Dedup),
            Name::Kdtree => Some(Program::KdTree),
            Name::Sort => Some(Program::Sort),
            Name::Align => Some(Program::Align),
            _ => None,
        }
    }

    /// Whether its locks are recorded.
    pub(super) fn has_locks(self) -> bool {
        matches!(self, Name::Lock | Name::Profile) || self.program().is_some()
    }
}

enum Workload {
    Lock(&'static str, Contention),
    Barrier(&'static str, Meetings),
    PingPong(PingPong),
    Ring(&'static str, Transport),
    Chase(Chase),
    Stream(Stream),
    Sharing(Sharing),
    Mostly(Mostly),
    Hot(Hot),
    Whole(&'static str, Whole),
}

/// What a stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StreamKind {
    /// Reads its range.
    Read,
    /// Writes it.
    Write,
    /// Reads one half, writes the other.
    Copy,
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
    let threads = args.threads.unwrap_or(2);
    let mut wait = args.wait.unwrap_or_default();
    if args.profile.is_some() && args.workload != Name::Profile {
        return Err(BadInput::new("--profile is for --workload profile").into());
    }
    let mut named = || -> anyhow::Result<_> {
        let names = LOCKS.iter().map(|lock| lock.name);
        let info = lock::info(&args.lock).map_err(|_| BadInput::unknown("lock", &args.lock, names))?;
        wait = info.wait(args.wait).map_err(BadInput::new)?;
        Ok(info)
    };
    let workload = match args.workload {
        Name::Lock => {
            let info = named()?;
            let (critical, lines) = (Cycles(args.cs), args.lines);
            Workload::Lock(info.name, Contention { threads, critical, think, spread, lines, iterations })
        }
        Name::Barrier => {
            let names = || BARRIERS.iter().map(|barrier| barrier.name);
            let unknown = || BadInput::unknown("barrier", &args.barrier, names());
            let name = names().find(|name| *name == args.barrier).ok_or_else(unknown)?;
            let threads = NonZeroU32::new(threads).ok_or_else(|| BadInput::new("a barrier needs a thread"))?;
            Workload::Barrier(name, Meetings { threads, think, spread, iterations })
        }
        Name::Pingpong if threads != 2 => {
            return Err(BadInput::new(format!("pingpong is for 2 threads, not {threads}")).into());
        }
        Name::Pingpong => Workload::PingPong(PingPong { iterations }),
        Name::Ring => {
            let names = QUEUES.iter().map(|queue| queue.name);
            let info = QUEUES.iter().find(|queue| queue.name == args.queue);
            let info = info.ok_or_else(|| BadInput::unknown("queue", &args.queue, names))?;
            if threads < 2 {
                return Err(BadInput::new("a ring needs a producer and a consumer: at least 2 threads").into());
            }
            let one_sided = |side, threads| if side == Side::Single { 1 } else { threads };
            let producers = one_sided(info.producers, threads / 2);
            let consumers = one_sided(info.consumers, threads - producers);
            // Rounded up so that the items can be shared out evenly.
            let round = u64::from(consumers);
            let iterations =
                if iterations == u64::MAX { u64::MAX / round * round } else { iterations.next_multiple_of(round) };
            let capacity = args.capacity;
            Workload::Ring(info.name, Transport { producers, consumers, capacity, think, spread, iterations })
        }
        Name::Chase if args.threads.is_some_and(|threads| threads != 1) => {
            return Err(BadInput::new("chase is for 1 thread").into());
        }
        Name::Chase => {
            Workload::Chase(Chase { bytes: args.bytes as usize, stride: chip.cache.line_bytes as usize, iterations })
        }
        Name::Stream => {
            let kind = match args.stream {
                StreamKind::Read => stream::Kind::Read,
                StreamKind::Write => stream::Kind::Write,
                StreamKind::Copy => stream::Kind::Copy,
            };
            // A pass over a range is long: the default is a few.
            let iterations = if args.iterations.is_none() && args.cycles.is_none() { 3 } else { iterations };
            Workload::Stream(Stream { threads, kind, bytes: args.bytes as usize, iterations })
        }
        Name::FalseSharing => Workload::Sharing(Sharing { threads, spacing: args.spacing as usize, iterations }),
        Name::ReadMostly => {
            let (lines, one_write_in) = (args.lines.max(1), args.one_write_in);
            Workload::Mostly(Mostly { threads, lines, one_write_in, think, spread, iterations })
        }
        Name::HotLine => Workload::Hot(Hot { threads, think, spread, iterations }),
        Name::Profile => Workload::Whole(named()?.name, Whole::profile(args, chip)?),
        Name::ImageFilter => Workload::Whole(named()?.name, Whole::program(Program::ImageFilter, args)?),
        Name::Dedup => Workload::Whole(named()?.name, Whole::program(Program::Dedup, args)?),
        Name::Kdtree => Workload::Whole(named()?.name, Whole::program(Program::KdTree, args)?),
        Name::Sort => Workload::Whole(named()?.name, Whole::program(Program::Sort, args)?),
        Name::Align => Workload::Whole(named()?.name, Whole::program(Program::Align, args)?),
    };
    chip.check_wait(wait).map_err(|missing| BadInput::new(format!("{}: {missing}", args.chip.name())))?;
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
            Workload::Chase(chase) => chase.team::<Simulated>(),
            Workload::Stream(stream) => stream.team::<Simulated>(),
            Workload::Sharing(sharing) => sharing.team::<Simulated>(),
            Workload::Mostly(mostly) => mostly.team::<Simulated>(),
            Workload::Hot(hot) => hot.team::<Simulated>(),
            Workload::Whole(name, whole) => whole.team(name, wait, &self.recorder)?,
        })
    }

    /// The lock, barrier or queue.
    pub(crate) fn algorithm(&self) -> Option<&'static str> {
        match &self.workload {
            Workload::Lock(name, _)
            | Workload::Barrier(name, _)
            | Workload::Ring(name, _)
            | Workload::Whole(name, _) => Some(name),
            _ => None,
        }
    }

    /// The algorithm's own instructions; none where it is memory that the workload probes.
    pub(crate) fn instructions(&self) -> Instructions {
        match &self.workload {
            Workload::Lock(name, _) => Instructions::of("lock", name),
            Workload::Ring(name, _) => Instructions::of("queue", name),
            Workload::Barrier(..) => Instructions::typical(),
            _ => Instructions::NONE,
        }
    }

    /// Bytes of guest memory that the data takes, generously.
    pub(crate) fn bytes(&self) -> usize {
        match &self.workload {
            Workload::Chase(chase) => chase.bytes,
            Workload::Stream(stream) => stream.bytes.saturating_mul(stream.threads as usize),
            Workload::Sharing(sharing) => sharing.spacing.saturating_mul(sharing.threads as usize),
            Workload::Whole(_, whole) => whole.bytes(),
            _ => 0,
        }
    }

    /// Threads that were really made: a ring with one-sided queues may use fewer than asked for.
    pub(crate) fn threads(&self) -> u32 {
        match &self.workload {
            Workload::Lock(_, contention) => contention.threads,
            Workload::Barrier(_, meetings) => meetings.threads.get(),
            Workload::PingPong(_) => 2,
            Workload::Chase(_) => 1,
            Workload::Stream(Stream { threads, .. })
            | Workload::Sharing(Sharing { threads, .. })
            | Workload::Mostly(Mostly { threads, .. })
            | Workload::Hot(Hot { threads, .. }) => *threads,
            Workload::Whole(_, whole) => whole.threads(),
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
