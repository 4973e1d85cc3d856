//! Barriers: no thread goes on until all have arrived; and again, any number of times.

pub mod known;

#[macro_use]
mod registry;
every_barrier!([crate::registry::modules]);

pub use registry::{BARRIERS, BarrierVisitor, UnknownBarrier, visit};

use baton_machine::{Machine, Wait};
use core::num::NonZeroU32;

/// The one word that all participants of a barrier wait for, and a bit of it that the barrier leaves to its user: who sets it
/// makes the word change for those that wait, without letting them go. A runtime tells them so of new tasks.
pub struct Gate<'a, M: Machine> {
    /// The word.
    pub word: &'a M::Atomic<u32>,
    /// The user's bit. It is clear when the last participant arrives.
    pub bit: u32,
}

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
}

/// A barrier for a number of participants that is fixed when it is made.
///
/// All participants pass the same `wait`. The barrier must outlive all their calls: one that was let go may still look
/// at the barrier when another has returned.
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

    /// How many take part.
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
}
