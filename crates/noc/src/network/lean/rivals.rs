//! Allocates among bids with rivals: virtual channels first, then the switch by its two allocators,
//! all on bit masks. The rules are those of `vc_alloc.rs` and `switch.rs` of the general loop.

use super::context::Context;
use super::ranks::Grants;
use super::router::{Router, bid_start, lowest, next_of_eight, port_of};
use super::send::{Outbox, give, send_given};
use crate::arbiter::Arbiter;

/// Allocates among the head flits `heads` and the flits `bodies`, whose packets have an output
/// virtual channel; sends the flits that won.
#[inline(always)]
pub(crate) fn allocate<O: Outbox, A: Arbiter>(
    router: &mut Router<A::State>,
    r: usize,
    (heads, bodies): (u64, u64),
    io: &mut O,
    cx: &Context<A>,
) {
    // Virtual channels are given away before flits are sent, because a channel that a flit frees
    // now may be given away only from the next cycle on.
    let (mut speculative, mut rest) = (0, heads);
    while rest != 0 {
        let i = lowest(rest);
        let out = usize::from(router.lanes[i].out);
        let here = router.ports[out].want & rest;
        rest &= !here;
        if here & (here - 1) == 0 {
            speculative |= bid_alone::<O, A>(router, i, out, cx);
        } else {
            speculative |= bid_for_channels::<O, A>(router, (r, out), here, cx);
        }
    }
    // Grants of the non-speculative allocator.
    let mut grants = Grants::default();
    if bodies != 0 {
        let mut rest = one_a_port::<0, A>(router, r, bodies, cx);
        while rest != 0 {
            let out = usize::from(router.lanes[lowest(rest)].out);
            let here = router.ports[out].want & rest;
            rest &= !here;
            let i = pick_input::<0, A>(router, (r, out), here, cx);
            grants.take(i, out);
            if !A::RANKS {
                send_given::<O, A>(router, r << 6 | i, out, io, cx);
            }
        }
    }
    if !(O::UNIFORM || cx.speculative) {
        speculative = 0;
    }
    let mut bids = Grants::default();
    let mut go = 0u64;
    if speculative != 0 {
        let mut rest = one_a_port::<1, A>(router, r, speculative, cx);
        while rest != 0 {
            let out = usize::from(router.lanes[lowest(rest)].out);
            let here = router.ports[out].want & rest;
            rest &= !here;
            let i = pick_input::<1, A>(router, (r, out), here, cx);
            if A::RANKS {
                bids.take(i, out);
            } else if !grants.has(out) {
                go |= 1 << i;
            }
        }
    }
    // Drops speculative winners at an input that the non-speculative allocator granted. The
    // pointers have moved all the same.
    go &= !grants.ports;
    if A::RANKS {
        bids.each(|i, out| {
            let goes = !grants.clash(i, out) || grants.outranks(router, r, (i, out), cx);
            go |= u64::from(goes) << i;
        });
        grants.each(|i, out| send_given::<O, A>(router, r << 6 | i, out, io, cx));
    }
    // A winner without a virtual channel, or whose virtual channel has no credit, wastes its slot.
    go &= router.ready;
    while go != 0 {
        let i = lowest(go);
        go &= go - 1;
        send_given::<O, A>(router, r << 6 | i, usize::from(router.lanes[i].out), io, cx);
    }
}

/// Lets input `i` win output virtual channel `v` of `out`: moves the pointers, ends the wait of
/// `i`, and gives it the channel.
#[inline(always)]
fn win<A: Arbiter>(router: &mut Router<A::State>, i: usize, out: usize, v: usize, cx: &Context<A>) {
    cx.arbiter.won(&mut router.by_head[out << 3 | v], i as u32);
    router.lanes[i].bid_from = ((out << 3 | v) + 1) as u8;
    router.wait &= !(1 << i);
    give(router, i, out, v);
}

/// Allocates a virtual channel of output `out` to the only head flit that wants one, in input `i`.
/// Returns the bit of its speculative bid for the switch, or 0.
#[inline(always)]
fn bid_alone<O: Outbox, A: Arbiter>(router: &mut Router<A::State>, i: usize, out: usize, cx: &Context<A>) -> u64 {
    let usable = router.free.of(out) & if O::PLAIN { u8::MAX } else { router.lanes[i].mask };
    if usable == 0 {
        return 0;
    }
    let bid = u64::from(usable & router.credit.of(out) != 0) << i;
    win(router, i, out, next_of_eight(usable, bid_start(router.lanes[i].bid_from, out)), cx);
    bid
}

/// Allocates virtual channels of output `out` among the head flits `here`. Returns their
/// speculative bids for the switch.
#[inline(never)]
fn bid_for_channels<O: Outbox, A: Arbiter>(
    router: &mut Router<A::State>,
    (r, out): (usize, usize),
    here: u64,
    cx: &Context<A>,
) -> u64 {
    let (free, credit) = (router.free.of(out), router.credit.of(out));
    if free == 0 {
        return 0;
    }
    let (mut speculative, mut rest) = (0u64, here);
    // For each virtual channel, the inputs that bid for it.
    let mut bidders = [0u64; 8];
    let mut wanted = 0u64;
    while rest != 0 {
        let i = lowest(rest);
        rest &= rest - 1;
        let usable = free & if O::PLAIN { u8::MAX } else { router.lanes[i].mask };
        if usable == 0 {
            continue;
        }
        speculative |= u64::from(usable & credit != 0) << i;
        let v = next_of_eight(usable, bid_start(router.lanes[i].bid_from, out));
        bidders[v & 7] |= 1 << i;
        wanted |= 1 << v;
    }
    while wanted != 0 {
        let v = lowest(wanted);
        wanted &= wanted - 1;
        let rivals = bidders[v & 7];
        let mut i = lowest(rivals);
        if rivals & (rivals - 1) != 0 {
            let arbiter = &router.by_head[out << 3 | v];
            i = cx.arbiter.pick(arbiter, rivals, 0, |bit| cx.contender(router, r, bit as usize)) as usize;
        }
        win(router, i, out, v, cx);
    }
    speculative
}

/// Steps one and two of the switch allocation: reduces `bids` to at most one per port.
#[inline(always)]
fn one_a_port<const K: usize, A: Arbiter>(router: &Router<A::State>, r: usize, bids: u64, cx: &Context<A>) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    if bids & (bids - 1) == 0 {
        return bids;
    }
    // Finds the ports with several bids, all ports at once. A port has several if more than one bit
    // is set below its highest bit, or the highest bit and another one.
    let rest = bids & !HIGH;
    let several =
        (rest & (rest | HIGH).wrapping_sub(0x0101_0101_0101_0101) & !HIGH) | (bids & rest.wrapping_add(!HIGH) & HIGH);
    if several == 0 { bids } else { thin_out::<K, A>(router, r, bids, several, cx) }
}

#[inline(never)]
fn thin_out<const K: usize, A: Arbiter>(
    router: &Router<A::State>,
    r: usize,
    bids: u64,
    mut several: u64,
    cx: &Context<A>,
) -> u64 {
    let mut thin = bids;
    while several != 0 {
        let port = port_of(lowest(several));
        several &= !port;
        thin = thin & !port | 1 << pick_bid::<K, A>(router, r, bids & port, cx);
    }
    thin
}

/// Picks one of several bids of one port: first a virtual channel for each output, then an output.
#[inline(always)]
fn pick_bid<const K: usize, A: Arbiter>(router: &Router<A::State>, r: usize, bids: u64, cx: &Context<A>) -> usize {
    let base = lowest(bids) & 56;
    let port = base >> 3;
    let (mut wanted, mut rest) = (0u64, bids);
    while rest != 0 {
        wanted |= 1 << router.lanes[lowest(rest)].out;
        rest &= rest - 1;
    }
    let by_vc = |out: usize| {
        let there = (router.ports[out].want & bids) >> base;
        base + cx.arbiter.pick(&router.by_vc[port], there, 0, |v| cx.contender(router, r, base + v as usize)) as usize
    };
    if wanted & (wanted - 1) == 0 {
        return by_vc(lowest(wanted));
    }
    if A::POSITIONAL {
        // The order of the two choices does not matter, so the output is chosen first.
        let who = |_| cx.contender(router, r, base);
        return by_vc(cx.arbiter.pick(&router.ports[port].by_output[K], wanted, 0, who) as usize);
    }
    let mut best = [0u8; 8];
    let mut rest = wanted;
    while rest != 0 {
        let out = lowest(rest);
        rest &= rest - 1;
        best[out & 7] = by_vc(out) as u8;
    }
    let who = |out: u32| cx.contender(router, r, usize::from(best[out as usize & 7]));
    usize::from(best[cx.arbiter.pick(&router.ports[port].by_output[K], wanted, 0, who) as usize & 7])
}

/// Step three: picks the input for output `out` from `bids`, of which each port has at most one,
/// and moves both pointers. Returns the input.
#[inline(always)]
fn pick_input<const K: usize, A: Arbiter>(
    router: &mut Router<A::State>,
    (r, out): (usize, usize),
    bids: u64,
    cx: &Context<A>,
) -> usize {
    let mut i = lowest(bids);
    if bids & (bids - 1) != 0 {
        i = cx.arbiter.pick(&router.ports[out].by_input[K], bids, 3, |bit| cx.contender(router, r, bit as usize))
            as usize;
    }
    cx.arbiter.won(&mut router.ports[out].by_input[K], (i >> 3) as u32);
    cx.arbiter.won(&mut router.ports[i >> 3].by_output[K], out as u32);
    i
}
