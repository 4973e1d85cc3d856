//! The rates of phases that run at the same time. They depend on each other: the rate of a phase
//! determines how often it accesses the shared level and how much memory traffic it makes, and
//! these determine how much of both the other phases have. The solution is a fixed point, found by
//! damped steps.

use super::lru::{Touched, stay};
use baton_chipfile::config::phases::{Division, Queueing};
use baton_machine::Behaviour;

/// The most steps. Each step halves the distance to the solution, so this exceeds the bits of a
/// number.
const STEPS: u32 = 200;
/// The steps end when no phase's time changes by more than this part of itself.
const CLOSE: f64 = 1e-13;

/// A number of running phases that are alike.
#[derive(Clone, Debug)]
pub(super) struct Running<'a> {
    /// The number of phases.
    pub(super) count: u32,
    pub(super) behaviour: &'a Behaviour,
    /// Cycles of the reference per cycle of the phase's core.
    pub(super) cycle: f64,
    /// The most instructions per cycle.
    pub(super) width: f64,
    /// The lines of the core's private caches.
    pub(super) private: f64,
    /// The most misses under way in the private caches.
    pub(super) mshrs: u32,
    /// The shared level that serves the phase.
    pub(super) domain: usize,
    /// The node of the phase's pages.
    pub(super) node: usize,
    /// Cycles of the reference for a line of the private caches, of the shared level, and of the
    /// pages' memory in a row that is not open.
    pub(super) lookup: f64,
    /// Cycles of the reference for a line of the first level.
    pub(super) first_level: f64,
    pub(super) bank: f64,
    pub(super) memory: f64,
}

/// The properties of the chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// The size of a line in bytes.
    pub(super) line: f64,
    /// The lines of a domain's shared level.
    pub(super) shared: f64,
    /// The cycles in which a node's memory moves a line.
    pub(super) service: f64,
    /// The cycles in which a link of the network moves a line.
    pub(super) link: f64,
    /// The lines in all rows that a node's memory has open at once, and the cycles that an open row
    /// saves.
    pub(super) open: f64,
    pub(super) saved: f64,
    pub(super) division: Division,
    pub(super) queueing: Queueing,
}

/// The solution for a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Solved {
    /// Cycles of the reference per instruction.
    pub(super) cycles: f64,
    /// For each set: the share in the private caches, and the share of the rest in the shared
    /// level.
    pub(super) kept: Vec<(f64, f64)>,
    /// The cycles that a request to memory waits behind other requests, and (`saved`) the cycles
    /// that open rows save it.
    pub(super) wait: f64,
    pub(super) saved: f64,
}

impl Common {
    /// The share of accesses to a set that find their row open, if the set has this part of the
    /// memory's traffic: the last access to the bank was to the same set and to the same row.
    pub(super) fn finds_open(&self, lines: f64, part: f64) -> f64 {
        part * (self.open / lines).min(1.0)
    }
}

impl Running<'_> {
    fn sets(&self, common: &Common) -> Vec<Touched> {
        let sets = self.behaviour.sets.iter();
        sets.map(|set| Touched { lines: set.bytes as f64 / common.line, rate: set.accesses / 1000.0 }).collect()
    }

    /// The number of misses that the phase has under way at once.
    pub(super) fn overlap(&self) -> f64 {
        f64::from(self.behaviour.overlap.min(self.mshrs).max(1))
    }

    /// Cycles per access of accesses that are under way at once: the first one takes `first`, and
    /// each further one comes `next` later, because it needs the same link, bank or bus.
    fn together(&self, first: f64, next: f64) -> f64 {
        let count = self.overlap();
        (first + (count - 1.0) * next) / count
    }

    /// Cycles per instruction without misses.
    fn computing(&self) -> f64 {
        self.behaviour.cpi.max(1.0 / self.width) * self.cycle
    }
}

/// A group of phases that are alike, with its values in the present step towards the fixed point.
struct Trial {
    /// The sets of one phase behind its private caches: lines, and accesses per instruction.
    behind: Vec<Touched>,
    /// Accesses per instruction that the private caches serve.
    private: f64,
    solved: Solved,
    /// Lines per instruction that come from memory.
    misses: f64,
}

/// The times of the phases, and their shares of the caches.
pub(super) fn solve(phases: &[Running<'_>], common: &Common) -> Vec<Solved> {
    let mut trials: Vec<Trial> = phases.iter().map(|phase| begin(phase, common)).collect();
    let mut domains = Domain::all(phases);
    for _ in 0..STEPS {
        for domain in &mut domains {
            domain.keep(phases, &mut trials, common);
        }
        wait_for_memory(phases, &mut trials, common);
        find_rows_open(phases, &mut trials, common);
        let mut close = true;
        for (phase, trial) in phases.iter().zip(&mut trials) {
            let next = trial.time(phase, common);
            let before = trial.solved.cycles;
            close &= (next - before).abs() <= CLOSE * next;
            trial.solved.cycles = if close { next } else { (before + next) / 2.0 };
        }
        if close {
            break;
        }
    }
    trials.into_iter().map(|trial| trial.solved).collect()
}

/// Makes the trial of a group of phases, with what the private caches keep: no other phase uses
/// these caches, so that part is final. The shared level keeps nothing yet.
fn begin(phase: &Running<'_>, common: &Common) -> Trial {
    let sets = phase.sets(common);
    let time = stay(&sets, phase.private, f64::INFINITY);
    let kept: Vec<(f64, f64)> = sets.iter().map(|set| (set.stays(time), 0.0)).collect();
    let behind = |(set, kept): (&Touched, &(f64, f64))| Touched { rate: set.rate * (1.0 - kept.0), ..*set };
    let private = sets.iter().zip(&kept).map(|(set, kept)| set.rate * kept.0).sum();
    let behind = sets.iter().zip(&kept).map(behind).collect();
    let mut trial = Trial { behind, private, solved: Solved { kept, ..Solved::default() }, misses: 0.0 };
    trial.solved.cycles = trial.time(phase, common);
    trial
}

impl Trial {
    /// What `count` identical phases access per cycle: `count` times the lines at `count` times the
    /// rate.
    fn a_cycle(&self, count: f64) -> impl Iterator<Item = Touched> {
        let rate = count / self.solved.cycles;
        self.behind.iter().map(move |set| Touched { lines: count * set.lines, rate: rate * set.rate })
    }

    fn time(&mut self, phase: &Running<'_>, common: &Common) -> f64 {
        let (mut hits, mut misses) = (0.0, 0.0);
        for (set, (_, shared)) in self.behind.iter().zip(&self.solved.kept) {
            hits += set.rate * shared;
            misses += set.rate * (1.0 - shared);
        }
        self.misses = misses;
        let memory = phase.memory - self.solved.saved + self.solved.wait;
        phase.computing()
            + self.private * phase.together(phase.lookup, phase.first_level)
            + hits * phase.together(phase.bank, common.link)
            + misses * phase.together(memory, common.service.max(common.link))
    }
}

/// A domain whose phases share a level of cache.
struct Domain {
    phases: Vec<usize>,
    /// The number of these phases.
    count: f64,
    /// How long a line stays at the rates of the previous step.
    time: f64,
    /// All sets.
    sets: Vec<Touched>,
}

impl Domain {
    fn all(phases: &[Running<'_>]) -> Vec<Domain> {
        let empty = || Domain { phases: Vec::new(), count: 0.0, time: f64::INFINITY, sets: Vec::new() };
        let mut all: Vec<Domain> = Vec::new();
        for (i, phase) in phases.iter().enumerate() {
            if all.len() <= phase.domain {
                all.resize_with(phase.domain + 1, empty);
            }
            all[phase.domain].phases.push(i);
            all[phase.domain].count += f64::from(phase.count);
        }
        all.retain(|domain| !domain.phases.is_empty());
        all
    }

    /// Computes the share of each set that the shared level keeps, at the phases' current rates.
    fn keep(&mut self, phases: &[Running<'_>], trials: &mut [Trial], common: &Common) {
        if common.division == Division::Recency {
            self.sets.clear();
            for &i in &self.phases {
                self.sets.extend(trials[i].a_cycle(f64::from(phases[i].count)));
            }
            self.time = stay(&self.sets, common.shared, self.time);
        }
        for &i in &self.phases {
            let time = match common.division {
                Division::Recency => self.time,
                Division::Even => {
                    self.sets.clear();
                    self.sets.extend(trials[i].a_cycle(1.0));
                    stay(&self.sets, common.shared / self.count, f64::INFINITY)
                }
            };
            let Trial { behind, solved, .. } = &mut trials[i];
            for (set, (_, shared)) in behind.iter().zip(&mut solved.kept) {
                *shared = Touched { rate: set.rate / solved.cycles, ..*set }.stays(time);
            }
        }
    }
}

/// Sums over the phases with pages on each node.
fn by_node(phases: &[Running<'_>], of: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; phases.iter().map(|phase| phase.node + 1).max().unwrap_or(0)];
    for (i, phase) in phases.iter().enumerate() {
        sums[phase.node] += f64::from(phase.count) * of(i);
    }
    sums
}

/// Computes how long a request to memory waits: approximate mean value analysis (Bard 1979,
/// Schweitzer 1979) with a fixed service time, half of which remains for the request in service. A
/// miss also waits behind other misses of its own phase. The result is halfway from the previous
/// step's.
fn wait_for_memory(phases: &[Running<'_>], trials: &mut [Trial], common: &Common) {
    if common.queueing == Queueing::None {
        return;
    }
    let ahead = |trial: &Trial| {
        let rate = trial.misses / trial.solved.cycles;
        rate * (common.service + trial.solved.wait) - rate * common.service / 2.0
    };
    let all = by_node(phases, |i| ahead(&trials[i]));
    for (phase, trial) in phases.iter().zip(trials) {
        let ahead = ahead(trial);
        let own = ahead * (1.0 - 1.0 / phase.overlap());
        let wait = common.service * ((all[phase.node] - ahead).max(0.0) + own);
        trial.solved.wait = (trial.solved.wait + wait) / 2.0;
    }
}

/// Computes the cycles that open rows save a miss of each phase, from the shares that the phase's
/// sets have of their node's traffic.
fn find_rows_open(phases: &[Running<'_>], trials: &mut [Trial], common: &Common) {
    let traffic = by_node(phases, |i| trials[i].misses / trials[i].solved.cycles);
    for (phase, trial) in phases.iter().zip(trials) {
        let traffic = traffic[phase.node];
        if traffic <= 0.0 {
            continue;
        }
        let own = trial.behind.iter().zip(&trial.solved.kept).map(|(set, (_, shared))| {
            let misses = set.rate * (1.0 - shared);
            misses / trial.misses * common.finds_open(set.lines, misses / trial.solved.cycles / traffic)
        });
        trial.solved.saved = common.saved * own.filter(|share| share.is_finite()).sum::<f64>();
    }
}
