//! Sets of kinds of events: for passes over a trace that need only rare kinds, and for telling
//! which kinds a segment contains.

use crate::event::{Lock, LockKind, Mode, OffReason, SiteId, SystemCall, WakeReason, What};

/// A set of kinds of events, with a bit for each kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds([u64; 4]);

impl Kinds {
    /// The set of all kinds.
    pub const ALL: Kinds = Kinds([u64::MAX; 4]);
    /// [`What::Affinity`] only.
    pub const AFFINITY: Kinds = Kinds::of(&[What::Affinity { tid: 0, first: false, group: 0, mask: 0 }]);
    /// The events of a thread's creation: [`What::Create`], [`What::Created`] and
    /// [`What::ThreadStart`].
    pub const BIRTHS: Kinds = Kinds::of(&[
        What::Create { site: SiteId::UNKNOWN },
        What::Created { handle: 0, error: 0 },
        What::ThreadStart { handle: 0 },
    ]);
    /// [`What::Exit`] only.
    pub const EXITS: Kinds = Kinds::of(&[What::Exit]);
    /// The context switches: [`What::OffCpu`] and [`What::OnCpu`].
    pub const SWITCHES: Kinds =
        Kinds::of(&[What::OffCpu { tid: 0, reason: OffReason::Unknown }, What::OnCpu { tid: 0, cpu: 0 }]);
    /// [`What::Sample`] only.
    pub const SAMPLES: Kinds = Kinds::of(&[What::Sample { code: 0, micros: 0 }]);
    /// The ends of calls, and of waits at condition variables: [`What::Called`] and [`What::CondWake`].
    pub(crate) const SLEEPS: Kinds = Kinds::of(&[
        What::Called { call: SystemCall::NONE, site: SiteId::UNKNOWN },
        What::CondWake { condition: 0, reason: WakeReason::Woken },
    ]);
    /// What went through queues, and calls: [`What::Put`], [`What::Take`], [`What::QueueClose`],
    /// [`What::Blocked`] and [`What::Called`].
    pub(crate) const FLOWS: Kinds = Kinds::of(&[
        What::Put { queue: 0, items: 0 },
        What::Take { queue: 0, items: 0 },
        What::QueueClose { queue: 0, site: SiteId::UNKNOWN },
        What::Blocked { site: SiteId::UNKNOWN, ticks: 0 },
        What::Called { call: SystemCall::NONE, site: SiteId::UNKNOWN },
    ]);
    /// [`What::TryFail`] of locks of all kinds.
    pub const TRIES: Kinds = Kinds::tries();
    pub(crate) const NONE: Kinds = Kinds([0; 4]);

    const fn tries() -> Kinds {
        let (mut kinds, mut at) = (Kinds::NONE, 0);
        while at < LockKind::ALL.len() {
            let lock = Lock { address: 0, kind: LockKind::ALL[at] };
            kinds.add(What::TryFail { lock, mode: Mode::Exclusive, site: SiteId::UNKNOWN }.encode().code);
            kinds.add(What::TryFail { lock, mode: Mode::Shared, site: SiteId::UNKNOWN }.encode().code);
            at += 1;
        }
        kinds
    }

    /// Returns the set of the kinds of the given events. Private, because the reader relies on sets
    /// that contain both kinds of context switches or none.
    const fn of(whats: &[What]) -> Kinds {
        let (mut kinds, mut at) = (Kinds::NONE, 0);
        while at < whats.len() {
            kinds.add(whats[at].encode().code);
            at += 1;
        }
        kinds
    }

    pub(crate) const fn add(&mut self, code: u8) {
        self.0[(code >> 6) as usize] |= 1 << (code & 63);
    }

    /// Whether the set contains the kind with this kind byte.
    #[inline(always)]
    pub(crate) const fn has(&self, code: u8) -> bool {
        self.0[(code >> 6) as usize] >> (code & 63) & 1 != 0
    }

    /// Returns the kinds that are in both sets.
    pub(crate) fn and(self, other: Kinds) -> Kinds {
        Kinds(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it_and_nothing_else() {
        let mut kinds = Kinds::NONE;
        for code in [0, 63, 64, 255] {
            kinds.add(code);
        }
        assert!((0..=255).filter(|&code| kinds.has(code)).eq([0, 63, 64, 255]));
        assert!((0..=255).all(|code| Kinds::ALL.has(code) && !Kinds::NONE.has(code)));
        assert_eq!(Kinds::ALL.and(Kinds::BIRTHS), Kinds::BIRTHS);
        assert_eq!(Kinds::AFFINITY.and(Kinds::BIRTHS), Kinds::NONE);
    }
}
