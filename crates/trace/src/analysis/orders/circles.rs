//! Circles in the graph of lock orders.

use super::walk::{Edge, Key, Nestings};
use super::{Order, Orders};
use crate::analysis::objects::ObjectId;
use crate::event::Mode;
use std::collections::{BTreeMap, BTreeSet};

/// Most locks that a circle may have.
const LONGEST: usize = 6;
/// Most edges that the search looks at before it gives up.
const STEPS: u32 = 2_000_000;

struct Search<'a> {
    nestings: &'a Nestings,
    /// For each lock, the edges of threads that hold it while they want another.
    from: BTreeMap<ObjectId, Vec<usize>>,
    path: Vec<usize>,
    steps: u32,
    cut: bool,
    /// The circles found: the number of locks and the locks of each, with its edges.
    found: BTreeMap<(usize, Vec<ObjectId>), Vec<usize>>,
}

/// Finds circles of orders that can happen together, one for each circle of locks.
pub(super) fn find(nestings: &Nestings) -> Orders {
    let mut from: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (n, (key, _)) in nestings.edges.iter().enumerate() {
        from.entry(key.held.0).or_default().push(n);
    }
    let starts: BTreeSet<ObjectId> = from.keys().copied().collect();
    let mut search = Search { nestings, from, path: Vec::new(), steps: 0, cut: false, found: BTreeMap::new() };
    for start in starts {
        search.go_on(start, start);
    }
    let times = times(nestings);
    let order = |n: &usize| {
        let (key, Edge { sites, .. }) = &nestings.edges[*n];
        let (held, wanted) = (key.held.0, key.wanted.0);
        let times = times.get(&(held, wanted)).copied().unwrap_or(0);
        Order { thread: key.thread, held, held_at: sites.0, wanted, wanted_at: sites.1, times }
    };
    let circles = search.found.values().map(|circle| circle.iter().map(order).collect()).collect();
    Orders { circles, cut: search.cut }
}

/// Counts how often each order of two locks was taken, by all threads.
fn times(nestings: &Nestings) -> BTreeMap<(ObjectId, ObjectId), u64> {
    let mut times = BTreeMap::new();
    for (key, edge) in &nestings.edges {
        *times.entry((key.held.0, key.wanted.0)).or_default() += edge.times;
    }
    times
}

impl Search<'_> {
    /// Extends the path, which begins at the lock `start`, by the edges that leave the lock `at`.
    /// Visits no lock below `start`, so that a circle is found once, from its lowest lock.
    fn go_on(&mut self, start: ObjectId, at: ObjectId) {
        for n in self.from.get(&at).cloned().unwrap_or_default() {
            self.steps += 1;
            if self.steps > STEPS {
                self.cut = true;
                return;
            }
            let wanted = self.nestings.edges[n].0.wanted.0;
            if wanted < start || !self.fits(n) {
                continue;
            }
            if wanted == start {
                self.close(n);
            } else if self.path.len() + 1 < LONGEST && !self.passes(wanted) {
                self.path.push(n);
                self.go_on(start, wanted);
                self.path.pop();
            }
        }
    }

    fn passes(&self, lock: ObjectId) -> bool {
        self.path.iter().any(|n| self.nestings.edges[*n].0.wanted.0 == lock)
    }

    /// Whether an edge can happen together with all edges of the path, and its held lock makes the
    /// path's last edge wait.
    fn fits(&self, n: usize) -> bool {
        let edges = &self.nestings.edges;
        let blocks = self.path.last().is_none_or(|last| blocks(&edges[*last].0, &edges[n].0));
        blocks && self.path.iter().all(|other| self.together(&edges[*other], &edges[n]))
    }

    fn close(&mut self, n: usize) {
        let edges = &self.nestings.edges;
        let Some(first) = self.path.first().filter(|first| blocks(&edges[n].0, &edges[**first].0)) else { return };
        let circle: Vec<usize> = self.path.iter().copied().chain([n]).collect();
        let locks: Vec<ObjectId> = circle.iter().map(|n| edges[*n].0.held.0).collect();
        debug_assert_eq!(locks.first(), Some(&edges[*first].0.held.0));
        self.found.entry((locks.len(), locks)).or_insert(circle);
    }

    fn together(&self, a: &(Key, Edge), b: &(Key, Edge)) -> bool {
        let exclude = |(lock, mode): &(ObjectId, Mode)| {
            b.0.all.iter().any(|(other, how)| other == lock && (*mode, *how) != (Mode::Shared, Mode::Shared))
        };
        let stamp = |id: &super::before::StampId| &self.nestings.stamps[id.0 as usize];
        a.0.thread != b.0.thread
            && !a.0.all.iter().any(exclude)
            && a.1.stamps.iter().any(|a| b.1.stamps.iter().any(|b| stamp(a).is_beside(stamp(b))))
    }
}

/// Whether a thread with the order `waits` has to wait for one with the order `holds`: readers do
/// not wait for readers.
fn blocks(waits: &Key, holds: &Key) -> bool {
    (waits.wanted.1, holds.held.1) != (Mode::Shared, Mode::Shared)
}
