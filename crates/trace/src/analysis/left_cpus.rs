//! When the program left CPUs to other programs: fewer of its threads were on CPUs than it was
//! allowed to use. A thread that was ready then did not lack a CPU because of the program's own
//! threads. But if the thread may only use some of these CPUs, and the program's threads ran on all
//! of those, it lacked a CPU because it is bound to them.

use super::window::overlap;
use crate::clock::Ticks;
use crate::event::{ThreadIndex, What};
use crate::kinds::Kinds;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// Intervals of time, in order and without overlap.
type Intervals = Vec<(Ticks, Ticks)>;

/// The intervals in which at least one CPU ran none of the program's threads: for all CPUs that the
/// program may use, and for the sets of CPUs that single threads may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftCpus {
    /// The intervals for each set; the first set is that of the whole program.
    sets: Vec<Intervals>,
    /// For each thread, the place of its set.
    set_of: Vec<usize>,
}

/// How long a thread was ready while the program left a CPU to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The time in which the thread may have used that CPU.
    pub free: Ticks,
    /// The time in which it may not: it is bound to other CPUs.
    pub bound: Ticks,
}

impl LeftCpus {
    /// Finds the intervals from the context switches, for the sets of these threads. A thread without
    /// recorded switches counts as having run all its life, so that rather too few intervals are found
    /// than too many.
    pub fn of(trace: &Trace, threads: &BTreeSet<ThreadIndex>) -> LeftCpus {
        let own: Vec<Option<BTreeSet<u32>>> =
            trace.main_affinities().into_iter().map(|set| Some(set?.0.into_iter().collect())).collect();
        let Some(all) = Set::of_all(trace, &own) else { return LeftCpus::default() };
        let mut sets = vec![all];
        let mut set_of = vec![0; own.len()];
        for thread in threads {
            let Some(Some(cpus)) = own.get(thread.index()) else { continue };
            if sets[0].cpus.as_ref() == Some(cpus) {
                continue;
            }
            let known = sets.iter().position(|set| set.cpus.as_ref() == Some(cpus));
            set_of[thread.index()] = known.unwrap_or(sets.len());
            if known.is_none() {
                sets.push(Set::new(Some(cpus.clone()), cpus.len()));
            }
        }
        // Threads change their CPUs often, and there may be many sets.
        let mut sets_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, set) in sets.iter().enumerate() {
            set.cpus.iter().flatten().for_each(|cpu| sets_of.entry(*cpu).or_default().push(at));
        }
        let (count, any_set) = (sets.len(), sets[0].cpus.is_none());
        let mut running: Vec<Option<Option<u32>>> = vec![None; trace.threads.len()];
        for (time, thread, runs) in edges(trace) {
            let Some(before) = running.get_mut(thread) else { continue };
            let before = std::mem::replace(before, runs);
            let mut step = |at: usize| {
                let set = &mut sets[at];
                let inside = |on: Option<Option<u32>>| set.has(on, own[thread].as_ref());
                let (was, is) = (inside(before), inside(runs));
                set.step(time, was, is);
            };
            match any_set || [before, runs].contains(&Some(None)) {
                true => (0..count).for_each(step),
                // The sets with only one of the two CPUs change.
                false => {
                    let cpus = [before, runs].into_iter().flatten().flatten();
                    cpus.filter_map(|cpu| sets_of.get(&cpu)).flatten().for_each(|at| step(*at));
                }
            }
        }
        LeftCpus { sets: sets.into_iter().map(|set| set.found).collect(), set_of }
    }

    /// Returns how much of `begin..end`, in which a thread was ready, lies in the intervals.
    pub fn overlap(&self, thread: ThreadIndex, begin: Ticks, end: Ticks) -> Left {
        let of = |set: usize| self.sets.get(set).map_or(Ticks(0), |intervals| overlap(intervals, begin, end));
        let (all, own) = (of(0), of(self.set_of.get(thread.index()).copied().unwrap_or(0)));
        // A CPU of the thread's own set is one of the program's, too.
        Left { free: own.min(all), bound: all.since(own) }
    }
}

/// When a thread got a CPU, or left it: the time, the thread, and whether it runs. The CPU is `None`
/// where it is not known.
type Edge = (Ticks, usize, Option<Option<u32>>);

/// Returns each moment at which a thread got a CPU or left it, in the order of time. A thread's first
/// event counts as getting one, its last as leaving it.
fn edges(trace: &Trace) -> Vec<Edge> {
    let lives = trace.threads.iter().enumerate();
    let mut edges: Vec<Edge> =
        lives.flat_map(|(at, life)| [(life.first, at, Some(None)), (life.last, at, None)]).collect();
    let switches = trace.events_of(Kinds::SWITCHES).filter_map(|event| match event.what {
        What::OnCpu { cpu, .. } => Some((event.time, event.thread.index(), Some(Some(cpu)))),
        What::OffCpu { .. } => Some((event.time, event.thread.index(), None)),
        _ => None,
    });
    edges.extend(switches);
    edges.sort_by_key(|(time, ..)| *time);
    edges
}

/// Stands for the end of an interval until that end is known.
const OPEN: Ticks = Ticks(u64::MAX);

/// A set of CPUs, while its intervals are being found.
struct Set {
    /// The kernel's numbers of the CPUs; `None` if only their number is known.
    cpus: Option<BTreeSet<u32>>,
    size: usize,
    /// Number of threads that are on a CPU of the set.
    count: usize,
    found: Intervals,
}

impl Set {
    fn new(cpus: Option<BTreeSet<u32>>, size: usize) -> Set {
        // Before the first event no thread runs, so that CPUs are left to others.
        Set { cpus, size, count: 0, found: vec![(Ticks(0), OPEN)] }
    }

    /// The CPUs that the program may use; `None` if they are not known.
    fn of_all(trace: &Trace, own: &[Option<BTreeSet<u32>>]) -> Option<Set> {
        let allowed: BTreeSet<u32> = own.iter().flatten().flatten().copied().collect();
        if !allowed.is_empty() {
            let size = allowed.len();
            return Some(Set::new(Some(allowed), size));
        }
        let cpus = trace.meta.as_ref().map(|meta| meta.host.cpus as usize).filter(|cpus| *cpus > 0)?;
        Some(Set::new(None, cpus))
    }

    /// Whether a thread that may use `own` is on a CPU of the set. Where its CPU is not known, it is if
    /// it can be.
    fn has(&self, on: Option<Option<u32>>, own: Option<&BTreeSet<u32>>) -> bool {
        match (on, &self.cpus) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(Some(cpu)), Some(cpus)) => cpus.contains(&cpu),
            (Some(None), Some(cpus)) => own.is_none_or(|own| !own.is_disjoint(cpus)),
        }
    }

    /// A thread was on a CPU of the set before (`was`), or is now (`is`).
    fn step(&mut self, time: Ticks, was: bool, is: bool) {
        if was == is {
            return;
        }
        let were_left = self.count < self.size;
        self.count = if is { self.count + 1 } else { self.count - 1 };
        match (were_left, self.count < self.size) {
            (false, true) => self.found.push((time, OPEN)),
            (true, false) => self.found.last_mut().expect("an open one").1 = time,
            _ => {}
        }
    }
}
