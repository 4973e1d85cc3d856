//! Explains why a network is slow or stuck: which packets wait for which, where flits stand, and
//! the journey of one packet.

mod journey;
mod ring;

pub use journey::{Journey, Stage};
pub use ring::waiting_ring;

use crate::arbiter::{Arbiter, with_arbiter};
use crate::error::NocError;
use crate::experiment::{Experiment, LinkLoad, Load, heard, link_loads};
use crate::network::{ChannelView, Network};
use crate::packet::{Delivered, PacketId};
use journey::Follow;
use serde::Serialize;

/// What [`explain`] should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Number of the packet whose journey is recorded, in the order of creation.
    pub follow: Option<u64>,
    /// Number of pieces into which the run is cut for [`Explanation::slices`], at least 1.
    pub slices: u32,
}

impl Default for Look {
    fn default() -> Look {
        Look { follow: None, slices: 10 }
    }
}

/// What [`explain`] found out about a run.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Number of cycles simulated.
    pub cycles: u64,
    /// Number of packets created, and number of packets delivered.
    pub packets: (u64, u64),
    /// Number of the delivered packet with the greatest packet latency, and that latency in cycles.
    pub slowest: Option<(u64, u64)>,
    /// Number of cycles at the end of the run, to within 8, in which nothing moved while packets
    /// were in flight.
    pub still_for: u64,
    /// A ring of packets that wait for each other, one line per packet; empty if there is none.
    pub deadlock: Vec<String>,
    /// Loads of all channels, the busiest first.
    pub links: Vec<LinkLoad>,
    /// Where packets were, for each piece of the run.
    pub slices: Vec<Slice>,
    /// Age in cycles, at the end of the run, of the oldest packet that has not arrived; 0 if all
    /// have.
    pub oldest: u64,
    /// Journey of the packet that was followed.
    pub journey: Option<Journey>,
}

/// Where packets were in one piece of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Slice {
    /// First cycle of the piece.
    pub from: u64,
    /// The cycle after the last one of the piece.
    pub to: u64,
    /// Mean number of flits in the input buffers of each router.
    pub held: Vec<f64>,
    /// For each router, the mean number of virtual channels whose front flit cannot go on, because
    /// it can get no output virtual channel, or because the channel that it was given has no
    /// credit.
    pub waiting: Vec<f64>,
    /// Flits per cycle over each channel, in the order of [`Explanation::links`].
    pub links: Vec<f64>,
}

/// Runs `experiment` without warm-up for about `experiment.cycles` cycles (rounded down to equal
/// pieces) and reports what `look` asks for. Stops early if the source queues outgrow the memory.
/// Fails if the experiment is invalid.
pub fn explain(experiment: &Experiment, look: Look) -> Result<Explanation, NocError> {
    with_arbiter!(&experiment.network, |arbiter| explain_with(experiment, arbiter, look))
}

fn explain_with<A: Arbiter>(e: &Experiment, arbiter: A, look: Look) -> Result<Explanation, NocError> {
    let mut network = Network::with_arbiter(&e.network, arbiter)?;
    let mut load = Load::new(e, &network)?;
    let mut follow = look.follow.map(|id| {
        network.follow(PacketId(id), PacketId(id));
        Follow::new(id)
    });
    let (mut arrived, mut inbox) = (Vec::<Delivered>::new(), vec![]);
    let (mut born, mut delivered) = (0, 0);
    let mut slowest: Option<(u64, u64)> = None;
    let (mut hops, mut moved_at) = (0, 0);
    let slices_in = u64::from(look.slices.max(1));
    let length = (e.cycles / slices_in).max(1);
    let mut sums = Sums::new(&network);
    let mut slices = vec![];
    for cycle in 0..length * slices_in {
        born += load.poll(&mut network, &mut inbox);
        network.step(&mut arrived);
        if let Some(f) = &mut follow {
            f.look(&network, born);
        }
        delivered += arrived.len() as u64;
        for d in &arrived {
            let latency = d.packet_latency().0;
            if slowest.is_none_or(|(_, most)| latency > most) {
                slowest = Some((d.id.0, latency));
            }
        }
        inbox.extend(arrived.drain(..).filter(|d| heard(d.tag)));
        if cycle % SAMPLE == 0 {
            sums.sample(&network);
            let now = network.flit_hops();
            if now != hops || network.in_flight() == 0 || load.serving() {
                (hops, moved_at) = (now, cycle);
            }
        }
        if (cycle + 1) % length == 0 {
            slices.push(sums.slice(&network, cycle + 1));
        }
        // The source queues are unbounded, and their packets must fit in memory.
        if cycle % 1024 == 0 && Load::overflows(&network) {
            break;
        }
    }
    let now = network.now().0;
    let links = link_loads(&network);
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|l| (std::cmp::Reverse(links[*l].flits), links[*l].from, links[*l].to));
    for s in &mut slices {
        s.links = order.iter().map(|l| s.links[*l]).collect();
    }
    Ok(Explanation {
        cycles: now,
        packets: (born, delivered),
        slowest,
        still_for: now - moved_at,
        deadlock: waiting_ring(&network),
        links: order.iter().map(|l| links[*l].clone()).collect(),
        slices,
        oldest: network.oldest().map_or(0, |c| now - c.0),
        journey: follow.and_then(|f| f.journey(&network)),
    })
}

/// Cycles between two samples of the buffers.
const SAMPLE: u64 = 8;

/// Sums over one slice of the run.
struct Sums {
    from: u64,
    samples: u64,
    held: Vec<u64>,
    waiting: Vec<u64>,
    flits: Vec<u64>,
}

impl Sums {
    fn new<A: Arbiter>(network: &Network<A>) -> Sums {
        let routers = network.graph().routers as usize;
        let flits = vec![0; network.channel_views().count()];
        Sums { from: 0, samples: 0, held: vec![0; routers], waiting: vec![0; routers], flits }
    }

    fn sample<A: Arbiter>(&mut self, network: &Network<A>) {
        self.samples += 1;
        for c in network.channel_views().filter(|c| !c.to_endpoint) {
            self.held[c.to as usize] += u64::from(c.held);
        }
        for s in network.stuck() {
            self.waiting[s.router as usize] += 1;
        }
    }

    fn slice<A: Arbiter>(&mut self, network: &Network<A>, to: u64) -> Slice {
        let samples = self.samples.max(1) as f64;
        let mean = |sums: &mut Vec<u64>| sums.iter_mut().map(|s| std::mem::take(s) as f64 / samples).collect();
        let cycles = (to - self.from).max(1) as f64;
        let load = |(before, c): (&mut u64, ChannelView)| {
            let flits = c.flits - std::mem::replace(before, c.flits);
            flits as f64 / cycles
        };
        let slice = Slice {
            from: self.from,
            to,
            held: mean(&mut self.held),
            waiting: mean(&mut self.waiting),
            links: self.flits.iter_mut().zip(network.channel_views()).map(load).collect(),
        };
        (self.from, self.samples) = (to, 0);
        slice
    }
}
