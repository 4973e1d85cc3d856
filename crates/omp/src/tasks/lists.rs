//! A list of each thread, from which others steal.
//!
//! A task that one thread makes and runs touches the lines of that thread alone. So there is no
//! count of all tasks: each thread keeps a tally of the tasks that it made and a tally of the tasks
//! that it ended. A thread that must know whether all tasks have ended adds up the tallies.
//!
//! Threads that found no task rest in one of two places. A thread that has arrived at a barrier
//! waits for the barrier's word, and a bit of that word tells it of tasks. The bit stays set until
//! one of these threads finds nothing, so one write serves many tasks. A thread that has not
//! arrived waits for [`Lists::events`], and says so, so that nothing is written there while no
//! thread waits.

use super::queue::{List, new_lock};
use crate::objects::AnyLock;
use crate::settings::Settings;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice};

/// What the lists of a team have beside the first one, which is the team's in any case.
pub(crate) struct Lists<M: Machine> {
    /// Those of all threads but the first.
    pub(crate) others: OwnedSlice<M, Apart<List<M>>>,
    /// Of each thread.
    pub(crate) tallies: OwnedSlice<M, Apart<Tally<M>>>,
    pub(crate) signs: Apart<Signs<M>>,
    /// Changes for threads that rest before they arrive: detached tasks that have not ended, by [`DETACHED`], and above that a number
    /// that moves on by [`SIGNAL`].
    pub(crate) events: Apart<M::Atomic<u32>>,
    /// Orders changes of the barrier's bit. It may be taken with a list's lock held, never the other way about.
    pub(crate) lock: Box<dyn AnyLock<M>>,
}

/// Alone in its pair of cache lines.
#[repr(C, align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// Tasks, other than detached ones, which are few, and which a thread of no team may end. Only the thread itself writes here.
pub(crate) struct Tally<M: Machine> {
    pub(crate) made: M::Atomic<u64>,
    pub(crate) ended: M::Atomic<u64>,
}

/// What is read at each task and seldom changes.
pub(crate) struct Signs<M: Machine> {
    /// Whether a task was made in the region.
    pub(crate) used: M::Atomic<u32>,
    /// Whether the barrier's bit is set.
    pub(crate) told: M::Atomic<u32>,
    /// How many threads rest before they arrive.
    pub(crate) waiters: M::Atomic<u32>,
}

/// The count of detached tasks in [`Lists::events`].
const DETACHED: u32 = (1 << 20) - 1;
const SIGNAL: u32 = 1 << 20;

impl<M: Machine> Lists<M> {
    /// Empty ones of a team of so many threads.
    pub(crate) fn new(settings: &Settings, threads: u32) -> Self {
        let (threads, word) = (threads as usize, || M::Atomic::new(0));
        Lists {
            others: OwnedSlice::new(threads - 1, |_| Apart(List::new(settings))),
            tallies: OwnedSlice::new(threads, |_| Apart(Tally { made: M::Atomic::new(0), ended: M::Atomic::new(0) })),
            signs: Apart(Signs { used: word(), told: word(), waiters: word() }),
            events: Apart(word()),
            lock: new_lock(settings),
        }
    }

    /// A region begins.
    pub(crate) fn begin(&self) {
        // Relaxed: each thread is told of the region after this.
        self.signs.0.used.store(0, Relaxed);
    }

    /// That thread makes a task, which no other knows yet.
    pub(crate) fn made(&self, thread: u32, detached: bool) {
        // Relaxed, all: a lock is given back before another thread has the task, and a thread that sees that it ended comes after that.
        if self.signs.0.used.load(Relaxed) == 0 {
            self.signs.0.used.store(1, Relaxed);
        }
        if detached {
            self.events.0.fetch_add(SIGNAL + 1, Relaxed);
        } else {
            let made = &self.tallies[thread as usize].0.made;
            made.store(made.load(Relaxed) + 1, Relaxed);
        }
    }

    /// A task has ended, as that thread says; of a detached one any thread may say so, and the team may be gone then.
    pub(crate) fn ended(&self, thread: u32, waits: &Waits, detached: bool) {
        if detached {
            let events = &raw const self.events.0;
            // Release: a thread that sees the count sees what the task did.
            // C11: threads of the team meet at the barrier before they go on, which gives the same
            // order, so no execution of theirs is wrong without Release. A thread of no team that
            // fulfils an event has this order alone.
            self.events.0.fetch_add(u32::MAX, Release);
            M::wake::<u32>(events, u32::MAX, waits.of(Why::Task));
            return;
        }
        let ended = &self.tallies[thread as usize].0.ended;
        // Release: the reason is the same as above. A thread that runs a task while it waits at the
        // barrier has no other order with a thread that arrives after it.
        // C11: the contract `before_a_barrier` needs it, with three preemptions; the mutation check
        // stops at fewer.
        ended.store(ended.load(Relaxed) + 1, Release);
        // SeqCst: either a thread that is about to rest sees this end, or the code below sees that
        // the thread rests.
        M::fence(SeqCst);
        if self.signs.0.waiters.load(Relaxed) != 0 && self.all_ended() {
            self.signal(waits, u32::MAX);
        }
    }

    /// Whether all tasks that the calling thread knows of, and all tasks that these made, have
    /// ended. The thread then sees what they did.
    ///
    /// Ends are added up first. A thread that sees an end sees what was made before it, so the tasks that are seen to be made are at least as many
    /// as had been made when the ends were read, and those at least as many as had ended. If the sums are equal, all three are.
    pub(crate) fn all_ended(&self) -> bool {
        loop {
            // Acquire, here and for the ends: what the tasks did and made. C11: for this load see
            // `ended`.
            let before = self.events.0.load(Acquire);
            if before & DETACHED != 0 {
                return false;
            }
            let ended = self.tallies.iter().fold(0u64, |sum, of| sum.wrapping_add(of.0.ended.load(Acquire)));
            let made = self.tallies.iter().fold(0u64, |sum, of| sum.wrapping_add(of.0.made.load(Relaxed)));
            if made != ended {
                return false;
            }
            // A task that has ended meanwhile may have left a detached task.
            if self.events.0.load(Relaxed) == before {
                return true;
            }
        }
    }

    /// Wakes so many threads that rest before they arrive.
    pub(crate) fn signal(&self, waits: &Waits, wakes: u32) {
        // Relaxed: who sees it before it rests has its fence behind this thread's, and so looks for the task, or the last end, in vain no more.
        self.events.0.fetch_add(SIGNAL, Relaxed);
        M::wake::<u32>(&self.events.0, wakes, waits.of(Why::Task));
    }
}
