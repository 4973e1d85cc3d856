//! The runs of the study: every case of an extent, and the chip of each case.

use super::helper::{Assisted, Name};
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

/// The entries of the reorder buffer that a load takes in the product of tables 1 and 2: gcc 4.1
/// makes 8 to 11 instructions of a turn of the loop, which has two loads.
pub(super) const ENTRIES: u32 = 5;
/// The cycles of the other instructions in an inner product of figure 4: ten turns of six
/// instructions, two in each cycle (√126 / 5.6).
pub(super) const WORK: u64 = 30;

/// The prices of reading 2, which meet table 2. The chip file has those of reading 1, which meet
/// table 1.
const TABLE_2: [&str; 3] = ["wait.mwait.c1.exit=4_360", "os.futex_wake=13_050", "os.wake_idle=32_000"];

/// Changes of the chip, each by its name.
const OTHERS: [(&str, &[&str]); 4] = [
    ("", &[]),
    (
        "ten times the buffers",
        &["core.rob=1260", "core.load_queue=480", "core.store_queue=240", "core.store_buffer=240"],
    ),
    (FREE_CHANGE, &["core.mode_change=0"]),
    (STORES_ALONE, &["wait.evicted=stays"]),
];

/// The name of the chip on which a change of mode costs nothing.
pub(super) const FREE_CHANGE: &str = "a free change of mode";
/// The name of the chip on which a monitor's wait does not end when its line is evicted.
pub(super) const STORES_ALONE: &str = "a monitor that stores alone end";
/// The value that replaces [`WORK`] in units that are ten times as long.
pub(super) const LONG: u64 = 300;

fn table(by: By, barrier: bool) -> Work {
    Work::Table { by, barrier, entries: ENTRIES }
}

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
            add(reading, "", table(by, false), REPETITIONS);
            add(reading, "", table(by, true), REPETITIONS);
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
        for (by, light) in [By::Pause, By::Futex, By::Mwmon].into_iter().flat_map(|by| [(by, 0), (by, 10)]) {
            (1..=2).for_each(|reading| add(reading, "", Work::Pseudo { by, light, work }, PSEUDO));
        }
    }
    if full {
        why(&mut add);
    }
    for by in [By::Pause, By::Mwmon] {
        add(1, "ten times the buffers", table(by, false), REPETITIONS);
    }
    for kernel in [Name::Spmv, Name::Lu, Name::Closure, Name::Stencil] {
        for reading in [1, 2] {
            let mut assisted =
                |by, prefetches| add(reading, "", Work::Assisted(Assisted { kernel, by, prefetches }), ASSISTED);
            if full || reading == 2 {
                assisted(None, false);
                [By::Pause, By::Futex, By::Mwmon].into_iter().for_each(|by| assisted(Some(by), true));
                assisted(Some(By::Mwmon), false);
            }
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
        for (by, prefetches) in
            [(None, false), (Some(By::Pause), true), (Some(By::Futex), true), (Some(By::Mwmon), true)]
        {
            add(reading, "", Work::Assisted(Assisted { kernel, by, prefetches }), ASSISTED);
        }
    }
}

/// Adds experiments that show why claims came out as they did. They were added after a quick run,
/// and have no rule.
fn why(add: &mut impl FnMut(u32, &'static str, Work, [u64; 2])) {
    for reading in [1, 2] {
        for (by, light) in [By::Pause, By::Futex, By::Mwmon].into_iter().flat_map(|by| [(by, 0), (by, 10)]) {
            add(reading, FREE_CHANGE, Work::Pseudo { by, light, work: WORK }, PSEUDO);
        }
        for [kernel, _] in Name::SIZES {
            for (by, prefetches) in [(None, false), (Some(By::Mwmon), true), (Some(By::Mwmon), false)] {
                for other in [FREE_CHANGE, STORES_ALONE] {
                    add(reading, other, Work::Assisted(Assisted { kernel, by, prefetches }), ASSISTED);
                }
            }
        }
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
