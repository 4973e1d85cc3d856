//! Age-based arbitration: the packet that was created first wins; it bounds the oldest packet's wait.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Oldest packet first; packet numbers rise with time, so the number alone is the order of age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Age;

impl Registered for Age {
    const INFO: ArbiterInfo = ArbiterInfo { name: "age", what: "the oldest packet first", starves: false };
}

impl Arbiter for Age {
    type State = ();

    fn state(&self, _requesters: usize) {}

    #[inline]
    fn key(&self, _state: &(), _requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        who().id
    }

    #[inline]
    fn won(&self, _state: &mut (), _requester: u32) {}
}
