//! The rates of phases that run at once. Each depends on the others: how fast a phase runs says how often it touches the shared
//! level and how much memory traffic it makes, and these say what the others have of both. A fixed point, found by damped steps.

use super::lru::{Touched, stay};
use baton_chipfile::config::phases::{Division, Queueing};
use baton_machine::Behaviour;

/// Steps at most. Each halves what is left of the way, so that this is more than a number has bits.
const STEPS: u32 = 200;
/// The steps end when no phase's time changes by more than this part of itself.
const CLOSE: f64 = 1e-13;

/// Phases that run and are alike.
#[derive(Clone, Debug)]
pub(super) struct Running<'a> {
    /// How many.
    pub(super) count: u32,
    pub(super) behaviour: &'a Behaviour,
    /// Cycles of the reference in one of its core.
    pub(super) cycle: f64,
    /// Instructions a cycle at most.
    pub(super) width: f64,
    /// Lines of its core's private caches.
    pub(super) private: f64,
    /// Misses that those have under way at most.
    pub(super) mshrs: u32,
    /// Which shared level serves it.
    pub(super) domain: usize,
    /// Where its pages are.
    pub(super) node: usize,
    /// Cycles of the reference for a line of the private caches, of the shared level, and of its pages' memory, in a row that is
    /// not open.
    pub(super) lookup: f64,
    pub(super) bank: f64,
    pub(super) memory: f64,
}

/// What the chip has for all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// Bytes of a line.
    pub(super) line: f64,
    /// Lines of a domain's shared level.
    pub(super) shared: f64,
    /// Cycles in which a node's memory moves a line.
    pub(super) service: f64,
    /// Lines of the rows that a node's memory has open at once, and cycles that an open row saves.
    pub(super) open: f64,
    pub(super) saved: f64,
    pub(super) division: Division,
    pub(super) queueing: Queueing,
}

/// What comes out for each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Solved {
    /// Cycles of the reference an instruction.
    pub(super) cycles: f64,
    /// By set: the share of it in the private caches, and of what is not there, the share in the shared level.
    pub(super) kept: Vec<(f64, f64)>,
    /// Cycles that a request to memory waits behind those of others, and cycles that open rows save it.
    pub(super) wait: f64,
    pub(super) saved: f64,
}

impl Common {
    /// The share of accesses to a set that find its row open, where the set has such a part of the memory's traffic: the last
    /// access to the bank was one to this set, and to this row of it.
    pub(super) fn finds_open(&self, lines: f64, part: f64) -> f64 {
        part * (self.open / lines).min(1.0)
    }
}

impl Running<'_> {
    fn sets(&self, common: &Common) -> Vec<Touched> {
        let sets = self.behaviour.sets.iter();
        sets.map(|set| Touched { lines: set.bytes as f64 / common.line, rate: set.accesses / 1000.0 }).collect()
    }

    /// Misses that it has under way at once.
    pub(super) fn overlap(&self) -> f64 {
        f64::from(self.behaviour.overlap.min(self.mshrs).max(1))
    }

    /// Cycles an instruction without misses.
    fn computing(&self) -> f64 {
        self.behaviour.cpi.max(1.0 / self.width) * self.cycle
    }
}

/// Phases that are alike, on the way to the fixed point.
struct Trial {
    /// The sets of one of them behind its private caches: lines, and touches an instruction.
    behind: Vec<Touched>,
    /// Accesses an instruction that the private caches serve.
    private: f64,
    solved: Solved,
    /// Lines an instruction that come from memory.
    misses: f64,
}

/// The phases' times and what they have of the caches.
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

/// The private caches, which no other phase touches.
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
    /// The sets by touches a cycle, of so many phases together: each as one that is so many times as large, and touched as often.
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
        let overlap = phase.overlap();
        // However many are under way, memory moves one line after the other.
        let a_miss = ((phase.memory - self.solved.saved + self.solved.wait) / overlap).max(common.service);
        phase.computing() + (self.private * phase.lookup + hits * phase.bank) / overlap + misses * a_miss
    }
}

/// A domain whose phases have a shared level.
struct Domain {
    phases: Vec<usize>,
    /// How many those are.
    count: f64,
    /// How long a line stayed at the rates of the last step.
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

    /// What each phase has of the shared level, at the rates of now.
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

/// How long a request to memory waits: approximate mean value analysis (Bard 1979, Schweitzer 1979) with service of a fixed
/// length, of which the one in service has half left. A miss waits behind those of its own phase that are under way beside it.
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

/// What open rows save each phase's misses, by its sets' parts of the traffic of their node.
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
