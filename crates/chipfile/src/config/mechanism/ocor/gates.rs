//! What OCOR's arbiters are made of, counted from first principles: gates of two inputs and flip-flops. Nothing was synthesised.
//! `docs/reference/ocor.md` has the same sums as a table.

use super::Ocor;
use baton_noc::energy::Technology;

/// What an arbiter is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Gates of two inputs.
    pub gates: u32,
    /// Bits that it keeps.
    pub flip_flops: u32,
    /// Gates on the longest way through it, one after the other.
    pub depth: u32,
}

impl Hardware {
    /// Its area at the prices of the network's default technology.
    pub fn mm2(&self) -> f64 {
        let prices = Technology::default().area;
        (f64::from(self.gates) * prices.arbiter_gate + f64::from(self.flip_flops) * prices.buffer_bit) / 1e6
    }
}

impl Ocor {
    /// The arbiters of a router: both allocators, each with a stage over the `channels` of a port and one over the `ports`.
    pub fn router_hardware(&self, ports: u32, channels: u32) -> Hardware {
        let stages = self.enable(channels) + self.smallest(channels) + self.smallest(ports);
        Hardware {
            gates: 2 * ports * stages,
            flip_flops: ports * channels * self.header(),
            depth: self.depth(channels) + self.depth(ports),
        }
    }

    /// The arbiters of a home: the one of the port before it, over that port's `channels`, and the one over the requests that wait.
    pub fn home_hardware(&self, channels: u32) -> Hardware {
        let places = self.home.places;
        let counter = u32::BITS - self.home.passes.leading_zeros();
        // Only requests for the line at hand are compared.
        let enable = self.enable(places) + places;
        // Who came before whom: a bit a pair. The first is the one that none before it is chosen with.
        let first = places * (places - 1) + places * places.saturating_sub(2);
        // A request's count grows when it is passed, and says when it is full.
        let count = places * (2 * counter + counter - 1);
        let port = self.enable(channels) + self.smallest(channels);
        Hardware {
            gates: port + enable + self.smallest(places) + first + count,
            flip_flops: (channels + places) * self.header() + places * counter + places * (places - 1) / 2,
            depth: self.depth(places) + 1 + bits(places),
        }
    }

    /// One-hot bits of a level, the wake-ups' among them, and of progress.
    fn one_hot(&self) -> [u32; 2] {
        [self.levels + 1, self.progress_levels]
    }

    /// Bits of a header, the check bit among them.
    fn header(&self) -> u32 {
        1 + self.one_hot().iter().sum::<u32>()
    }

    /// The check bit AND each bit, of so many headers.
    fn enable(&self, headers: u32) -> u32 {
        headers * self.one_hot().iter().sum::<u32>()
    }

    /// Of so many headers the smallest rank, and which have it: an OR over all and "none higher" for each bit; an AND and an OR for
    /// each bit of each.
    fn smallest(&self, headers: u32) -> u32 {
        self.one_hot().iter().map(|bits| bits * (headers - 1) + 2 * bits + 2 * headers * bits).sum()
    }

    /// Gates one after the other: the enabling AND, the OR over all, and the chain of the most bits that there are.
    fn depth(&self, headers: u32) -> u32 {
        1 + bits(headers) + self.one_hot().map(bits).into_iter().max().unwrap_or(0)
    }
}

/// Levels of a tree over `n`.
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
