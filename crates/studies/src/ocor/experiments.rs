//! What is run: experiments as data. Each is a pair of runs a program, without marks and with them; all else is the same in
//! both. This file is part of what `frozen.rules` hashes.

/// Which programs an experiment is done on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// All, every draw.
    All,
    /// The first draws of these.
    First(&'static [&'static str]),
}

/// What the arm without marks has in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Nothing: no registers, no marks.
    Nothing,
    /// Marks under this rule: two rules are compared.
    Rule(&'static str),
    /// The same registers at the same price, and routers that heed no marks: what differs is what the network does alone.
    Unheeded,
}

impl Other {
    /// Settings of that arm, where the one with marks has `marked`.
    pub(super) fn settings(self, marked: &[String]) -> Vec<String> {
        match self {
            Other::Nothing => vec!["ocor.enabled=false".to_owned()],
            Other::Rule(rule) => vec!["ocor.enabled=true".to_owned(), format!("ocor.rule={rule}")],
            Other::Unheeded => {
                let own = ["ocor.enabled=true", "ocor.heeded=false"].map(str::to_owned).into_iter();
                own.chain(marked.iter().cloned()).collect()
            }
        }
    }
}

/// The group of experiments whose arm without marks pays for the registers as well.
pub(super) const PRICED: &str = "price in both arms";
/// The group of experiments whose registers cost nothing.
pub(super) const FREE: &str = "free registers";

/// The place in [`PRICED`] and [`FREE`] of an experiment.
pub(super) fn beside(group: &str, place: &str) -> String {
    if place.is_empty() { group.to_owned() } else { format!("{group}: {place}") }
}

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Experiment {
    /// Its name: the group, and the place in it.
    pub(super) id: (&'static str, String),
    /// Settings of the chip in both arms.
    pub(super) both: Vec<String>,
    /// Settings of the arm with marks.
    pub(super) marked: Vec<String>,
    /// What the other arm has in their place.
    pub(super) other: Other,
    /// Lines of each section, in the place of the draw's.
    pub(super) lines: Option<u32>,
    /// A crowd in the place of the draw's locks, sections and meetings.
    pub(super) crowd: Option<Crowd>,
    /// The lock.
    pub(super) lock: &'static str,
    /// Tries before a thread sleeps.
    pub(super) tries: u32,
    /// Threads, and cores.
    pub(super) threads: u32,
    pub(super) who: Who,
    /// Draws of each program, beside the main experiment.
    pub(super) draws: usize,
    /// Seeds of each draw in a quick study, and in a full one.
    pub(super) seeds: [u64; 2],
    /// It is part of a quick study.
    pub(super) quick: bool,
}

/// Many threads at few locks with short sections: between the two shapes of program that show what is printed of the
/// baseline, and so none of the stand-ins. Waits last for several hand-offs of a thread's tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) locks: u32,
    /// Cycles of a section, and of a thread's own work between two.
    pub(super) section: u64,
    pub(super) think: u64,
}

/// Programs of a quick study: the four whose shares the paper prints, and the one whose share of spinning entries it prints.
pub(super) const QUICK: [&str; 5] = ["bodytrack", "botss", "canneal", "ilbdc", "imag"];
/// Draws of a program in a full study; a quick one has the first only.
pub(super) const DRAWS: usize = 10;
/// Draws of a program in experiments beside the main one, at most.
pub(super) const DRAWS_BESIDE: usize = 3;
/// The two extremes of figures 15 and 16.
const EXTREMES: Who = Who::First(&["botss", "ilbdc", "imag"]);
/// Seeds of what must show no gain. A region ends with its last thread, so that a pair of runs differs by some 7% either way
/// by chance alone: 81 pairs, three draws with 27 seeds, bring the interval near a percent. A quick study leaves it wide.
const SEEDS: [u64; 2] = [8, 27];
/// For falsifiers of rules: the program with the greatest rate of critical sections.
const STRONGEST: Who = Who::First(&["ilbdc"]);
/// For falsifiers of sleeping: the program whose threads use up their tries, three times out of four.
const SLEEPER: Who = Who::First(&["botss"]);
/// Its regions end together, so that pairs differ by less.
const SLEEPER_SEEDS: [u64; 2] = [4, 7];

/// Groups that vary what the arm with marks alone has, its price left out; and the one with most places.
const MARKED_ONLY: [&str; 12] = [
    "rule",
    "rule 1, progress",
    "rule 2, marked first",
    "rule 4, wake-up last",
    "wake-up marks",
    "release",
    "sleep registration",
    "forwards",
    "responses",
    "mark over speculation",
    "ties",
    "home's places",
];

fn experiment(group: &'static str, place: impl ToString) -> Experiment {
    Experiment {
        id: (group, place.to_string()),
        both: Vec::new(),
        marked: Vec::new(),
        other: Other::Nothing,
        lines: None,
        crowd: None,
        lock: "spin-park",
        tries: 128,
        threads: 64,
        who: EXTREMES,
        // They did less than draws differ by, in the first full run: two are enough.
        draws: if MARKED_ONLY.contains(&group) { DRAWS_BESIDE - 1 } else { DRAWS_BESIDE },
        seeds: [1, 1],
        quick: false,
    }
}

/// The main experiment on the programs of those beside it.
pub(super) fn extremes() -> Experiment {
    experiment("main", "")
}

fn settings<const N: usize>(list: [String; N]) -> Vec<String> {
    list.into()
}

/// The operating system's prices of `ocor64.toml` that sleeping and waking consist of.
const SLEEP: [(&str, u64); 6] = [
    ("os.futex_wait", 2000),
    ("os.futex_wake", 2000),
    ("os.futex_wake_more", 1000),
    ("os.context_switch", 2000),
    ("os.wake_idle", 16_000),
    ("os.wake_polling", 2000),
];

/// Sleep and wake-up prices times `numerator / denominator`; never below what a system call that does nothing takes.
pub(super) fn sleep(numerator: u64, denominator: u64) -> Vec<String> {
    let price = |(key, price): (&str, u64)| {
        let least = if key.starts_with("os.futex_wa") { 1 } else { 0 };
        format!("{key}={}", (price * numerator / denominator).max(least))
    };
    let cheap = numerator < denominator;
    let calls = ["os.futex_wait_changed=1".to_owned(), "os.futex_wake_none=1".to_owned()];
    SLEEP.into_iter().map(price).chain(calls.into_iter().filter(|_| cheap)).collect()
}

/// All experiments; the main one first. Those of `joint` follow from what these show.
pub(super) fn all() -> Vec<Experiment> {
    let mut all = vec![Experiment { who: Who::All, seeds: [3, 1], quick: true, ..experiment("main", "") }];
    // Falsifiers.
    let free = || vec!["ocor.hint=0".to_owned()];
    all.extend([
        Experiment {
            tries: 1_000_000,
            who: SLEEPER,
            seeds: SLEEPER_SEEDS,
            quick: true,
            ..experiment("never-sleep", "")
        },
        Experiment {
            both: settings(["network.contention=none".to_owned()]),
            marked: free(),
            quick: true,
            ..experiment("free-network", "")
        },
        Experiment { threads: 1, marked: free(), quick: true, ..experiment("one-thread", "") },
        Experiment {
            both: sleep(0, 1),
            who: SLEEPER,
            seeds: SLEEPER_SEEDS,
            quick: true,
            ..experiment("cheap-sleep", "")
        },
    ]);
    // Other rules, and what must show no gain if each is what it says.
    for rule in ["release-first", "holder-first", "oldest-first"] {
        let rule = format!("ocor.rule={rule}");
        let marked = vec![rule.clone(), "ocor.hint=0".to_owned()];
        let both = settings(["network.contention=none".to_owned()]);
        let name = rule.trim_start_matches("ocor.rule=").to_owned();
        all.push(Experiment { both, marked, who: STRONGEST, quick: true, ..experiment("free-network, rules", &name) });
        all.push(Experiment { marked: vec![rule], ..experiment("rule", &name) });
    }
    all.extend([
        // Registers are free, so that the order alone is compared: a rule that asks for sections writes more of them.
        Experiment {
            both: free(),
            marked: settings(["ocor.rule=holder-first".to_owned()]),
            other: Other::Rule("release-first"),
            lines: Some(1),
            who: STRONGEST,
            seeds: SEEDS,
            quick: true,
            ..experiment("few-misses", "")
        },
        // The same where nobody sleeps, so that the region's end hangs on no sleeper.
        Experiment {
            both: free(),
            marked: settings(["ocor.rule=holder-first".to_owned()]),
            other: Other::Rule("release-first"),
            lines: Some(1),
            tries: 1_000_000,
            who: STRONGEST,
            seeds: SEEDS,
            ..experiment("few-misses", "nobody sleeps")
        },
        Experiment {
            both: free(),
            marked: settings(["ocor.rule=holder-first".to_owned()]),
            other: Other::Rule("release-first"),
            lines: Some(16),
            who: STRONGEST,
            ..experiment("many-misses", "")
        },
        Experiment {
            both: free(),
            marked: settings(["ocor.rule=oldest-first".to_owned()]),
            other: Other::Rule("paper"),
            threads: 2,
            who: STRONGEST,
            seeds: [8, 8],
            quick: true,
            ..experiment("one-waiter", "")
        },
    ]);
    // What the programs may be, beside what is printed of them.
    for (locks, section, think) in [(2, 60, 0), (2, 250, 1500), (4, 250, 0), (8, 250, 0)] {
        let place = format!("{locks} locks, sections of {section} cycles, {think} between");
        let crowd = Some(Crowd { locks, section, think });
        all.push(Experiment { crowd, ..experiment("program's shape", place) });
    }
    // Figure 15.
    all.extend([4, 16, 32].map(|threads| Experiment { threads, ..experiment("threads", threads) }));
    // Figure 16.
    let levels = |levels: u32| settings([format!("ocor.levels={levels}")]);
    all.extend([1, 2, 4, 16, 32, 64, 128].map(|n| Experiment { marked: levels(n), ..experiment("levels", n) }));
    // Ablations.
    let mut marked = |group, place: &str, setting: &str| {
        all.push(Experiment { marked: vec![setting.to_owned()], ..experiment(group, place) });
    };
    marked("rule 1, progress", "off", "ocor.progress_levels=0");
    marked("rule 1, progress", "a level a section", "ocor.progress_step=1");
    marked("rule 1, progress", "saturates", "ocor.progress_full=saturate");
    marked("rule 2, marked first", "off", "ocor.marked_first=false");
    marked("rule 4, wake-up last", "off", "ocor.wake_up_last=false");
    marked("wake-up marks", "none", "ocor.wake_up=none");
    marked("wake-up marks", "unlocker's", "ocor.wake_up=unlocker");
    marked("wake-up marks", "home's", "ocor.wake_up=home");
    marked("release", "marked", "ocor.mark_release=true");
    marked("sleep registration", "marked", "ocor.mark_registration=true");
    marked("forwards", "marked", "ocor.mark_forwards=true");
    marked("responses", "marked", "ocor.mark_responses=true");
    marked("mark over speculation", "yes", "ocor.outranks_speculation=true");
    marked("ties", "in turn", "ocor.ties=round-robin");
    marked("hint", "free", "ocor.hint=0");
    marked("hint", "20 cycles", "ocor.hint=20");
    // What the paper leaves open of the system that both arms run on.
    let mut both = |group, place: &str, settings: Vec<String>| {
        all.push(Experiment { both: settings, ..experiment(group, place) });
    };
    for atomics in ["near", "far"] {
        both("a try", atomics, settings([format!("core.atomics={atomics}")]));
    }
    for (place, numerator, denominator) in
        [("quarter", 1, 4), ("twice", 2, 1), ("four times", 4, 1), ("ten times", 10, 1)]
    {
        both("sleep and wake-up", place, sleep(numerator, denominator));
    }
    for (place, ipi) in [("a price", "price"), ("a packet from the waker", "packet")] {
        both("who wakes", place, settings([format!("os.ipi={ipi}")]));
    }
    for pause in [10, 40, 140] {
        both("cpu_relax", &pause.to_string(), settings([format!("wait.pause={pause}")]));
    }
    for places in [1, 2, 4, 8, 16, 64, 0] {
        let place = if places == 0 { "unbounded".to_owned() } else { places.to_string() };
        both("home's places", &place, settings([format!("home.places={places}")]));
    }
    for vcs in [1, 4] {
        both("channels a class", &vcs.to_string(), settings([format!("network.vcs={vcs}")]));
    }
    for tries in [8, 16, 32, 64, 256, 512, 1024] {
        // Segments divide the tries that there are.
        let marked = vec![format!("ocor.tries={tries}")];
        all.push(Experiment { tries, marked, ..experiment("spin count", tries) });
    }
    for lock in ["spin-park-wakes", "spin-park-once"] {
        all.push(Experiment { lock, ..experiment("woken threads", lock) });
    }
    all.extend(controls(&all));
    all
}

/// Whether an experiment is done once more with the registers' price in both arms: what lengthens a loop of tries, and crowds.
fn priced(experiment: &Experiment) -> bool {
    let (group, place) = (experiment.id.0, experiment.id.1.as_str());
    match group {
        "main" | "cpu_relax" | "program's shape" => true,
        "hint" => place != "free",
        "spin count" => experiment.tries > 128,
        _ => false,
    }
}

/// What tells the price of the registers from what the network does: both arms pay, or none.
fn controls(all: &[Experiment]) -> Vec<Experiment> {
    let three = |of: &Experiment, group| {
        let place = beside(of.id.0, &of.id.1);
        Experiment { id: (group, place), who: EXTREMES, seeds: [1, 1], quick: false, ..of.clone() }
    };
    let both = all.iter().filter(|of| priced(of));
    let both = both.map(|of| Experiment { other: Other::Unheeded, ..three(of, PRICED) });
    let crowds = all.iter().filter(|of| of.crowd.is_some());
    let free = crowds.map(|of| Experiment { marked: settings(["ocor.hint=0".to_owned()]), ..three(of, FREE) });
    both.chain(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_main_one_is_first() {
        let all = all();
        assert_eq!(all[0].id.0, "main");
        for (i, experiment) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.id != experiment.id), "{:?}", experiment.id);
        }
    }

    #[test]
    fn settings_are_keys_and_rules_are_rules() {
        let chip = include_str!("../../../../chips/ocor64.toml");
        for experiment in all() {
            let mut settings = experiment.both.clone();
            settings.extend(experiment.marked.iter().cloned());
            settings.extend(experiment.other.settings(&experiment.marked));
            let made = baton_chip::Chip::from_toml_at(chip, "ocor64.toml", Some(experiment.threads.max(4)), &settings);
            assert!(made.is_ok(), "{:?}: {}", experiment.id, made.unwrap_err());
        }
    }

    #[test]
    fn the_price_is_paid_in_both_arms_of_a_control() {
        let all = all();
        let control = all.iter().find(|of| of.id == (PRICED, "hint: 20 cycles".to_owned())).unwrap();
        let [other, marked] = [control.other.settings(&control.marked), control.marked.clone()];
        let price = |settings: &[String]| settings.iter().any(|setting| setting == "ocor.hint=20");
        assert!(price(&other) && price(&marked) && other.contains(&"ocor.heeded=false".to_owned()), "{other:?}");
        assert_eq!(
            all.iter().filter(|of| of.id.0 == FREE).count(),
            all.iter().filter(|of| of.id.0 == "program's shape").count()
        );
    }

    #[test]
    fn prices_of_sleep_are_those_of_the_chip_file() {
        let chip = include_str!("../../../../chips/ocor64.toml");
        for (key, price) in SLEEP {
            let name = key.split('.').next_back().unwrap();
            let grouped = price.to_string();
            let grouped = format!("{name} = {}_{}", &grouped[..grouped.len() - 3], &grouped[grouped.len() - 3..]);
            assert!(chip.contains(&grouped), "{grouped}");
        }
        assert!(
            sleep(0, 1).contains(&"os.wake_idle=0".to_owned())
                && sleep(2, 1).contains(&"os.wake_idle=32000".to_owned())
        );
    }
}
