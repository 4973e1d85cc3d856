//! The findings about a machine, and how they are measured, step by step.
//!
//! | file | holds |
//! | --- | --- |
//! | [`figures`] | one time after the other, each with how it is measured, or why it cannot be |

mod figures;

use baton_host::costs::instructions::{self, Verdict};
use baton_host::costs::kernel::{self, Kernel};
use baton_host::costs::{Budget, Spread, core, futex, lines, memory, place};
use baton_machine::Wait;
use baton_machine::discover::{self, Processor, Topology};
use serde::Serialize;
use std::time::Duration;

/// All findings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Findings {
    pub(crate) processor: Proc,
    pub(crate) cpus: Cpus,
    pub(crate) kernel: Kernel,
    /// The wait policies, and whether the machine can carry them out.
    pub(crate) waits: Vec<Verdict>,
    /// Ticks per second of the invariant time-stamp counter; `None` if there is no such counter.
    pub(crate) tsc_hz: Option<u64>,
    /// The measured figures, in the order in which they were measured.
    pub(crate) figures: Vec<Figure>,
    /// Round trips of a line between the two CPUs of each pair.
    pub(crate) line_round_trips: Vec<Pair>,
    /// The figures that could not be measured, or not well enough to be a price.
    pub(crate) left_out: Vec<LeftOut>,
    /// Number of stores that wait while one misses; `None` if that cannot be measured.
    pub(crate) store_buffer: Option<u32>,
    /// Where woken threads go; `None` if that cannot be measured.
    pub(crate) places: Option<place::Places>,
    /// Time from the wake of a sleeper to its first instruction, by the length of its sleep.
    pub(crate) wake_by_sleep: Vec<WakeBySleep>,
}

/// The processor, as it describes itself.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Proc {
    pub(crate) model: String,
    pub(crate) architecture: &'static str,
    pub(crate) hypervisor: Option<String>,
    /// Name and purpose of each feature that matters here, and whether the processor offers it.
    pub(crate) features: Vec<Feature>,
    /// What the kernel allows UMWAIT and TPAUSE to do; `None` if the kernel does not say.
    pub(crate) umwait_control: Option<UmwaitLimits>,
}

/// What the kernel allows UMWAIT and TPAUSE to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct UmwaitLimits {
    /// Whether UMWAIT and TPAUSE may rest at C0.2; otherwise they rest at C0.1.
    pub(crate) c02: bool,
    /// The longest rest, in ticks of the time-stamp counter; 0: without bound.
    pub(crate) max_ticks: u32,
}

impl Proc {
    /// Whether the processor offers the feature with that name.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.features.iter().any(|feature| feature.name == name && feature.offered)
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) offered: bool,
}

/// The CPUs, and how they share cores and caches.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cpus {
    pub(crate) online: usize,
    /// The CPUs on which this process may run.
    pub(crate) allowed: Vec<u32>,
    /// Two of the allowed CPUs, on different cores if possible: figures that need two CPUs are
    /// measured on them.
    pub(crate) two: Option<(u32, u32)>,
    /// Number of CPUs of each core; `None` if cores have different numbers.
    pub(crate) contexts: Option<u32>,
    pub(crate) cores: usize,
    pub(crate) threads_per_core: usize,
    pub(crate) sockets: usize,
    pub(crate) numa_nodes: usize,
    /// Groups of CPUs that share a last-level cache.
    pub(crate) clusters: usize,
    /// The kinds of cores, the fastest first, and what told them apart.
    pub(crate) kinds: Kinds,
    pub(crate) line_bytes: u32,
    pub(crate) caches: Vec<Cache>,
}

/// Which CPUs are about equally fast.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Kinds {
    pub(crate) all: Vec<Kind>,
    /// What told the kinds apart, or told that there is one kind; `None` if nothing does.
    pub(crate) source: Option<&'static str>,
    /// How the kernel's other figures group the CPUs, if they group them differently. A timed loop
    /// has decided then.
    pub(crate) disagree: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) cpus: Vec<u32>,
    /// Speed in 1024ths of the fastest CPU's, if there is a figure.
    pub(crate) speed: Option<u32>,
    pub(crate) core_type: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    pub(crate) kind: String,
    pub(crate) bytes: u64,
    pub(crate) shared_by: usize,
}

/// One figure that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// The name for programs.
    pub(crate) id: &'static str,
    /// The name for people.
    pub(crate) what: &'static str,
    /// How the figure is measured.
    pub(crate) how: &'static str,
    #[serde(flatten)]
    pub(crate) spread: Spread,
}

/// One figure that was not measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LeftOut {
    /// The name for programs.
    pub(crate) id: &'static str,
    /// The name for people.
    pub(crate) what: &'static str,
    /// The reason why it was not measured.
    pub(crate) why: String,
}

/// The distance of two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Apart {
    SameCore,
    SameCluster,
    SameSocket,
    CrossSocket,
}

/// The figures of a pair of CPUs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) cpus: (u32, u32),
    pub(crate) apart: Apart,
    /// The round trip of a line; `None` if the CPUs were too busy to answer.
    pub(crate) round_trip: Option<Spread>,
    /// The time by which a write is longer if the other CPU has a copy.
    pub(crate) upgrade: Option<Spread>,
    /// The time of a load of a line that the other CPU has written.
    pub(crate) remote: Option<Spread>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct WakeBySleep {
    pub(crate) slept_ns: u64,
    /// Time from the wake until the waker's call returns.
    pub(crate) call: Spread,
    /// Time from the wake until the sleeper's first instruction.
    pub(crate) latency: Spread,
    /// The percentiles [`futex::PERCENTS`] of `latency`.
    pub(crate) percentiles_ns: [f64; futex::PERCENTS.len()],
}

impl Findings {
    /// The figure with that identifier, if it was measured.
    pub(crate) fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.id == id)
    }

    /// The reason why there is no such figure, if it is known.
    pub(crate) fn why_not(&self, id: &str) -> Option<&str> {
        self.left_out.iter().find(|left| left.id == id).map(|left| &*left.why)
    }
}

/// Lengths of the sleeps before a wake-up: from one after which the CPU may still poll for work to
/// one after which it is as deeply asleep as it gets.
const SLEEPS_US: [u64; 13] = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000];

/// Time for the measurements of all pairs. Each measurement takes at least 2 ms, so the measurements
/// of very many pairs take longer in all.
const PAIRS_AT_MOST: Duration = Duration::from_secs(20);

/// Measures and collects all findings.
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
    let figures::Taken { figures, mut left_out, .. } = figures::take(budget, &progress, &topology, &cpus, &kernel);
    let line_round_trips = pairs(budget, &progress, &topology, &cpus.allowed);
    progress.step("the store buffer");
    let store_buffer = memory::store_buffer(cpus.allowed[0], budget);
    let store_buffer = store_buffer
        .map_err(|why| left_out.push(LeftOut { id: "store-buffer", what: "stores that wait while one misses", why }))
        .ok();
    progress.step("where woken threads go");
    let places = cpus.two.and_then(|two| place::places(two, budget.long * 3));
    let wake_by_sleep = wake_by_sleep(budget, &progress, cpus.two);
    progress.done();
    let features = processor.features.iter().map(|f| Feature { name: f.name, what: f.what, offered: f.offered });
    let processor = Proc {
        features: features.collect(),
        model: processor.model,
        architecture: processor.architecture,
        hypervisor: processor.hypervisor,
        umwait_control: discover::UmwaitControl::discover()
            .map(|control| UmwaitLimits { c02: control.c02, max_ticks: control.max_time }),
    };
    Findings {
        processor,
        cpus,
        kernel,
        waits,
        tsc_hz,
        figures,
        left_out,
        line_round_trips,
        store_buffer,
        places,
        wake_by_sleep,
    }
}

/// How long the loop that tells kinds of cores apart runs on each CPU, three times.
const LOOP: Duration = Duration::from_millis(20);

fn kinds(online: &[u32]) -> Kinds {
    let mut found = discover::Kinds::discover();
    if !found.disagree.is_empty() {
        found = found.decided_by(&discover::kinds::by_loop(online, LOOP));
    }
    let kind = |kind: discover::Kind| Kind { cpus: kind.cpus, speed: kind.speed, core_type: kind.core_type };
    Kinds {
        all: found.kinds.into_iter().map(kind).collect(),
        source: found.source.map(discover::kinds::Source::name),
        disagree: found.disagree,
    }
}

fn cpus(topology: &Topology) -> Cpus {
    let cache = |c: &discover::Cache| Cache {
        level: c.level,
        kind: c.kind.clone(),
        bytes: c.bytes,
        shared_by: c.shared_by.len(),
    };
    let allowed = discover::allowed_cpus();
    Cpus {
        online: topology.cpus.len(),
        two: topology.two(&allowed),
        contexts: topology.contexts(&allowed),
        allowed,
        cores: topology.cores(),
        threads_per_core: topology.threads_per_core(),
        sockets: topology.sockets(),
        numa_nodes: topology.nodes(),
        clusters: topology.clusters(),
        kinds: kinds(&topology.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>()),
        line_bytes: topology.caches.first().map_or(64, |c| c.line),
        caches: topology.caches.iter().map(cache).collect(),
    }
}

/// The machine's caches that represent the levels of a chip.
pub(crate) struct Levels<'a> {
    pub(crate) first: Option<&'a discover::Cache>,
    /// The private cache beyond the first level.
    pub(crate) second: Option<&'a discover::Cache>,
    /// The cache that cores share, or the third level.
    pub(crate) last: Option<&'a discover::Cache>,
}

impl Levels<'_> {
    /// A chip has at most two private levels and a shared one: the largest private cache beyond the
    /// first level becomes the second level.
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

fn wake_by_sleep(budget: Budget, progress: &Progress, two: Option<(u32, u32)>) -> Vec<WakeBySleep> {
    progress.step("waking a sleeper, by how long it has slept");
    let Some(two) = two else { return Vec::new() };
    let measure = |us: &u64| {
        let slept = Duration::from_micros(*us);
        let woken = futex::wake_sleepers(two, 1, slept, budget.long / 2)?;
        let (call, latency) = (woken.call, woken.latency);
        Some(WakeBySleep { slept_ns: us * 1_000, call, latency, percentiles_ns: woken.percentiles })
    };
    SLEEPS_US.iter().filter_map(measure).collect()
}

/// Shows on a terminal how far the measurements are.
pub(crate) struct Progress(indicatif::ProgressBar);

impl Progress {
    /// Number of steps that [`find`] takes on a machine with more than one CPU.
    const STEPS: u64 = 32;

    /// A progress bar on standard error; nothing is shown where standard error is no terminal.
    pub(crate) fn new() -> Progress {
        Progress::of(Progress::STEPS)
    }

    /// Like [`Progress::new`], for `steps` steps.
    pub(crate) fn of(steps: u64) -> Progress {
        let bar = indicatif::ProgressBar::new(steps);
        let style = indicatif::ProgressStyle::with_template("{bar:24} {pos:>2}/{len} {msg}").expect("a valid template");
        Progress(bar.with_style(style))
    }

    pub(crate) fn step(&self, what: &str) {
        self.0.inc(1);
        self.0.set_message(what.to_owned());
    }

    pub(crate) fn done(&self) {
        self.0.finish_and_clear();
    }
}
