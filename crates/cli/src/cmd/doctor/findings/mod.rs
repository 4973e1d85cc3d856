//! What was found, and how it is measured, step by step.

use crate::measure::instructions::{self, Verdict};
use crate::measure::kernel::{self, Kernel};
use crate::measure::{Budget, Spread, core, futex, lines, memory, place, sched};
use baton_machine::Wait;
use baton_machine::discover::{self, Processor, Topology};
use serde::Serialize;
use std::time::Duration;

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Findings {
    pub(crate) processor: Proc,
    pub(crate) cpus: Cpus,
    pub(crate) kernel: Kernel,
    /// Wait policies.
    pub(crate) waits: Vec<Verdict>,
    /// Ticks a second of the invariant time-stamp counter; none where there is none.
    pub(crate) tsc_hz: Option<u64>,
    /// What was measured, in order.
    pub(crate) figures: Vec<Figure>,
    /// Round trips of a line between each pair of CPUs.
    pub(crate) line_round_trips: Vec<Pair>,
    /// Stores that wait while one misses; none where no step is seen.
    pub(crate) store_buffer: Option<u32>,
    /// Where woken threads go; none where it cannot be told.
    pub(crate) places: Option<place::Places>,
    /// From the wake of a sleeper to its first instruction, by how long it has slept.
    pub(crate) wake_by_sleep: Vec<WakeBySleep>,
}

/// The processor, by its own account.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Proc {
    pub(crate) model: String,
    pub(crate) architecture: &'static str,
    pub(crate) hypervisor: Option<String>,
    /// Name and purpose of each thing that matters here, and whether it is offered.
    pub(crate) features: Vec<Feature>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) offered: bool,
}

/// The CPUs and how they hang together.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cpus {
    pub(crate) online: usize,
    /// Those that this process may run on.
    pub(crate) allowed: Vec<u32>,
    pub(crate) cores: usize,
    pub(crate) threads_per_core: usize,
    pub(crate) sockets: usize,
    pub(crate) numa_nodes: usize,
    /// Groups of CPUs that share a last-level cache.
    pub(crate) clusters: usize,
    pub(crate) line_bytes: u32,
    pub(crate) caches: Vec<Cache>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    pub(crate) kind: String,
    pub(crate) bytes: u64,
    pub(crate) shared_by: usize,
}

/// One thing that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// A name for programs.
    pub(crate) id: &'static str,
    /// A name for people.
    pub(crate) what: &'static str,
    /// How it is measured.
    pub(crate) how: &'static str,
    #[serde(flatten)]
    pub(crate) spread: Spread,
}

/// How far two CPUs are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Apart {
    SameCore,
    SameCluster,
    SameSocket,
    CrossSocket,
}

/// A round trip of a line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) cpus: (u32, u32),
    pub(crate) apart: Apart,
    /// None if the CPUs were too busy to answer.
    pub(crate) round_trip: Option<Spread>,
    /// What a write costs more when the other one has a copy.
    pub(crate) upgrade: Option<Spread>,
    /// A load of a line that the other one has written.
    pub(crate) remote: Option<Spread>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct WakeBySleep {
    pub(crate) slept_ns: u64,
    pub(crate) latency: Spread,
}

impl Findings {
    /// The figure of that id, if it could be measured.
    pub(crate) fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.id == id)
    }
}

/// How long a sleeper sleeps before it is woken: from one whose CPU may still poll for work to one whose CPU has halted.
const SLEEPS_US: [u64; 8] = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// Measuring each pair takes no longer than this in all.
const PAIRS_AT_MOST: Duration = Duration::from_secs(20);

/// Finds it all out.
pub(crate) fn find(budget: Budget, progress: Progress) -> Findings {
    progress.step("asking the processor and the kernel");
    let topology = Topology::discover();
    let cpus = cpus(&topology);
    let processor = Processor::discover();
    let kernel = kernel::discover();
    progress.step("trying the wait instructions");
    let waits = instructions::verdicts();
    progress.step("the time-stamp counter");
    let tsc_hz = core::ticks_a_second(budget);
    let figures = figures(budget, &progress, &topology, &cpus.allowed);
    let line_round_trips = pairs(budget, &progress, &topology, &cpus.allowed);
    progress.step("the store buffer");
    let store_buffer = memory::store_buffer(cpus.allowed[0]);
    progress.step("where woken threads go");
    let places = match cpus.allowed[..] {
        [one, other, ..] => place::places((one, other), budget.long),
        _ => None,
    };
    let wake_by_sleep = wake_by_sleep(budget, &progress, &cpus.allowed);
    progress.done();
    let features = processor.features.iter().map(|f| Feature { name: f.name, what: f.what, offered: f.offered });
    let processor = Proc {
        features: features.collect(),
        model: processor.model,
        architecture: processor.architecture,
        hypervisor: processor.hypervisor,
    };
    Findings { processor, cpus, kernel, waits, tsc_hz, figures, line_round_trips, store_buffer, places, wake_by_sleep }
}

fn cpus(topology: &Topology) -> Cpus {
    let cache = |c: &discover::Cache| Cache {
        level: c.level,
        kind: c.kind.clone(),
        bytes: c.bytes,
        shared_by: c.shared_by.len(),
    };
    Cpus {
        online: topology.cpus.len(),
        allowed: discover::allowed_cpus(),
        cores: topology.cores(),
        threads_per_core: topology.threads_per_core(),
        sockets: topology.sockets(),
        numa_nodes: topology.nodes(),
        clusters: topology.clusters(),
        line_bytes: topology.caches.first().map_or(64, |c| c.line),
        caches: topology.caches.iter().map(cache).collect(),
    }
}

fn figures(budget: Budget, progress: &Progress, topology: &Topology, allowed: &[u32]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |id, what, how, measure: &dyn Fn() -> Option<Spread>| {
        progress.step(what);
        figures.extend(measure().map(|spread| Figure { id, what, how, spread }));
    };
    let last_level = topology.caches.iter().map(|c| c.bytes).max().unwrap_or(0);
    let one = allowed[0];
    let two = allowed.get(1).map(|&other| (one, other));

    add("hit", "first-level cache hit", "a chain of dependent loads over 2 KiB", &|| Some(core::hit(budget)));
    add("spin-turn", "turn of a spinning wait", "load, compare, branch on an own line", &|| {
        Some(core::spin_turn(budget))
    });
    add("pause", "PAUSE", "a loop of them", &|| Some(core::pause(budget)));
    add("atomic", "uncontended atomic add", "a loop of them on an own line", &|| Some(core::atomic(budget)));
    add("fence", "sequentially consistent fence", "a loop of them", &|| Some(core::sequential_fence(budget)));
    add("memory", "memory latency", "a chain of dependent loads, four times the last-level cache", &|| {
        Some(core::memory(budget, last_level))
    });
    let levels = Levels::of(&topology.caches, topology.threads_per_core());
    if let Some(l2) = levels.second {
        add("l2", "second-level cache", "a chain of dependent loads, half of it", &|| {
            Some(core::level(budget, l2.bytes / 2))
        });
    }
    if let Some(shared) = levels.last {
        let below = levels.second.map_or(0, |l2| 2 * l2.bytes);
        let bytes = (shared.bytes / 4).max(below).min(shared.bytes / 2);
        add("last-level", "last-level cache", "a chain of dependent loads, a quarter of it", &|| {
            Some(core::level(budget, bytes))
        });
    }
    let line = topology.caches.first().map_or(64, |c| c.line);
    add("line-rate", "memory, a line, all CPUs reading", "long ranges, wall-clock time by lines", &|| {
        memory::line_rate(allowed, line, last_level, budget)
    });
    add("clock", "reading the clock", "a loop of clock_gettime", &|| Some(core::clock(budget)));
    add("work", "a cycle of Native::work", "the calibrated loop, by its iterations", &|| Some(core::work(budget)));
    add("futex-wake-none", "futex wake, nobody asleep", "a loop of them", &|| Some(futex::wake_none(budget)));
    add("futex-wait-changed", "futex wait, value changed", "a loop of them", &|| Some(futex::wait_changed(budget)));
    if let Some(two) = two {
        let woken = |n, idle, pick: fn(futex::Woken) -> Spread| {
            futex::wake_sleepers(two, n, Duration::from_micros(idle), budget.long).map(pick)
        };
        add("futex-wake", "futex wake of a sleeper, at the waker", "sleeper on another CPU, asleep for 1 ms", &|| {
            woken(1, 1_000, |w| w.call)
        });
        add("futex-wake-8", "futex wake of 8 sleepers, at the waker", "sleepers on one other CPU", &|| {
            woken(8, 1_000, |w| w.call)
        });
        add("futex-round-trip", "futex round trip, two CPUs", "two threads that wake each other and sleep", &|| {
            futex::round_trip(two, budget.long)
        });
    }
    add("futex-round-trip-one", "futex round trip, one CPU", "the same, both on one CPU", &|| {
        futex::round_trip((one, one), budget.long)
    });
    add(
        "context-switch",
        "context switch",
        "two threads on one CPU that yield, by the kernel's count of switches",
        &|| sched::context_switch(one, budget),
    );
    add("time-slice", "time slice", "run lengths of two busy threads on one CPU", &|| sched::time_slice(one, budget));
    add(
        "preemption",
        "busy thread runs on while one wakes",
        "beyond the wake-up time of one that sleeps 20 µs at a time",
        &|| sched::preemption(one, budget),
    );
    add("thread-create", "creating a thread, at its creator", "pthread_create, joined outside of the time", &|| {
        sched::thread_create(budget)
    });
    figures
}

/// Which of the machine's caches stands for which level of a chip.
pub(crate) struct Levels<'a> {
    pub(crate) first: Option<&'a discover::Cache>,
    /// Private, beyond the first.
    pub(crate) second: Option<&'a discover::Cache>,
    /// Shared by cores, or the third.
    pub(crate) last: Option<&'a discover::Cache>,
}

impl Levels<'_> {
    /// A chip has at most two private levels and a shared one: the largest of what is private beyond the first is the second.
    pub(crate) fn of(caches: &[discover::Cache], threads_per_core: usize) -> Levels<'_> {
        let mut data: Vec<_> = caches.iter().filter(|c| c.kind != "Instruction").collect();
        data.sort_by_key(|c| c.level);
        let first = data.first().copied();
        let mut beyond = data.split_off(data.len().min(1));
        let is_last = beyond.len() > 1 || beyond.last().is_some_and(|c| c.shared_by.len() > threads_per_core);
        let last = if is_last { beyond.pop() } else { None };
        Levels { first, second: beyond.pop(), last }
    }
}

fn pairs(budget: Budget, progress: &Progress, topology: &Topology, allowed: &[u32]) -> Vec<Pair> {
    progress.step("handing a line over, each pair of CPUs");
    let n = allowed.len() * allowed.len().saturating_sub(1) / 2;
    let each = (PAIRS_AT_MOST / (3 * n.max(1)) as u32).clamp(Duration::from_millis(2), budget.short);
    let mut pairs = Vec::with_capacity(n);
    for (i, &a) in allowed.iter().enumerate() {
        for &b in &allowed[i + 1..] {
            let round_trip = lines::round_trip((a, b), Wait::Spin, each);
            let upgrade = lines::upgrade((a, b), each);
            let remote = lines::remote((a, b), each);
            pairs.push(Pair { cpus: (a, b), apart: apart(topology, a, b), round_trip, upgrade, remote });
        }
    }
    pairs
}

fn apart(topology: &Topology, a: u32, b: u32) -> Apart {
    let cpu = |id| topology.cpus.iter().find(|c| c.id == id);
    match (cpu(a), cpu(b)) {
        (Some(a), Some(b)) if a.siblings.contains(&b.id) => Apart::SameCore,
        (Some(a), Some(b)) if a.cluster.contains(&b.id) => Apart::SameCluster,
        (Some(a), Some(b)) if a.socket == b.socket => Apart::SameSocket,
        _ => Apart::CrossSocket,
    }
}

fn wake_by_sleep(budget: Budget, progress: &Progress, allowed: &[u32]) -> Vec<WakeBySleep> {
    progress.step("waking a sleeper, by how long it has slept");
    let [one, other, ..] = *allowed else { return Vec::new() };
    let measure = |us: &u64| {
        let slept = Duration::from_micros(*us);
        let woken = futex::wake_sleepers((one, other), 1, slept, budget.long / 2)?;
        Some(WakeBySleep { slept_ns: us * 1_000, latency: woken.latency })
    };
    SLEEPS_US.iter().filter_map(measure).collect()
}

/// Says on a terminal how far the measuring is.
pub(crate) struct Progress(indicatif::ProgressBar);

impl Progress {
    /// As many as [`find`] takes on a machine with more than one CPU.
    const STEPS: u64 = 28;

    /// A bar on standard error; none where that is no terminal.
    pub(crate) fn new() -> Progress {
        let bar = indicatif::ProgressBar::new(Progress::STEPS);
        let style = indicatif::ProgressStyle::with_template("{bar:24} {pos:>2}/{len} {msg}").expect("a valid template");
        Progress(bar.with_style(style))
    }

    fn step(&self, what: &str) {
        self.0.inc(1);
        self.0.set_message(what.to_owned());
    }

    fn done(&self) {
        self.0.finish_and_clear();
    }
}
