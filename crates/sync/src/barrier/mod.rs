//! Barriers: no thread goes on until all have arrived; and again, any number of times.

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

/// The one word that all participants of a barrier wait for, and a bit of it that the barrier leaves to its user: who sets it
/// makes the word change for those that wait, without letting them go. A runtime tells them so of new tasks.
pub struct Gate<'a, M: Machine> {
    /// The word.
    pub word: &'a M::Atomic<u32>,
    /// The user's bit. It is clear when the last participant arrives.
    pub bit: u32,
}

/// A word, alone in its pair of cache lines.
#[repr(C, align(128))]
struct Alone<M: Machine>(M::Atomic<u32>);

/// What is said of a barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
    /// Whether participants must tell their index. Where not, any index will do (`pthread_barrier_t` knows none).
    pub indexed: bool,
    /// Whether participants may drop out.
    pub drops: bool,
    /// What an episode of eight participants at two nodes takes: all of them together.
    pub counted: Counted,
}

/// Why a participant cannot drop out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropError {
    /// No participant of this barrier can.
    NotOffered {
        /// The barrier's name.
        barrier: &'static str,
    },
    /// All have dropped out before.
    TooMany {
        /// The barrier's name.
        barrier: &'static str,
        /// How many it was made for.
        participants: u32,
    },
}

impl std::fmt::Display for DropError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DropError::NotOffered { barrier } => {
                let able: Vec<_> = BARRIERS.iter().filter(|info| info.drops).map(|info| info.name).collect();
                write!(f, "no participant can drop out of a barrier `{barrier}`; of one of {} it can", able.join(", "))
            }
            DropError::TooMany { barrier, participants } => {
                write!(
                    f,
                    "more participants drop out of a barrier `{barrier}` than the {participants} that it was made for"
                )
            }
        }
    }
}

impl std::error::Error for DropError {}

/// Counts one more that drops out, in a word that the last to arrive reads.
fn count_left<M: Machine, B: RawBarrier<M>>(left: &M::Atomic<u32>, all: u32) -> Result<(), DropError> {
    // Relaxed, all: the arrival that follows publishes it to the last one.
    let mut before = left.load(Relaxed);
    while before < all {
        match left.compare_exchange(before, before + 1, Relaxed, Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => before = now,
        }
    }
    Err(DropError::TooMany { barrier: B::INFO.name, participants: all })
}

/// One that dropped out, in the upper half of a counter of arrivals.
const LEFT: u64 = 1 << 32;

/// Arrives at a counter whose upper half says how many dropped out, and drops out: adds `what`. Returns what the counter was.
fn count_out<M: Machine, B: RawBarrier<M>>(cell: &M::Atomic<u64>, what: u64, all: u32) -> Result<u64, DropError> {
    // Relaxed, and where it fails: the exchange tells whether it still holds.
    let mut before = cell.load(Relaxed);
    loop {
        if before / LEFT == u64::from(all) {
            return Err(DropError::TooMany { barrier: B::INFO.name, participants: all });
        }
        // Release: what we did. Acquire: the last one passes on what all the others did.
        match cell.compare_exchange(before, before.wrapping_add(what), AcqRel, Relaxed) {
            Ok(_) => return Ok(before),
            Err(now) => before = now,
        }
    }
}

/// A barrier for a number of participants that is fixed when it is made.
///
/// All participants pass the same `wait`. The barrier must outlive all their calls: one that was let go may still look
/// at the barrier when another has returned. [`Ending`](ending::Ending) makes one of it that may go as soon as one has returned.
///
/// # Safety
/// No call of [`wait`](RawBarrier::wait) returns before every participant has made its call of the same episode, and
/// what each did before its call happens before all returns.
pub unsafe trait RawBarrier<M: Machine>: Sized + Send + Sync + 'static {
    /// What is said of the barrier; its line in the registry.
    const INFO: BarrierInfo;

    /// A barrier that no thread has arrived at.
    fn new(participants: NonZeroU32) -> Self;

    /// A barrier whose episodes are about to wrap: what the contract suite starts from to test a long life in a short
    /// time. A barrier that counts must override it.
    fn aged(participants: NonZeroU32) -> Self {
        Self::new(participants)
    }

    /// How many it was made for: indices are below that.
    fn participants(&self) -> u32;

    /// Arrives as participant `index` and waits for the others. Returns `true` to exactly one of them in each episode.
    ///
    /// Each index is used by one thread at a time (where [`BarrierInfo::indexed`] says that it matters).
    ///
    /// # Panics
    /// If `index` is not less than the number of participants.
    fn wait(&self, index: u32, wait: Wait) -> bool {
        match (self.arrive(index, wait), self.gate()) {
            (Some(value), Some(gate)) => {
                // The wait's acquire: see what all did. The word cannot come round again while we look.
                let _ = M::wait_while(gate.word, value, wait, None);
                false
            }
            (arrived, _) => arrived.is_none(),
        }
    }

    /// The word that all wait for, if there is one. A barrier has this and [`arrive`](RawBarrier::arrive), or a
    /// [`wait`](RawBarrier::wait) of its own.
    fn gate(&self) -> Option<Gate<'_, M>> {
        None
    }

    /// Arrives as participant `index` without waiting. `None`: it was the last, and all are let go. Otherwise what the gate's word
    /// holds, without the user's bit, until all have arrived; who then reads another value (Acquire) sees what all did.
    ///
    /// # Panics
    /// If `index` is not less than the number of participants, or the barrier has no gate.
    fn arrive(&self, index: u32, wait: Wait) -> Option<u32> {
        let _ = (index, wait);
        panic!("{} has no gate", Self::INFO.name)
    }

    /// Arrives as participant `index` without waiting, and takes part no more: later episodes are those of the others. What it did
    /// before happens before all returns of this episode; if it is the last to arrive, no call of this episode returns `true`.
    /// The index is not used again.
    ///
    /// # Errors
    /// If the barrier cannot do this ([`BarrierInfo::drops`]), or all have dropped out before; then nothing was changed.
    ///
    /// # Panics
    /// If `index` is not less than the number of participants.
    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        let _ = (index, wait);
        Err(DropError::NotOffered { barrier: Self::INFO.name })
    }
}
