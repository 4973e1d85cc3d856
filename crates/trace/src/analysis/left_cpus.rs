//! When the program left CPUs to other programs: fewer of its threads were on CPUs than it was
//! allowed to use. A thread that was ready then did not lack a CPU because of the program's own
//! threads.

use crate::clock::Ticks;
use crate::event::What;
use crate::kinds::Kinds;
use crate::trace::Trace;
use std::collections::BTreeSet;

/// The intervals in which at least one CPU ran none of the program's threads, in order and without
/// overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftCpus(Vec<(Ticks, Ticks)>);

impl LeftCpus {
    /// Finds the intervals from the context switches. A thread without recorded switches counts as
    /// having run all its life, so that rather too few intervals are found than too many.
    pub fn of(trace: &Trace) -> LeftCpus {
        let Some(cpus) = cpus(trace) else { return LeftCpus::default() };
        // Before the first event no thread runs, so that CPUs are left to others.
        let found = vec![(Ticks(0), OPEN)];
        let mut left = Walk { running: vec![false; trace.threads.len()], count: 0, cpus, found };
        for (time, thread, runs) in edges(trace) {
            left.step(time, thread, runs);
        }
        LeftCpus(left.found)
    }

    /// Returns how much of `begin..end` lies in the intervals.
    pub fn overlap(&self, begin: Ticks, end: Ticks) -> Ticks {
        let from = self.0.partition_point(|(_, last)| *last <= begin);
        let within = self.0[from..].iter().take_while(|(first, _)| *first < end);
        within.map(|(first, last)| end.min(*last).since(begin.max(*first))).sum()
    }
}

/// The number of CPUs that the program may use; `None` if that is not known.
fn cpus(trace: &Trace) -> Option<usize> {
    let all = trace.meta.as_ref().map(|meta| meta.host.cpus as usize).filter(|cpus| *cpus > 0);
    let allowed: BTreeSet<u32> = trace.main_affinities().into_iter().flatten().flat_map(|(cpus, _)| cpus).collect();
    if allowed.is_empty() { all } else { Some(allowed.len()) }
}

/// Returns each moment at which a thread got a CPU (true) or left it (false), in the order of time.
/// A thread's first event counts as getting one, its last as leaving it.
fn edges(trace: &Trace) -> Vec<(Ticks, usize, bool)> {
    let lives = trace.threads.iter().enumerate();
    let mut edges: Vec<_> = lives.flat_map(|(at, life)| [(life.first, at, true), (life.last, at, false)]).collect();
    let switches = trace.events_of(Kinds::SWITCHES).filter_map(|event| match event.what {
        What::OnCpu { .. } => Some((event.time, event.thread.index(), true)),
        What::OffCpu { .. } => Some((event.time, event.thread.index(), false)),
        _ => None,
    });
    edges.extend(switches);
    edges.sort_by_key(|(time, ..)| *time);
    edges
}

/// Stands for the end of an interval until that end is known.
const OPEN: Ticks = Ticks(u64::MAX);

struct Walk {
    running: Vec<bool>,
    /// Number of threads that are on a CPU: the `true` entries of `running`.
    count: usize,
    cpus: usize,
    found: Vec<(Ticks, Ticks)>,
}

impl Walk {
    fn step(&mut self, time: Ticks, thread: usize, runs: bool) {
        let Some(before) = self.running.get_mut(thread) else { return };
        if std::mem::replace(before, runs) == runs {
            return;
        }
        let were_left = self.count < self.cpus;
        self.count = if runs { self.count + 1 } else { self.count - 1 };
        match (were_left, self.count < self.cpus) {
            (false, true) => self.found.push((time, OPEN)),
            (true, false) => self.found.last_mut().expect("an open one").1 = time,
            _ => {}
        }
    }
}
