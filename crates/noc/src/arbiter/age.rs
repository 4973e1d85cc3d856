//! Age-based arbitration: the packet that was created first wins, which bounds the wait of the
//! oldest packet.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Prefers the oldest packet. Packet numbers rise with the time of creation, so the number alone
/// gives the order of age.
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
