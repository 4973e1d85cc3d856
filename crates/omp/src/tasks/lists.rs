//! A list of tasks for each thread, from which other threads steal.
//!
//! A task that one thread makes and runs touches the lines of that thread alone. So there is no
//! count of all tasks: each thread keeps a tally of the tasks that it made and a tally of the tasks
//! that it ended. A thread that must know whether all tasks have ended adds up the tallies.
//!
//! Threads that found no task rest in one of two places. A thread that has arrived at a barrier
//! waits for the barrier's word, and a bit of that word tells it of tasks. The bit stays set until
//! one of these threads finds nothing, so one write serves many tasks. A thread that has not
//! arrived waits for [`Lists::events`], and counts itself as a waiter, so that nothing is written
//! there while no thread waits.

use super::queue::{List, new_lock};
use crate::objects::TeamLock;
use crate::settings::Settings;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice};

/// What a team has in addition to its first list, if its threads steal.
pub(crate) struct Lists<M: Machine> {
    /// The lists of all threads but the first.
    pub(crate) others: OwnedSlice<M, Apart<List<M>>>,
    /// The tally of each thread.
    pub(crate) tallies: OwnedSlice<M, Apart<Tally<M>>>,
    pub(crate) signs: Apart<Signs<M>>,
    /// A word that changes for threads that rest before they arrive at a barrier: the count of
    /// detached tasks that have not ended, in the bits of [`DETACHED`], and above it a number that
    /// grows by [`SIGNAL`].
    pub(crate) events: Apart<M::Atomic<u32>>,
    /// Orders changes of the barrier's bit. It may be taken while a list's lock is held, but not
    /// the other way round.
    pub(crate) lock: TeamLock<M>,
}

/// A value that has its pair of cache lines to itself.
#[repr(C, align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// The numbers of tasks that a thread has made and ended. Detached tasks are not counted here: they
/// are few, and a thread of no team may end them. Only the thread itself writes its tally.
pub(crate) struct Tally<M: Machine> {
    pub(crate) made: M::Atomic<u64>,
    pub(crate) ended: M::Atomic<u64>,
}

/// Words that are read at each task and seldom change.
pub(crate) struct Signs<M: Machine> {
    /// Whether a task was made in the region.
    pub(crate) used: M::Atomic<u32>,
    /// Whether the barrier's bit is set.
    pub(crate) told: M::Atomic<u32>,
    /// The number of threads that rest before they arrive at a barrier.
    pub(crate) waiters: M::Atomic<u32>,
    /// Whether threads were woken for a task, and none of them has begun to look for tasks since.
    pub(crate) sought: M::Atomic<u32>,
}

/// The count of detached tasks in [`Lists::events`].
const DETACHED: u32 = (1 << 20) - 1;
const SIGNAL: u32 = 1 << 20;

impl<M: Machine> Lists<M> {
    /// Empty lists for a team of `threads` threads.
    pub(crate) fn new(settings: &Settings, threads: u32) -> Self {
        let (threads, word) = (threads as usize, || M::Atomic::new(0));
        Lists {
            others: OwnedSlice::new(threads - 1, |_| Apart(List::new(settings))),
            tallies: OwnedSlice::new(threads, |_| Apart(Tally { made: M::Atomic::new(0), ended: M::Atomic::new(0) })),
            signs: Apart(Signs { used: word(), told: word(), waiters: word(), sought: word() }),
            events: Apart(word()),
            lock: new_lock(settings),
        }
    }

    /// Begins a region.
    pub(crate) fn begin(&self) {
        // Relaxed: each thread learns of the region after this.
        self.signs.0.used.store(0, Relaxed);
    }

    /// Called by a thread that was woken, or rests from now on, before it looks for tasks: threads that
    /// make a task later wake a thread again.
    pub(crate) fn looks(&self) {
        // Relaxed: the fence orders the store.
        self.signs.0.sought.store(0, Relaxed);
        // SeqCst: either a thread that puts a task into a list sees the store, and what the calling
        // thread stored before, or the calling thread finds the task.
        M::fence(SeqCst);
    }

    /// Counts a task that the thread of this tally makes, and that no other thread knows yet.
    #[inline]
    pub(crate) fn made(&self, tally: &Tally<M>, detached: bool) {
        // Relaxed, all accesses: a lock is released before another thread gets the task, and a
        // thread that sees the task's end comes after that.
        if self.signs.0.used.load(Relaxed) == 0 {
            self.signs.0.used.store(1, Relaxed);
        }
        if detached {
            self.events.0.fetch_add(SIGNAL + 1, Relaxed);
        } else {
            tally.made.store(tally.made.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Counts a task that has ended: in the tally of the thread that ran it, or a detached task if
    /// there is `None`. Any thread may end a detached task, and the team may be freed once it is
    /// counted.
    #[inline]
    pub(crate) fn ended(&self, tally: Option<&Tally<M>>, waits: &Waits) {
        let Some(tally) = tally else {
            let events = &raw const self.events.0;
            // Release: a thread that sees the count sees what the task did.
            // C11: threads of the team meet at the barrier before they go on, which gives the same
            // order, so no execution of theirs is wrong without Release. A thread of no team that
            // fulfils an event has this order alone.
            self.events.0.fetch_add(u32::MAX, Release);
            M::wake::<u32>(events, u32::MAX, waits.of(Why::Task));
            return;
        };
        let ended = &tally.ended;
        // Release: the reason is the same as above. A thread that runs a task while it waits at the
        // barrier has no other order with a thread that arrives after it.
        // C11: the contract `before_a_barrier` needs it, with three preemptions; the mutation check
        // stops at fewer.
        ended.swap(ended.load(Relaxed) + 1, Release);
        // SeqCst: either a thread that is about to rest sees this end, or the code below sees that
        // the thread rests.
        M::fence_after_exchange();
        if self.signs.0.waiters.load(Relaxed) != 0 && self.all_ended() {
            self.signal(waits, u32::MAX);
        }
    }

    /// Whether all tasks that the calling thread knows of, and all tasks that these made, have
    /// ended. If so, the thread sees what they did.
    ///
    /// Ends are added up first. A thread that sees an end sees what was made before it, so the
    /// tasks that are seen to be made are at least as many as had been made when the ends were
    /// read, and the tasks that had been made are at least as many as had ended. If the two sums
    /// are equal, all three numbers are.
    pub(crate) fn all_ended(&self) -> bool {
        loop {
            // Acquire, here and for the ends: the thread sees what the tasks did and made.
            // C11: for this load see `ended`.
            let before = self.events.0.load(Acquire);
            if before & DETACHED != 0 {
                return false;
            }
            let ended = self.tallies.iter().fold(0u64, |sum, of| sum.wrapping_add(of.0.ended.load(Acquire)));
            let made = self.tallies.iter().fold(0u64, |sum, of| sum.wrapping_add(of.0.made.load(Relaxed)));
            if made != ended {
                return false;
            }
            // A task that has ended meanwhile may have made a detached task, which the loop's first
            // look missed.
            if self.events.0.load(Relaxed) == before {
                return true;
            }
        }
    }

    /// Wakes up to `wakes` of the threads that rest before they arrive at a barrier.
    pub(crate) fn signal(&self, waits: &Waits, wakes: u32) {
        // Relaxed: a thread that reads the new value before it rests has its fence after this
        // thread's, so it then finds the task, or sees that all have ended.
        self.events.0.fetch_add(SIGNAL, Relaxed);
        M::wake::<u32>(&self.events.0, wakes, waits.of(Why::Task));
    }
}
