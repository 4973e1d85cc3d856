//! A convoy on purpose: threads think, lock, compute and unlock; once, a holder stalls for so long
//! that the other threads go to sleep. The workload counts the slow hand-offs from then until the
//! convoy ends.
//!
//! A hand-off is slow if the next holder had asked before the release, and got the lock later than
//! a spinning thread would have. The convoy ends before the first [`QUIET`] hand-offs in a row that
//! are not slow.

use crate::{Body, Team, Think, expect, share};
use baton_machine::units::{Cycles, Nanos};
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, Wait};
use baton_sync::lock::{LockVisitor, RawLock, ZeroInit};
use std::sync::{Arc, Mutex, MutexGuard};

/// A spinning thread gets the lock sooner than this after a release.
const SPINNER: Nanos = Nanos(1_000);
/// Number of hand-offs in a row without a slow one that end a convoy.
const QUIET: u64 = 32;
/// A hold is long if it takes this much longer than the usual hold.
const LONG: Nanos = Nanos(1_000);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convoy {
    /// Number of threads.
    pub threads: u32,
    /// Cycles computed with the lock held.
    pub critical: Cycles,
    /// Mean number of cycles computed between two acquisitions; each computation is between half
    /// and one and a half of the mean.
    pub think: Cycles,
    /// How long the first thread stalls, once, asleep with the lock held.
    pub stall: Nanos,
    /// Each thread acquires the lock at least this often before the stall.
    pub before: u32,
    /// Number of acquisitions of each thread from the stall on.
    pub after: u32,
}

/// One acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hold {
    requested: Nanos,
    acquired: Nanos,
    released: Nanos,
    /// Whether the holder stalled on purpose in this acquisition.
    stalled: bool,
}

/// How long the convoy lasted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lasted {
    /// Number of slow hand-offs from the stall to the convoy's end.
    pub handoffs: u64,
    /// Whether the convoy had not ended at the last hand-off.
    pub to_the_end: bool,
    /// Number of holds that were long, without the one in which the holder stalled on purpose.
    pub long_holds: u64,
    /// Length of the longest of the long holds.
    pub longest: Nanos,
    /// Number of all holds from the stall on.
    pub holds: u64,
}

/// The holds of all threads from the stall on. Each thread leaves its own when it ends.
#[derive(Clone, Debug, Default)]
pub struct Holds(Arc<Mutex<Vec<Hold>>>);

impl Convoy {
    /// The threads, and where they leave their holds. The check: each thread has left as many holds
    /// as it should.
    pub fn team<M: Machine, L: RawLock<M>>(self, wait: Wait) -> (Team, Holds) {
        let lock = share::<M, L>(L::new());
        let stall =
            share::<M, _>(Stall::<M> { ready: M::Atomic::new(0), over: M::Atomic::new(0), never: M::Atomic::new(0) });
        let of_a_thread = self.after as usize;
        let left = Holds::default();
        let body = |thread: u32| {
            let (lock, stall, left) = (lock.clone(), stall.clone(), left.clone());
            let mut think = Think::new(self.think, 0.5, u64::from(thread));
            // The pages of the list are written before the threads run: a page that is first
            // touched with the lock held would make a stall of its own.
            let mut holds = vec![Hold { requested: Nanos(1), ..Hold::default() }; of_a_thread];
            Box::new(move || {
                let (mut behind, mut done) = (false, 0);
                let mut next = holds.iter_mut();
                let mut hold = next.next();
                while let Some(this) = hold.as_mut() {
                    M::work(think.draw());
                    let requested = M::now(Clock::Monotonic);
                    let token = lock.lock(wait);
                    let acquired = M::now(Clock::Monotonic);
                    // Relaxed: the lock orders the load.
                    behind |= stall.over.load(Ordering::Relaxed) != 0;
                    let stalls = !behind && {
                        done += 1;
                        stall.is_due(thread, done, self)
                    };
                    M::work(self.critical);
                    if stalls {
                        stall.go_through(self.stall);
                        behind = true;
                    }
                    let released = M::now(Clock::Monotonic);
                    // SAFETY: this thread took the lock above, with the same policy.
                    unsafe { lock.unlock(token, wait) };
                    if behind {
                        **this = Hold { requested, acquired, released, stalled: stalls };
                        hold = next.next();
                    }
                }
                left.all().extend(holds);
            }) as Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let (all, found) = (u64::from(self.threads) * of_a_thread as u64, left.clone());
        let verify = Box::new(move || expect("holds that the threads left", found.all().len() as u64, all));
        (Team::new(bodies, verify), left)
    }
}

/// The words by which threads know of the stall.
#[repr(C, align(128))]
struct Stall<M: Machine> {
    /// Number of threads that have had the lock often enough for the stall to begin.
    ready: M::Atomic<u32>,
    /// 1 when the stall is over. Written and read with the lock held.
    over: M::Atomic<u32>,
    /// Always 0: the stalling thread waits for another value, which never comes, until its time is
    /// up.
    never: M::Atomic<u32>,
}

impl<M: Machine> Stall<M> {
    /// Notes that a thread has had the lock `done` times. Returns whether the thread is to stall
    /// now: only thread 0 stalls, once all threads have had the lock often enough.
    fn is_due(&self, thread: u32, done: u32, convoy: Convoy) -> bool {
        // Relaxed: the lock orders the accesses.
        if done == convoy.before {
            self.ready.fetch_add(1, Ordering::Relaxed);
        }
        // If no thread needs the lock before the stall, all are ready from the start.
        let all = convoy.before == 0 || self.ready.load(Ordering::Relaxed) == convoy.threads;
        thread == 0 && done >= convoy.before && all
    }

    /// Stalls asleep, so that the other threads have the CPUs that they need to ask for the lock.
    fn go_through(&self, length: Nanos) {
        let at = Nanos(M::now(Clock::Monotonic).0 + length.0);
        let _ = M::wait_while(&self.never, 0, Wait::Futex, Some(Deadline { at, clock: Clock::Monotonic }));
        self.over.store(1, Ordering::Relaxed);
    }
}

impl Holds {
    fn all(&self) -> MutexGuard<'_, Vec<Hold>> {
        self.0.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Returns how long the convoy behind the stall lasted.
    pub fn lasted(&self) -> Lasted {
        let mut holds = self.all().clone();
        holds.sort_unstable_by_key(|hold| hold.acquired);
        let mut lengths: Vec<Nanos> = holds.iter().map(|hold| hold.length()).collect();
        lengths.sort_unstable();
        let usual = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
        let long = |hold: &&Hold| !hold.stalled && hold.length().0 > usual.0 + LONG.0;
        let (handoffs, to_the_end) = after_the_stall(&holds);
        Lasted {
            handoffs,
            to_the_end,
            long_holds: holds.iter().filter(long).count() as u64,
            longest: holds.iter().filter(long).map(Hold::length).max().unwrap_or_default(),
            holds: holds.len() as u64,
        }
    }
}

impl Hold {
    fn length(&self) -> Nanos {
        Nanos(self.released.0.saturating_sub(self.acquired.0))
    }

    /// Whether this hold's thread had asked before `last` was released, and got the lock later than
    /// a spinning thread would have.
    fn is_slow_after(&self, last: &Hold) -> bool {
        self.requested < last.released && self.acquired.0.saturating_sub(last.released.0) > SPINNER.0
    }
}

/// Counts slow hand-offs from the stall on, in holds that are sorted by time, until [`QUIET`] in a
/// row are not slow. Returns the count, and whether the convoy went on to the end.
fn after_the_stall(holds: &[Hold]) -> (u64, bool) {
    let Some(stall) = holds.iter().position(|hold| hold.stalled) else { return (0, false) };
    let (mut slow, mut quiet) = (0, 0);
    for pair in holds[stall..].windows(2) {
        if pair[1].is_slow_after(&pair[0]) {
            (slow, quiet) = (slow + 1, 0);
        } else {
            quiet += 1;
        }
        if quiet == QUIET {
            return (slow, false);
        }
    }
    (slow, slow != 0)
}

/// Makes the convoy of a lock of the registry.
pub struct Make(pub Convoy, pub Wait);
impl<M: Machine> LockVisitor<M> for Make {
    type Out = (Team, Holds);
    fn visit<L: RawLock<M> + ZeroInit>(self) -> (Team, Holds) {
        self.0.team::<M, L>(self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    /// Holds of 100 ns, one after the other. Each begins the given number of nanoseconds after the
    /// release before it, in a thread that had asked before.
    fn handed_over(in_nanos: impl IntoIterator<Item = u64>) -> Vec<Hold> {
        let mut at = 1_000_000;
        let hold = |handoff| {
            let acquired = at + handoff;
            at = acquired + 100;
            Hold { requested: Nanos(0), acquired: Nanos(acquired), released: Nanos(at), stalled: false }
        };
        in_nanos.into_iter().map(hold).collect()
    }

    fn lasted(mut holds: Vec<Hold>, stall: usize) -> Lasted {
        holds[stall].stalled = true;
        // The holds come in the order in which threads end, not in the order of time.
        holds.reverse();
        Holds(Arc::new(Mutex::new(holds))).lasted()
    }

    /// The stall begins at the first acquisition of thread 0 by which each thread has had the lock
    /// `before` times, this acquisition included.
    #[test]
    fn the_stall_comes_when_each_thread_has_had_the_lock_often_enough() {
        type Word = <Native as Machine>::Atomic<u32>;
        for before in 0..3 {
            let cycles = Cycles(1);
            let convoy = Convoy { threads: 2, critical: cycles, think: cycles, stall: Nanos(1), before, after: 1 };
            let stall = Stall::<Native> { ready: Word::new(0), over: Word::new(0), never: Word::new(0) };
            let due = |thread| (1..4).find(|done| stall.is_due(thread, *done, convoy));
            assert_eq!(due(1), None);
            assert_eq!(due(0), Some(before.max(1)), "{before} times before the stall");
        }
    }

    #[test]
    fn a_convoy_ends_before_many_quick_hand_offs_in_a_row() {
        let quick = |n| std::iter::repeat_n(200, n);
        let convoy = |n| std::iter::repeat_n(5_000, n);
        // A hand-off that is slow before the stall, or long after it, is no part of the convoy. A
        // short quiet time does not end the convoy.
        let all = convoy(5)
            .chain(quick(10))
            .chain(convoy(20))
            .chain(quick(31))
            .chain(convoy(3))
            .chain(quick(32))
            .chain(convoy(9));
        let found = lasted(handed_over(all), 14);
        assert_eq!((found.handoffs, found.to_the_end, found.holds), (23, false, 110));
        assert!(lasted(handed_over(quick(5).chain(convoy(40))), 4).to_the_end);
        assert_eq!(lasted(handed_over(quick(50)), 4).handoffs, 0);
    }

    #[test]
    fn who_comes_after_the_release_is_no_slow_hand_off() {
        let mut holds = handed_over([200, 200, 5_000, 200]);
        holds[2].requested = holds[1].released;
        assert_eq!(lasted(holds, 0).handoffs, 0);
    }

    #[test]
    fn long_holds_are_counted_but_for_the_stall() {
        let mut holds = handed_over([200; 50]);
        for (hold, longer) in [(3, 900), (10, 1_001), (20, 30_000), (30, 200_000)] {
            holds[hold].released.0 += longer;
        }
        let found = lasted(holds, 30);
        assert_eq!((found.long_holds, found.longest), (2, Nanos(30_100)));
    }
}
