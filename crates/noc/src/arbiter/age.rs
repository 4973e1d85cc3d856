//! Age-based arbitration: the packet that was created first wins; it bounds the oldest packet's wait.

use super::contract::{Arbiter, Contender};

/// Oldest packet first; packet numbers rise with time, so the number alone is the order of age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Age;

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
