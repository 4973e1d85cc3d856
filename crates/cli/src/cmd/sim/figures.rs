//! From what came out to JSON and a table. Durations are cycles of the chip's clock and say so in their names.

use super::Args;
use super::energy::EnergyFigures;
use super::system::{self, Known};
use super::workload::Chosen;
use crate::{chips, ui};
use baton_chip::account::{LockRecorder, Shares};
use baton_chip::{Chip, CoreCounts, MemoryCounts, Outcome};
use baton_trace::Trace;
use baton_trace::analysis::{Analysis, LockStats};
use baton_workloads::Figure;
use serde::Serialize;

/// Name and version of the JSON; a change that breaks a reader raises it. Its schema is `docs/schema/sim.schema.json`.
const SCHEMA: &str = "baton-sim/2";

/// The figures of a run.
#[derive(Serialize)]
pub(crate) struct Figures {
    schema: &'static str,
    workload: &'static str,
    algorithm: Option<&'static str>,
    wait: String,
    threads: u32,
    seed: u64,
    /// Every thread ended; otherwise the run was cut off by --cycles.
    finished: bool,
    pub(super) cycles: u64,
    simulated_seconds: f64,
    host_seconds: f64,
    cycles_per_second: f64,
    guest_operations: u64,
    guest_operations_per_second: f64,
    events: u64,
    acquisitions: u64,
    context_switches: u64,
    memory: Memory,
    /// One for each flit and router that it passed.
    flit_hops: u64,
    by_core: Vec<CoreFigures>,
    /// Left out on a chip without devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_device: Vec<DeviceFigures>,
    /// With --energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) energy: Option<EnergyFigures>,
    /// Null on a chip without a network.
    network_utilisation: Option<f64>,
    /// What the workload timed of itself; empty if it times nothing, or was cut off.
    measured: std::collections::BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<LockFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<ShareFigures>,
    by_app: Vec<system::Application>,
    by_cpu: Vec<system::Cpu>,
    by_thread: Vec<ThreadFigures>,
    workload_options: serde_json::Value,
    chip: serde_json::Value,
}

/// What the memory system counted. The first five have a meaning on any chip, the others on coherent ones.
#[derive(Serialize)]
struct Memory {
    hits: u64,
    transfers: u64,
    upgrades: u64,
    fetches: u64,
    queueing_cycles: u64,
    l2_hits: u64,
    misses: u64,
    shared_hits: u64,
    invalidations: u64,
    evictions: u64,
    memory_writes: u64,
    row_hits: u64,
    far_atomics: u64,
    messages: u64,
}

impl Memory {
    fn new(counts: &MemoryCounts) -> Memory {
        Memory {
            hits: counts.hits,
            transfers: counts.transfers,
            upgrades: counts.upgrades,
            fetches: counts.fetches,
            queueing_cycles: counts.queueing,
            l2_hits: counts.l2_hits,
            misses: counts.misses,
            shared_hits: counts.shared_hits,
            invalidations: counts.invalidations,
            evictions: counts.evictions,
            memory_writes: counts.memory_writes,
            row_hits: counts.row_hits,
            far_atomics: counts.far_atomics,
            messages: counts.messages,
        }
    }
}

/// A core's caches.
#[derive(Serialize)]
struct CoreFigures {
    core: u32,
    accesses: u64,
    l1_misses: u64,
    l2_misses: u64,
    upgrades: u64,
    forwards: u64,
    invalidations: u64,
}

impl CoreFigures {
    fn new((core, counts): (u32, &CoreCounts)) -> CoreFigures {
        let beyond = counts.misses + counts.upgrades;
        CoreFigures {
            core,
            accesses: counts.hits + counts.l2_hits + beyond,
            l1_misses: counts.l2_hits + beyond,
            l2_misses: beyond,
            upgrades: counts.upgrades,
            forwards: counts.forwards,
            invalidations: counts.invalidations,
        }
    }
}

/// What a device did.
#[derive(Serialize)]
struct DeviceFigures {
    requests: u64,
    waited_cycles: u64,
    full_cycles: u64,
    empty_cycles: u64,
    counts: std::collections::BTreeMap<&'static str, u64>,
}

impl DeviceFigures {
    fn new(device: &baton_chip::DeviceFigures) -> DeviceFigures {
        DeviceFigures {
            requests: device.requests,
            waited_cycles: device.waited,
            full_cycles: device.full,
            empty_cycles: device.empty,
            counts: device.counts.iter().copied().collect(),
        }
    }
}

/// Of the cycles that all router ports had, the share in which a flit passed.
fn utilisation(chip: &Chip, outcome: &Outcome) -> Option<f64> {
    let (plan, period) = (chip.plan()?, chip.network_period()?);
    let graph = plan.network.topology.build().ok()?;
    let ports = (graph.links.len() + graph.nodes.len()) as f64;
    let cycles = outcome.cycles.0 as f64 / period as f64;
    (cycles > 0.0).then(|| outcome.memory.flit_hops as f64 / (ports * cycles))
}

/// A workload's own figure, in the chip's cycles instead of nanoseconds.
fn in_cycles(figure: &Figure, chip: &Chip) -> (&'static str, f64) {
    let cycles_a_nanosecond = chip.core.clock.0 as f64 * 1e-9;
    let value = figure.value;
    match figure.name {
        "nanoseconds_a_load" => ("cycles_a_load", value * cycles_a_nanosecond),
        "nanoseconds_an_access" => ("cycles_an_access", value * cycles_a_nanosecond),
        "nanoseconds_an_addition" => ("cycles_an_addition", value * cycles_a_nanosecond),
        "bytes_a_nanosecond" => ("bytes_a_cycle", value / cycles_a_nanosecond),
        "additions_a_nanosecond" => ("additions_a_kilocycle", 1000.0 * value / cycles_a_nanosecond),
        other => (other, value),
    }
}

/// Shares of thread-time in the part of the run that counts (a profile warms up first), and rates a thread.
#[derive(Serialize)]
struct ShareFigures {
    counted_cycles: u64,
    sections: f64,
    overhead: f64,
    blocked: f64,
    /// Of all acquisitions.
    entered_spinning: f64,
    contended: f64,
    acquisitions_per_kilocycle: f64,
    /// Of caches and homes; null for a workload that does not say what counts.
    messages_per_kilocycle: Option<f64>,
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

/// The locks' account, all of a workload's together, as `baton report` has it: blocking = critical sections + competition overhead.
#[derive(Serialize)]
struct LockFigures {
    contended: u64,
    blocking_cycles: u64,
    sections_cycles: u64,
    overhead_cycles: u64,
    held_cycles: u64,
    handoff_mean_cycles: u64,
    /// Of the contended acquisitions, those that did not sleep.
    entered_spinning_share: f64,
    /// Acquisitions a thousand cycles.
    rate_per_kilocycle: f64,
}

#[derive(Serialize)]
struct ThreadFigures {
    name: String,
    operations: u64,
    tries: u64,
    sleeps: u64,
    preemptions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocking_cycles: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sections_cycles: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_cycles: Option<u64>,
    /// Where its cycles went, one reason for each; sums to the cycles of the run.
    cycle_stack: serde_json::Map<String, serde_json::Value>,
}

impl Figures {
    pub(crate) fn new(
        args: &Args,
        chosen: &Chosen,
        chip: &Chip,
        outcome: &Outcome,
        measured: &[Figure],
        host_seconds: f64,
    ) -> Figures {
        let rate = |n: u64| if host_seconds > 0.0 { n as f64 / host_seconds } else { 0.0 };
        let by_thread = outcome.threads.iter().map(|thread| ThreadFigures {
            name: thread.name.clone(),
            operations: thread.operations,
            tries: thread.tries,
            sleeps: thread.sleeps,
            preemptions: thread.preemptions,
            blocking_cycles: None,
            sections_cycles: None,
            overhead_cycles: None,
            cycle_stack: thread
                .cycle_stack(outcome.cycles)
                .into_iter()
                .map(|(why, cycles)| (why.to_owned(), cycles.0.into()))
                .collect(),
        });
        Figures {
            schema: SCHEMA,
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
            memory: Memory::new(&outcome.memory),
            flit_hops: outcome.memory.flit_hops,
            by_core: (0..).zip(&outcome.cores).map(CoreFigures::new).collect(),
            by_device: outcome.devices.iter().map(DeviceFigures::new).collect(),
            energy: None,
            network_utilisation: utilisation(chip, outcome),
            measured: measured.iter().map(|figure| in_cycles(figure, chip)).collect(),
            lock: None,
            shares: None,
            by_app: Vec::new(),
            by_cpu: Vec::new(),
            by_thread: by_thread.collect(),
            workload_options: serde_json::json!({
                "cs_cycles": args.cs, "think_cycles": args.think, "spread": args.spread, "lines": args.lines,
                "capacity": args.capacity, "iterations": args.iterations, "limit_cycles": args.cycles, "cpus": args.cpus,
                "bytes": args.bytes, "spacing_bytes": args.spacing, "one_write_in": args.one_write_in, "at": args.at,
                "pin": args.pin, "size": args.size, "grain": args.grain, "profile": args.profile, "draw": args.draw,
                "load": args.load, "nice": args.nice, "off": args.off, "on": args.on, "app": args.app,
            }),
            chip: chips::echo(chip),
        }
    }

    /// Adds what applications and CPUs did.
    pub(crate) fn with_system(self, known: &[Known], outcome: &Outcome) -> Figures {
        Figures { by_app: system::applications(known, outcome), by_cpu: system::cpus(outcome), ..self }
    }

    /// Adds the locks' account, from the recorded events.
    pub(crate) fn with_trace(mut self, trace: &Trace, recorder: &LockRecorder) -> Figures {
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

    /// For people.
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
        let some = |why: &str| self.by_thread.iter().any(|thread| thread.cycle_stack[why] != 0);
        let reasons = self.by_thread.first().map(|thread| thread.cycle_stack.keys()).into_iter().flatten();
        let reasons: Vec<&str> = reasons.map(String::as_str).filter(|why| some(why)).collect();
        header.extend(&reasons);
        header.extend(["tries", "sleeps"]);
        let rows = self.by_thread.iter().map(|thread| {
            let mut row = vec![thread.name.clone()];
            row.extend(reasons.iter().map(|&why| thread.cycle_stack[why].to_string()));
            row.extend([thread.tries.to_string(), thread.sleeps.to_string()]);
            row
        });
        out += &ui::table(&header, &rows.collect::<Vec<_>>());
        out += &system::text(&self.by_app, &self.by_cpu);
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
