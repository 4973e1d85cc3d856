//! The size of OCOR's arbiters, counted from first principles: two-input gates and flip-flops.
//! Nothing was synthesised.

use super::Ocor;
use baton_noc::energy::Technology;

/// The size of an arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Number of two-input gates.
    pub gates: u32,
    /// The bits that the arbiter stores.
    pub flip_flops: u32,
    /// The number of gates on the longest path through the arbiter.
    pub depth: u32,
}

impl Hardware {
    /// Returns the area at the prices of the network's default technology.
    pub fn mm2(&self) -> f64 {
        let prices = Technology::default().area;
        (f64::from(self.gates) * prices.arbiter_gate + f64::from(self.flip_flops) * prices.buffer_bit) / 1e6
    }
}

impl Ocor {
    /// Counts the arbiters of a router: two allocators, each with a stage over the `channels` of a
    /// port and a stage over the `ports`.
    pub fn router_hardware(&self, ports: u32, channels: u32) -> Hardware {
        let stages = self.enable(channels) + self.smallest(channels) + self.smallest(ports);
        Hardware {
            gates: 2 * ports * stages,
            flip_flops: ports * channels * self.header(),
            depth: self.depth(channels) + self.depth(ports),
        }
    }

    /// The arbiters of a home: the one of its port, over that port's `channels`, and the one over
    /// waiting requests.
    pub fn home_hardware(&self, channels: u32) -> Hardware {
        let places = self.home.places;
        let counter = u32::BITS - self.home.passes.leading_zeros();
        // The arbiter compares only requests for the same line.
        let enable = self.enable(places) + places;
        // The order of arrival takes one bit per pair. The first request is the one that no chosen
        // request precedes.
        let first = places * (places - 1) + places * places.saturating_sub(2);
        // A counter per request grows when the request is passed, and says when it is full.
        let count = places * (2 * counter + counter - 1);
        let port = self.enable(channels) + self.smallest(channels);
        Hardware {
            gates: port + enable + self.smallest(places) + first + count,
            flip_flops: (channels + places) * self.header() + places * counter + places * (places - 1) / 2,
            depth: self.depth(places) + 1 + bits(places),
        }
    }

    /// The one-hot bits of a level, including that of wake-ups, and the one-hot bits of progress.
    fn one_hot(&self) -> [u32; 2] {
        [self.levels + 1, self.progress_levels]
    }

    /// The bits of a header, including the check bit.
    fn header(&self) -> u32 {
        1 + self.one_hot().iter().sum::<u32>()
    }

    /// The gates that AND the check bit of each of `headers` headers with each of its other bits.
    fn enable(&self, headers: u32) -> u32 {
        headers * self.one_hot().iter().sum::<u32>()
    }

    /// The gates that find the smallest rank of `headers` headers, and the headers that have it: an
    /// OR over all and "none higher" for each bit, and an AND and an OR for each bit of each
    /// header.
    fn smallest(&self, headers: u32) -> u32 {
        self.one_hot().iter().map(|bits| bits * (headers - 1) + 2 * bits + 2 * headers * bits).sum()
    }

    /// The gates in series: the enabling AND, the OR over all headers, and the chain over the
    /// longest field.
    fn depth(&self, headers: u32) -> u32 {
        1 + bits(headers) + self.one_hot().map(bits).into_iter().max().unwrap_or(0)
    }
}

/// The levels of a binary tree over `n` inputs.
fn bits(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::super::HomeArbiter;
    use super::*;

    #[test]
    fn the_page_has_these_sums() {
        let page = include_str!("../../../../../../docs/reference/ocor.md");
        let router = Ocor::default().router_hardware(5, 6);
        assert_eq!((router.gates, router.flip_flops), (6970, 540));
        assert_eq!(format!("{:.3}", router.mm2()), "0.021");
        let line = |places| {
            let hardware = Ocor { home: HomeArbiter { places, passes: 255 }, ..Ocor::default() }.home_hardware(6);
            let (Hardware { gates, flip_flops, depth }, mm2) = (hardware, hardware.mm2());
            let thousands = |n: u32| if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) };
            format!("| {places} | {} | {} | {depth} | {mm2:.3} |", thousands(gates), thousands(flip_flops))
        };
        for places in [1, 2, 8, 32] {
            assert!(page.contains(&line(places)), "docs/reference/ocor.md has no line {}", line(places));
        }
    }
}
