//! Falsifiers, and what the paper leaves open. Committed before the first gain was computed; part of `frozen.rules`.

use super::cases::DEVICES;
use super::experiments::{HEADLINE, LARGE, NOPS};
use super::loads::{CAF, QMD, RING};
use super::results::Results;
use crate::kit::samples::over_draws;
use crate::kit::{self, Item, open::item};
use crate::{Falsifier, Interval};

/// What is left open, one thing at a time; what can decide the sign stands first.
pub(super) const ITEMS: [Item; 18] = [
    item("requests under way", "16 a context: as many as a core has misses", "1 to 64, the store buffer's entries"),
    item(
        "a program's dequeues",
        "those of a bulk at once: an item's user holds the reorder buffer, and requests are not speculative",
        "16 ahead of their use, as a program can be written",
    ),
    item(
        "latency of coherence",
        "1 cycle a link: a block of another core costs 55 cycles",
        "13 cycles a link: \"a forward could cost more than one hundred cycles\"",
    ),
    item("answers of enqueues", "not waited for (3.1: they retire before)", "waited for"),
    item("blocks of a packet", "1 (4.2: a simple arithmetic operation)", "1 to 32, the whole buffer"),
    item("pool", "512 buffers: bulks of 32 in 16 threads do not starve each other", "128 to 1024"),
    item("prefetch", "a consumer prefetches three packets ahead, as DPDK's examples do", "none to a bulk"),
    item("way to the device", "25 cycles: half of the 50 there and back (4.1)", "10 to 50"),
    item("engines", "one (3.2)", "two, one a direction (3.3 prices two routers)"),
    item("retry", "a try takes the engine's cycle (3.2)", "none"),
    item("pointers", "move at the grant", "after the access"),
    item("younger stores", "wait behind a request: the store buffer is a queue", "pass"),
    item("SRAM size", "16 KB (3.2)", "32 KB (3.3)"),
    item("wait at queues in memory", "PAUSE", "no pause between two looks"),
    item("window of the cores", "the chip's: 192 instructions", "one access at a time to 512"),
    item("no prepush", "ablation: the device alone", "-"),
    item("no virtual buffers", "ablation: one pair of buffers for all contexts", "-"),
    item("one place a buffer", "ablation: the same with a place for one request", "-"),
];

/// What a quick study lacks.
const FULL: &str = "needs the full run";

/// Less time, in percent, of the device and prepush against the ring.
fn less(results: &Results<'_>, id: (&str, &str), load: &str) -> Option<Interval> {
    over_draws(&results.pairs(id, load, [RING, CAF]), |pair| kit::reduction(pair.off.cost(), pair.on.cost()))
}

/// Runs that must come out negative.
pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    let large = LARGE.to_string();
    let [one, eight] = HEADLINE.map(|load| less(results, ("large work", &large), load));
    let what = format!("no gain where each packet takes {LARGE} cycles of producer and consumer");
    vec![
        Falsifier::no_gain("large work, 1-1", &what, one),
        Falsifier::no_gain("large work, 8-8", &what, eight),
        saturates(results),
        slow_producer(results),
        haqu(results),
        credits(results),
    ]
}

fn saturates(results: &Results<'_>) -> Falsifier {
    let what = "a device saturates: at 120% of what devices can serve, a request takes more than 3 times its least";
    let ends: Vec<(String, f64)> = DEVICES
        .iter()
        .filter_map(|devices| {
            let curve = results.curve(*devices);
            let (first, last) = (curve.first()?.1.mean, curve.last()?.1.mean);
            (curve.len() > 1).then(|| (format!("{devices} devices"), last / first))
        })
        .collect();
    if ends.is_empty() {
        return Falsifier::not_run("saturation", what, FULL);
    }
    let holds = ends.iter().all(|(_, times)| *times > 3.0);
    Falsifier::seen("saturation", what, holds, ends, || "a device below its bound at a rate above it".to_owned())
}

fn haqu(results: &Results<'_>) -> Falsifier {
    let what = "a consumer alone is faster with HAQu than with the device";
    let both = results.haqu("dequeue 1", "").zip(results.main("dequeue 1", QMD));
    let seen = both.map(|(haqu, device)| {
        (haqu.mean > device.mean, [("HAQu over the ring", haqu.mean), ("the device", device.mean)])
    });
    Falsifier::shown("HAQu", what, FULL, seen, || {
        both.map_or_else(String::new, |(haqu, device)| {
            format!("`haqu`: {:.2} times the ring's, the device {:.2}", haqu.mean, device.mean)
        })
    })
}

fn slow_producer(results: &Results<'_>) -> Falsifier {
    let what = "prepush into the consumer's cache gains nothing where the producer is the bottleneck";
    let nops = NOPS[4].to_string();
    let ids = [("slow producer", &*nops), ("slow producer, to the consumer", &*nops)];
    let gain = results.against(ids, "1-1 bulk 8", CAF).map(|of| 100.0 * (of.mean - 1.0));
    // The paper expects no gain or a loss.
    let seen = gain.map(|gain| (gain < 1.0, [("gain, %", gain)]));
    Falsifier::shown("slow producer", what, FULL, seen, || {
        format!("`slow producer`: a gain of {:.1}%", gain.unwrap_or(f64::NAN))
    })
}

fn credits(results: &Results<'_>) -> Falsifier {
    let what = "without credits weights of 1:3 change nothing: both producers send as much";
    let ratio = results.shares([1, 3], false, 16).map(|ratio| ratio.mean);
    let seen = ratio.map(|ratio| ((ratio - 1.0).abs() < 0.1, [("second over first", ratio)]));
    Falsifier::shown("no credits", what, FULL, seen, || {
        format!("`weights`: without credits the second sends {:.2} times as much", ratio.unwrap_or(f64::NAN))
    })
}
