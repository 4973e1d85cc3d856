//! Finds out which packet waits for which; a ring of waiting packets is a deadlock.

use crate::arbiter::Arbiter;
use crate::network::{Network, Stuck};
use crate::packet::PacketId;
use std::collections::BTreeMap;

/// Returns a ring of packets, each of which waits for the next, as one line per packet; empty if
/// there is none.
///
/// A packet that may take any of several virtual channels is stuck only if the holders of all of
/// them are stuck. So packets that wait for a packet outside the set of stuck packets are removed
/// from the set until nothing changes; what remains contains a ring.
pub fn waiting_ring<A: Arbiter>(network: &Network<A>) -> Vec<String> {
    // A long packet also waits for itself: its body waits for buffer space that its own head fills.
    // The head's entry tells what the packet really waits for.
    let heads = network.stuck().into_iter().filter(|s| s.waits_for.iter().any(|w| *w != s.packet));
    let mut stuck: BTreeMap<PacketId, Stuck> = heads.map(|s| (s.packet, s)).collect();
    loop {
        let free: Vec<PacketId> = stuck
            .values()
            .filter(|s| s.waits_for.iter().any(|w| *w != s.packet && !stuck.contains_key(w)))
            .map(|s| s.packet)
            .collect();
        if free.is_empty() {
            break;
        }
        stuck.retain(|p, _| !free.contains(p));
    }
    let Some(mut at) = stuck.keys().next().copied() else { return vec![] };
    let mut path: Vec<PacketId> = vec![];
    while !path.contains(&at) {
        path.push(at);
        let waits_for = &stuck[&at].waits_for;
        at = waits_for.iter().find(|w| **w != at).copied().unwrap_or(at);
    }
    let from = path.iter().position(|p| *p == at).unwrap_or(0);
    path[from..].iter().map(|p| line(&stuck[p])).collect()
}

fn line(s: &Stuck) -> String {
    let what = match s.given {
        Some(v) => format!("a credit of virtual channel {v} of output {}", s.port),
        None => format!("a virtual channel of output {}", s.port),
    };
    let next = s.waits_for.iter().find(|w| **w != s.packet).copied().unwrap_or(s.packet);
    format!(
        "packet {} in router {}, input {} virtual channel {}, waits for {what}, which packet {} holds",
        s.packet.0, s.router, s.at.0, s.at.1, next.0
    )
}
