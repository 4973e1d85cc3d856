//! Figures of loads on one device.

use super::drawing::lines;
use crate::caf::experiments::{HEADLINE, IN_FLIGHT, NOPS};
use crate::caf::loads::{ARMS, CAF, Load, QMD, RING, SOFTWARE};
use crate::caf::open::ITEMS;
use crate::caf::results::{Results, gain};
use crate::caf::run::Figures;
use crate::kit::figure::line;
use crate::kit::samples::Sample;
use crate::kit::{Samples, Tornado, over_programs};
use crate::page::Figure;

/// A figure of the gains of all arms over the ring, for several loads.
pub(super) fn by(
    results: &Results<'_>,
    title: &str,
    x: &str,
    file: &'static str,
    names: &[String],
    loads: &[String],
) -> Option<Figure> {
    let arm = |arm: usize| line(ARMS[arm], loads.iter().map(|load| results.main(load, arm)));
    let series = [SOFTWARE, QMD, CAF].map(arm).into();
    Some(lines(title, x, "throughput over the ring's", names.to_vec(), series).named(file))
}

pub(super) fn threads(results: &Results<'_>) -> Option<Figure> {
    let counts = [1, 2, 4, 8, 16];
    let of = |arm: usize| {
        line(ARMS[arm], counts.map(|threads| results.cost(("main", ""), &format!("dequeue {threads}"), arm)))
    };
    let names = counts.map(|threads| threads.to_string()).into();
    let series = [RING, SOFTWARE, QMD].map(of).into();
    let figure = lines("Figure 6: dequeues alone, cycles an item", "threads", "cycles an item", names, series);
    Some(
        figure
            .named("figure-6")
            .noted("Bulks of 8. The last core has filled the queue before. The time is the slowest thread's."),
    )
}

pub(super) fn pairs(results: &Results<'_>) -> Option<Figure> {
    let bulks = [1, 2, 4, 8];
    let loads = bulks.map(|bulk| format!("2-2 bulk {bulk}"));
    let (mut names, mut all): (Vec<String>, Vec<String>) =
        (bulks.map(|bulk| format!("2-2, {bulk}")).into(), loads.into());
    for pairs in [4, 8] {
        names.push(format!("{pairs}-{pairs}, 8"));
        all.push(format!("{pairs}-{pairs} bulk 8"));
    }
    by(
        results,
        "Figure 8: several producers and consumers, over the ring",
        "threads and bulk",
        "figure-8",
        &names,
        &all,
    )
}

pub(super) fn in_flight(results: &Results<'_>) -> Option<Figure> {
    let of = |(group, load, arm, name): (&str, &str, usize, &str)| {
        line(name, IN_FLIGHT.map(|requests| results.gain((group, &requests.to_string()), load, arm)))
    };
    let series = [
        ("requests in flight", "dequeue 1", QMD, "1 dequeues (C12)"),
        ("requests in flight", "dequeue 16", QMD, "16 dequeue (C4)"),
        ("requests in flight", "8-8 bulk 8", CAF, "8-8 bulk 8 (C7)"),
        ("dequeues ahead, stores pass", "1-1 bulk 1", CAF, "1-1 bulk 1, ahead, stores pass (C5)"),
        ("dequeues ahead, stores pass", "1-1 bulk 8", CAF, "1-1 bulk 8, ahead, stores pass (C11)"),
        ("dequeues ahead, stores pass", "2-2 bulk 1", CAF, "2-2 bulk 1, ahead, stores pass (C6)"),
    ];
    let names = IN_FLIGHT.map(|requests| requests.to_string()).into();
    let title = "The number of requests in flight decides";
    let figure = lines(
        title,
        "requests that a context may have under way",
        "throughput over the ring's",
        names,
        series.map(of).into(),
    );
    Some(figure.named("in-flight"))
}

const AHEAD: &str = "16 dequeues ahead";

pub(super) fn sensitivity(
    results: &Results<'_>,
    title: &str,
    x: &str,
    group: &str,
    file: &'static str,
    places: &[u64],
    usual: u64,
) -> Option<Figure> {
    let mut all: Vec<u64> = places.iter().copied().chain([usual]).collect();
    all.sort_unstable();
    let of = |group: &str, name: &str| {
        let at = |place: &u64| {
            let id =
                if *place == usual && name != AHEAD { ("main", String::new()) } else { (group, place.to_string()) };
            results.cost((id.0, &id.1), "1-1 bulk 8", CAF)
        };
        line(name, all.iter().map(at).collect::<Vec<_>>())
    };
    let series = vec![of(group, "those of a bulk"), of(&format!("{group}, dequeues ahead"), AHEAD)];
    let names = all.iter().map(u64::to_string).collect();
    Some(
        lines(title, x, "cycles an item", names, series)
            .named(file)
            .noted("One producer and consumer, bulk 8, with prepush."),
    )
}

pub(super) fn prepush(results: &Results<'_>) -> Option<Figure> {
    let of = |group: &'static str, name: &str| {
        line(name, NOPS.map(|nops| results.gain((group, &nops.to_string()), "1-1 bulk 8", CAF)))
    };
    let series = vec![of("nops", "to the shared level"), of("nops, to the consumer", "into the consumer's L2")];
    let names = NOPS.map(|nops| nops.to_string()).into();
    let x = "cycles of a consumer's own work for a packet";
    Some(
        lines("Figure 20: prepush with a destination, over the ring", x, "throughput over the ring's", names, series)
            .named("figure-20"),
    )
}

pub(super) fn tornado(results: &Results<'_>) -> Option<Figure> {
    let headline = headline(results);
    let usual = over_programs(&headline.main(), gain).map(|usual| usual.mean);
    let tornado = Tornado { items: &ITEMS, samples: &headline, value: gain };
    let x = "throughput of the device with prepush over the ring's, mean of 1-1 and 8-8 at bulk 8";
    tornado.figure(x, usual, &[])
}

/// The table of what each open choice changes, pair by pair.
pub(super) fn differences(results: &Results<'_>) -> Option<Figure> {
    let headline = headline(results);
    let tornado = Tornado { items: &ITEMS, samples: &headline, value: gain };
    tornado.differences("Throughput of the device with prepush over the ring's, mean of 1-1 and 8-8 at bulk 8.")
}

/// The samples of the two loads on which open choices are tried, with the ring and the device with
/// prepush as arms; samples in which a run ended in a deadlock are left out.
pub(in crate::caf) fn headline<'a>(results: &Results<'a>) -> Samples<'a, Load, Figures> {
    let mut samples = Samples::default();
    for (group, places) in results.samples.groups() {
        for place in places {
            for pair in results.samples.between(group, &place, [RING, CAF]) {
                let ended = pair.off.locked.is_none() && pair.on.locked.is_none();
                if ended && HEADLINE.contains(&pair.program.name) {
                    let arms = vec![pair.off, pair.on];
                    samples.push((group, place.clone()), Sample::with(pair.program, pair.again, arms));
                }
            }
        }
    }
    samples
}
