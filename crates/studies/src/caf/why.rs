//! Why a claim came out as it did: sentences that name experiments and give their figures.

use super::apps::{App, By};
use super::cases::{APP_BULKS, APP_NOPS, REGRESSIONS};
use super::experiments::{IDEAL, IDEAL_FAR, IN_FLIGHT, NO_PREFETCH, SLOW_LINKS};
use super::loads::{ARMS, CAF, QMD, RING, SOFTWARE};
use super::results::Results;
use super::run::Figures;
use crate::Interval;

fn said(of: Option<Interval>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| format!("{:.2}", of.mean))
}

/// An arm's gain over the ring for each number of requests in flight.
fn in_flight(results: &Results<'_>, group: &str, load: &str, arm: usize) -> String {
    let at = |requests: &u64| {
        let gain = results.gain((group, &requests.to_string()), load, arm)?;
        Some(format!("{requests}: {:.2}", gain.mean))
    };
    let all: Vec<String> = IN_FLIGHT.iter().filter_map(at).collect();
    format!("`{group}`, {load}, {} over ring: {}", ARMS[arm], all.join(", "))
}

/// An arm's gain over the ring with the device at its ideal, and where coherence takes longer.
fn oracle(results: &Results<'_>, load: &str, arm: usize) -> String {
    let (slow, cycles) = SLOW_LINKS;
    let place = cycles.to_string();
    let of = |id: (&str, &str)| said(results.gain(id, load, arm));
    format!(
        "{load}, {} over ring: `{IDEAL}` {}, `{slow}`, {cycles} cycles a link, {}, both {}",
        ARMS[arm],
        of((IDEAL, "")),
        of((slow, &place)),
        of((IDEAL_FAR, &place))
    )
}

/// Cycles an item in each arm.
fn costs(results: &Results<'_>, load: &str) -> String {
    let of = |arm: usize| format!("{} {}", ARMS[arm], said(results.cost(("main", ""), load, arm)));
    format!("`main`, {load}, cycles an item: {}", [RING, SOFTWARE, QMD, CAF].map(of).join(", "))
}

/// The gain of the device with prepush over a ring in the mode for many threads, where one thread a
/// side uses it.
fn mode(results: &Results<'_>, load: &str) -> String {
    let gain = results.gain(("ring in the mode for many", ""), load, CAF);
    format!("`ring in the mode for many`, {load}: {} times", said(gain))
}

/// The experiments and figures on which a claim depends.
pub(super) fn of(results: &Results<'_>, id: &str, part: &str) -> String {
    let sweep = |load: &str, arm| in_flight(results, "requests in flight", load, arm);
    let ahead = |load: &str, arm| in_flight(results, "dequeues ahead", load, arm);
    let passing = |load: &str, arm| in_flight(results, "dequeues ahead, stores pass", load, arm);
    let parts = match (id, part) {
        ("C1", "greatest") | ("C6", _) => {
            let ideal = oracle(results, "2-2 bulk 1", CAF);
            vec![costs(results, "2-2 bulk 1"), ahead("2-2 bulk 1", CAF), passing("2-2 bulk 1", CAF), ideal]
        }
        ("C1", _) => {
            let ideal = oracle(results, "1-1 bulk 8", CAF);
            vec![costs(results, "1-1 bulk 8"), ahead("1-1 bulk 8", CAF), passing("1-1 bulk 8", CAF), ideal]
        }
        ("C2", "1-1") => vec![baseline(results, ["1-1 bulk 8", "1-1 bulk 32"])],
        ("C2", _) => vec![baseline(results, ["2-2 bulk 8", "2-2 bulk 32"])],
        ("C3", "ring") => {
            let free = results.less(("ring in a free section", ""), ["dequeue 2", "dequeue 16"], RING);
            let free = format!("`ring in a free section`, less time with 16 threads than with 2: {}%", said(free));
            vec![costs(results, "dequeue 2"), costs(results, "dequeue 16"), free]
        }
        ("C3", _) => vec![costs(results, "dequeue 2"), costs(results, "dequeue 16"), by_device(results)],
        ("C4", _) => {
            let ideal = oracle(results, "dequeue 16", QMD);
            vec![costs(results, "dequeue 16"), free(results, "dequeue 16", QMD), sweep("dequeue 16", QMD), ideal]
        }
        ("C5", "control plane") => {
            let of = |load: &str| format!("{load}: {}", said(results.main(load, QMD)));
            vec![format!("`main`: {}", ["1-1 bulk 1", "1-1 bulk 8", "1-1 bulk 32"].map(of).join(", "))]
        }
        ("C5", "no bulk") => {
            let ahead = ahead("1-1 bulk 1", CAF);
            let (mode, ideal) = (mode(results, "1-1 bulk 1"), oracle(results, "1-1 bulk 1", CAF));
            vec![costs(results, "1-1 bulk 1"), ahead, passing("1-1 bulk 1", CAF), mode, ideal]
        }
        ("C5", part) => {
            let load = if part == "bulk 16" { "1-1 bulk 16" } else { "1-1 bulk 32" };
            vec![costs(results, load), mode(results, load), oracle(results, load, CAF)]
        }
        ("C7", part) => {
            let arm = if part == "with prepush" { CAF } else { QMD };
            vec![
                costs(results, "8-8 bulk 8"),
                free(results, "8-8 bulk 8", arm),
                sweep("8-8 bulk 8", arm),
                passing("8-8 bulk 8", arm),
                oracle(results, "8-8 bulk 8", arm),
            ]
        }
        ("C11" | "C12", "HAQu" | "HAQu wins") => vec![haqu(results)],
        ("C11", _) => {
            let ideal = oracle(results, "1-1 bulk 8", QMD);
            vec![costs(results, "1-1 bulk 8"), sweep("1-1 bulk 8", QMD), passing("1-1 bulk 8", QMD), ideal]
        }
        ("C12", _) => {
            vec![costs(results, "dequeue 1"), sweep("dequeue 1", QMD), oracle(results, "dequeue 1", QMD)]
        }
        ("C13", _) => vec![sensitivity(results, "SRAM latency", &["10", "100", "200", "500", "1000"])],
        ("C14", _) => vec![sensitivity(results, "device clock", &["100", "200", "300", "500", "2000"])],
        ("C15" | "C16", _) => vec![mesh(results)],
        ("C17", _) => vec![weights(results)],
        ("C20", _) => vec![prepush(results)],
        ("C8", _) => vec![
            apps(results, &APP_BULKS.map(|bulk| App::Clusters { bulk, nops: 0 })),
            apps(results, &APP_NOPS.map(|nops| App::Clusters { bulk: 8, nops })),
        ],
        ("C9", _) => vec![apps(results, &APP_BULKS.map(|bulk| App::Firewall { bulk }))],
        ("C10", _) => vec![traffic(results)],
        ("C18", _) => vec![apps(results, &APP_NOPS.map(|nops| App::Distributor { nops }))],
        ("C19", _) => vec![apps(results, &REGRESSIONS.map(|(workers, rows)| App::Regression { workers, rows }))],
        _ => vec!["no experiment shows it".to_owned()],
    };
    parts.join("; ")
}

/// An arm's gain over the ring in the paper's free critical section.
fn free(results: &Results<'_>, load: &str, arm: usize) -> String {
    let gain = results.gain(("ring in a free section", ""), load, arm);
    format!("`ring in a free section`, {load}: {} times", said(gain))
}

/// By how many percent 16 threads at the device take less time than 2 threads, for each number of
/// requests in flight.
fn by_device(results: &Results<'_>) -> String {
    let at = |requests: u64| {
        let place = requests.to_string();
        let less = results.less(("requests in flight", &place), ["dequeue 2", "dequeue 16"], QMD);
        format!("{requests}: {}%", said(less))
    };
    let all = IN_FLIGHT.map(at);
    format!("`requests in flight`, less time with 16 threads than with 2: {}", all.join(", "))
}

/// The gain of HAQu over the ring, beside that of the device.
fn haqu(results: &Results<'_>) -> String {
    let of = |load: &str| {
        let [haqu, device] = [results.haqu(load, ""), results.main(load, QMD)].map(said);
        format!("{load}: {haqu} and {device}")
    };
    let all = ["dequeue 1", "1-1 bulk 1", "1-1 bulk 8", "1-1 bulk 32"].map(of);
    format!("`haqu`, HAQu and the device over the ring: {}", all.join(", "))
}

/// The ring's cycles an item at two bulks, 8 and a larger one.
fn baseline(results: &Results<'_>, [eight, more]: [&str; 2]) -> String {
    let of = |load: &str| said(results.cost(("main", ""), load, RING));
    format!("`main`, the ring, cycles an item: {eight}: {}, {more}: {}", of(eight), of(more))
}

fn sensitivity(results: &Results<'_>, group: &str, places: &[&str]) -> String {
    let ahead = format!("{group}, dequeues ahead");
    let of = |group: &str| {
        let at = |place: &&str| format!("{place}: {}", said(results.cost((group, place), "1-1 bulk 8", CAF)));
        format!("`{group}`, cycles an item: {}", places.iter().map(at).collect::<Vec<_>>().join(", "))
    };
    let usual = said(results.cost(("main", ""), "1-1 bulk 8", CAF));
    format!("as chosen {usual}; {}; {}", of(group), of(&ahead))
}

fn mesh(results: &Results<'_>) -> String {
    let of = |devices: &u32| {
        let [all, dequeues] = results.seldom(*devices).map_or([None; 2], |both| both.map(Some));
        let sustained = results.sustained(*devices).map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        format!("{devices}: {} and {} cycles, {sustained} in 1000", said(all), said(dequeues))
    };
    let all: Vec<String> = super::cases::DEVICES.iter().map(of).collect();
    format!(
        "`mesh`, by devices, a request and a dequeue where they seldom meet, and the rate at twice that: {}",
        all.join("; ")
    )
}

fn weights(results: &Results<'_>) -> String {
    let of = |weights: [u32; 2]| {
        let [small, large] = [16, 64].map(|entries| said(results.shares(weights, true, entries)));
        format!("{weights:?}: {small}, with 64 entries {large}")
    };
    let all = super::cases::WEIGHTS.map(of);
    format!("`weights`: {}", all.join("; "))
}

fn prepush(results: &Results<'_>) -> String {
    let at = |groups: [&str; 2], nops: u64| {
        let nops = nops.to_string();
        let both = groups.map(|group| (group, &*nops));
        format!("{nops}: {}", said(results.against(both, "1-1 bulk 8", CAF)))
    };
    let [usual, alone] = [["nops", "nops, to the consumer"], NO_PREFETCH];
    format!(
        "`nops`, into the consumer's cache over basic: {}; `{}`: {}",
        super::experiments::NOPS.map(|nops| at(usual, nops)).join(", "),
        NO_PREFETCH[0],
        [0, 100, 400].map(|nops| at(alone, nops)).join(", ")
    )
}

/// The gains of applications over the paper's software: by other software, the device, the device
/// with prepush, and the device at its ideal.
fn apps(results: &Results<'_>, apps: &[App]) -> String {
    let one = |app: &App| {
        let of = |by: By| said(results.app_gain(*app, by));
        let all = [By::Lanes, By::Device, By::Prepush, By::Ideal].map(of);
        format!("{app:?}: {}", all.join(", "))
    };
    let all: Vec<String> = apps.iter().map(one).collect();
    format!(
        "`applications`, other software, the device, with prepush, and `{IDEAL}`, over the paper's software: {}",
        all.join("; ")
    )
}

/// The instructions, accesses and coherence traffic of the firewall for each packet.
fn traffic(results: &Results<'_>) -> String {
    let of = |by: By| {
        let each = |of: &dyn Fn(&Figures) -> u64| {
            let app = App::Firewall { bulk: 8 };
            said(results.app(app, None, [by, by], |_, on| of(on) as f64 / on.items.max(1) as f64))
        };
        let traffic = [0, 1, 2].map(|at| each(&|figures| figures.traffic[at]));
        format!("{by:?}: {}, {}", each(&|figures| figures.instructions), traffic.join(", "))
    };
    let all = [By::Software, By::Lanes, By::Device, By::Prepush, By::Ideal].map(of);
    format!("`firewall`, bulk 8, instructions, accesses, forwards, invalidations a packet: {}", all.join("; "))
}
