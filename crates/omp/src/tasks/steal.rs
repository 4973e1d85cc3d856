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

use super::queue::{List, holding, new_lock};
use crate::objects::AnyLock;
use crate::settings::Settings;
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice};

/// The lists of a team beside the first one, which the team always has.
pub(super) struct Lists<M: Machine> {
    /// The lists of all threads except the first.
    pub(super) others: OwnedSlice<M, Apart<List<M>>>,
    /// The tally of each thread.
    tallies: OwnedSlice<M, Apart<Tally<M>>>,
    signs: Apart<Signs<M>>,
    /// A word that changes for threads that rest before they arrive: the count of detached tasks
    /// that have not ended, by [`DETACHED`], and above the count a number that moves on by
    /// [`SIGNAL`].
    events: Apart<M::Atomic<u32>>,
    /// Orders changes of the barrier's bit. A thread may take it while it holds a list's lock,
    /// never the other way about.
    lock: Box<dyn AnyLock<M>>,
}

/// Alone in its pair of cache lines.
#[repr(C, align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// Tasks made and ended, without detached tasks: these are few, and a thread of no team may end
/// them. Only the thread itself writes its tally.
struct Tally<M: Machine> {
    made: M::Atomic<u64>,
    ended: M::Atomic<u64>,
}

/// Words that are read at each task and seldom change.
struct Signs<M: Machine> {
    /// Whether a task was made in the region.
    used: M::Atomic<u32>,
    /// Whether the barrier's bit is set.
    told: M::Atomic<u32>,
    /// How many threads rest before they arrive.
    waiters: M::Atomic<u32>,
}

/// The count of detached tasks in [`Lists::events`].
const DETACHED: u32 = (1 << 20) - 1;
const SIGNAL: u32 = 1 << 20;
/// How often a thread that found nothing looks again before it rests: within that time other
/// threads make tasks or end the last one, if they are about to.
const LOOKS: u32 = 16;

impl<M: Machine> Lists<M> {
    /// Empty lists for a team of `threads` threads.
    pub(super) fn new(settings: &Settings, threads: u32) -> Self {
        let (threads, word) = (threads as usize, || M::Atomic::new(0));
        Lists {
            others: OwnedSlice::new(threads - 1, |_| Apart(List::new(settings))),
            tallies: OwnedSlice::new(threads, |_| Apart(Tally { made: M::Atomic::new(0), ended: M::Atomic::new(0) })),
            signs: Apart(Signs { used: word(), told: word(), waiters: word() }),
            events: Apart(word()),
            lock: new_lock(settings),
        }
    }

    /// Begins a region.
    pub(super) fn begin(&self) {
        // Relaxed: each thread is told of the region after this.
        self.signs.0.used.store(0, Relaxed);
    }

    /// Counts a task that thread `thread` makes and that no other thread knows yet.
    pub(super) fn made(&self, thread: u32, detached: bool) {
        // Relaxed, all: a lock is given back before another thread has the task, and a thread that
        // sees the task's end comes after that.
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

    /// Counts the end of a task for thread `thread`. For a detached task any thread may call this,
    /// and the team may be gone then.
    pub(super) fn ended(&self, thread: u32, waits: &Waits, detached: bool) {
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
    /// Ends are added up first. A thread that sees an end sees the tasks made before it. So the sum
    /// of made tasks is at least the number that had been made when the ends were read, and that
    /// number is at least the number that had ended. If the two sums are equal, all three are.
    fn all_ended(&self) -> bool {
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

    /// Wakes `wakes` of the threads that rest before they arrive.
    fn signal(&self, waits: &Waits, wakes: u32) {
        // Relaxed: a thread that sees the signal before it rests has its fence behind this thread's
        // fence, so its look finds the task or the last end.
        self.events.0.fetch_add(SIGNAL, Relaxed);
        M::wake::<u32>(&self.events.0, wakes, waits.of(Why::Task));
    }
}

impl<M: Machine> Team<M> {
    /// Wakes `wakes` threads for tasks that the calling thread put into a list. The calling thread
    /// does so before it arrives at a barrier, and before the task that it runs ends.
    pub(super) fn tell_thieves(&self, lists: &Lists<M>, waits: &Waits, wakes: u32) {
        let Some(barrier) = &self.barrier else { return };
        // SeqCst: either a thread that found no task sees this one, or the code below sees what
        // that thread wrote before it looked.
        M::fence(SeqCst);
        // Relaxed, both: the fence orders them.
        if lists.signs.0.told.load(Relaxed) == 0 {
            self.set_bit(lists, waits);
        }
        barrier.wake(wakes, waits.meeting());
        if lists.signs.0.waiters.load(Relaxed) != 0 {
            lists.signal(waits, wakes);
        }
    }

    fn set_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        holding(&*lists.lock, waits, || {
            // Relaxed, both: the lock is held. A thread that sees the last task's end sees the bit,
            // and clears it before it arrives.
            if lists.signs.0.told.load(Relaxed) == 0 {
                barrier.tasks_wait();
                lists.signs.0.told.store(1, Relaxed);
            }
        });
    }

    /// Clears the barrier's bit if there is no task: the calling thread found none, and threads at
    /// the barrier need not look.
    pub(super) fn clear_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        let told = &lists.signs.0.told;
        // Acquire: the bit is clear if this says so.
        if told.load(Acquire) == 0 {
            return;
        }
        holding(&*lists.lock, waits, || {
            // Relaxed: the lock is held.
            if told.load(Relaxed) != 0 {
                barrier.no_task_waits();
                // Release: see above.
                told.store(0, Release);
            }
        });
        // SeqCst: either a thread that put a task there before sees that the bit is clear, or the
        // code below sees the task.
        M::fence(SeqCst);
        for list in (0..self.size).map(|thread| self.tasks.list_of(thread)) {
            if list.is_filled() {
                // While the list is locked the task has not ended, so no thread that waits for its
                // end has arrived.
                list.locked(waits, |waiting| {
                    if !waiting.is_empty() {
                        self.set_bit(lists, waits);
                    }
                });
            }
        }
    }

    fn has_ready(&self) -> bool {
        (0..self.size).any(|thread| self.tasks.list_of(thread).is_filled())
    }
}

impl<M: Machine> Context<M> {
    /// Runs the team's tasks, wherever they are, until none that the thread knows of waits or runs.
    pub(super) fn hunt(&self, lists: &Lists<M>) {
        // Relaxed: the thread knows of no task if it does not see this.
        if lists.signs.0.used.load(Relaxed) == 0 {
            return;
        }
        let (team, waits) = (self.team(), self.waits());
        loop {
            self.run_any();
            if lists.all_ended() {
                break;
            }
            if !self.looks_up() && !lists.all_ended() {
                self.rest(lists);
            }
        }
        team.clear_bit(lists, waits);
    }

    /// Whether a task comes within a short time.
    pub(super) fn looks_up(&self) -> bool {
        (0..LOOKS).any(|_| {
            M::relax();
            self.team().has_ready()
        })
    }

    fn rest(&self, lists: &Lists<M>) {
        let waiters = &lists.signs.0.waiters;
        // Relaxed: see `signal`.
        let seen = lists.events.0.load(Relaxed);
        waiters.fetch_add(1, Relaxed);
        // SeqCst: see `tell_thieves` and `ended`.
        M::fence(SeqCst);
        if !self.team().has_ready() && !lists.all_ended() {
            self.waits().wait::<M, u32>(Why::Task, &lists.events.0, seen);
        }
        // Relaxed: a wake-up by a thread that still sees the old count finds no sleeper.
        waiters.fetch_add(u32::MAX, Relaxed);
    }
}
