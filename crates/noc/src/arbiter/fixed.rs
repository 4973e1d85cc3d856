//! Fixed priority: the lowest requester number wins. Cheap but unfair: a high number can starve.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Prefers the lowest requester number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed;

impl Registered for Fixed {
    const INFO: ArbiterInfo = ArbiterInfo { name: "fixed", what: "the lowest requester number first", starves: true };
}

impl Arbiter for Fixed {
    type State = ();

    fn state(&self, _requesters: usize) {}

    #[inline]
    fn key(&self, _state: &(), requester: u32, _who: impl FnOnce() -> Contender) -> u64 {
        u64::from(requester)
    }

    #[inline]
    fn won(&self, _state: &mut (), _requester: u32) {}
}
