//! The CPUs that threads were allowed to run on, assembled from [`What::Affinity`] records.

use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::kinds::Kinds;
use crate::trace::Trace;
use std::collections::BTreeMap;

/// Number of CPUs that one [`What::Affinity`] record covers.
const GROUP: u32 = 32;

/// The CPUs that a thread was allowed to run on from some moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// When this set of CPUs came into force.
    pub since: Ticks,
    /// The kernel's numbers of the allowed CPUs, ascending.
    pub cpus: Vec<u32>,
}

impl Affinity {
    /// Returns the [`What::Affinity`] records which say that thread `tid` (0: the writing thread)
    /// may run on the CPUs whose bits are set in `words`, 64 CPUs a word. Allocates nothing.
    pub fn records(tid: u32, words: &[u64]) -> impl Iterator<Item = What> {
        let half = |at: u32| (words[at as usize / 2] >> (GROUP * (at % 2))) as u32;
        let groups = (0..2 * words.len() as u32).map(move |group| (group, half(group)));
        groups.filter(|(_, mask)| *mask != 0).enumerate().map(move |(i, (group, mask))| What::Affinity {
            tid,
            first: i == 0,
            group,
            mask,
        })
    }
}

impl Trace {
    /// Returns the recorded affinities of each thread, in the order of time. A thread's list is
    /// empty if none was recorded (in a trace of a simulation, or of an older recorder).
    pub fn affinities(&self) -> Vec<Vec<Affinity>> {
        let mut found: Vec<Vec<Affinity>> = vec![Vec::new(); self.threads.len()];
        let mut by_tid: BTreeMap<_, Vec<ThreadIndex>> = BTreeMap::new();
        for (i, thread) in self.threads.iter().enumerate() {
            by_tid.entry((thread.process, thread.tid)).or_default().push(ThreadIndex(i as u32));
        }
        for Event { time, thread, what } in self.events_of(Kinds::AFFINITY) {
            let What::Affinity { tid, first, group, mask } = what else { continue };
            let about = match tid {
                0 => Some(thread),
                _ => by_tid.get(&(self.process_of(thread), tid)).and_then(|all| self.bearer(all, time)),
            };
            let Some(sets) = about.and_then(|about| found.get_mut(about.index())) else { continue };
            if first || sets.is_empty() {
                sets.push(Affinity { since: time, cpus: Vec::new() });
            }
            let cpus = (0..GROUP).filter(|bit| mask & 1 << bit != 0).map(|bit| group * GROUP + bit);
            if let Some(set) = sets.last_mut() {
                set.cpus.extend(cpus);
            }
        }
        found
    }

    /// Returns which of the threads `all`, to which the kernel gave the same number one after the
    /// other, had that number at `time`: the last that had begun by then, or the first if none had.
    fn bearer(&self, all: &[ThreadIndex], time: Ticks) -> Option<ThreadIndex> {
        let first = |thread: &ThreadIndex| self.threads[thread.index()].first;
        let begun = all.iter().filter(|thread| first(thread) <= time).max_by_key(|thread| first(thread));
        begun.or_else(|| all.iter().min_by_key(|thread| first(thread))).copied()
    }

    /// Returns for each thread the set of CPUs that it was allowed to run on for the longest time
    /// (the last of several equally long ones), and whether there were other sets as well. `None` for a thread without a record.
    pub fn main_affinities(&self) -> Vec<Option<(Vec<u32>, bool)>> {
        let longest = |(sets, thread): (Vec<Affinity>, &crate::Thread)| {
            let mut times: BTreeMap<&[u32], u64> = BTreeMap::new();
            for (i, set) in sets.iter().enumerate() {
                let end = sets.get(i + 1).map_or(thread.last, |next| next.since);
                *times.entry(&set.cpus).or_default() += end.0.saturating_sub(set.since.0);
            }
            let changed = times.len() > 1;
            // Takes the last of several sets that were in force equally long: a set that another one
            // replaced at the same moment was never in force.
            let cpus = sets.iter().max_by_key(|set| times[set.cpus.as_slice()])?.cpus.clone();
            Some((cpus, changed))
        };
        self.affinities().into_iter().zip(&self.threads).map(longest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, TraceBuilder};

    fn says(trace: &mut TraceBuilder, time: u64, thread: u32, tid: u32, words: &[u64]) {
        for what in Affinity::records(tid, words) {
            trace.push(Ticks(time), ThreadIndex(thread), what);
        }
    }

    #[test]
    fn sets_of_any_size_come_back() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        says(&mut trace, 5, 0, 0, &[0x8000_0001_0000_0002, 0, 1]);
        says(&mut trace, 9, 0, 0, &[1 << 40]);
        let sets = trace.build().affinities();
        let expected =
            [Affinity { since: Ticks(5), cpus: vec![1, 32, 63, 128] }, Affinity { since: Ticks(9), cpus: vec![40] }];
        assert_eq!(sets, [expected]);
    }

    /// Thread 0 records the CPUs of thread 1, to which the builder gives the kernel number 2.
    /// Thread 1 has {0, 1} for 2 ticks, then {1} for 38: the second set counts, and thread 1 had
    /// others.
    #[test]
    fn one_thread_speaks_of_another_and_the_longest_counts() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        trace.thread("main");
        trace.thread("worker");
        says(&mut trace, 0, 0, 0, &[3]);
        says(&mut trace, 10, 1, 0, &[3]);
        says(&mut trace, 12, 0, 2, &[2]);
        trace.push(Ticks(50), ThreadIndex(1), What::ThreadEnd { handle: 1 });
        trace.push(Ticks(60), ThreadIndex(0), What::ThreadEnd { handle: 2 });
        let trace = trace.build();
        assert_eq!(trace.affinities()[1].len(), 2);
        assert_eq!(trace.main_affinities(), [Some((vec![0, 1], false)), Some((vec![1], true))]);
    }

    /// The thread's only set that lasts is the second: it replaced the first at once, and both were
    /// recorded in the thread's last moment.
    #[test]
    fn of_sets_that_lasted_equally_long_the_last_counts() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        says(&mut trace, 5, 0, 0, &[3]);
        says(&mut trace, 5, 0, 0, &[2]);
        assert_eq!(trace.build().main_affinities(), [Some((vec![1], true))]);
    }

    #[test]
    fn a_trace_without_them_knows_nothing() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        trace.push(Ticks(1), ThreadIndex(0), What::Cpu { cpu: 3 });
        assert_eq!(trace.build().main_affinities(), [None]);
    }
}
