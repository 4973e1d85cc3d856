//! What the non-speculative allocator has granted, and which speculative bids may overrule it.
//!
//! A speculative win is dropped at an output or input port that the non-speculative allocator has
//! granted. If the arbiter has ranks, a speculative packet of smaller rank drops the grants in its
//! way instead.

use super::context::Context;
use super::router::{Router, lowest, port_of};
use crate::arbiter::Arbiter;

/// The grants of one router in one cycle.
#[derive(Default)]
pub(crate) struct Grants {
    /// Bit set of the granted outputs.
    outputs: u64,
    /// Bit set of the inputs, with every bit of each granted port set.
    pub(crate) ports: u64,
    /// For each granted output, the input that won it.
    winner: [u8; 8],
}

impl Grants {
    #[inline(always)]
    pub(crate) fn take(&mut self, i: usize, out: usize) {
        self.outputs |= 1 << out;
        self.ports |= port_of(i);
        self.winner[out & 7] = i as u8;
    }

    #[inline(always)]
    pub(crate) fn has(&self, out: usize) -> bool {
        self.outputs >> out & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn clash(&self, i: usize, out: usize) -> bool {
        (self.outputs >> out | self.ports >> i) & 1 == 1
    }

    /// Calls `f(input, output)` for every grant that is left.
    #[inline]
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize)) {
        crate::allocator::bits(self.outputs).for_each(|out| f(usize::from(self.winner[out & 7]), out));
    }

    /// Whether the speculative winner `i` of `out`, which must have won a virtual channel with a
    /// credit, outranks every grant in its way. If so, takes those grants back.
    #[cold]
    pub(crate) fn outranks<A: Arbiter>(
        &mut self,
        router: &Router<A::State>,
        r: usize,
        (i, out): (usize, usize),
        cx: &Context<A>,
    ) -> bool {
        if router.ready >> i & 1 == 0 {
            return false;
        }
        let rank = |i: usize| cx.arbiter.rank(cx.contender(router, r, i));
        let ours = rank(i);
        let (mut in_the_way, mut rest) = (0u64, self.outputs);
        while rest != 0 {
            let o = lowest(rest);
            rest &= rest - 1;
            let rival = usize::from(self.winner[o & 7]);
            if o == out || rival >> 3 == i >> 3 {
                if ours >= rank(rival) {
                    return false;
                }
                in_the_way |= 1 << o;
            }
        }
        for o in crate::allocator::bits(in_the_way) {
            self.ports &= !port_of(usize::from(self.winner[o & 7]));
        }
        self.outputs &= !in_the_way;
        self.ports |= port_of(i);
        true
    }
}
