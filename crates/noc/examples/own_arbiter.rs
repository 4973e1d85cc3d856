//! Uses the network crate alone, with traffic and an arbiter that this example defines itself. Run
//! it with `cargo run --release -p baton-noc --example own_arbiter`.
//!
//! The arbiter prefers the packet with the longest route; the example compares its mean latency
//! with round robin's.

use baton_noc::arbiter::{Arbiter, Contender, RoundRobin};
use baton_noc::{Config, Delivered, Header, Network, NocError, Packet, Rank, Rng};
use baton_units::{Cycles, NodeId};

/// Prefers the packet with the longest route. The sender writes 14 less the distance as the rank
/// into the header, where every router can read it.
#[derive(Clone)]
struct FarFirst;

impl Arbiter for FarFirst {
    /// State of the round-robin arbiter, which breaks ties.
    type State = u16;

    fn state(&self, _requesters: usize) -> u16 {
        0
    }

    fn key(&self, pointer: &u16, requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        u64::from(who().header.rank.get().unwrap_or(Rank::LAST)) << 32
            | RoundRobin.key(pointer, requester, || unreachable!("by position only"))
    }

    fn won(&self, pointer: &mut u16, requester: u32) {
        RoundRobin.won(pointer, requester);
    }
}

/// Runs 20,000 cycles at 0.4 packets per node per cycle and returns the mean packet latency in
/// cycles.
fn measure<A: Arbiter>(arbiter: A) -> Result<f64, NocError> {
    let mut network = Network::with_arbiter(&Config::default(), arbiter)?;
    let (mut rng, mut arrived) = (Rng::new(1, 2, 3), Vec::<Delivered>::new());
    for _ in 0..20_000 {
        for src in 0..64u32 {
            if rng.below(10) < 4 {
                let dst = rng.below(64) as u32;
                let far = (src % 8).abs_diff(dst % 8) + (src / 8).abs_diff(dst / 8);
                let header = Header { rank: Rank::new(14 - far), ..Header::default() };
                network.inject(Packet { src: NodeId(src), dst: NodeId(dst), flits: 1, header, tag: 0 })?;
            }
        }
        network.step(&mut arrived);
    }
    network.run_to(network.now() + Cycles(10_000), &mut arrived);
    Ok(arrived.iter().map(|d| d.packet_latency().0).sum::<u64>() as f64 / arrived.len() as f64)
}

fn main() -> Result<(), NocError> {
    println!("mean cycles: round robin {:.2}, far first {:.2}", measure(RoundRobin)?, measure(FarFirst)?);
    Ok(())
}
