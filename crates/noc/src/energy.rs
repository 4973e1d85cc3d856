//! Energy of a run: events counted by the network, priced by a technology section whose numbers carry their source.

use crate::experiment::RunResult;
use baton_units::{Cycles, Hertz, Picojoules};
use serde::{Deserialize, Serialize};

/// Prices of one router's events. Prices of data-path events are for `flit_bits`; widths other than that scale them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Where the numbers come from.
    pub source: String,
    /// Width of a flit for which the prices hold.
    pub flit_bits: u32,
    /// Writing a flit into a buffer.
    pub buffer_write: Picojoules,
    /// Reading it.
    pub buffer_read: Picojoules,
    /// Both allocations, a flit.
    pub arbitration: Picojoules,
    /// Crossing the switch.
    pub crossbar: Picojoules,
    /// A link of one tile.
    pub link: Picojoules,
    /// A router's clock, a cycle, whatever it does.
    pub clock: Picojoules,
    /// A router's leakage, a cycle.
    pub leakage: Picojoules,
    /// The clock for which `clock` and `leakage` hold.
    pub frequency: Hertz,
}

impl Default for Technology {
    /// The router of Intel's 80-core processor: 65 nm, 1.2 V, 5.1 GHz, 39-bit flits, five ports, 924 mW, of it
    /// clocking 33%, queues and data path 22%, links 17%, crossbar 15%, arbiters and control 7% (Hoskote et al., "A
    /// 5-GHz mesh interconnect for a teraflops processor", IEEE Micro 27(5), 2007). Derived here: 181.2 pJ a cycle,
    /// shares of events divided by five flits a cycle; queues half write, half read. Leakage is inside these shares
    /// and not given apart, so that it is 0.
    fn default() -> Technology {
        let cycle = 924.0 / 5.1;
        let event = |share: f64| Picojoules(cycle * share / 5.0);
        Technology {
            source: "Hoskote et al., IEEE Micro 27(5), 2007: 924 mW a router at 5.1 GHz in 65 nm, by its shares; \
                     divided by five flits a cycle (derived)"
                .into(),
            flit_bits: 39,
            buffer_write: event(0.11),
            buffer_read: event(0.11),
            arbitration: event(0.07),
            crossbar: event(0.15),
            link: event(0.17),
            clock: Picojoules(cycle * 0.33),
            leakage: Picojoules(0.0),
            frequency: Hertz(5_100_000_000),
        }
    }
}

/// Energy of a run by what spent it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// Buffer writes.
    pub buffer_write: Picojoules,
    /// Buffer reads.
    pub buffer_read: Picojoules,
    /// Arbitration.
    pub arbitration: Picojoules,
    /// Switch traversal.
    pub crossbar: Picojoules,
    /// Links between routers, by length.
    pub link: Picojoules,
    /// Clock of all routers.
    pub clock: Picojoules,
    /// Leakage of all routers.
    pub leakage: Picojoules,
    /// All of it.
    pub total: Picojoules,
    /// Events of each router, without clock and leakage; a link counts for the router that drives it.
    pub by_router: Vec<Picojoules>,
    /// Where the prices come from.
    pub source: String,
}

impl Technology {
    /// Prices a run with flits of `flit_bits`. Every flit that passes a router is written, read, arbitrated and
    /// switched once there.
    pub fn price(&self, run: &RunResult, flit_bits: u32) -> Energy {
        let width = f64::from(flit_bits) / f64::from(self.flit_bits.max(1));
        let routers = run.links.iter().filter(|l| l.kind != "injection").map(|l| l.from + 1).max().unwrap_or(0);
        let mut by_router = vec![Picojoules(0.0); routers as usize];
        let (mut flits, mut tiles) = (0.0, 0.0);
        for l in run.links.iter().filter(|l| l.kind != "injection") {
            let n = l.flits as f64;
            let long = if l.kind == "link" { f64::from(l.length) } else { 0.0 };
            (flits, tiles) = (flits + n, tiles + n * long);
            let path = self.buffer_write.0 + self.buffer_read.0 + self.crossbar.0 + self.link.0 * long;
            by_router[l.from as usize] += Picojoules(n * (path * width + self.arbitration.0));
        }
        let idle = Cycles(run.cycles).0 as f64 * f64::from(routers);
        let mut e = Energy {
            buffer_write: Picojoules(flits * self.buffer_write.0 * width),
            buffer_read: Picojoules(flits * self.buffer_read.0 * width),
            arbitration: Picojoules(flits * self.arbitration.0),
            crossbar: Picojoules(flits * self.crossbar.0 * width),
            link: Picojoules(tiles * self.link.0 * width),
            clock: Picojoules(idle * self.clock.0),
            leakage: Picojoules(idle * self.leakage.0),
            total: Picojoules(0.0),
            by_router,
            source: self.source.clone(),
        };
        for part in [e.buffer_write, e.buffer_read, e.arbitration, e.crossbar, e.link, e.clock, e.leakage] {
            e.total += part;
        }
        e
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn events_of_routers_and_of_kinds_are_the_same_energy() {
        let run = Experiment { cycles: 2000, ..Experiment::default() }.run().unwrap();
        let e = Technology::default().price(&run, 128);
        let by_kind = e.total.0 - e.clock.0 - e.leakage.0;
        let by_router: f64 = e.by_router.iter().map(|p| p.0).sum();
        assert!((by_kind / by_router - 1.0).abs() < 1e-9, "{by_kind} {by_router}");
        // One write a flit-hop, each at its price for the width.
        let write = Technology::default().buffer_write.0 * 128.0 / 39.0;
        assert!((e.buffer_write.0 / (run.flit_hops as f64 * write) - 1.0).abs() < 1e-9);
    }
}
