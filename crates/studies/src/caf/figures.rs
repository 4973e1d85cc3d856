//! The paper's figures, redrawn. What its text does not print is not drawn. Each also shows the best software.

use super::apps::{App, By};
use super::experiments::{CLOCKS, DEVICES, IN_FLIGHT, LATENCIES, NOPS, PACE};
use super::loads::{ARMS, BULKS, CAF, QMD, RING, SOFTWARE};
use super::open::ITEMS;
use super::results::{Results, gain};
use crate::Interval;
use crate::kit::figure::line;
use crate::kit::{Tornado, over_programs};
use crate::page::Figure;
use baton_plot::{Lines, Point, Series, Table, number};

/// Those that there are runs for.
pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let one = |bulk: usize| format!("1-1 bulk {bulk}");
    let bulks: Vec<String> = BULKS.map(|bulk| bulk.to_string()).into();
    let figures = [
        tornado(results),
        threads(results),
        by(results, "Figure 7: one producer and consumer, over the ring", "bulk", "figure-7", &bulks, &BULKS.map(one)),
        pairs(results),
        in_flight(results),
        sensitivity(
            results,
            "Figure 14a: an item's cycles by the SRAM's latency",
            "ns",
            "SRAM latency",
            "figure-14a",
            &LATENCIES,
            50,
        ),
        sensitivity(
            results,
            "Figure 14b: an item's cycles by the device's clock",
            "MHz",
            "device clock",
            "figure-14b",
            &CLOCKS,
            1000,
        ),
        open_loop(results),
        Some(mesh(results)),
        weights(results),
        prepush(results),
        time(results),
        Some(applications(results)),
        Some(ablations(results)),
        Some(loads(results)),
    ];
    figures.into_iter().flatten().filter(|figure| !is_empty(figure)).collect()
}

fn is_empty(figure: &Figure) -> bool {
    match &figure.drawing {
        crate::page::Drawing::Lines(lines) => lines.series.iter().all(|series| series.points.is_empty()),
        crate::page::Drawing::Table(table) => table.rows.is_empty(),
        _ => false,
    }
}

fn lines(title: &str, x: &str, y: &str, names: Vec<String>, series: Vec<Series>) -> Figure {
    Figure::from(Lines { title: title.to_owned(), x: x.to_owned(), y: y.to_owned(), names: Some(names), series })
}

/// Gains of all arms over loads.
fn by(
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

fn threads(results: &Results<'_>) -> Option<Figure> {
    let counts = [1, 2, 4, 8, 16];
    let of = |arm: usize| {
        line(ARMS[arm], counts.map(|threads| results.cost(("main", ""), &format!("dequeue {threads}"), arm)))
    };
    let names = counts.map(|threads| threads.to_string()).into();
    let series = [RING, SOFTWARE, QMD].map(of).into();
    let figure = lines("Figure 6: dequeues alone, cycles an item", "threads", "cycles an item", names, series);
    Some(figure.named("figure-6").noted("Bulk 8; a queue that another core has filled; the slowest thread's time."))
}

fn pairs(results: &Results<'_>) -> Option<Figure> {
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

fn in_flight(results: &Results<'_>) -> Option<Figure> {
    let of = |(group, load, arm, name): (&str, &str, usize, &str)| {
        line(name, IN_FLIGHT.map(|requests| results.gain((group, &requests.to_string()), load, arm)))
    };
    let series = [
        ("requests in flight", "dequeue 1", QMD, "1 dequeues (C12)"),
        ("requests in flight", "dequeue 16", QMD, "16 dequeue (C4)"),
        ("requests in flight", "8-8 bulk 8", CAF, "8-8 bulk 8 (C7)"),
        ("dequeues ahead", "1-1 bulk 1", CAF, "1-1 bulk 1, ahead (C5)"),
        ("dequeues ahead", "1-1 bulk 8", CAF, "1-1 bulk 8, ahead (C11)"),
        ("dequeues ahead", "2-2 bulk 1", CAF, "2-2 bulk 1, ahead (C6)"),
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

fn sensitivity(
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

const AHEAD: &str = "16 dequeues ahead";

fn open_loop(results: &Results<'_>) -> Option<Figure> {
    let of = |devices: u32| {
        let curve = results.curve(devices);
        let points = curve.into_iter().map(|(rate, latency)| Point { x: rate, y: latency.mean, ends: latency.ends() });
        Series { name: format!("{devices} devices"), points: points.collect(), theirs: false }
    };
    let figure = Figure::from(Lines {
        title: "Figure 16a: a request's time by the rate, open loop".to_owned(),
        x: "requests in 1000 cycles, of 64 cores together".to_owned(),
        y: "cycles of a request".to_owned(),
        names: None,
        series: DEVICES.map(of).into(),
    });
    let note = "From when a request comes to its answer: the network there and back, waiting, and the device. No core had as many \
                under way as device.outstanding allows; a run in which one has is refused.";
    Some(figure.named("figure-16a").noted(note))
}

fn cell(of: Option<f64>) -> String {
    of.map_or_else(|| "-".to_owned(), number)
}

fn of_mean(of: Option<Interval>) -> String {
    cell(of.map(|of| of.mean))
}

fn table(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Figure {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    Table { title: title.to_owned(), header, rows, ..Table::default() }.into()
}

fn mesh(results: &Results<'_>) -> Figure {
    let row = |devices: &u32| {
        let [all, dequeues] = results.seldom(*devices)?;
        let closed = results.closed(*devices);
        let in_network = |of: Interval| cell(Some(of.mean - super::results::IN_DEVICE));
        let mut row =
            vec![devices.to_string(), in_network(all), in_network(dequeues), cell(results.sustained(*devices))];
        row.extend(
            super::experiments::CLOSED
                .map(|most| cell(closed.iter().find(|(at, _)| *at == most).map(|(_, rate)| rate.mean))),
        );
        Some(row)
    };
    let header = [
        "devices",
        "a request in the network, cycles",
        "a dequeue",
        "rate at twice the least time",
        "closed loop, 1 under way",
        "4",
        "16",
    ];
    let note = "Rates are requests of all 64 cores in 1000 cycles. Time in the network is what a request takes where they seldom meet, less \
                what the device itself takes.";
    table("Figure 16b: several devices at 64 cores", &header, DEVICES.iter().filter_map(row).collect()).noted(note)
}

fn weights(results: &Results<'_>) -> Option<Figure> {
    let row = |weights: [u32; 2]| {
        let name = format!("{}:{}", weights[0], weights[1]);
        let of = |entries| of_mean(results.shares(weights, true, entries));
        vec![name, of(16), of(64)]
    };
    let rows = super::experiments::WEIGHTS.map(row).into();
    let header = ["weights", "second's throughput over the first's, 16 entries", "64 entries"];
    Some(table("Figure 17: credits by weights", &header, rows))
}

fn prepush(results: &Results<'_>) -> Option<Figure> {
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

fn time(results: &Results<'_>) -> Option<Figure> {
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
                What the paper argues against bulk, and does not show."
    );
    Some(table("An item's time by bulk", &["bulk", "queue", "p50, cycles", "p99", "p99.9"], rows).noted(note))
}

fn loads(results: &Results<'_>) -> Figure {
    let row = |load: &super::loads::Load| {
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
        let gains = [gain(QMD), gain(CAF), kindest];
        Some([vec![load.name.to_owned()], costs.into(), gains.into(), vec![best]].concat())
    };
    let rows = super::loads::LOADS.iter().filter_map(row).collect();
    let header = [
        "load",
        "ring",
        "spsc or mpmc",
        "qmd",
        "caf",
        "qmd over ring",
        "caf over ring",
        "caf, kindest window",
        "best software",
    ];
    let note = "Cycles an item: the slowest thread's time over all items. `ring` is in its mode for one thread a side where that is right; beside it \
                stands `spsc` for one producer and consumer and `mpmc` for more; `caf` is the device with prepush.";
    table("Every load", &header, rows).noted(note)
}

fn tornado(results: &Results<'_>) -> Option<Figure> {
    let headline = headline(results);
    let usual = over_programs(&headline.main(), gain).map(|usual| usual.mean);
    let tornado = Tornado { items: &ITEMS, samples: &headline, value: gain };
    let x = "throughput of the device with prepush over the ring's, mean of 1-1 and 8-8 at bulk 8";
    tornado.figure(x, usual, &[])
}

fn applications(results: &Results<'_>) -> Figure {
    let mut seen = Vec::new();
    for case in super::experiments::applications(true) {
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
        let gains = [gain(By::Device), gain(By::Prepush), kindest];
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
    ];
    let note = "Cycles a packet, a job, an iteration. The paper's software is the ring, a slot a worker for the distributor, and a master with a ring \
                to and from each worker for the regression. Other software has a queue of its own for each pair of threads; for the distributor \
                one queue for all workers.";
    table("Figures 10, 12, 18 and 19: applications", &header, rows).noted(note)
}

/// What is left out, one at a time.
fn ablations(results: &Results<'_>) -> Figure {
    let row = |group: &str| {
        let of = |load: &str| match results.locked((group, ""), load, CAF) {
            Some(report) => Some(format!("locks: {report}")),
            None => results.gain((group, ""), load, CAF).map(|gain| number(gain.mean)),
        };
        let all: Vec<String> = super::experiments::HEADLINE.iter().filter_map(|load| of(load)).collect();
        (!all.is_empty()).then(|| [vec![group.to_owned()], all].concat())
    };
    let rows =
        ["no prepush", "no virtual buffers", "one place a buffer"].iter().filter_map(|group| row(group)).collect();
    let header = ["without", "1-1 bulk 8, over the ring", "8-8 bulk 8, over the ring"];
    table("Ablations", &header, rows)
}

/// The samples of the two loads that open choices are tried on, the ring against the device with prepush.
pub(super) fn headline<'a>(results: &Results<'a>) -> crate::kit::Samples<'a, super::loads::Load, super::run::Figures> {
    let mut samples = crate::kit::Samples::default();
    for (group, places) in results.samples.groups() {
        for place in places {
            for pair in results.samples.between(group, &place, [RING, CAF]) {
                let ended = pair.off.locked.is_none() && pair.on.locked.is_none();
                if ended && super::experiments::HEADLINE.contains(&pair.program.name) {
                    let arms = vec![pair.off, pair.on];
                    samples.push(
                        (group, place.clone()),
                        crate::kit::samples::Sample::with(pair.program, pair.again, arms),
                    );
                }
            }
        }
    }
    samples
}
