//! What is run, as data: settings, loads, seeds. Loads were committed before the first gain was computed; after a quick run, prefetches
//! became three packets ahead (a whole bulk before), and what explains a miss was added. Three cheap
//! sweeps have got a second seed since, so that they have intervals. Part of `frozen.rules`.

use super::loads::{LOADS, Load, Moves};
use super::pairs::Push;
use crate::kit::{Experiment, On};

/// What an experiment sets; the rest is as chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// Keys of the chip.
    pub(super) keys: Vec<String>,
    /// Another window than the chip's.
    pub(super) window: Option<&'static str>,
    /// Dequeues that a thread makes before it needs their items; `None`: as chosen for the load ([`Setting::ahead`]).
    pub(super) ahead: Option<u64>,
    /// Threads wait for the answers of their enqueues.
    pub(super) waits: bool,
    /// Buffers.
    pub(super) pool: usize,
    /// Blocks of a packet that are written and read.
    pub(super) blocks: usize,
    /// Cycles that producers, and consumers, compute for a packet.
    pub(super) work: [u64; 2],
    /// Packets of a bulk that consumers prefetch ahead.
    pub(super) prefetch: usize,
    /// What the arm `caf` does with packets that were enqueued.
    pub(super) push: Push,
    /// Cycles between two packets of a producer; 0: there is always one.
    pub(super) pace: u64,
    /// The ring's mode is that for many threads where one would do.
    pub(super) many: bool,
    /// A model that stands in the ring's place.
    pub(super) model: Option<&'static str>,
    /// How threads wait at queues in memory.
    pub(super) wait: &'static str,
}

/// Dequeues under way in a thread that has no use for the items: as many as the machine allows.
const STREAM: u64 = 64;

impl Setting {
    /// As chosen.
    pub(super) fn chosen() -> Setting {
        Setting {
            keys: Vec::new(),
            window: None,
            ahead: None,
            waits: false,
            pool: 512,
            blocks: 1,
            work: [0; 2],
            prefetch: 3,
            push: Push::Shared,
            pace: 0,
            many: false,
            model: None,
            wait: "pause",
        }
    }

    fn key(key: &str) -> Setting {
        Setting { keys: vec![key.to_owned()], ..Setting::chosen() }
    }

    /// Requests that a thread may have under way: buffers of a context have room for them.
    fn in_flight(requests: u64) -> Setting {
        let keys = vec![format!("device.outstanding={requests}"), format!("device.qmd.depth={}", requests.max(16))];
        Setting { keys, ..Setting::chosen() }
    }

    /// Dequeues ahead. An item's user holds the reorder buffer, and requests are not speculative: those of a bulk are under way at
    /// once, and no more. Items that no instruction uses hold nothing.
    pub(super) fn ahead(&self, moves: Moves) -> u64 {
        self.ahead.unwrap_or(if matches!(moves, Moves::Pairs(..)) { 0 } else { STREAM })
    }
}

/// Items of the loads that only enqueue or only dequeue.
pub(super) const ITEMS: u64 = 4096;
/// Packets of a producer that are measured.
pub(super) const PACKETS: u64 = 2000;
/// The bulk of the loads that only enqueue or only dequeue.
pub(super) const BULK: usize = 8;

/// What open choices are tried on.
pub(super) const HEADLINE: [&str; 2] = ["1-1 bulk 8", "8-8 bulk 8"];
const ONE: [&str; 1] = ["1-1 bulk 8"];
/// Loads of a quick study.
const QUICK: [&str; 7] =
    ["dequeue 1", "dequeue 2", "dequeue 16", "1-1 bulk 1", "1-1 bulk 8", "2-2 bulk 1", "8-8 bulk 8"];
/// Loads on which the requests in flight are swept.
const SWEPT: [&str; 8] =
    ["dequeue 1", "dequeue 2", "dequeue 4", "dequeue 16", "1-1 bulk 1", "1-1 bulk 8", "2-2 bulk 1", "8-8 bulk 8"];
const PACED: [&str; 6] = ["1-1 bulk 1", "1-1 bulk 2", "1-1 bulk 4", "1-1 bulk 8", "1-1 bulk 16", "1-1 bulk 32"];

/// Loads at whose queues several threads meet on a side.
const SHARED: [&str; 9] = [
    "dequeue 2",
    "dequeue 4",
    "dequeue 8",
    "dequeue 16",
    "2-2 bulk 1",
    "2-2 bulk 8",
    "2-2 bulk 32",
    "4-4 bulk 8",
    "8-8 bulk 8",
];

/// Loads that HAQu has: one thread a side.
const HAQU: [&str; 4] = ["dequeue 1", "1-1 bulk 1", "1-1 bulk 8", "1-1 bulk 32"];

/// Loads on which younger stores pass requests as well.
const PASSING: [&str; 4] = ["1-1 bulk 1", "1-1 bulk 8", "2-2 bulk 1", "8-8 bulk 8"];

/// Requests in flight.
pub(super) const IN_FLIGHT: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Nanoseconds of an access of the SRAM (figure 14a), beside the 50 of the chip.
pub(super) const LATENCIES: [u64; 5] = [10, 100, 200, 500, 1000];
/// Megahertz of the device (figure 14b), beside the 1000 of the chip.
pub(super) const CLOCKS: [u64; 5] = [100, 200, 300, 500, 2000];
/// Cycles of a consumer's own work (figure 20).
pub(super) const NOPS: [u64; 5] = [0, 50, 100, 200, 400];
/// Of a packet, by producers and consumers, where the queue must not matter.
pub(super) const LARGE: u64 = 20_000;
/// Cycles between two packets that come, where an item's time is measured.
pub(super) const PACE: u64 = 400;

fn on(
    group: &'static str,
    place: impl ToString,
    loads: &'static [&'static str],
    setting: Setting,
) -> Experiment<Setting> {
    Experiment::new((group, place), On::These(loads), setting)
}

/// The main experiment, windows, and what the claims need.
fn claims() -> Vec<Experiment<Setting>> {
    let chosen = Setting::chosen;
    let main = Experiment::new((crate::kit::experiment::MAIN, ""), On::All(&QUICK), chosen());
    let mut all = vec![main.seeds([2, 3]).quick()];
    for window in ["smallest", "largest"] {
        let setting = Setting { window: Some(window), ..chosen() };
        all.push(Experiment::new(("window", window), On::All(&QUICK), setting));
    }
    for requests in IN_FLIGHT {
        all.push(on("requests in flight", requests, &SWEPT, Setting::in_flight(requests)));
        let stream = Setting { ahead: Some(requests), ..Setting::in_flight(requests) };
        let mut pass = stream.clone();
        pass.keys.push("device.younger_stores=pass".to_owned());
        all.push(on("dequeues ahead", requests, &SWEPT, stream));
        all.push(on("dequeues ahead, stores pass", requests, &PASSING, pass));
    }
    for ns in LATENCIES {
        let setting = Setting::key(&format!("device.qmd.latency={ns}"));
        all.push(on("SRAM latency", ns, &ONE, setting.clone()).seeds([1, 2]));
        let ahead = Setting { ahead: Some(16), ..setting };
        all.push(on("SRAM latency, dequeues ahead", ns, &ONE, ahead).seeds([1, 2]));
    }
    for mhz in CLOCKS {
        // The access takes 50 ns on every clock.
        let keys = vec![format!("device.clock_hz={mhz}000000"), format!("device.qmd.latency={}", mhz * 50 / 1000)];
        let setting = Setting { keys, ..chosen() };
        all.push(on("device clock", mhz, &ONE, setting.clone()).seeds([1, 2]));
        let ahead = Setting { ahead: Some(16), ..setting };
        all.push(on("device clock, dequeues ahead", mhz, &ONE, ahead).seeds([1, 2]));
    }
    for nops in NOPS {
        let setting = Setting { work: [0, nops], ..chosen() };
        all.push(on("nops", nops, &ONE, setting.clone()).seeds([1, 2]));
        all.push(on("nops, to the consumer", nops, &ONE, Setting { push: Push::Consumer, ..setting }).seeds([1, 2]));
    }
    for (group, push) in [("slow producer", Push::Shared), ("slow producer, to the consumer", Push::Consumer)] {
        all.push(on(group, NOPS[4], &ONE, Setting { work: [NOPS[4], 0], push, ..chosen() }).seeds([1, 2]));
    }
    all.push(on("large work", LARGE, &HEADLINE, Setting { work: [LARGE; 2], ..chosen() }).seeds([1, 3]));
    let paced = Setting { pace: PACE, ..chosen() };
    all.push(on("an item's time", PACE, &PACED, paced));
    all.push(on("ring in a free section", "", &SHARED, Setting { model: Some("free-ring"), ..chosen() }));
    for window in ["", "smallest", "largest"] {
        let setting = Setting { model: Some("haqu"), window: (!window.is_empty()).then_some(window), ..chosen() };
        all.push(on("haqu", window, &HAQU, setting).seeds([1, 2]));
    }
    all.push(on("ring in the mode for many", "", &PACED, Setting { many: true, ..chosen() }));
    all
}

/// What the paper leaves open, beside the requests in flight; and ablations.
fn open() -> Vec<Experiment<Setting>> {
    let chosen = Setting::chosen;
    let mut all = vec![
        on("a program's dequeues", "ahead, 16", &HEADLINE, Setting { ahead: Some(16), ..chosen() }),
        on("answers of enqueues", "waited for", &HEADLINE, Setting { waits: true, ..chosen() }),
        on("engines", 2, &HEADLINE, Setting::key("device.qmd.engines=2")),
        on("retry", "free", &HEADLINE, Setting::key("device.qmd.retry=free")),
        on("pointers", "access", &HEADLINE, Setting::key("device.qmd.pointers=access")),
        on("younger stores", "pass", &HEADLINE, Setting::key("device.younger_stores=pass")),
        on("SRAM size", "32 KB", &HEADLINE, Setting::key("device.qmd.entries=4096")),
        on("prefetch", "none", &HEADLINE, Setting { prefetch: 0, ..chosen() }),
        on("prefetch", "a bulk", &HEADLINE, Setting { prefetch: 32, ..chosen() }),
        on("wait at queues in memory", "spin", &HEADLINE, Setting { wait: "spin", ..chosen() }),
        on("window of the cores", "smallest", &HEADLINE, Setting { window: Some("smallest"), ..chosen() }),
        on("window of the cores", "largest", &HEADLINE, Setting { window: Some("largest"), ..chosen() }),
        on("no prepush", "", &HEADLINE, Setting { push: Push::Never, ..chosen() }),
        on("no virtual buffers", "", &HEADLINE, Setting::key("device.qmd.buffers=shared")),
    ];
    let one = vec!["device.qmd.buffers=shared".to_owned(), "device.qmd.depth=1".to_owned()];
    all.push(on("one place a buffer", "", &HEADLINE, Setting { keys: one, ..chosen() }));
    for pool in [128, 256, 1024] {
        all.push(on("pool", pool, &HEADLINE, Setting { pool, ..chosen() }));
    }
    for blocks in [3, 8, 32] {
        all.push(on("blocks of a packet", blocks, &HEADLINE, Setting { blocks, ..chosen() }));
    }
    for requests in [1, 4, 64] {
        all.push(on("requests under way", requests, &HEADLINE, Setting::in_flight(requests)));
    }
    for way in [10, 50] {
        all.push(on("way to the device", way, &HEADLINE, Setting::key(&format!("device.way={way}"))));
    }
    all
}

/// All experiments on loads.
pub(super) fn all() -> Vec<Experiment<Setting>> {
    claims().into_iter().chain(open()).collect()
}

/// The loads.
pub(super) fn loads() -> &'static [Load] {
    &LOADS
}
