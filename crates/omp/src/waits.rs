//! The wait policy for each reason to wait. Code of the runtime that waits names its reason and
//! gets the policy from here.

use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Machine, Wait, Word};

/// The reasons for which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// For a lock or a critical section.
    Lock,
    /// At a barrier, for a work-share's slot, for its turn in an ordered loop, or for an earlier
    /// iteration of a doacross loop.
    Barrier,
    /// For tasks.
    Task,
    /// For the other threads at the end of a region.
    Join,
    /// A worker without a team waits for its next one.
    Idle,
}

/// Every reason and its name in `BATON_OMP_WAIT`.
pub const REASONS: [(Why, &str); 5] =
    [(Why::Lock, "lock"), (Why::Barrier, "barrier"), (Why::Task, "task"), (Why::Join, "join"), (Why::Idle, "idle")];

/// The policy of each reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits([Wait; 5]);

impl Waits {
    /// One policy for all reasons.
    pub const fn all(wait: Wait) -> Waits {
        Waits([wait; 5])
    }

    /// Sets the policy of one reason.
    pub fn set(&mut self, why: Why, wait: Wait) {
        self.0[why as usize] = wait;
    }

    /// These policies, but with a sleep at once where a thread would spin for a time first at the end
    /// of a region, or without a team.
    pub(crate) fn without_spins(mut self) -> Waits {
        for why in [Why::Join, Why::Idle] {
            if let Wait::SpinFor(_) = self.of(why) {
                self.set(why, Wait::Futex);
            }
        }
        self
    }

    /// The policy for the reason `why`, for locks and barriers, which wait by themselves.
    #[inline]
    pub fn of(&self, why: Why) -> Wait {
        self.0[why as usize]
    }

    /// The policy by which threads at a barrier are woken. It must reach threads of a cancelled
    /// region too, which may wait there for the region's end.
    #[inline]
    pub fn meeting(&self) -> Wait {
        let barrier = self.of(Why::Barrier);
        if barrier.parks() { barrier } else { self.of(Why::Join) }
    }

    /// Waits while `cell` holds `value`, by the policy of `why`. Afterwards the thread sees what
    /// the thread that changed the cell did.
    pub fn wait<M: Machine, T: Word>(&self, why: Why, cell: &M::Atomic<T>, value: T) {
        let _ = M::wait_while(cell, value, self.of(why), None);
    }

    /// [`Waits::wait`] for `time` at most.
    pub fn wait_for<M: Machine, T: Word>(&self, why: Why, cell: &M::Atomic<T>, value: T, time: Nanos) {
        let deadline = Deadline { at: M::now(Clock::Monotonic) + time, clock: Clock::Monotonic };
        let _ = M::wait_while(cell, value, self.of(why), Some(deadline));
    }

    /// Wakes all threads that may wait for `cell` for the reason `why`. The mutation check treats
    /// each caller as a place of its own.
    #[track_caller]
    pub fn wake<M: Machine, T: Word>(&self, why: Why, cell: &M::Atomic<T>) {
        M::wake::<T>(cell, u32::MAX, self.of(why));
    }
}
