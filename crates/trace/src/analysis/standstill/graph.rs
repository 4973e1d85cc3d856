//! Which threads can never go on: the graph of threads that wait for threads.
//!
//! A thread that waits for a lock waits for its holders; one that joins, for the joined thread. A
//! thread at a condition variable, a semaphore or a barrier waits for any of the other threads. The
//! threads that stand still are the largest set in which each thread waits for another of the set,
//! or for a lock whose holder has ended.

use super::stuck::{Holding, OpenWait};
use super::walk::{Book, Walk};
use crate::analysis::account::Holder;
use crate::analysis::causes::WaitKind;
use crate::analysis::objects::ObjectId;
use crate::event::ThreadIndex;
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeSet;

/// The threads of one process when it ended.
pub(super) struct Graph<'a> {
    walk: &'a Walk<'a>,
    living: Vec<ThreadIndex>,
    /// Whether the process has threads that the trace does not know, or that were created and have
    /// not started.
    pub(super) strangers: bool,
}

/// What has to happen so that a wait ends.
enum Needs {
    /// The holders release the lock.
    Holders(Vec<Holding>),
    /// The thread ends.
    End(ThreadIndex),
    /// Any one of the other threads acts.
    Anyone,
    /// Nothing has to happen: the wait is about to end, or cannot be judged, as other processes may act
    /// on the object.
    Nothing,
}

impl<'a> Graph<'a> {
    pub(super) fn of(trace: &Trace, walk: &'a Walk<'a>, process: ProcessIndex, strangers: bool) -> Graph<'a> {
        let threads = (0..).zip(&trace.threads).filter(|(_, thread)| thread.process == process);
        let living = threads.map(|(n, _)| ThreadIndex(n)).filter(|t| walk.lives[t.index()].lives()).collect();
        let unborn = walk.crowds.get(&process).is_some_and(|crowd| !crowd.unborn.is_empty());
        Graph { walk, living, strangers: strangers || unborn }
    }

    pub(super) fn living(&self) -> &[ThreadIndex] {
        &self.living
    }

    pub(super) fn wait(&self, thread: ThreadIndex) -> Option<&'a OpenWait> {
        self.walk.lives[thread.index()].waits()
    }

    /// Returns the threads that can never go on. With `helped`, a thread that the trace does not
    /// know might act, too, so that only waits for particular threads count; without, only the
    /// known threads act.
    pub(super) fn stuck(&self, helped: bool) -> BTreeSet<ThreadIndex> {
        let waits = |t: &ThreadIndex| self.wait(*t).is_some_and(|wait| !wait.bounded);
        let mut stuck: BTreeSet<ThreadIndex> = self.living.iter().copied().filter(waits).collect();
        loop {
            let anyone = helped || self.strangers || stuck.len() < self.living.len();
            let before = stuck.len();
            let still: BTreeSet<_> = stuck.iter().copied().filter(|t| self.stays(*t, &stuck, anyone)).collect();
            stuck = still;
            if stuck.len() == before {
                return stuck;
            }
        }
    }

    fn stays(&self, thread: ThreadIndex, stuck: &BTreeSet<ThreadIndex>, anyone: bool) -> bool {
        match self.needs(thread) {
            Needs::Holders(holders) => holders.iter().any(|h| h.ended || stuck.contains(&h.thread)),
            Needs::End(target) => stuck.contains(&target),
            Needs::Anyone => !anyone,
            Needs::Nothing => false,
        }
    }

    fn needs(&self, thread: ThreadIndex) -> Needs {
        let Some(wait) = self.wait(thread) else { return Needs::Nothing };
        let shared = wait.object.is_some_and(|object| self.walk.shared.contains(&object));
        match wait.kind {
            WaitKind::Lock | WaitKind::Condition => match self.holders(wait) {
                holders if holders.is_empty() && shared => Needs::Nothing,
                holders if holders.is_empty() => Needs::Anyone,
                holders => Needs::Holders(holders),
            },
            WaitKind::Join => match wait.target {
                Some(target) if self.walk.lives[target.index()].lives() => Needs::End(target),
                _ => Needs::Nothing,
            },
            // A thread that waits at a barrier which all have reached is about to leave it. But a
            // worker of an OpenMP team waits there for the next region.
            WaitKind::Barrier if wait.passed && !self.is_of_team(thread) => Needs::Nothing,
            WaitKind::Semaphore if self.has_tokens(wait.object) => Needs::Nothing,
            WaitKind::Start => Needs::Nothing,
            _ if shared => Needs::Nothing,
            _ => Needs::Anyone,
        }
    }

    fn is_of_team(&self, thread: ThreadIndex) -> bool {
        self.walk.lives[thread.index()].is_of_team()
    }

    fn has_tokens(&self, semaphore: Option<ObjectId>) -> bool {
        let book = semaphore.and_then(|id| self.walk.books.get(id.index()));
        matches!(book, Some(Book::Semaphore(Some(value))) if *value > 0)
    }

    /// Returns the threads that must release a lock before this wait can end. For a waiter of a
    /// condition variable that was signalled, they are the holders of its mutex. Empty if any
    /// thread may end the wait.
    pub(super) fn holders(&self, wait: &OpenWait) -> Vec<Holding> {
        let lock = match wait.kind {
            WaitKind::Lock => wait.object,
            WaitKind::Condition if wait.signalled => wait.mutex,
            _ => None,
        };
        let Some(book) = self.walk.lock(lock).filter(|book| !book.handed_over) else { return Vec::new() };
        let holding = |h: &Holder| Holding {
            thread: h.thread,
            lock: lock.expect("it has a book"),
            site: h.site,
            since: h.since,
            ended: !self.walk.lives[h.thread.index()].lives(),
        };
        book.account.holders().iter().map(holding).collect()
    }

    /// Returns those of the `stuck` threads that a thread waits for.
    fn waits_for(&self, thread: ThreadIndex, stuck: &BTreeSet<ThreadIndex>) -> Vec<ThreadIndex> {
        let all = match self.needs(thread) {
            Needs::Holders(holders) => holders.iter().map(|h| h.thread).collect(),
            Needs::End(target) => vec![target],
            _ => Vec::new(),
        };
        all.into_iter().filter(|t| stuck.contains(t)).collect()
    }

    /// Returns circles of threads in which each thread waits for the next. Groups of threads that
    /// wait for each other have at least one circle each.
    pub(super) fn circles(&self, stuck: &BTreeSet<ThreadIndex>) -> Vec<Vec<ThreadIndex>> {
        let mut circles = Vec::new();
        let mut done: BTreeSet<ThreadIndex> = BTreeSet::new();
        for start in stuck {
            // A path of waits from `start`; for each thread on it, the threads that it waits for
            // and that have not been tried yet.
            let mut path = vec![(*start, self.waits_for(*start, stuck))];
            while let Some((thread, left)) = path.last_mut() {
                let (thread, next) = (*thread, left.pop());
                let Some(next) = next else {
                    done.insert(thread);
                    path.pop();
                    continue;
                };
                if let Some(at) = path.iter().position(|(t, _)| *t == next) {
                    let circle: Vec<_> = path[at..].iter().map(|(t, _)| *t).collect();
                    done.extend(&circle);
                    circles.push(circle);
                } else if !done.contains(&next) {
                    path.push((next, self.waits_for(next, stuck)));
                }
            }
        }
        circles.iter_mut().for_each(|circle| lowest_first(circle));
        circles.sort();
        circles.dedup();
        circles
    }
}

/// Rotates a circle so that it begins with its lowest thread.
fn lowest_first(circle: &mut [ThreadIndex]) {
    let lowest = (0..circle.len()).min_by_key(|at| circle[*at]).unwrap_or(0);
    circle.rotate_left(lowest);
}
