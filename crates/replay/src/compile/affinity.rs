//! The CPUs on which the recorded threads were allowed to run. A CPU of the recorded machine
//! becomes a core of the chip by its rank: the lowest CPU that any thread could use becomes core 0,
//! and so on.

use baton_trace::Trace;
use std::collections::BTreeSet;

/// The affinities that the trace recorded.
pub(crate) struct Affinities {
    /// The number of CPUs that the program was allowed to use; `None` if that was not recorded.
    pub(crate) cpus: Option<u32>,
    /// For each thread, the ranks of the CPUs that it was allowed to use. An empty list stands for
    /// all CPUs, or for no record.
    pub(crate) threads: Vec<Vec<u32>>,
    bound: usize,
    changed: usize,
}

impl Affinities {
    pub(crate) fn of(trace: &Trace) -> Affinities {
        let sets = trace.main_affinities();
        let all: BTreeSet<u32> = sets.iter().flatten().flat_map(|(cpus, _)| cpus.iter().copied()).collect();
        let rank = |cpu: &u32| all.range(..cpu).count() as u32;
        let ranks = |set: &Option<(Vec<u32>, bool)>| match set {
            Some((cpus, _)) if cpus.len() < all.len() => cpus.iter().map(rank).collect(),
            _ => Vec::new(),
        };
        let threads: Vec<Vec<u32>> = sets.iter().map(ranks).collect();
        Affinities {
            cpus: (!all.is_empty()).then_some(all.len() as u32),
            bound: threads.iter().filter(|cpus| !cpus.is_empty()).count(),
            changed: sets.iter().flatten().filter(|(_, changed)| *changed).count(),
            threads,
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.bound != 0 {
            notes
                .push(format!("{} threads were bound to some of the CPUs, and are bound so in the replay", self.bound));
        }
        if self.changed != 0 {
            notes.push(format!(
                "{} threads changed their CPUs while they ran: the set that each had longest is replayed",
                self.changed
            ));
        }
        notes
    }
}
