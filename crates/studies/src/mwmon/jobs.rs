//! The runs of the study: every case of an extent, and the chip of each case.

use super::helper::Name;
use super::run::{Case, Run, Work};
use super::waits::By;
use crate::kit::ChipFile;
use crate::{Extent, Frozen};

/// The study of MONITOR and MWAIT between hyper-threads.
pub struct Mwmon {
    pub(super) chip: ChipFile,
    pub(super) frozen: Frozen,
}

/// The units of light work in figure 4.
pub(super) const LIGHT: std::ops::RangeInclusive<u32> = 0..=10;
/// Repetitions of tables 1 and 2 in a quick study, and in a full one as in the paper.
const REPETITIONS: [u64; 2] = [8, 50];
/// Repetitions of figure 4, and of figure 5 below, in a quick study and in a full one.
const PSEUDO: [u64; 2] = [1, 5];
const ASSISTED: [u64; 2] = [1, 3];

/// The cycles of the other instructions in an inner product of figure 4: ten turns of six
/// instructions, two in each cycle (√126 / 5.6).
pub(super) const WORK: u64 = 30;

/// Mechanisms of figures 4 and 5, as far as a claim compares them.
const HELPERS: [By; 3] = [By::Pause, By::Futex, By::Mwmon];

/// The prices of reading 2, which meet table 2. The chip file has those of reading 1, which meet
/// table 1.
const TABLE_2: [&str; 3] = ["wait.mwait.c1.exit=4_360", "os.futex_wake=13_050", "os.wake_idle=32_000"];

/// Changes of the chip, each by its name.
const OTHERS: [(&str, &[&str]); 5] = [
    ("", &[]),
    (AMPLE_BUFFERS, &["core.rob=1260", "core.load_queue=480", "core.store_queue=240", "core.store_buffer=240"]),
    (FREE_CHANGE, &["core.mode_change=0"]),
    (STORES_ALONE, &["wait.evicted=stays"]),
    (
        IDEAL,
        &[
            "wait.monitor=0",
            "wait.mwait.c1.enter=0",
            "wait.mwait.c1.exit=0",
            "wait.mwmon.call=0",
            "wait.mwmon.return=0",
            "core.mode_change=0",
            "wait.evicted=stays",
        ],
    ),
];

/// The name of the chip on which half of each buffer is more than a worker needs.
pub(super) const AMPLE_BUFFERS: &str = "ten times the buffers";
/// The oracle arm: a wait of mwmon costs nothing, neither the waiter nor its sibling, and nothing
/// but the notice ends it. Runs of mwmon on this chip are compared with the other mechanisms on the
/// chip as it is.
pub(super) const IDEAL: &str = "a free mwmon";

/// The name of the chip on which a change of mode costs nothing.
pub(super) const FREE_CHANGE: &str = "a free change of mode";
/// The name of the chip on which a monitor's wait does not end when its line is evicted.
pub(super) const STORES_ALONE: &str = "a monitor that stores alone end";
/// The value that replaces [`WORK`] in units that are ten times as long.
pub(super) const LONG: u64 = 300;

/// All cases. Figure 4 runs the mechanisms that the paper shows there, and the condition variable.
pub(super) fn cases(extent: Extent) -> Vec<Case> {
    let full = extent == Extent::Full;
    let times = |of: [u64; 2]| 0..of[usize::from(full)];
    let mut all = Vec::new();
    let mut add = |reading, other, work, repetitions: [u64; 2]| {
        all.extend(times(repetitions).map(|repetition| Case { reading, other, work, repetition }));
    };
    for reading in [1, 2] {
        for by in By::ALL {
            add(reading, "", Work::row(by, false), REPETITIONS);
            add(reading, "", Work::row(by, true), REPETITIONS);
        }
        for by in [By::Pause, By::Futex, By::Condvar, By::Mwmon] {
            let lights = LIGHT.filter(|light| full || light % 5 == 0);
            lights.for_each(|light| add(reading, "", Work::Pseudo { by, light, work: WORK }, PSEUDO));
        }
    }
    for entries in if full { vec![3, 4, 6] } else { vec![] } {
        for by in [By::Pause, By::Mwmon] {
            add(1, "", Work::Table { by, barrier: false, entries }, PSEUDO);
        }
    }
    for work in if full { vec![0, 15, 60, LONG] } else { vec![] } {
        for (by, light) in HELPERS.into_iter().flat_map(|by| [(by, 0), (by, 10)]) {
            (1..=2).for_each(|reading| add(reading, "", Work::Pseudo { by, light, work }, PSEUDO));
        }
    }
    if full {
        why(&mut add);
        ideal(&mut add);
    }
    for by in [By::Pause, By::Mwmon] {
        add(1, AMPLE_BUFFERS, Work::row(by, false), REPETITIONS);
    }
    for kernel in [Name::Spmv, Name::Lu, Name::Closure, Name::Stencil] {
        for reading in [1, 2] {
            let works = [Work::serial(kernel)].into_iter().chain(HELPERS.map(|by| Work::helped(kernel, by)));
            let works = works.chain([Work::idle(kernel, By::Mwmon)]).filter(|_| full || reading == 2);
            works.for_each(|work| add(reading, "", work, ASSISTED));
        }
    }
    if full {
        smaller(&mut add);
    }
    all
}

/// Adds the runs of each kernel in its smaller size, alone and with a helper by each barrier.
fn smaller(add: &mut impl FnMut(u32, &'static str, Work, [u64; 2])) {
    for (kernel, reading) in Name::SIZES.into_iter().flat_map(|[_, half]| [(half, 1), (half, 2)]) {
        let works = [Work::serial(kernel)].into_iter().chain(HELPERS.map(|by| Work::helped(kernel, by)));
        works.for_each(|work| add(reading, "", work, ASSISTED));
    }
}

/// Adds experiments that show why claims came out as they did. They were added after a quick run,
/// and have no rule.
fn why(add: &mut impl FnMut(u32, &'static str, Work, [u64; 2])) {
    for reading in [1, 2] {
        for (by, light) in HELPERS.into_iter().flat_map(|by| [(by, 0), (by, 10)]) {
            for other in [FREE_CHANGE, STORES_ALONE] {
                add(reading, other, Work::Pseudo { by, light, work: WORK }, PSEUDO);
            }
        }
        for [kernel, _] in Name::SIZES {
            for work in [Work::serial(kernel), Work::helped(kernel, By::Mwmon), Work::idle(kernel, By::Mwmon)] {
                [FREE_CHANGE, STORES_ALONE].into_iter().for_each(|other| add(reading, other, work, ASSISTED));
            }
        }
    }
}

/// Adds the runs of the oracle arms. Both readings share the runs of mwmon.
fn ideal(add: &mut impl FnMut(u32, &'static str, Work, [u64; 2])) {
    for barrier in [false, true] {
        add(1, IDEAL, Work::row(By::Mwmon, barrier), REPETITIONS);
    }
    for (light, work) in LIGHT.map(|light| (light, WORK)).chain([(0, LONG), (10, LONG)]) {
        add(1, IDEAL, Work::Pseudo { by: By::Mwmon, light, work }, PSEUDO);
    }
    for [kernel, _] in Name::SIZES {
        add(1, IDEAL, Work::helped(kernel, By::Mwmon), ASSISTED);
    }
    for reading in [1, 2] {
        add(reading, "", Work::idle(Name::Lu, By::Pause), ASSISTED);
    }
}

impl Mwmon {
    /// The run of a case.
    pub(super) fn job(&self, case: Case) -> (String, Result<Run, String>) {
        let name =
            format!("table {}'s prices, {:?}, repetition {}, {}", case.reading, case.work, case.repetition, case.other);
        let known = OTHERS.iter().find(|(other, _)| *other == case.other);
        let prices = if case.reading == 2 { &TABLE_2[..] } else { &[] };
        let keys = known.map_or(&[][..], |(_, keys)| keys);
        let settings: Vec<String> = prices.iter().chain(keys).map(|&key| key.to_owned()).collect();
        (name, self.chip.with(None, &settings).map(|chip| Run { chip, case }))
    }
}
