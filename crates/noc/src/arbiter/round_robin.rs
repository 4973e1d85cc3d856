//! Round robin: the first requester at or after a pointer wins; the pointer stands just behind the
//! last winner.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Serves requesters in turn; this is the reference's arbiter.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl Registered for RoundRobin {
    const INFO: ArbiterInfo =
        ArbiterInfo { name: "round-robin", what: "in turns, from behind the last winner", starves: false };
}

impl Arbiter for RoundRobin {
    /// The pointer. It may stand one past the last requester, which means the same as 0.
    type State = u16;

    fn state(&self, _requesters: usize) -> u16 {
        0
    }

    #[inline]
    fn key(&self, pointer: &u16, requester: u32, _who: impl FnOnce() -> Contender) -> u64 {
        // The subtraction wraps round for requesters below the pointer, so their keys are larger
        // than those of all requesters at or above it. Within both groups, keys rise with the
        // numbers.
        u64::from((requester as u16).wrapping_sub(*pointer))
    }

    const POSITIONAL: bool = true;

    #[inline]
    fn pick(&self, pointer: &u16, set: u64, shift: u32, _who: impl Fn(u32) -> Contender) -> u32 {
        // The pointer may stand one past the last requester, and so just past the last bit of the
        // set. The shift then wraps round to 0, so that all of `set` counts.
        let from = u32::from(*pointer) << shift;
        let after = set.wrapping_shr(from).wrapping_shl(from);
        (if after != 0 { after } else { set }).trailing_zeros()
    }

    #[inline]
    fn won(&self, pointer: &mut u16, requester: u32) {
        *pointer = requester as u16 + 1;
    }
}
