//! What is run, as data: settings, loads, seeds. Loads were committed before the first gain was computed; after a quick run, prefetches
//! became three packets ahead (a whole bulk before), and what explains a miss was added. Since then every
//! sweep has the seeds of the main experiment, and oracle arms and the latency of coherence were added. Part of `frozen.rules`.

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
    /// The study's own choices.
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

    /// The device at its ideal, but for its clock and its SRAM's latency: a request takes no time on
    /// its way, no number of requests under way binds, nothing waits for a request, and a program
    /// asks for items long before it uses them.
    fn ideal(mhz: u64, ns: u64) -> Setting {
        let keys = [
            "device.way=0".to_owned(),
            "device.qmd.engines=2".to_owned(),
            "device.qmd.retry=free".to_owned(),
            "device.younger_stores=pass".to_owned(),
            format!("device.outstanding={STREAM}"),
            format!("device.qmd.depth={STREAM}"),
            format!("device.clock_hz={mhz}000000"),
            format!("device.qmd.latency={}", mhz * ns / 1000),
        ];
        Setting { keys: keys.into(), ahead: Some(STREAM), ..Setting::chosen() }
    }

    /// The oracle arm, [`IDEAL`].
    pub(super) fn free() -> Setting {
        Setting::ideal(IDEAL_CLOCK, 0)
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

/// Loads at whose queues several threads meet on a side, and two where the section is of one thread.
const SHARED: [&str; 11] = [
    "dequeue 2",
    "dequeue 4",
    "dequeue 8",
    "dequeue 16",
    "2-2 bulk 1",
    "2-2 bulk 8",
    "2-2 bulk 32",
    "4-4 bulk 8",
    "8-8 bulk 8",
    "1-1 bulk 8",
    "1-1 bulk 32",
];

/// Loads that HAQu has: one thread a side.
const HAQU: [&str; 4] = ["dequeue 1", "1-1 bulk 1", "1-1 bulk 8", "1-1 bulk 32"];

/// Loads on which younger stores pass requests as well.
const PASSING: [&str; 4] = ["1-1 bulk 1", "1-1 bulk 8", "2-2 bulk 1", "8-8 bulk 8"];

/// The oracle arm of the ring: its critical section takes no time.
pub(super) const FREE_SECTION: &str = "ring in a free section";
/// The oracle arm of the device: [`Setting::ideal`] at [`IDEAL_CLOCK`], with an SRAM that takes no time.
pub(super) const IDEAL: &str = "a free device";
/// Megahertz of the fastest device that a chip may have: the cores' clock.
const IDEAL_CLOCK: u64 = 2000;
/// The oracle arm, where coherence takes as long as under [`SLOW_LINKS`].
pub(super) const IDEAL_FAR: &str = "a free device, latency of coherence";
/// Coherence takes longer: the cycles of a link of the cores' network.
pub(super) const SLOW_LINKS: (&str, u64) = ("latency of coherence", 13);
/// The oracle arm of prepush with a destination: nothing else brings packets to the consumer.
pub(super) const NO_PREFETCH: [&str; 2] = ["nops, no prefetch", "nops, no prefetch, to the consumer"];
/// Groups of the oracle arms of figure 14: the device at its ideal but for one property.
pub(super) const IDEAL_BUT: [&str; 2] = ["a free device, SRAM latency", "a free device, device clock"];

/// Loads with an oracle arm: those of figures 6, 7 and 8.
const ORACLE: [&str; 16] = [
    "dequeue 1",
    "dequeue 2",
    "dequeue 4",
    "dequeue 8",
    "dequeue 16",
    "1-1 bulk 1",
    "1-1 bulk 2",
    "1-1 bulk 4",
    "1-1 bulk 8",
    "1-1 bulk 16",
    "1-1 bulk 32",
    "2-2 bulk 1",
    "2-2 bulk 2",
    "2-2 bulk 4",
    "2-2 bulk 8",
    "8-8 bulk 8",
];

/// Requests in flight.
pub(super) const IN_FLIGHT: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Nanoseconds of an access of the SRAM (figure 14a), beside the 50 of the chip.
pub(super) const LATENCIES: [u64; 5] = [10, 100, 200, 500, 1000];
/// Megahertz of the device (figure 14b), beside the 1000 of the chip.
pub(super) const CLOCKS: [u64; 5] = [100, 200, 300, 500, 2000];
/// Cycles of a consumer's own work (figure 20).
pub(super) const NOPS: [u64; 5] = [0, 50, 100, 200, 400];
/// Cycles that producers and consumers compute for a packet where the queue must not matter.
pub(super) const LARGE: u64 = 20_000;
/// Cycles between two packets that come, where an item's time is measured.
pub(super) const PACE: u64 = 400;

/// The number of seeds in a quick study and in a full one: those of the main experiment, so that two
/// experiments are compared seed by seed.
const SEEDS: [u64; 2] = [1, 3];

fn on(
    group: &'static str,
    place: impl ToString,
    loads: &'static [&'static str],
    setting: Setting,
) -> Experiment<Setting> {
    Experiment::new((group, place), On::These(loads), setting).seeds(SEEDS)
}

/// The main experiment, windows, and what the claims need.
fn claims() -> Vec<Experiment<Setting>> {
    let chosen = Setting::chosen;
    let main = Experiment::new((crate::kit::experiment::MAIN, ""), On::All(&QUICK), chosen());
    let mut all = vec![main.seeds([2, SEEDS[1]]).quick()];
    for window in ["smallest", "largest"] {
        let setting = Setting { window: Some(window), ..chosen() };
        all.push(Experiment::new(("window", window), On::All(&QUICK), setting).seeds(SEEDS));
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
        all.push(on("SRAM latency", ns, &ONE, setting.clone()));
        let ahead = Setting { ahead: Some(16), ..setting };
        all.push(on("SRAM latency, dequeues ahead", ns, &ONE, ahead));
    }
    for mhz in CLOCKS {
        // The access takes 50 ns on every clock.
        let keys = vec![format!("device.clock_hz={mhz}000000"), format!("device.qmd.latency={}", mhz * 50 / 1000)];
        let setting = Setting { keys, ..chosen() };
        all.push(on("device clock", mhz, &ONE, setting.clone()));
        let ahead = Setting { ahead: Some(16), ..setting };
        all.push(on("device clock, dequeues ahead", mhz, &ONE, ahead));
    }
    for nops in NOPS {
        let setting = Setting { work: [0, nops], ..chosen() };
        all.push(on("nops", nops, &ONE, setting.clone()));
        all.push(on("nops, to the consumer", nops, &ONE, Setting { push: Push::Consumer, ..setting }));
    }
    for (group, push) in [("slow producer", Push::Shared), ("slow producer, to the consumer", Push::Consumer)] {
        all.push(on(group, NOPS[4], &ONE, Setting { work: [NOPS[4], 0], push, ..chosen() }));
    }
    all.push(on("large work", LARGE, &HEADLINE, Setting { work: [LARGE; 2], ..chosen() }));
    let paced = Setting { pace: PACE, ..chosen() };
    all.push(on("an item's time", PACE, &PACED, paced));
    all.push(on(FREE_SECTION, "", &SHARED, Setting { model: Some("free-ring"), ..chosen() }));
    for window in ["", "smallest", "largest"] {
        let setting = Setting { model: Some("haqu"), window: (!window.is_empty()).then_some(window), ..chosen() };
        all.push(on("haqu", window, &HAQU, setting));
    }
    all.push(on("ring in the mode for many", "", &PACED, Setting { many: true, ..chosen() }));
    all
}

/// The oracle arms, and the property of the model that binds beside them.
fn oracles() -> Vec<Experiment<Setting>> {
    let (group, cycles) = SLOW_LINKS;
    let slow = format!("network.latency.link={cycles}");
    let free = Setting::free();
    let mut far = free.clone();
    far.keys.push(slow.clone());
    let mut all = vec![
        on(IDEAL, "", &ORACLE, free),
        on(group, cycles, &ORACLE, Setting::key(&slow)),
        on(IDEAL_FAR, cycles, &ORACLE, far),
    ];
    for ns in [10, 50, 100, 200, 500] {
        all.push(on(IDEAL_BUT[0], ns, &ONE, Setting::ideal(IDEAL_CLOCK, ns)));
    }
    for mhz in [100, 300, 500, 1000, 2000] {
        all.push(on(IDEAL_BUT[1], mhz, &ONE, Setting::ideal(mhz, 0)));
    }
    for nops in [NOPS[0], NOPS[2], NOPS[4]] {
        for (group, push) in NO_PREFETCH.into_iter().zip([Push::Shared, Push::Consumer]) {
            all.push(on(group, nops, &ONE, Setting { work: [0, nops], prefetch: 0, push, ..Setting::chosen() }));
        }
    }
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
    [claims(), oracles(), open()].concat()
}

/// The loads.
pub(super) fn loads() -> &'static [Load] {
    &LOADS
}
