//! The cheapest hardware that has most of the gain: arbiters of a home by levels and places, and
//! the routers beside them, with the gates and flip-flops of each.

use crate::kit::{over_draws, said};
use crate::ocor::experiments::{HARDWARE, HARDWARE_LEVELS, HARDWARE_PLACES, WHERE, built};
use crate::ocor::results::Results;
use crate::ocor::values::{coh, roi, spinning};
use crate::page::Figure;
use baton_chip::config::mechanism::ocor::gates::Hardware;
use baton_chip::config::mechanism::ocor::{HomeArbiter, Ocor};
use baton_plot::{Table, number};

/// The ports of a router in a mesh, and the virtual channels of a port.
const ROUTER: (u32, u32) = (5, 6);
/// The share of the largest arbiter's gain that counts as most of it.
const MOST: f64 = 0.9;

/// The levels and places of a home's arbiter, and by how many percent its order shortens the run.
struct Built {
    levels: u32,
    places: u32,
    less: f64,
}

impl Built {
    fn ocor(&self) -> Ocor {
        let of = Ocor::default();
        Ocor { levels: self.levels, home: HomeArbiter { places: self.places, ..of.home }, ..of }
    }

    fn hardware(&self) -> Hardware {
        self.ocor().home_hardware(ROUTER.1)
    }
}

fn all_built(crowd: &Results<'_>) -> Vec<Built> {
    let sizes = HARDWARE_LEVELS.into_iter().flat_map(|levels| HARDWARE_PLACES.map(|places| (levels, places)));
    let built = |(levels, places)| {
        let less = over_draws(&crowd.of(HARDWARE, &built(levels, places)), roi)?.mean;
        Some(Built { levels, places, less })
    };
    sizes.filter_map(built).collect()
}

/// The arbiter with the least area of those with at least `MOST` of the largest arbiter's gain.
fn cheapest(all: &[Built]) -> Option<&Built> {
    let whole = all.last()?.less;
    let enough = all.iter().filter(|of| of.less >= MOST * whole);
    enough.min_by(|a, b| a.hardware().mm2().total_cmp(&b.hardware().mm2()))
}

/// The table of the arbiters of a home and of the routers beside them.
pub(super) fn table(crowd: &Results<'_>) -> Option<Figure> {
    let all = all_built(crowd);
    let cheapest = cheapest(&all)?;
    let parts = |of: &Hardware| {
        [of.gates.to_string(), of.flip_flops.to_string(), of.depth.to_string(), format!("{:.4}", of.mm2())]
    };
    let gain = |pairs: &[_]| [coh, roi, spinning].map(|value| said(over_draws(pairs, value)));
    let row = |name: [String; 3], hardware: Hardware, pairs: &[_]| -> Vec<String> {
        name.into_iter().chain(parts(&hardware)).chain(gain(pairs)).collect()
    };
    let mut rows: Vec<Vec<String>> = all
        .iter()
        .map(|of| {
            let name = ["home".to_owned(), of.levels.to_string(), of.places.to_string()];
            row(name, of.hardware(), &crowd.of(HARDWARE, &built(of.levels, of.places)))
        })
        .collect();
    let usual = Ocor::default();
    let name = ["routers".to_owned(), usual.levels.to_string(), "-".to_owned()];
    rows.push(row(name, usual.router_hardware(ROUTER.0, ROUTER.1), &crowd.of(WHERE, "network")));
    let header = [
        "who orders",
        "levels",
        "places",
        "gates",
        "flip-flops",
        "depth, gates",
        "mm²",
        "less overhead %",
        "less time %",
        "more entered spinning, points",
    ];
    let whole = all.last().map_or(0.0, |of| of.less);
    let note = format!(
        "What stands at each home, or in each router; means over draws of crowds with meetings. Counted from first principles, not \
         synthesised (docs/reference/ocor.md). The smallest with {:.0}% of the gain of {} levels and {} places, {}% of the time: {} levels and {} \
         places, {}%.",
        100.0 * MOST,
        all.last().map_or(0, |of| of.levels),
        all.last().map_or(0, |of| of.places),
        number(whole),
        cheapest.levels,
        cheapest.places,
        number(cheapest.less),
    );
    let title = "The cheapest order: levels and places of a home's arbiter".to_owned();
    Some(Figure::from(Table { title, note: String::new(), header: header.map(str::to_owned).into(), rows }).noted(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_is_the_smallest_that_has_most_of_the_gain() {
        let built = |levels, places, less| Built { levels, places, less };
        let all = [built(1, 2, 10.0), built(1, 32, 37.0), built(2, 8, 36.5), built(8, 2, 20.0), built(8, 32, 40.0)];
        let cheapest = cheapest(&all).unwrap();
        assert_eq!((cheapest.levels, cheapest.places), (2, 8), "a smaller arbiter than one level's with 32 places");
    }
}
