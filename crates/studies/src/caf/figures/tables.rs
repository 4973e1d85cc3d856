//! Tables: every load, applications, an item's time, ablations.

use super::drawing::{of_mean, table};
use crate::caf::apps::{App, By};
use crate::caf::cases::applications as cases;
use crate::caf::experiments::{HEADLINE, PACE};
use crate::caf::loads::{ARMS, BULKS, CAF, LOADS, Load, QMD, RING, SOFTWARE};
use crate::caf::results::Results;
use crate::page::Figure;
use baton_plot::number;

pub(super) fn time(results: &Results<'_>) -> Option<Figure> {
    let pace = PACE.to_string();
    let mut rows = Vec::new();
    for bulk in BULKS {
        let load = format!("1-1 bulk {bulk}");
        for arm in [RING, SOFTWARE, CAF] {
            let of = |at: usize| {
                of_mean(results.figure(("an item's time", &pace), &load, arm, |figures| figures.waited[at] as f64))
            };
            if of(0) != "-" {
                rows.push(vec![bulk.to_string(), ARMS[arm].to_owned(), of(0), of(1), of(2)]);
            }
        }
    }
    let note = format!(
        "A packet comes every {PACE} cycles on average, from half of that to one and a half of it; its time runs until its consumer has it. \
                The paper argues that bulks delay items, and shows no figures of it."
    );
    Some(table("An item's time by bulk", &["bulk", "queue", "p50, cycles", "p99", "p99.9"], rows).noted(note))
}

pub(super) fn applications(results: &Results<'_>) -> Figure {
    let mut seen = Vec::new();
    for case in cases(true) {
        if !seen.contains(&case.app) {
            seen.push(case.app);
        }
    }
    let row = |app: App| {
        let cost = |by: By| of_mean(results.app(app, None, [by, by], |_, on| on.cost()));
        let costs = [By::Software, By::Lanes, By::Device, By::Prepush].map(cost);
        if costs[0] == "-" {
            return None;
        }
        let gain = |by: By| of_mean(results.app_gain(app, by));
        let kindest = results.app_kindest(app, By::Prepush);
        let kindest = kindest.map_or_else(|| "-".to_owned(), |(name, of)| format!("{:.2} ({name})", of.mean));
        let gains = [gain(By::Device), gain(By::Prepush), kindest, gain(By::Ideal)];
        Some([vec![format!("{app:?}")], costs.into(), gains.into()].concat())
    };
    let rows = seen.into_iter().filter_map(row).collect();
    let header = [
        "application",
        "software",
        "other software",
        "qmd",
        "caf",
        "qmd over software",
        "caf over software",
        "caf, kindest window",
        "a free device",
    ];
    let note = "Cycles a packet, a job, an iteration. The paper's software is the ring, a slot a worker for the distributor, and a master \
        with a ring to and from each worker for the regression. Other software has a queue of its own for each pair of threads; for the \
        distributor one queue for all workers.";
    table("Figures 10, 12, 18 and 19: applications", &header, rows).noted(note)
}

/// The table of ablations: the gains when one part of the mechanism is left out at a time.
pub(super) fn ablations(results: &Results<'_>) -> Figure {
    let row = |group: &str| {
        let of = |load: &str| match results.locked((group, ""), load, CAF) {
            Some(report) => Some(format!("locks: {report}")),
            None => results.gain((group, ""), load, CAF).map(|gain| number(gain.mean)),
        };
        let all: Vec<String> = HEADLINE.iter().filter_map(|load| of(load)).collect();
        (!all.is_empty()).then(|| [vec![group.to_owned()], all].concat())
    };
    let rows =
        ["no prepush", "no virtual buffers", "one place a buffer"].iter().filter_map(|group| row(group)).collect();
    let header = ["without", "1-1 bulk 8, over the ring", "8-8 bulk 8, over the ring"];
    table("Ablations", &header, rows)
}

pub(super) fn loads(results: &Results<'_>) -> Figure {
    let row = |load: &Load| {
        let of = |arm: usize| of_mean(results.cost(("main", ""), load.name, arm));
        let costs = [RING, SOFTWARE, QMD, CAF].map(of);
        if costs[0] == "-" {
            return None;
        }
        let best = results.best_software(load.name).map_or_else(String::new, |(name, _)| name.to_owned());
        let gain = |arm: usize| of_mean(results.main(load.name, arm));
        let kindest = results
            .kindest(load.name, CAF)
            .map_or_else(|| "-".to_owned(), |(name, of)| format!("{:.2} ({name})", of.mean));
        let free = of_mean(results.gain(("ring in a free section", ""), load.name, CAF));
        let haqu = of_mean(results.haqu(load.name, ""));
        let gains = [gain(QMD), gain(CAF), kindest, free, haqu];
        Some([vec![load.name.to_owned()], costs.into(), gains.into(), vec![best]].concat())
    };
    let rows = LOADS.iter().filter_map(row).collect();
    let header = [
        "load",
        "ring",
        "spsc or mpmc",
        "qmd",
        "caf",
        "qmd over ring",
        "caf over ring",
        "caf, kindest window",
        "caf over the ring in a free section",
        "HAQu over ring",
        "best software",
    ];
    let note = "Cycles an item: the slowest thread's time over all items. `ring` is in its mode for one thread a side where that is right; beside it \
                stands `spsc` for one producer and consumer and `mpmc` for more; `caf` is the device with prepush.";
    table("Every load", &header, rows).noted(note)
}
