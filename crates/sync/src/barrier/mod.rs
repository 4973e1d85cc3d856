//! Barriers: no thread continues until all have arrived. A barrier can be used any number of times.

pub mod ending;
pub mod known;
mod published;

#[macro_use]
mod registry;
every_barrier!([crate::registry::modules]);

pub use registry::{BARRIERS, BarrierVisitor, UnknownBarrier, visit};

use baton_machine::Ordering::{AcqRel, Relaxed};
use baton_machine::{Atomic, Counted, Machine, Wait};
use core::num::NonZeroU32;

/// The word that all participants of a barrier wait for, and a bit of it that the barrier leaves to
/// its user. A thread that sets the bit changes the word for the waiters without releasing them; a
/// runtime announces new tasks in this way.
pub struct Gate<'a, M: Machine> {
    /// The word that participants wait for.
    pub word: &'a M::Atomic<u32>,
    /// The user's bit. It must be clear when the last participant arrives. While a participant is
    /// in [`RawBarrier::wait`], it must not be set: that call would return early.
    pub bit: u32,
}

/// A word that has its pair of cache lines to itself.
#[repr(C, align(128))]
struct Alone<M: Machine>(M::Atomic<u32>);

/// The description of a barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the barrier works, in one line.
    pub what: &'static str,
    /// The paper or program that the barrier comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
    /// Whether participants must give their index. If not, any index will do (`pthread_barrier_t`
    /// has none).
    pub indexed: bool,
    /// Whether participants may drop out.
    pub drops: bool,
    /// Cost of an episode of eight participants at two nodes, for all of them together.
    pub counted: Counted,
}

/// Why a participant cannot drop out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropError {
    /// Barriers of this kind do not let participants drop out.
    NotOffered {
        /// Name of the barrier.
        barrier: &'static str,
    },
    /// All participants have dropped out already.
    TooMany {
        /// Name of the barrier.
        barrier: &'static str,
        /// Number of participants that the barrier was made for.
        participants: u32,
    },
}

impl std::fmt::Display for DropError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DropError::NotOffered { barrier } => {
                let able: Vec<_> = BARRIERS.iter().filter(|info| info.drops).map(|info| info.name).collect();
                write!(f, "participants cannot drop out of a barrier `{barrier}`; they can with {}", able.join(", "))
            }
            DropError::TooMany { barrier, participants } => {
                write!(f, "all {participants} participants of a barrier `{barrier}` have already dropped out")
            }
        }
    }
}

impl std::error::Error for DropError {}

/// Counts a participant that drops out, in a word that the last thread to arrive reads. Fails if
/// all have dropped out.
fn count_left<M: Machine, B: RawBarrier<M>>(left: &M::Atomic<u32>, all: u32) -> Result<(), DropError> {
    // Relaxed for all: the arrival that follows publishes it to the last thread.
    let mut before = left.load(Relaxed);
    while before < all {
        match left.compare_exchange(before, before + 1, Relaxed, Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => before = now,
        }
    }
    Err(DropError::TooMany { barrier: B::INFO.name, participants: all })
}

/// One participant that dropped out, in the upper half of a counter of arrivals.
const LEFT: u64 = 1 << 32;

/// Arrives for a participant that drops out: adds `what` to a counter whose upper half counts such
/// participants. Returns the counter's old value. Fails if all have dropped out.
fn count_out<M: Machine, B: RawBarrier<M>>(cell: &M::Atomic<u64>, what: u64, all: u32) -> Result<u64, DropError> {
    // Relaxed, also on failure: the exchange checks whether the value is still current.
    let mut before = cell.load(Relaxed);
    loop {
        if before / LEFT == u64::from(all) {
            return Err(DropError::TooMany { barrier: B::INFO.name, participants: all });
        }
        // Release: publishes what this thread did. Acquire: the last thread passes on what all the
        // others did.
        match cell.compare_exchange(before, before.wrapping_add(what), AcqRel, Relaxed) {
            Ok(_) => return Ok(before),
            Err(now) => before = now,
        }
    }
}

/// A barrier for a number of participants that is fixed when it is created.
///
/// All participants pass the same `wait`. The barrier must outlive all calls: a thread that was
/// released may still read the barrier when another has already returned.
/// [`Ending`](ending::Ending) wraps a barrier so that it may be freed as soon as one thread has
/// returned.
///
/// # Safety
/// No call of [`wait`](RawBarrier::wait) returns before every participant has made its call for the
/// same episode, as long as no thread sets the bit of the [`Gate`] meanwhile. What each participant did before its call happens before all returns.
pub unsafe trait RawBarrier<M: Machine>: Sized + Send + Sync + 'static {
    /// Description of the barrier, its line in the registry.
    const INFO: BarrierInfo;

    /// Creates a barrier at which no thread has arrived.
    fn new(participants: NonZeroU32) -> Self;

    /// Creates a barrier whose counters of episodes are about to wrap; the contract suite starts
    /// from it to test a long life in a short time. A barrier that counts must override it.
    fn aged(participants: NonZeroU32) -> Self {
        Self::new(participants)
    }

    /// Number of participants that the barrier was created for. Indices are less than it.
    fn participants(&self) -> u32;

    /// Arrives as participant `index` and waits for the others. Returns `true` in exactly one
    /// participant of each episode.
    ///
    /// Only one thread at a time may use an index (where [`BarrierInfo::indexed`] says that indices
    /// matter). No thread may set the bit of the barrier's [`Gate`] meanwhile: the call waits until
    /// the whole word changes. A participant that knows the bit calls [`arrive`](RawBarrier::arrive)
    /// and waits for the gate's word itself.
    ///
    /// # Panics
    /// Panics if `index` is not less than the number of participants.
    fn wait(&self, index: u32, wait: Wait) -> bool {
        match (self.arrive(index, wait), self.gate()) {
            (Some(value), Some(gate)) => {
                // The wait's acquire: see what all threads did. The word cannot come back to
                // `value` during the wait.
                let _ = M::wait_while(gate.word, value, wait, None);
                false
            }
            (arrived, _) => arrived.is_none(),
        }
    }

    /// Returns the word that all wait for, if there is one. A barrier implements this and
    /// [`arrive`](RawBarrier::arrive), or its own [`wait`](RawBarrier::wait).
    fn gate(&self) -> Option<Gate<'_, M>> {
        None
    }

    /// Arrives as participant `index` without waiting. Returns `None` if this was the last arrival,
    /// which releases all. Otherwise returns the value of the gate's word, without the user's bit,
    /// until all have arrived; a thread that then reads another value (Acquire) sees what all
    /// threads did.
    ///
    /// # Panics
    /// Panics if `index` is not less than the number of participants, or if the barrier has no
    /// gate.
    fn arrive(&self, index: u32, wait: Wait) -> Option<u32> {
        let _ = (index, wait);
        panic!("{} has no gate", Self::INFO.name)
    }

    /// Arrives as participant `index` without waiting, and no longer takes part: later episodes
    /// need only the others. What this thread did before happens before all returns of this
    /// episode. If it is the last to arrive, no call of this episode returns `true`. The index must
    /// not be used again.
    ///
    /// # Errors
    /// Fails, without changing anything, if the barrier does not support this
    /// ([`BarrierInfo::drops`]), or if all participants have dropped out already.
    ///
    /// # Panics
    /// Panics if `index` is not less than the number of participants.
    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        let _ = (index, wait);
        Err(DropError::NotOffered { barrier: Self::INFO.name })
    }
}
