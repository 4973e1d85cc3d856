//! The runs of the study: every case of an extent, and the chip and applications of each case.

use super::machine::{MACHINES, Machine};
use super::mixes::{self, Mix, SET_1, SINGLE, THREADS, WITH_PHASES};
use super::run::{Case, Part, Run};
use crate::kit::ChipFile;
use crate::{Extent, Frozen};
use std::collections::BTreeMap;

/// The study.
pub struct Pa {
    pub(super) chip: ChipFile,
    /// The text of each program's profile, by the name of the profile's file.
    pub(super) profiles: BTreeMap<&'static str, String>,
    pub(super) frozen: Frozen,
}

/// How threads wait at a barrier: they try for a millisecond and then sleep.
pub(super) const WAIT: &str = "spin-for(1000000)";
/// The same wait; in addition threads announce that they spin after 20,000 tries of PAUSE, which
/// take about a tenth of that time.
pub(super) const NOTIFY: &str = "notify-park(20000)";
/// Waits of other lengths: no tries, a tenth of a millisecond, and ten milliseconds.
pub(super) const WAITS: [&str; 3] = ["futex", "spin-for(100000)", "spin-for(10000000)"];
/// Waits without sleep: without a notice to the policy, and with one.
pub(super) const SPINS: [&str; 2] = ["pause", "spin-notify(20000)"];

/// The policy that all others are compared with.
pub(super) const DEFAULT: &str = "amp-default";
/// The paper's other policies.
pub(super) const PAPERS: [&str; 5] = ["busy-fcs", "rr", "static-ipc", "min-tlp", "pa"];
/// Policies that are not the paper's.
pub(super) const OTHERS: [&str; 3] = ["linux", "crit", "pa-speedup"];
/// Policies that are told how much faster each program is on a fast core.
const TOLD: [&str; 2] = ["static-ipc", "pa-speedup"];

/// The numbers of seeds in a quick study and in a full one. Every policy has the same seeds as
/// Default, because gains are taken seed by seed.
const SEEDS: [u64; 2] = [4, 20];
/// The number of seeds of mixes with wupwise in a full study: the host needs some ten seconds for a
/// run of one.
const LONG: u64 = 4;
/// The number of seeds of experiments beside the main one.
const BESIDE: u64 = 6;
/// The number of seeds of what is varied one key at a time: the effect is taken seed by seed
/// against the run as chosen, and hardly varies.
const VARIED: u64 = 4;

/// Mixes of a quick study.
const QUICK: [&str; 3] = ["gamess + BLAST", "mcf + FFTW", "semphy + EP"];

/// Other values of single keys under `pa`, each with the item of what the paper leaves open.
pub(super) const KEYS: [(&str, &[&str]); 7] = [
    ("swap period", &["os.amp.swap_ticks=1", "os.amp.swap_ticks=100"]),
    ("boost", &["os.amp.boost_ticks=10", "os.amp.boost_ticks=1000"]),
    ("renewal of a boost", &[EARNED]),
    ("hp_threshold", &["os.amp.hp_threshold=1", "os.amp.hp_threshold=6"]),
    ("entering SP", &["os.amp.enter_sp=from-hp"]),
    ("topology", &["os.amp.topology=true", AWARE]),
    ("a move's price", &["os.migrate=0", "os.migrate=20000"]),
];
/// Marked threads do not count as runnable.
pub(super) const UNCOUNTED: &str = "os.amp.count_marked=false";
/// The policy is aware of topology: threads of one class take turns under one last-level cache.
pub(super) const AWARE: &str = "os.amp.stay_in_domain=true";
/// The other reading of how a boost is renewed: an application's time in the class SP is what it
/// has not used up of its boost.
pub(super) const EARNED: &str = "os.amp.renew_boost=earned";

/// The memory of every node is as near as a thread's own.
const NEAR: &str = "network.links=0-1:1 1-3:1 2-3:1 0-2:1";
/// The oracle arm: a move costs the kernel nothing, and the pages of a thread that moved are as near
/// as before. What is left of a move's price is the refill of caches, for which no key exists.
pub(super) const IDEAL: &str = "os.migrate=0; network.links=0-1:1 1-3:1 2-3:1 0-2:1";
/// The oracle arm on 1FC-3SC, whose memory is one node.
const IDEAL_ONE_NODE: &str = "os.migrate=0";
/// The oracle arm of awareness of topology.
const IDEAL_AWARE: &str = "os.migrate=0; network.links=0-1:1 1-3:1 2-3:1 0-2:1; os.amp.stay_in_domain=true";
const IDEAL_AWARE_ONE_NODE: &str = "os.migrate=0; os.amp.stay_in_domain=true";
/// The oracle arm of what moves cost: a swap in each time slice.
const SWAPS_ALWAYS: &str = "os.amp.swap_ticks=1";

/// The ratios of the fast clock to the slow one, in tenths.
pub(super) const RATIOS: [u64; 5] = [10, 15, 20, 30, 40];

/// Numbers of sequential parts in a run, fewer than the 10 and 20 of the profiles, so that each
/// part lasts a second or more.
pub(super) const ROUNDS: [u64; 2] = [4, 1];
/// The policies that run with the numbers of sequential parts in [`ROUNDS`], beside Default.
pub(super) const WITH_ROUNDS: [&str; 3] = ["busy-fcs", "min-tlp", "pa"];

/// Numbers of threads of the parallel program that runs beside a single thread, other than one less
/// than the cores.
pub(super) const THREAD_COUNTS: [u32; 3] = [3, 6, 24];
/// The policies that run with the numbers of threads in [`THREAD_COUNTS`], beside Default.
pub(super) const WITH_THREADS: [&str; 2] = ["min-tlp", "pa"];

/// A case of the main experiment.
pub(super) fn main(machine: Machine, mix: &'static str, policy: &'static str) -> Case {
    Case {
        machine,
        ratio: 20,
        mix,
        alone: None,
        policy,
        wait: WAIT,
        master: false,
        threads: None,
        rounds: None,
        key: "",
        seed: 0,
    }
}

/// A case of programs whose threads never sleep.
pub(super) fn spins(mix: &'static str, policy: &'static str, notify: bool, master: bool) -> Case {
    Case { wait: SPINS[usize::from(notify)], master, ..main(Machine::One, mix, policy) }
}

/// Like [`spins`]; threads that spin and say so do not count as runnable.
pub(super) fn uncounted(mix: &'static str, policy: &'static str, notify: bool, master: bool) -> Case {
    Case { key: UNCOUNTED, ..spins(mix, policy, notify, master) }
}

/// A case at equal clocks, where a move can gain nothing, so that it shows what swaps cost.
pub(super) fn equal(machine: Machine, mix: &'static str, policy: &'static str) -> Case {
    Case { ratio: 10, ..main(machine, mix, policy) }
}

/// Like [`equal`], under a `pa` that is aware of topology.
pub(super) fn equal_aware(machine: Machine, mix: &'static str) -> Case {
    Case { key: AWARE, ..equal(machine, mix, "pa") }
}

/// A case of programs with few sequential parts, each of which is long.
pub(super) fn long_parts(mix: &'static str, policy: &'static str, rounds: u64) -> Case {
    Case { rounds: Some(rounds), ..main(Machine::One, mix, policy) }
}

/// A case whose parallel programs have `threads` threads each; `None` for the mix's own numbers.
pub(super) fn with_threads(mix: &'static str, policy: &'static str, threads: Option<u32>) -> Case {
    Case { threads, ..main(Machine::One, mix, policy) }
}

/// Like [`equal`] on 1FC-12SC, with the memory of every node as near as a thread's own.
pub(super) fn equal_near_memory(mix: &'static str, policy: &'static str) -> Case {
    Case { key: NEAR, ..equal(Machine::One, mix, policy) }
}

/// Like [`main`], in the oracle arm.
pub(super) fn ideal(machine: Machine, mix: &'static str, policy: &'static str) -> Case {
    let key = if machine == Machine::Single { IDEAL_ONE_NODE } else { IDEAL };
    Case { key, ..main(machine, mix, policy) }
}

/// Like [`equal`] of Default, and [`equal_aware`], in the oracle arm.
pub(super) fn equal_ideal(machine: Machine, mix: &'static str) -> [Case; 2] {
    let default = Case { ratio: 10, ..ideal(machine, mix, DEFAULT) };
    let key = if machine == Machine::Single { IDEAL_AWARE_ONE_NODE } else { IDEAL_AWARE };
    [default, Case { key, ..equal(machine, mix, "pa") }]
}

/// Like [`equal`], with a swap in each time slice.
pub(super) fn equal_swaps(machine: Machine, mix: &'static str) -> Case {
    Case { key: SWAPS_ALWAYS, ..equal(machine, mix, "pa") }
}

/// All cases.
pub(super) fn cases(extent: Extent) -> Vec<Case> {
    let full = extent == Extent::Full;
    let mut all = Vec::new();
    let mut add = |case: Case, seeds: u64| all.extend((1..=seeds).map(|seed| Case { seed, ..case.clone() }));
    let at = |of: [u64; 2]| of[usize::from(full)];
    let mixes: Vec<&Mix> = SET_1.iter().filter(|mix| full || QUICK.contains(&mix.name)).collect();
    for (machine, mix) in MACHINES.into_iter().flat_map(|machine| mixes.iter().map(move |mix| (machine, mix))) {
        let seeds = if mixes::is_long(mix) { LONG } else { at(SEEDS) };
        let policies = [DEFAULT].into_iter().chain(PAPERS);
        policies.for_each(|policy| add(main(machine, mix.name, policy), seeds));
    }
    for policy in [DEFAULT, "busy-fcs", "pa"] {
        add(main(Machine::One, "EP", policy), at([VARIED, BESIDE]));
    }
    for mix in WITH_PHASES.into_iter().filter(|mix| full || QUICK.contains(mix)) {
        rtx(&mut add, mix, at([VARIED, BESIDE]), full);
    }
    for mix in mixes::beside().map(|mix| mix.name) {
        add(equal(Machine::Single, mix, DEFAULT), at([VARIED, BESIDE]));
        add(equal_aware(Machine::Single, mix), at([VARIED, BESIDE]));
    }
    for (machine, mix) in [(Machine::One, THREADS[0].name), (Machine::Single, THREADS[1].name)] {
        let policies = [DEFAULT].into_iter().chain(PAPERS).chain(["pa-speedup"]);
        policies.for_each(|policy| add(main(machine, mix, policy), at([BESIDE, SEEDS[1]])));
    }
    if full {
        beside(&mut add);
        sweeps(&mut add);
        oracles(&mut add);
    }
    all
}

/// Adds the oracle arms of claims, on the mixes without wupwise.
fn oracles(add: &mut impl FnMut(Case, u64)) {
    for mix in mixes::beside().map(|mix| mix.name) {
        for machine in MACHINES {
            let policies = [DEFAULT].into_iter().chain(PAPERS);
            policies.for_each(|policy| add(ideal(machine, mix, policy), VARIED));
        }
        for machine in [Machine::Single, Machine::Near, Machine::Four] {
            equal_ideal(machine, mix).into_iter().for_each(|case| add(case, VARIED));
        }
        add(equal_swaps(Machine::One, mix), VARIED);
    }
    for mix in SINGLE.iter().filter(|mix| !mixes::is_long(mix)) {
        [DEFAULT, "pa"].into_iter().for_each(|policy| add(ideal(Machine::One, mix.name, policy), VARIED));
    }
    for (machine, mix) in [(Machine::One, THREADS[0].name), (Machine::Single, THREADS[1].name)] {
        ["static-ipc", "pa", "min-tlp"].into_iter().for_each(|policy| add(ideal(machine, mix, policy), VARIED));
    }
}

/// Adds the runs whose threads spin: with a notice, with a master, and by both rules of counting.
fn rtx(add: &mut impl FnMut(Case, u64), mix: &'static str, seeds: u64, full: bool) {
    add(spins(mix, DEFAULT, false, false), seeds);
    let both = [(false, false), (true, false), (false, true), (true, true)];
    for (notify, master) in both.into_iter().filter(|(_, master)| full || !master) {
        for policy in ["pa", "min-tlp"].into_iter().filter(|&policy| full || policy == "pa") {
            add(spins(mix, policy, notify, master), seeds);
            if notify {
                add(uncounted(mix, policy, notify, master), seeds);
            }
        }
    }
}

/// Adds the experiments that claims and falsifiers need beside the main one.
fn beside(add: &mut impl FnMut(Case, u64)) {
    for mix in &SINGLE {
        let seeds = if mixes::is_long(mix) { LONG } else { BESIDE };
        [DEFAULT, "busy-fcs", "pa"].into_iter().for_each(|policy| add(main(Machine::One, mix.name, policy), seeds));
    }
    for mix in mixes::beside().map(|mix| mix.name) {
        for machine in [Machine::Single, Machine::Half] {
            [DEFAULT, "pa"].into_iter().for_each(|policy| add(main(machine, mix, policy), BESIDE));
        }
        for machine in [Machine::One, Machine::Near, Machine::Four] {
            [DEFAULT, "pa", "rr"].into_iter().for_each(|policy| add(equal(machine, mix, policy), BESIDE));
        }
        for machine in [Machine::Near, Machine::Four] {
            add(equal_aware(machine, mix), BESIDE);
        }
        add(equal(Machine::Single, mix, "pa"), BESIDE);
        [DEFAULT, "pa"].into_iter().for_each(|policy| add(equal_near_memory(mix, policy), BESIDE));
        OTHERS.into_iter().for_each(|policy| add(main(Machine::One, mix, policy), BESIDE));
        // What awareness of topology costs where the fast cores are faster.
        add(Case { key: AWARE, ..main(Machine::Four, mix, "pa") }, BESIDE);
    }
    for mix in WITH_PHASES {
        [false, true].into_iter().for_each(|notify| add(spins(mix, "static-ipc", notify, false), BESIDE));
    }
    for (mix, rounds) in WITH_PHASES.into_iter().flat_map(|mix| ROUNDS.map(|rounds| (mix, rounds))) {
        let policies = [DEFAULT].into_iter().chain(WITH_ROUNDS);
        policies.for_each(|policy| add(long_parts(mix, policy, rounds), BESIDE));
        add(Case { key: EARNED, ..long_parts(mix, "pa", rounds) }, BESIDE);
    }
    // Each application runs alone on the machine, for the slowdowns in a mix.
    for mix in mixes::beside() {
        for alone in 0..mix.apps.len() {
            add(Case { alone: Some(alone), ..main(Machine::One, mix.name, "pa") }, 1);
        }
    }
}

/// Adds the experiments that vary one thing at a time: what the paper leaves open, the number of
/// threads, and the ratio of the clocks.
fn sweeps(add: &mut impl FnMut(Case, u64)) {
    for mix in mixes::beside().map(|mix| mix.name) {
        let usual = main(Machine::One, mix, "pa");
        for key in KEYS.iter().flat_map(|(_, keys)| *keys) {
            add(Case { key, ..usual.clone() }, VARIED);
        }
        for wait in WAITS.into_iter().chain([NOTIFY]) {
            add(Case { wait, ..usual.clone() }, VARIED);
        }
        add(Case { wait: NOTIFY, master: true, ..usual.clone() }, VARIED);
    }
    for (mix, threads) in WITH_PHASES.into_iter().flat_map(|mix| THREAD_COUNTS.map(|threads| (mix, threads))) {
        let policies = [DEFAULT].into_iter().chain(WITH_THREADS);
        policies.for_each(|policy| add(with_threads(mix, policy, Some(threads)), BESIDE));
    }
    for (mix, ratio) in WITH_PHASES.into_iter().flat_map(|mix| RATIOS.map(|ratio| (mix, ratio))) {
        [DEFAULT, "pa"].into_iter().for_each(|policy| add(Case { ratio, ..main(Machine::One, mix, policy) }, BESIDE));
    }
}

impl Pa {
    /// The run of a case.
    pub(super) fn job(&self, case: Case) -> (String, Result<Run, String>) {
        let Case { machine, ratio, policy, wait, master, key, threads, rounds, seed, .. } = case;
        let name = format!(
            "{}, {}{}, {policy}, {wait}, clocks {:.1}:1, seed {seed} {key}{}{}{}",
            machine.name(),
            case.mix,
            case.alone.map_or(String::new(), |alone| format!(", application {alone} alone")),
            ratio as f64 / 10.0,
            if master { ", master" } else { "" },
            threads.map_or(String::new(), |threads| format!(", threads {threads}")),
            rounds.map_or(String::new(), |rounds| format!(", rounds {rounds}")),
        );
        (name, self.run_of(case))
    }

    fn run_of(&self, case: Case) -> Result<Run, String> {
        let mix: &Mix = mixes::find(case.mix).ok_or_else(|| format!("no mix `{}`", case.mix))?;
        let machine = case.machine;
        let mut settings = vec!["memory.model=phases".to_owned(), format!("os.scheduler={}", case.policy)];
        settings.extend(machine.settings(case.ratio));
        settings.extend(case.key.split("; ").filter(|key| !key.is_empty()).map(str::to_owned));
        let chip = self.chip.with(machine.resized(), &settings)?;
        let apps = mix.apps.iter().enumerate().filter(|(at, _)| case.alone.is_none_or(|alone| alone == *at));
        let part = |(_, app): (usize, &mixes::App)| {
            let profile = self.profiles.get(app.0).ok_or_else(|| format!("no profile `{}`", app.0))?;
            let threads = case.threads.filter(|_| app.1 != mixes::ONE).unwrap_or(mixes::threads(app, machine));
            Ok(Part { profile: profile.clone(), threads, rounds: case.rounds })
        };
        let parts = apps.map(part).collect::<Result<Vec<_>, String>>()?;
        Ok(Run {
            chip,
            parts,
            on: machine.on(),
            ends: machine.ends(),
            told: TOLD.contains(&case.policy),
            wait: case.wait.to_owned(),
            master: case.master,
            seed: case.seed,
            case,
        })
    }

    /// What each program's profile says.
    #[cfg(test)]
    pub(super) fn programs(&self) -> Vec<baton_programs::phases::Program> {
        let read = |(name, text): (&&'static str, &String)| baton_programs::phases::Program::from_toml(text, name);
        self.profiles.iter().map(|of| read(of).expect("read before")).collect()
    }
}
