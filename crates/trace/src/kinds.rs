//! Sets of kinds of events: for passes that want rare ones only, and to know which a segment has.

use crate::event::{OffReason, SiteId, What};

/// Kinds of events, a bit for each kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds([u64; 4]);

impl Kinds {
    /// Every kind.
    pub const ALL: Kinds = Kinds([u64::MAX; 4]);
    /// [`What::Affinity`].
    pub const AFFINITY: Kinds = Kinds::of(&[What::Affinity { tid: 0, first: false, group: 0, mask: 0 }]);
    /// How threads come into being: [`What::Create`], [`What::Created`] and [`What::ThreadStart`].
    pub const BIRTHS: Kinds = Kinds::of(&[
        What::Create { site: SiteId::UNKNOWN },
        What::Created { handle: 0, error: 0 },
        What::ThreadStart { handle: 0 },
    ]);
    /// Context switches: [`What::OffCpu`] and [`What::OnCpu`].
    pub const SWITCHES: Kinds =
        Kinds::of(&[What::OffCpu { tid: 0, reason: OffReason::Unknown }, What::OnCpu { tid: 0, cpu: 0 }]);
    pub(crate) const NONE: Kinds = Kinds([0; 4]);

    /// The kinds of these events. Not for others to call: the reader counts on getting both kinds of context switches or none.
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

    /// Whether a kind byte is among them.
    #[inline(always)]
    pub(crate) const fn has(&self, code: u8) -> bool {
        self.0[(code >> 6) as usize] >> (code & 63) & 1 != 0
    }

    /// Those that are in both sets.
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
