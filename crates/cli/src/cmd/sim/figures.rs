//! From the outcome of a simulation to JSON and a table. Durations are in cycles of the chip's
//! clock, as their names say.

use super::args::Args;
use super::clocks::{self, Clocks};
use super::energy::EnergyFigures;
use super::measured::Measured;
use super::shape::{Field, Flat, Group, Shape, Shaped, figures};
use super::system::{self, Known};
use super::workload::Chosen;
use crate::{chips, ui};
use baton_chip::account::{LockRecorder, Shares};
use baton_chip::{Chip, CoreCounts, Counters, MemoryCounts, NetworkCounts, Outcome, PortCounts, ThreadCounts};
use baton_trace::Trace;
use baton_trace::analysis::{Analysis, LockStats};
use baton_workloads::Figure;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Name and version of the JSON. A change that breaks a reader raises the version.
const SCHEMA: &str = "baton-sim/2";

figures! {
    /// A workload on a simulated chip.
    pub(crate) struct SimFigures {
        /// Name and version of this form.
        schema: Version,
        /// The workload: one of `baton sim --help`.
        workload: &'static str,
        /// Name of the lock, barrier or queue; null for other workloads.
        algorithm: Option<&'static str>,
        /// How threads waited.
        wait: String,
        /// Number of threads.
        threads: u32 as "threads",
        /// Seed of the noise.
        seed: u64,
        /// Whether every thread ended; otherwise the run was cut off by --cycles.
        finished: bool,
        /// Length of the run in cycles of the chip's clock.
        pub(super) cycles: u64 as "cycles",
        /// Length of the run in simulated seconds.
        simulated_seconds: f64 as "seconds",
        /// Time that the simulation took, which differs from run to run.
        host_seconds: f64 as "seconds",
        /// Simulated cycles per second of the host.
        cycles_per_second: f64 as "cycles per second",
        /// Operations that guests did one by one. Tries of waits that were counted without being
        /// simulated are not included.
        guest_operations: u64 as "operations",
        /// Guest operations per second of the host.
        guest_operations_per_second: f64 as "operations per second",
        /// Steps of the engine's queue.
        events: u64 as "events",
        /// Lock acquisitions; 0 for other workloads.
        acquisitions: u64 as "acquisitions",
        /// Number of times that a thread was put on a core.
        context_switches: u64 as "switches",
        /// The counters of the memory system; from l2_hits on, 0 on a chip of fixed latencies.
        memory: Group<MemoryCounts>,
        @flat network: NetworkCounts,
        /// The cores, in the order of their numbers; empty on a chip of fixed latencies.
        by_core: Vec<CoreFigures>,
        /// The devices, in the order of their numbers; left out on a chip without any.
        @left_out by_device: Vec<DeviceFigures>,
        /// Energy of the run, at the prices of the chip file; with --energy.
        @left_out pub(super) energy: Option<EnergyFigures>,
        /// How clocks were governed; left out without a governor (os.governor).
        @left_out clocks: Option<Clocks>,
        /// Share of the cycles of all ports of all routers in which a flit passed; null on a chip
        /// without a network.
        network_utilisation: Option<f64> as "share",
        /// Figures that the workload timed of itself; empty if it times nothing, or was cut off.
        measured: Measured,
        /// The account of all locks together, as `baton report` has it: blocking = critical sections + competition overhead.
        /// Absent with --no-trace and for workloads without locks.
        @left_out lock: Option<LockFigures>,
        /// Shares of thread-time in the part of the run that counts (a profile warms up first), and
        /// rates per thread; absent with --no-trace and for workloads without locks.
        @left_out shares: Option<ShareFigures>,
        /// The applications: the one that the command line describes first, then those of --app in order.
        by_app: Vec<system::Application>,
        /// The CPUs in use, in the order of their numbers.
        by_cpu: Vec<system::Cpu>,
        /// The threads, in the order of their creation.
        by_thread: Vec<ThreadFigures>,
        /// The options of the workload, as given.
        workload_options: serde_json::Value,
        /// The whole chip configuration: every key of the chip file and its value.
        chip: serde_json::Value,
    }
}

/// The form of these figures. Its schema is `docs/schema/sim.schema.json`.
struct Version;

impl Shaped for Version {
    fn shape() -> Shape {
        Shape::Constant(SCHEMA)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(SCHEMA)
    }
}

figures! {
    /// The figures of a core.
    struct CoreFigures {
        /// Number of the core.
        core: u32,
        /// Requests to the core's data cache, counted tries included.
        accesses: u64 as "requests",
        /// Requests that the first level did not serve.
        l1_misses: u64 as "requests",
        /// Requests that none of the core's private caches served.
        l2_misses: u64 as "requests",
        @flat others: Others,
    }
}

/// The counters of a core that are not part of the sums above.
struct Others(CoreCounts);

/// Counters of which the sums above are made.
const SUMMED: [&str; 3] = ["hits", "l2_hits", "misses"];

impl Flat for Others {
    fn fields() -> Vec<Field> {
        CoreCounts::fields().into_iter().filter(|field| !SUMMED.contains(&field.name)).collect()
    }

    fn entries(&self) -> Vec<(&'static str, u64)> {
        self.0.entries().into_iter().filter(|(name, _)| !SUMMED.contains(name)).collect()
    }
}

impl CoreFigures {
    fn new((core, counts): (u32, &CoreCounts)) -> CoreFigures {
        let beyond = counts.misses + counts.upgrades;
        CoreFigures {
            core,
            accesses: counts.hits + counts.l2_hits + beyond,
            l1_misses: counts.l2_hits + beyond,
            l2_misses: beyond,
            others: Others(*counts),
        }
    }
}

figures! {
    /// The figures of a device.
    struct DeviceFigures {
        @flat port: PortCounts,
        /// The device's own counters, by name.
        counts: BTreeMap<&'static str, u64>,
    }
}

impl DeviceFigures {
    fn new(device: &baton_chip::DeviceFigures) -> DeviceFigures {
        DeviceFigures { port: device.port, counts: device.counts.iter().copied().collect() }
    }
}

/// Share of the cycles of all router ports in which a flit passed.
fn utilisation(chip: &Chip, outcome: &Outcome) -> Option<f64> {
    let (plan, period) = (chip.plan()?, chip.network_period()?);
    let graph = plan.network.topology.build().ok()?;
    let ports = (graph.links.len() + graph.nodes.len()) as f64;
    let cycles = outcome.cycles.0 as f64 / period as f64;
    (cycles > 0.0).then(|| outcome.network.flit_hops as f64 / (ports * cycles))
}

figures! {
    /// Shares of thread-time.
    struct ShareFigures {
        /// Length of the part of the run that counts.
        counted_cycles: u64 as "cycles",
        /// Share of thread-time in critical sections.
        sections: f64 as "share",
        /// Share of thread-time in competition overhead: waiting for a lock that no thread held.
        overhead: f64 as "share",
        /// Share of thread-time in waiting for locks: other threads' critical sections and
        /// overhead.
        blocked: f64 as "share",
        /// Share of all acquisitions whose thread did not sleep for the lock.
        entered_spinning: f64 as "share",
        /// Share of all acquisitions that waited.
        contended: f64 as "share",
        /// Acquisitions per thousand cycles and thread.
        acquisitions_per_kilocycle: f64 as "acquisitions per 1000 cycles and thread",
        /// Messages of caches and homes per thousand cycles and thread; null for a workload that
        /// does not say which part counts.
        messages_per_kilocycle: Option<f64> as "messages per 1000 cycles and thread",
    }
}

impl ShareFigures {
    fn new(shares: &Shares, messages: Option<u64>, threads: u32) -> ShareFigures {
        let thread_kilocycles = (shares.cycles as f64 * f64::from(threads) / 1000.0).max(f64::MIN_POSITIVE);
        ShareFigures {
            counted_cycles: shares.cycles,
            sections: shares.sections,
            overhead: shares.overhead,
            blocked: shares.blocked,
            entered_spinning: shares.entered_spinning,
            contended: shares.contended,
            acquisitions_per_kilocycle: shares.rate,
            messages_per_kilocycle: messages.map(|messages| messages as f64 / thread_kilocycles),
        }
    }
}

figures! {
    /// The account of the locks.
    struct LockFigures {
        /// Acquisitions that waited.
        contended: u64 as "acquisitions",
        /// Time of waiting, added over threads: sections plus overhead.
        blocking_cycles: u64 as "cycles",
        /// The part of the waiting while the lock was held.
        sections_cycles: u64 as "cycles",
        /// The part of the waiting while the lock was free: competition overhead.
        overhead_cycles: u64 as "cycles",
        /// Time in which a thread held the lock.
        held_cycles: u64 as "cycles",
        /// Mean time from a release with a thread waiting to the next acquisition.
        handoff_mean_cycles: u64 as "cycles",
        /// Share of the contended acquisitions whose thread did not sleep.
        entered_spinning_share: f64 as "share",
        /// Acquisitions per thousand cycles.
        rate_per_kilocycle: f64 as "acquisitions per 1000 cycles",
    }
}

figures! {
    /// The figures of a thread.
    struct ThreadFigures {
        /// Name of the thread.
        name: String,
        @flat counts: ThreadCounts,
        /// Time that the thread waited for the lock.
        @left_out blocking_cycles: Option<u64> as "cycles",
        /// The part of the waiting while the lock was held.
        @left_out sections_cycles: Option<u64> as "cycles",
        /// The part of the waiting while the lock was free.
        @left_out overhead_cycles: Option<u64> as "cycles",
        /// Every cycle of the run, each with one reason; the reasons sum to `cycles`.
        cycle_stack: CycleStack,
    }
}

/// The cycles of a thread, by reason.
struct CycleStack(BTreeMap<&'static str, u64>);

impl Shaped for CycleStack {
    fn shape() -> Shape {
        Shape::Object("", baton_chip::ThreadFigures::cycle_stack_declared().iter().map(Field::counter).collect())
    }
}

impl Serialize for CycleStack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl SimFigures {
    pub(crate) fn new(
        args: &Args,
        chosen: &Chosen,
        chip: &Chip,
        outcome: &Outcome,
        measured: &[Figure],
        host_seconds: f64,
    ) -> SimFigures {
        let rate = |n: u64| if host_seconds > 0.0 { n as f64 / host_seconds } else { 0.0 };
        let by_thread = outcome.threads.iter().map(|thread| ThreadFigures {
            name: thread.name.clone(),
            counts: thread.counts,
            blocking_cycles: None,
            sections_cycles: None,
            overhead_cycles: None,
            cycle_stack: CycleStack(
                thread.cycle_stack(outcome.cycles).into_iter().map(|(why, cycles)| (why, cycles.0)).collect(),
            ),
        });
        SimFigures {
            schema: Version,
            workload: args.workload.text(),
            algorithm: chosen.algorithm(),
            wait: chosen.wait.to_string(),
            threads: chosen.threads(),
            seed: args.seed,
            finished: outcome.finished,
            cycles: outcome.cycles.0,
            simulated_seconds: chip.core.clock.nanos(outcome.cycles).0 as f64 * 1e-9,
            host_seconds,
            cycles_per_second: rate(outcome.cycles.0),
            guest_operations: outcome.guest_operations,
            guest_operations_per_second: rate(outcome.guest_operations),
            events: outcome.events,
            acquisitions: chosen.recorder.acquisitions(),
            context_switches: outcome.switches,
            memory: Group(outcome.memory),
            network: outcome.network,
            by_core: (0..).zip(&outcome.cores).map(CoreFigures::new).collect(),
            by_device: outcome.devices.iter().map(DeviceFigures::new).collect(),
            energy: None,
            clocks: clocks::figures(outcome),
            network_utilisation: utilisation(chip, outcome),
            measured: Measured::new(measured, chip),
            lock: None,
            shares: None,
            by_app: Vec::new(),
            by_cpu: Vec::new(),
            by_thread: by_thread.collect(),
            workload_options: options(args),
            chip: chips::echo(chip),
        }
    }

    /// Adds the figures of applications and CPUs.
    pub(crate) fn with_system(self, known: &[Known], outcome: &Outcome) -> SimFigures {
        SimFigures { by_app: system::applications(known, outcome), by_cpu: system::cpus(outcome), ..self }
    }

    /// Adds the account of the locks, from the recorded events.
    pub(crate) fn with_trace(mut self, trace: &Trace, recorder: &LockRecorder) -> SimFigures {
        let window = recorder.counted(trace);
        let shares = Shares::of(trace, window.clone(), self.threads);
        self.shares = Some(ShareFigures::new(&shares, recorder.messages(), self.threads));
        let analysis = Analysis::of(trace, window);
        if analysis.locks.is_empty() {
            return self;
        }
        let mut stats = LockStats::default();
        analysis.locks.iter().for_each(|lock| stats.merge(&lock.stats));
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        self.lock = Some(LockFigures {
            contended: stats.contended,
            blocking_cycles: stats.blocked.0,
            sections_cycles: stats.sections.0,
            overhead_cycles: stats.overhead.0,
            held_cycles: stats.busy.0,
            handoff_mean_cycles: stats.handoff.mean().0,
            entered_spinning_share: share(stats.entered_spinning, stats.contended),
            rate_per_kilocycle: share(stats.acquisitions * 1000, self.cycles),
        });
        for (figures, thread) in self.by_thread.iter_mut().zip(&analysis.threads) {
            figures.blocking_cycles = Some(thread.locks.blocked.0);
            figures.sections_cycles = Some(thread.locks.sections.0);
            figures.overhead_cycles = Some(thread.locks.overhead.0);
        }
        self
    }

    /// The figures as text.
    pub(crate) fn text(&self) -> String {
        let mut out = format!(
            "{} {} wait {} · {} threads · {} cycles ({:.3} ms){}\n",
            self.workload,
            self.algorithm.unwrap_or_default(),
            self.wait,
            self.threads,
            self.cycles,
            self.simulated_seconds * 1e3,
            if self.finished { "" } else { " · cut off" },
        );
        if let Some(lock) = &self.lock {
            out += &format!(
                "{} acquisitions, {} contended · blocking {} = critical sections {} + competition overhead {} cycles · \
                 {:.0}% entered spinning · hand-off {} cycles\n",
                self.acquisitions,
                lock.contended,
                lock.blocking_cycles,
                lock.sections_cycles,
                lock.overhead_cycles,
                100.0 * lock.entered_spinning_share,
                lock.handoff_mean_cycles,
            );
        }
        let mut header = vec!["thread"];
        // Reasons that no thread had are left out.
        let some = |why: &str| self.by_thread.iter().any(|thread| thread.cycle_stack.0[why] != 0);
        let reasons = self.by_thread.first().map(|thread| thread.cycle_stack.0.keys()).into_iter().flatten();
        let reasons: Vec<&str> = reasons.copied().filter(|why| some(why)).collect();
        header.extend(&reasons);
        header.extend(ThreadCounts::DECLARED.iter().map(|counter| counter.name));
        let rows = self.by_thread.iter().map(|thread| {
            let mut row = vec![thread.name.clone()];
            row.extend(reasons.iter().map(|&why| thread.cycle_stack.0[why].to_string()));
            row.extend(thread.counts.values().map(|(_, value)| value.to_string()));
            row
        });
        out += &ui::table(&header, &rows.collect::<Vec<_>>());
        out += &system::text(&self.by_app, &self.by_cpu);
        if let Some(clocks) = &self.clocks {
            out += &clocks.text();
        }
        if let Some(energy) = &self.energy {
            out += &energy.text();
        }
        out += &format!(
            "{} guest operations in {:.3} s of host time: {:.1} M a second\n",
            self.guest_operations,
            self.host_seconds,
            self.guest_operations_per_second / 1e6
        );
        out
    }
}

/// The options of the workload. A bulk of one item is left out, because readers of the results may
/// know of no bulk.
fn options(args: &Args) -> serde_json::Value {
    let mut options = serde_json::json!({
        "cs_cycles": args.cs, "think_cycles": args.think, "spread": args.spread, "lines": args.lines,
        "capacity": args.capacity, "iterations": args.iterations, "limit_cycles": args.cycles, "cpus": args.cpus,
        "bytes": args.bytes, "spacing_bytes": args.spacing, "one_write_in": args.one_write_in, "at": args.at,
        "pin": args.pin, "size": args.size, "grain": args.grain, "profile": args.profile, "draw": args.draw,
        "load": args.load, "nice": args.nice, "off": args.off, "on": args.on, "app": args.app,
    });
    if args.bulk != 1 {
        options["bulk"] = args.bulk.into();
    }
    super::inputs::shown(args, &mut options);
    options
}
