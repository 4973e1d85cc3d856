//! Falsifiers, and what the paper leaves open.

use super::assisted::gains_nothing;
use super::helper::Name;
use super::jobs::{AMPLE_BUFFERS, FREE_CHANGE, STORES_ALONE, WORK};
use super::results::{Of, Results, Value, call, wake_up, work};
use super::run::Work;
use super::waits::By;
use super::why;
use crate::{Falsifier, Unspecified};

/// A gain over a spinner of less than this is none, where threads are alike, in percent.
const ALIKE: f64 = 5.0;
/// What is left of the slowdown where half of the buffers suffices, in percent.
const AMPLE: f64 = 2.0;

pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    vec![
        alike(results, 1),
        alike(results, 2),
        spins(results),
        buffers(results),
        gains_nothing(results, "no prefetches, sparse product", Name::Spmv),
        gains_nothing(results, "no prefetches, LU", Name::Lu),
    ]
}

fn alike(results: &Results<'_>, reading: u32) -> Falsifier {
    let id = if reading == 1 { "alike, table 1's prices" } else { "alike, table 2's prices" };
    let what = "the advantage over spinning goes to 1 as light work goes to 10: below 5%, and below that at 0";
    let gain = |light| Some(results.gain(reading, Of::chosen, By::Pause, (light, WORK))?.percent().mean);
    let seen = gain(0).zip(gain(10)).map(|(idle, alike)| {
        (alike.abs() < ALIKE && alike < idle, [("light work 0, %", idle), ("light work 10, %", alike)])
    });
    Falsifier::shown(id, what, "not run", seen, || why::alike(results, reading))
}

fn spins(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("spinning", "spinning has the least latencies and the most work time");
    let of = |by, value: Value| results.mean(Of::chosen(1, Work::row(by, false)), value).map(|of| of.mean);
    let figures = |by| Some([of(by, work)?, of(by, wake_up)?, of(by, call)?]);
    let seen = || {
        let spin = figures(By::Pause)?;
        let rest: Vec<[f64; 3]> = By::ALL.into_iter().skip(1).map(figures).collect::<Option<_>>()?;
        let holds = rest.iter().all(|other| other[0] < spin[0] && other[1] > spin[1] && other[2] > spin[2]);
        Some((holds, [("work, cycles", spin[0]), ("wake-up, cycles", spin[1]), ("call, cycles", spin[2])]))
    };
    Falsifier::shown(id, what, "not run", seen(), || "tables 1 and 2 below".to_owned())
}

fn buffers(results: &Results<'_>) -> Falsifier {
    let (id, what) = (AMPLE_BUFFERS, "buffers of which half suffices take the slowdown of M1 away: below 2%");
    let works = [By::Pause, By::Mwmon].map(|by| Of { reading: 1, change: id, work: Work::row(by, false) });
    let left = results.ratio(works, work).map(|ratio| ratio.percent().mean);
    let seen = left.map(|left| (left < AMPLE, [("slowdown, %", left)]));
    Falsifier::shown(id, what, "not run", seen, || format!("`{id}`: a slowdown is left that no buffer makes"))
}

/// What is left open: what, the choice, the range, and the claim on which the effect is measured.
const OPEN: [[&str; 4]; 6] = [
    [
        "instructions of a turn of the large product",
        "10, the middle of what gcc 4.1 makes",
        "6 to 12",
        "M1: slowdown beside a spinner, %",
    ],
    [
        "cycles of an inner product's other instructions",
        "30: ten turns of six, at what the window sustains",
        "0 to 60",
        "M6 over spin-loops, table 2's prices, %",
    ],
    [
        "whether an eviction of the monitored line ends a wait",
        "it does; Intel's manual leaves open what Netburst does",
        "it does, or not",
        "M8: LU over serial, table 1's prices, %",
    ],
    [
        "whether an eviction of the monitored line ends a wait, figure 4",
        "as above",
        "it does, or not",
        "M6 over spin-loops, table 1's prices, %",
    ],
    [
        "price of a change of mode",
        "that of table 1's row, on the way in and on the way out",
        "that, or none",
        "M8: LU over serial, table 1's prices, %",
    ],
    ["price of a change of mode, figure 4", "as above", "that, or none", "M6 over spin-loops, table 1's prices, %"],
];

pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let slow = |entries: u32| {
        let of = |by| Of::chosen(1, Work::Table { by, barrier: false, entries });
        Some(results.ratio([of(By::Pause), of(By::Mwmon)], work)?.percent().mean)
    };
    let idle = |unit: u64| Some(results.gain(2, Of::chosen, By::Pause, (0, unit))?.percent().mean);
    // The gain of mwmon on the chip as it is and under a change; both arms have the change.
    let under = |change: &'static str, works: [Work; 2]| {
        let gain =
            |change| Some(results.ratio(works.map(|work| Of { reading: 1, change, work }), work)?.percent().mean);
        [gain(""), gain(change)].into_iter().collect()
    };
    let lu = [Work::serial(Name::Lu), Work::helped(Name::Lu, By::Mwmon)];
    let light = [By::Pause, By::Mwmon].map(|by| Work::Pseudo { by, light: 0, work: WORK });
    let effects: [Option<Vec<f64>>; 6] = [
        [3, 4, 5, 6].into_iter().map(slow).collect(),
        [0, 15, WORK, 60].into_iter().map(idle).collect(),
        under(STORES_ALONE, lu),
        under(STORES_ALONE, light),
        under(FREE_CHANGE, lu),
        under(FREE_CHANGE, light),
    ];
    let item = |([what, chosen, range, of], effect): ([&str; 4], Option<Vec<f64>>)| {
        let ends = |all: Vec<f64>| {
            [all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max)]
        };
        Unspecified {
            what: what.to_owned(),
            chosen: chosen.to_owned(),
            range: range.to_owned(),
            note: if effect.is_some() { of } else { "needs the full run" }.to_owned(),
            effect: effect.map(ends),
        }
    };
    OPEN.into_iter().zip(effects).map(item).collect()
}
