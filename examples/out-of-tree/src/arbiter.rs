//! An arbiter of a router, added to Baton: the packet that was created last wins.

use baton_cli::noc::arbiter::{Arbiter, ArbiterInfo, Contender, Registered};

#[derive(Clone, Default)]
pub struct Youngest;

impl Registered for Youngest {
    const INFO: ArbiterInfo = ArbiterInfo { name: "my-youngest", what: "the youngest packet first", starves: true };
}

impl Arbiter for Youngest {
    type State = ();

    fn state(&self, _requesters: usize) {}

    fn key(&self, _state: &(), _requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        u64::MAX - who().id
    }

    fn won(&self, _state: &mut (), _requester: u32) {}
}
