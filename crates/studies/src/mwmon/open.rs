//! Falsifiers, and what the paper leaves open.

use super::claims::slowdown;
use super::helper::Name;
use super::jobs::WORK;
use super::results::{Results, percent, row};
use super::run::{Figures, Work};
use super::waits::By;
use crate::{Falsifier, Unspecified};

/// A gain over a spinner of less than this is none, where threads are alike, in percent.
const ALIKE: f64 = 5.0;
/// What is left of the slowdown where half of the buffers suffices, in percent.
const AMPLE: f64 = 2.0;
/// A helper that does not prefetch gains less than this, in percent.
const NOTHING: f64 = 1.0;

pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    let mut all = vec![alike(results, 1), alike(results, 2), spins(results), buffers(results)];
    all.extend([Name::Spmv, Name::Lu].map(|kernel| helper(results, kernel)));
    all
}

fn alike(results: &Results<'_>, reading: u32) -> Falsifier {
    let id = if reading == 1 { "alike, table 1's prices" } else { "alike, table 2's prices" };
    let what = "the advantage over spinning goes to 1 as light work goes to 10: below 5%, and below that at 0";
    let gains = [0, 10].map(|light| results.gain(reading, By::Pause, light, WORK));
    let [Some(idle), Some(alike)] = gains else { return Falsifier::not_run(id, what, "not run") };
    let figures = vec![("light work 0, %".to_owned(), idle.mean), ("light work 10, %".to_owned(), alike.mean)];
    let holds = alike.mean.abs() < ALIKE && alike.mean < idle.mean;
    Falsifier::seen(id, what, holds, figures, || {
        "figure 4 below: where threads are alike, each barrier still costs mwmon its call, its way in and its wake-up, and a spinner little".to_owned()
    })
}

fn spins(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("spinning", "spinning has the least latencies and the most work time");
    let of = |by, figure: fn(&Figures) -> f64| results.mean(1, "", row(by, false), figure).map(|of| of.mean);
    let all: Option<Vec<[f64; 3]>> = By::ALL
        .into_iter()
        .map(|by| Some([of(by, |f| f.work as f64)?, of(by, |f| f.wake_up as f64)?, of(by, |f| f.call as f64)?]))
        .collect();
    let Some(all) = all else { return Falsifier::not_run(id, what, "not run") };
    let [spin, rest] = [&all[..1], &all[1..]];
    let holds = rest.iter().all(|other| other[0] < spin[0][0] && other[1] > spin[0][1] && other[2] > spin[0][2]);
    let names = ["work, cycles", "wake-up, cycles", "call, cycles"];
    let figures = names.iter().zip(spin[0]).map(|(name, value)| ((*name).to_owned(), value)).collect();
    Falsifier::seen(id, what, holds, figures, || "tables 1 and 2 below".to_owned())
}

fn buffers(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("ten times the buffers", "buffers of which half suffices take the slowdown of M1 away: below 2%");
    let Some(left) = slowdown(results, 1, id, false, &[By::Mwmon]) else {
        return Falsifier::not_run(id, what, "not run");
    };
    let figures = vec![("slowdown, %".to_owned(), left.mean)];
    Falsifier::seen(id, what, left.mean < AMPLE, figures, || {
        "`ten times the buffers`: a slowdown is left that no buffer makes".to_owned()
    })
}

fn helper(results: &Results<'_>, kernel: Name) -> Falsifier {
    let id = if kernel == Name::Lu { "no prefetches, LU" } else { "no prefetches, sparse product" };
    let what = "a helper that does not prefetch gains nothing: below 1%";
    let Some(gain) = results.speedup(2, kernel, By::Mwmon, false) else {
        return Falsifier::not_run(id, what, "not run");
    };
    let figures = vec![("gain, %".to_owned(), gain.mean)];
    Falsifier::seen(id, what, gain.mean < NOTHING, figures, || format!("`{id}`: barriers alone gain"))
}

pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let ends = |values: Vec<f64>| {
        let least = values.iter().copied().reduce(f64::min)?;
        Some([least, values.iter().copied().reduce(f64::max)?])
    };
    let slow = |entries: u32| {
        let of = |by| Work::Table { by, barrier: false, entries };
        results.ratio((1, ""), [of(By::Pause), of(By::Mwmon)], |f| f.work as f64).map(|of| percent(of).mean)
    };
    let idle = |work: u64| results.gain(2, By::Pause, 0, work).map(|of| of.mean);
    let entries: Option<Vec<f64>> = [3, 4, 5, 6].into_iter().map(slow).collect();
    let works: Option<Vec<f64>> = [0, 15, WORK, 60].into_iter().map(idle).collect();
    let item = |what: &str, chosen: &str, range: &str, effect: Option<[f64; 2]>, of: &str| Unspecified {
        what: what.to_owned(),
        chosen: chosen.to_owned(),
        range: range.to_owned(),
        effect,
        note: if effect.is_some() { of } else { "needs the full run" }.to_owned(),
    };
    vec![
        item(
            "instructions of a turn of the large product",
            "10, the middle of what gcc 4.1 makes",
            "6 to 12",
            entries.and_then(ends),
            "M1: slowdown beside a spinner, %",
        ),
        item(
            "cycles of an inner product's other instructions",
            "30: ten turns of six, at what the window sustains",
            "0 to 60",
            works.and_then(ends),
            "M6 over spin-loops, table 2's prices, %",
        ),
    ]
}
