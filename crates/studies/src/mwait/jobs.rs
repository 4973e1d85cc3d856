//! The runs of the study: every case of an extent, and the chip of each case.

use super::run::{Arm, Case, Load, Run};
use crate::kit::ChipFile;
use crate::{Extent, Frozen};

/// The study of locks and barriers in MWAIT.
pub struct Mwait {
    /// The chip's text, as it is and under each change, by the change's name.
    pub(super) chips: Vec<(&'static str, Result<String, String>)>,
    pub(super) frozen: Frozen,
}

/// The most cores.
pub(super) const MOST: u32 = 64;
/// Cycles of a microsecond.
pub(super) const MICRO: u64 = 2100;
/// EPCC's delay: 0.1 µs.
pub(super) const DELAY: u64 = 210;
/// Tries of libgomp's waits.
pub(super) const SPIN: u32 = 300_000;

/// Figure 1: a microsecond of work inside of a critical section, and one outside.
pub(super) const SECTIONS: Load = Load::Sections { work: MICRO };
/// Figure 2.
pub(super) const LOCK: Load = Load::Lock { delay: DELAY };
/// Figures 3 and 4a.
pub(super) const TASKS: Load = Load::Tasks { work: DELAY };
/// Figure 5.
pub(super) const SHORT: Load = Load::Barriers { work: MICRO };
/// Figure 6.
pub(super) const LONG: Load = Load::Barriers { work: 250 * MICRO };

/// The work of a task in figure 4b, in tenths of a microsecond.
pub(super) const WORKS: [u64; 6] = [1, 10, 100, 1000, 10_000, 40_000];
/// Other lengths of the sections in figure 1, in tenths of a microsecond.
pub(super) const LENGTHS: [u64; 3] = [1, 50, 200];

/// Numbers of cores.
pub(super) const CORES: [u32; 8] = [2, 4, 6, 8, 16, 32, 48, 64];
const QUICK_CORES: [u32; 2] = [2, 64];

pub(super) const LOCKS: [Arm; 5] = [Arm::Pthread, Arm::Original, Arm::Ticket, Arm::Mcs, Arm::New];
pub(super) const OPENMP: [Arm; 3] = [Arm::Original, Arm::Mcs, Arm::New];
pub(super) const BARRIERS: [Arm; 4] = [Arm::Original, Arm::New, Arm::NewPolls, Arm::OriginalMwait];
/// Locks that run beside those of the paper: the same locks with waiters that poll, 1spinner as the
/// paper prints it, and locks that the paper may have replaced.
const BESIDE: [Arm; 6] = [Arm::McsPolls, Arm::NewPolls, Arm::Printed, Arm::Pthread, Arm::Ticket, Arm::SpinPark];

/// Changes of the chip: the item of what the paper leaves open, the name of the change, and its
/// settings.
pub(super) const CHANGES: [(&str, &str, &[&str]); 15] = [
    ("MWAIT's exit", "50 cycles", &["wait.mwait.c1.exit=50"]),
    ("MWAIT's exit", "200 cycles", &["wait.mwait.c1.exit=200"]),
    ("MWAIT's exit", "5000 cycles", &["wait.mwait.c1.exit=5000"]),
    ("MWAIT's exit", SLOW, &["wait.mwait.c1.exit=20000"]),
    ("futex prices", FREE, &["os.futex_wake_none=0", "os.futex_wake=0", "os.futex_wake_more=0", "os.wake_idle=0"]),
    (
        "futex prices",
        "half",
        &[
            "os.futex_wait=1250",
            "os.futex_wait_changed=400",
            "os.futex_wake_none=300",
            "os.futex_wake=2000",
            "os.futex_wake_more=1250",
            "os.context_switch=1500",
            "os.wake_idle=6000",
        ],
    ),
    (
        "futex prices",
        "three times",
        &[
            "os.futex_wait=7500",
            "os.futex_wait_changed=2400",
            "os.futex_wake_none=1800",
            "os.futex_wake=12000",
            "os.futex_wake_more=7500",
            "os.context_switch=9000",
            "os.wake_idle=36000",
        ],
    ),
    ("kernel", KERNEL, &["os.futex_wake_entry=lock", "os.idle_poll=0"]),
    ("kernel", "each wake-up is a call", &["os.futex_wake_entry=call"]),
    ("homes of lines", "lines round all dies", &["home.placement=interleaved"]),
    ("directory", OWNER, &["directory.kind=owner"]),
    ("base watts", "126 W", &["energy.base=126"]),
    ("base watts", "400 W", &["energy.base=400"]),
    ("watts in MWAIT", "none", &["energy.cpu.monitor_c1=0"]),
    ("watts in MWAIT", "half of the active ones", &["energy.cpu.monitor_c1=3.64"]),
];
/// The name of the change with the slowest exit from MWAIT.
pub(super) const SLOW: &str = "20,000 cycles";
/// The name of the change to the kernel that the paper used.
pub(super) const KERNEL: &str = "as of 3.5: each wake-up takes a lock, and idle cores halt at once";
/// The name of the change in which a directory does not name sharers.
pub(super) const OWNER: &str = "names the owner alone";
/// The name of the change in which wake-ups cost nothing.
pub(super) const FREE: &str = "free wake-ups";

/// The oracle arm: MWAIT at its ideal. Begin and end of a wait take no time, and a waiting core
/// takes no power.
pub(super) const IDEAL: &str = "a free MWAIT";
const IDEAL_SETTINGS: [&str; 3] = ["wait.mwait.c1.enter=0", "wait.mwait.c1.exit=0", "energy.cpu.monitor_c1=0"];

/// Spin budgets that are tried beside the chosen one.
pub(super) const SPINS: [u32; 4] = [100, 1000, 10_000, 100_000];

/// Number of seeds in a quick study, and in a full one.
const SEEDS: [u64; 2] = [1, 3];
/// Number of seeds of tasks on the greatest number of cores in a full study: of the experiments that
/// claims are judged on, and of those beside them. Under libgomp's mutex a run's time hangs on who
/// wins the word, so that three seeds tell nothing.
const TASK_SEEDS: u64 = 20;
pub(super) const TASK_SEEDS_BESIDE: u64 = 8;

/// The number of seeds of a load in a full study. Experiments beside the paper's have the first of
/// the seeds that the paper's setting has, so that a change is compared with it seed by seed.
fn seeds_of(load: Load, cores: u32, beside: bool) -> u64 {
    match load {
        Load::Tasks { .. } | Load::UnequalTasks { .. } if cores == MOST => {
            if beside {
                TASK_SEEDS_BESIDE
            } else {
                TASK_SEEDS
            }
        }
        _ => SEEDS[1],
    }
}
/// Other numbers of tasks a thread, as multiples of the usual number.
pub(super) const MORE_TASKS: [u64; 2] = [5, 10];

/// All cases.
pub(super) fn cases(extent: Extent) -> Vec<Case> {
    let full = extent == Extent::Full;
    let cores = if full { &CORES[..] } else { &QUICK_CORES };
    let mut all = Vec::new();
    let mut add = |load, cores, arm| {
        let seeds = if full { seeds_of(load, cores, false) } else { SEEDS[0] };
        all.extend((1..=seeds).map(|seed| Case { load, cores, arm, change: "", spin: SPIN, times: 1, seed }));
    };
    for &cores in cores {
        LOCKS.iter().for_each(|&arm| add(SECTIONS, cores, arm));
        OPENMP.iter().for_each(|&arm| add(LOCK, cores, arm));
        OPENMP.iter().for_each(|&arm| add(TASKS, cores, arm));
        for load in [SHORT, LONG] {
            BARRIERS.iter().for_each(|&arm| add(load, cores, arm));
        }
    }
    if full {
        for work in WORKS.into_iter().skip(1) {
            OPENMP.iter().for_each(|&arm| add(Load::Tasks { work: work * DELAY }, MOST, arm));
        }
        all.extend(beside());
        all.extend(ideal());
    }
    all
}

/// The new locks and barriers with MWAIT at its ideal, wherever a claim compares them.
fn ideal() -> Vec<Case> {
    let few = [2, 4, 6, 8].map(|cores| (TASKS, cores));
    let longer = WORKS.into_iter().skip(1).map(|work| (Load::Tasks { work: work * DELAY }, MOST));
    let all = [SECTIONS, LOCK, TASKS, SHORT, LONG].map(|load| (load, MOST)).into_iter().chain(few).chain(longer);
    let case = |(load, cores), seed| Case { load, cores, arm: Arm::New, change: IDEAL, spin: SPIN, times: 1, seed };
    all.flat_map(|at| (1..=seeds_of(at.0, at.1, false)).map(move |seed| case(at, seed))).collect()
}

/// The experiments that run beside the paper's, all on the greatest number of cores.
fn beside() -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |load, arm, change, spin, times| {
        let case = Case { load, cores: MOST, arm, change, spin, times, seed: 0 };
        all.extend((1..=seeds_of(load, MOST, true)).map(|seed| Case { seed, ..case }));
    };
    for length in LENGTHS {
        LOCKS.iter().for_each(|&arm| add(Load::Sections { work: length * DELAY }, arm, "", SPIN, 1));
    }
    for (work, arm) in WORKS.into_iter().flat_map(|work| [(work, Arm::Original), (work, Arm::New)]) {
        add(Load::UnequalTasks { work: work * DELAY }, arm, "", SPIN, 1);
    }
    for load in [LOCK, TASKS] {
        // The runtime takes its lock from the registry, which lacks the one as printed.
        let runs = |arm: &&Arm| load == LOCK || **arm != Arm::Printed;
        BESIDE.iter().filter(runs).for_each(|&arm| add(load, arm, "", SPIN, 1));
        let of_locks = |group, name| ["MWAIT's exit", "directory", "kernel"].contains(&group) || name == FREE;
        let shown = CHANGES.iter().filter(|(group, name, _)| load == TASKS || of_locks(*group, *name));
        for ((_, change, _), arm) in shown.flat_map(|change| [(change, Arm::Original), (change, Arm::New)]) {
            add(load, arm, change, SPIN, 1);
        }
        SPINS.iter().for_each(|&spin| add(load, Arm::Original, "", spin, 1));
    }
    for arm in [Arm::Original, Arm::New] {
        [LOCK, TASKS, SHORT].iter().for_each(|&load| add(load, arm, "", SPIN, 2));
        SPINS.iter().for_each(|&spin| add(SHORT, arm, "", spin, 1));
        MORE_TASKS.iter().for_each(|&times| add(TASKS, arm, "", SPIN, times));
    }
    all
}

/// The chip's text, as it is and under each change.
pub(super) fn chips(file: &ChipFile) -> Vec<(&'static str, Result<String, String>)> {
    let of = |(_, name, settings): &(&'static str, &'static str, &[&str])| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        (*name, file.with(None, &settings))
    };
    [("", "", &[][..]), ("oracle", IDEAL, &IDEAL_SETTINGS[..])].iter().chain(&CHANGES).map(of).collect()
}

impl Mwait {
    /// The name and the run of a case.
    pub(super) fn job(&self, case: Case) -> (String, Result<Run, String>) {
        let Case { load, cores, arm, change, spin, times, seed } = case;
        let name = format!("{load:?}, {cores} cores, {arm:?}, {change}, {spin} tries, {times} times, seed {seed}");
        let (_, chip) = self.chips.iter().find(|(name, _)| *name == change).expect("a case's change is in the list");
        (name, chip.clone().map(|chip| Run { chip, case, charge: load.charge() }))
    }
}
