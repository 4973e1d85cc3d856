//! What is run: experiments as data. Each is a pair of runs a program, without marks and with them; all else is the same in
//! both. This file is part of what `frozen.rules` hashes.

use super::program::Shape;
use super::releases::{self, RELEASES};
use crate::kit::experiment::{self, MAIN, On};

/// An experiment of this study.
pub(super) type Experiment = experiment::Experiment<Setting>;

/// What the arm without marks has in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Nothing: no registers, no marks.
    Nothing,
    /// Marks under this rule: two rules are compared.
    Rule(&'static str),
    /// Marks at the home that tell releases alone: tries go first come, first served behind them. What differs is the order of tries.
    ReleasesFirst,
    /// The same registers at the same price, and routers that heed no marks: what differs is what the network does alone.
    Unheeded,
}

impl Other {
    /// Settings of that arm, where the one with marks has `marked`.
    pub(super) fn settings(self, marked: &[String]) -> Vec<String> {
        match self {
            Other::Nothing => vec!["ocor.enabled=false".to_owned()],
            Other::ReleasesFirst => [vec!["ocor.enabled=true".to_owned()], releases_first()].concat(),
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

/// What an experiment sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
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
}

impl Default for Setting {
    /// As the paper has it.
    fn default() -> Setting {
        let (both, marked, other, lock) = (Vec::new(), Vec::new(), Other::Nothing, "spin-park");
        Setting { both, marked, other, lines: None, crowd: None, lock, tries: 128, threads: 64 }
    }
}

/// Many threads at few locks with short sections, which do not show what is printed of the baseline: what the draws of that shape
/// become where locks, sections and meetings are otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) locks: u32,
    /// Cycles of a section, and of a thread's own work between two.
    pub(super) section: u64,
    pub(super) think: u64,
    /// Lines that a section reads and writes. With none its data stand in the lock's own line, which the spinners read, so that the
    /// release finds that line at hand, and a mark on it changes nothing.
    pub(super) lines: u32,
    /// Whether all threads meet before each section.
    pub(super) meets: bool,
}

/// Programs of a quick study: the four whose shares the paper prints, the one whose share of spinning entries it prints, and one
/// with draws of every shape.
pub(super) const QUICK: [&str; 6] = ["bodytrack", "botss", "canneal", "ilbdc", "imag", "vips"];
/// Programs of experiments on crowds with meetings.
const CROWDS: On = On::These(&["vips", "botsa", "x264"]);
/// Draws of a program and shape in a full study; a quick one has the first only.
pub(super) const DRAWS: usize = 10;
/// Draws of a program in falsifiers, on crowds, and in sets of open choices that are repeated.
pub(super) const DRAWS_BESIDE: usize = 2;
/// Draws of a program in other experiments beside the main one: the first of the main one's, under
/// the same seeds, so that each choice is compared pair by pair.
const DRAWS_SWEPT: usize = 4;
/// The two extremes of figures 15 and 16.
const EXTREMES: On = On::These(&["botss", "ilbdc", "imag"]);
/// Seeds of what must show no gain. A region ends with its last thread, so that a pair of runs differs by some 7% either way
/// by chance alone: 54 pairs, two draws with 27 seeds, bring the interval near two percent. A quick study leaves it wide.
const SEEDS: [u64; 2] = [8, 27];
/// For falsifiers of rules: the program with the greatest rate of critical sections.
const STRONGEST: On = On::These(&["ilbdc"]);
/// For falsifiers of sleeping, on crowds with meetings: their regions end together, so that pairs differ by less.
const SLEEPER_SEEDS: [u64; 2] = [2, 6];

/// The group of the main experiment's draws with another placement of the order.
pub(super) const WHERE: &str = "where";
/// Its places: the home's list, that and routers, and an order without cost wherever requests wait.
pub(super) const HOME: &str = "home";
pub(super) const BOTH: &str = "both";
pub(super) const ORACLE: &str = "oracle";
/// Groups that are done once more with the order at the home.
pub(super) const THREADS_AT_HOME: &str = "threads, order at the home";
pub(super) const LEVELS_AT_HOME: &str = "levels, order at the home";

/// The group of prices of sleep and wake-up under the lock that an unlock grants to a sleeper: what lies between release and wake-up.
pub(super) const GRANTED: &str = "sleep and wake-up, lock granted";
/// The group of what an order at a home may be built of, and its levels and places.
pub(super) const HARDWARE: &str = "levels and places at the home";
pub(super) const HARDWARE_LEVELS: [u32; 3] = [1, 2, 8];
pub(super) const HARDWARE_PLACES: [u32; 3] = [2, 8, 32];

/// The place of an experiment of [`HARDWARE`].
pub(super) fn built(levels: u32, places: u32) -> String {
    format!("{levels} levels, {places} places")
}

fn experiment(group: &'static str, place: impl ToString, setting: Setting) -> Experiment {
    Experiment::new((group, place), EXTREMES, setting).draws(DRAWS_SWEPT)
}

/// Settings of the arm whose marks are heeded elsewhere than in routers alone. At the home the release waits behind tries: it is marked.
pub(super) fn heeded(place: &str) -> Vec<String> {
    let release = (place != ORACLE).then(|| "ocor.mark_release=true".to_owned());
    std::iter::once(format!("ocor.where={place}")).chain(release).collect()
}

/// The main experiment on the programs of those beside it.
pub(super) fn extremes() -> Experiment {
    experiment(MAIN, "", Setting::default())
}

/// Of the arm with marks alone.
fn marked(settings: impl IntoIterator<Item = impl Into<String>>) -> Setting {
    Setting { marked: settings.into_iter().map(Into::into).collect(), ..Setting::default() }
}

/// Of both arms.
fn both(settings: impl IntoIterator<Item = impl Into<String>>) -> Setting {
    Setting { both: settings.into_iter().map(Into::into).collect(), ..Setting::default() }
}

/// Registers that cost nothing.
const FREE_HINT: &str = "ocor.hint=0";
/// Packets that never meet.
const NO_CONTENTION: &str = "network.contention=none";
/// Tries that are never used up.
const NEVER_SLEEPS: u32 = 1_000_000;

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

/// All experiments on programs; the main one first. Those of `joint` follow from what these show.
pub(super) fn all() -> Vec<Experiment> {
    let programs =
        |id: (&'static str, &str), setting| Experiment::new(id, On::All(&QUICK), setting).draws(DRAWS).quick();
    let mut all = vec![programs((MAIN, ""), Setting::default()).seeds([3, 1])];
    all.push(programs((WHERE, HOME), marked(heeded(HOME))));
    // Draws that change under it are run under further seeds: `power`.
    all.push(programs((WHERE, ORACLE), marked(heeded(ORACLE))));
    all.extend(at_home());
    all.extend(falsifiers());
    all.extend(rules());
    all.extend(trends());
    all.extend(ablations());
    all.extend(surroundings());
    all.extend(controls(&all));
    all
}

/// Figures 15 and 16 with the order at the home.
fn at_home() -> Vec<Experiment> {
    let home = |setting: Setting| Setting { marked: [heeded(HOME), setting.marked].concat(), ..setting };
    let threads = |threads| experiment(THREADS_AT_HOME, threads, home(Setting { threads, ..Setting::default() }));
    let levels = |levels: u32| experiment(LEVELS_AT_HOME, levels, home(marked([format!("ocor.levels={levels}")])));
    [4, 16, 32].map(threads).into_iter().chain([1, 128].map(levels)).collect()
}

/// What must show no gain if the mechanism is what the paper says; those of sleeping are on crowds ([`crowd`]).
fn falsifiers() -> [Experiment; 2] {
    [
        experiment("free-network", "", Setting { marked: marked([FREE_HINT]).marked, ..both([NO_CONTENTION]) }),
        experiment("one-thread", "", Setting { threads: 1, ..marked([FREE_HINT]) }),
    ]
    .map(|of| of.draws(DRAWS_BESIDE).quick())
}

/// Marks at the home that tell releases alone.
fn releases_first() -> Vec<String> {
    ["ocor.where=home", "ocor.rule=release-first", "ocor.levels=1"].map(str::to_owned).into()
}

/// The place of falsifiers whose arms both serve releases first.
pub(super) const ORDER_ALONE: &str = "releases first in both arms";
/// The group that tells what of the home's order does what.
pub(super) const PARTS: &str = "what the home serves first";

/// An experiment on crowds with meetings: its arm with marks has the order at the home, if it does not say otherwise.
fn on_crowd(id: (&'static str, String), setting: Setting) -> Experiment {
    let marked = if setting.marked.iter().any(|of| of.starts_with("ocor.where=")) { Vec::new() } else { heeded(HOME) };
    // What a setting says itself stands in the place of what the home's order has.
    let key = |of: &String| of.split('=').next().unwrap_or_default().to_owned();
    let own: Vec<String> = setting.marked.iter().map(key).collect();
    let usual = marked.into_iter().filter(|of| !own.contains(&key(of)));
    let marked = usual.chain(setting.marked.iter().cloned()).collect();
    Experiment::new(id, CROWDS, Setting { marked, ..setting }).shaped(Shape::Crowd.name()).draws(DRAWS_BESIDE)
}

/// Experiments on crowds with meetings, where an order can change something; the main one has it at the home.
pub(super) fn crowd() -> Vec<Experiment> {
    let crowd = |group, place: &str, setting| on_crowd((group, place.to_owned()), setting);
    let mut all = vec![crowd(MAIN, "", Setting::default()).draws(DRAWS_BESIDE + 1).seeds([1, 2]).quick()];
    for place in ["network", BOTH, ORACLE] {
        let setting = if place == "network" { marked(["ocor.where=network"]) } else { marked(heeded(place)) };
        all.push(crowd(WHERE, place, setting).draws(DRAWS_BESIDE + 1).seeds([1, 2]).quick());
    }
    let sleepless = |group, setting| crowd(group, "", setting).seeds(SLEEPER_SEEDS).quick();
    all.extend([
        sleepless("never-sleep", Setting { tries: NEVER_SLEEPS, ..Setting::default() }),
        sleepless("cheap-sleep", both(sleep(0, 1))),
        sleepless("reversed", marked(["ocor.rule=reversed"])),
    ]);
    // What the home's order does is of two parts: releases that do not wait behind tries, and the order of tries.
    let order = |setting: Setting| Setting { other: Other::ReleasesFirst, ..setting };
    let by_left = || marked(["ocor.rule=release-first"]);
    let alone = |group, setting| crowd(group, ORDER_ALONE, order(setting)).seeds(SLEEPER_SEEDS).quick();
    all.extend([
        alone("never-sleep", Setting { tries: NEVER_SLEEPS, ..by_left() }),
        alone("cheap-sleep", Setting { both: sleep(0, 1), ..by_left() }),
        alone("reversed", marked(["ocor.rule=reversed"])),
        crowd(PARTS, "releases alone", marked(releases_first())).quick(),
        crowd(PARTS, "releases, then tries by what is left", by_left()).quick(),
        crowd(PARTS, ORDER_ALONE, order(by_left())).quick(),
    ]);
    for levels in HARDWARE_LEVELS {
        for places in HARDWARE_PLACES {
            let setting = marked([format!("ocor.levels={levels}"), format!("ocor.places={places}")]);
            all.push(crowd(HARDWARE, &built(levels, places), setting));
        }
    }
    let apart = |(place, setting)| on_crowd((RELEASES, place), setting).seeds(releases::SEEDS).quick();
    all.extend(releases::settings().into_iter().map(apart));
    let release = experiment("release", "not marked", marked(["ocor.mark_release=false"]));
    let same = |of: &Experiment| of.setting.crowd.is_none() && of.id.0 != "release" && of.id.0 != THREADS_AT_HOME;
    let other = |of: &Experiment| matches!(of.setting.other, Other::Nothing);
    let beside = trends().into_iter().chain(ablations()).chain(surroundings()).chain([release]);
    all.extend(beside.filter(|of| same(of) && other(of)).map(|of| on_crowd(of.id, of.setting)));
    all
}

/// Other rules, and what must show no gain if each is what it says.
fn rules() -> Vec<Experiment> {
    let mut all = Vec::new();
    for rule in ["release-first", "holder-first", "oldest-first"] {
        let own = format!("ocor.rule={rule}");
        let free = Setting { marked: marked([own.as_str(), FREE_HINT]).marked, ..both([NO_CONTENTION]) };
        all.push(experiment("free-network, rules", rule, free).on(STRONGEST).draws(DRAWS_BESIDE).quick());
        all.push(experiment("rule", rule, marked([own])));
    }
    // Registers are free, so that the order alone is compared: a rule that asks for sections writes more of them.
    let compared = |rule: &str, with| Setting {
        other: Other::Rule(with),
        marked: vec![format!("ocor.rule={rule}")],
        ..both([FREE_HINT])
    };
    let lines = |lines| Setting { lines: Some(lines), ..compared("holder-first", "release-first") };
    all.extend([
        experiment("few-misses", "", lines(1)).on(STRONGEST).draws(DRAWS_BESIDE).seeds(SEEDS).quick(),
        // The same where no thread sleeps, so that the region's end hangs on no sleeper.
        experiment("few-misses", "nobody sleeps", Setting { tries: NEVER_SLEEPS, ..lines(1) })
            .on(STRONGEST)
            .draws(DRAWS_BESIDE)
            .seeds(SEEDS),
        experiment("many-misses", "", lines(16)).on(STRONGEST),
        experiment("one-waiter", "", Setting { threads: 2, ..compared("oldest-first", "paper") })
            .on(STRONGEST)
            .draws(DRAWS_BESIDE)
            .seeds([8, 8])
            .quick(),
    ]);
    all
}

/// What the programs may be, beside what is printed of them; figures 15 and 16.
fn trends() -> Vec<Experiment> {
    let shape = |(locks, section, think, lines, meets)| {
        let meeting = if meets { ", with meetings" } else { "" };
        let place = format!("{locks} locks, sections of {section} cycles and {lines} lines, {think} between{meeting}");
        let crowd = Some(Crowd { locks, section, think, lines, meets });
        experiment("program's shape", place, Setting { crowd, ..Setting::default() })
    };
    let threads = |threads| experiment("threads", threads, Setting { threads, ..Setting::default() });
    let levels = |levels: u32| experiment("levels", levels, marked([format!("ocor.levels={levels}")]));
    let shapes =
        [(2, 60, 0, 0, false), (2, 250, 1500, 2, false), (4, 250, 0, 2, false), (4, 250, 0, 2, true)].map(shape);
    shapes.into_iter().chain([4, 16, 32].map(threads)).chain([1, 2, 4, 16, 32, 64, 128].map(levels)).collect()
}

/// Parts of the mechanism that are left out or are otherwise.
fn ablations() -> [Experiment; 16] {
    [
        ("rule 1, progress", "off", "ocor.progress_levels=0"),
        ("rule 1, progress", "a level a section", "ocor.progress_step=1"),
        ("rule 1, progress", "saturates", "ocor.progress_full=saturate"),
        ("rule 2, marked first", "off", "ocor.marked_first=false"),
        ("rule 4, wake-up last", "off", "ocor.wake_up_last=false"),
        ("wake-up marks", "none", "ocor.wake_up=none"),
        ("wake-up marks", "unlocker's", "ocor.wake_up=unlocker"),
        ("wake-up marks", "home's", "ocor.wake_up=home"),
        ("release", "marked", "ocor.mark_release=true"),
        ("sleep registration", "marked", "ocor.mark_registration=true"),
        ("forwards", "marked", "ocor.mark_forwards=true"),
        ("responses", "marked", "ocor.mark_responses=true"),
        ("mark over speculation", "yes", "ocor.outranks_speculation=true"),
        ("ties", "in turn", "ocor.ties=round-robin"),
        ("hint", "free", FREE_HINT),
        ("hint", "20 cycles", "ocor.hint=20"),
    ]
    .map(|(group, place, setting)| experiment(group, place, marked([setting])))
}

/// What the paper leaves open of the system that both arms run on.
fn surroundings() -> Vec<Experiment> {
    let mut all = Vec::new();
    let mut put = |group, place: &str, setting| all.push(experiment(group, place, setting));
    for atomics in ["near", "far"] {
        put("a try", atomics, both([format!("core.atomics={atomics}")]));
    }
    // What figure 10 allows is at the lower end: see the item in `open.rs`.
    let prices =
        [("a sixteenth", 1, 16), ("an eighth", 1, 8), ("quarter", 1, 4), ("twice", 2, 1), ("ten times", 10, 1)];
    for (place, numerator, denominator) in prices {
        put("sleep and wake-up", place, both(sleep(numerator, denominator)));
    }
    let granted = |setting| Setting { lock: "spin-park-granted", ..setting };
    put(GRANTED, "as chosen", granted(Setting::default()));
    for (place, numerator, denominator) in prices {
        put(GRANTED, place, granted(both(sleep(numerator, denominator))));
    }
    for (place, ipi) in [("a price", "price"), ("a packet from the waker", "packet")] {
        put("who wakes", place, both([format!("os.ipi={ipi}")]));
    }
    for pause in [10, 40, 140] {
        put("cpu_relax", &pause.to_string(), both([format!("wait.pause={pause}")]));
    }
    for places in [1, 2, 4, 8, 16, 64, 0] {
        let place = if places == 0 { "unbounded".to_owned() } else { places.to_string() };
        put("home's places", &place, both([format!("home.places={places}")]));
    }
    for vcs in [1, 4] {
        put("channels a class", &vcs.to_string(), both([format!("network.vcs={vcs}")]));
    }
    for tries in [8, 16, 32, 64, 256, 512, 1024] {
        // Segments divide the tries that there are.
        put("spin count", &tries.to_string(), Setting { tries, ..marked([format!("ocor.tries={tries}")]) });
    }
    for lock in ["spin-park-wakes", "spin-park-once", "spin-park-granted"] {
        put("woken threads", lock, Setting { lock, ..Setting::default() });
    }
    all
}

/// Whether an experiment is done once more with the registers' price in both arms: what lengthens a loop of tries, and crowds.
fn priced(experiment: &Experiment) -> bool {
    let (group, place) = (experiment.id.0, experiment.id.1.as_str());
    match group {
        MAIN | "cpu_relax" | "program's shape" => true,
        "hint" => place != "free",
        "spin count" => experiment.setting.tries > 128,
        _ => false,
    }
}

/// What tells the price of the registers from what the network does: both arms pay, or none.
fn controls(all: &[Experiment]) -> Vec<Experiment> {
    let control = |of: &Experiment, group, setting| experiment(group, beside(of.id.0, &of.id.1), setting);
    let both = all.iter().filter(|of| priced(of));
    let both = both.map(|of| control(of, PRICED, Setting { other: Other::Unheeded, ..of.setting.clone() }));
    let crowds = all.iter().filter(|of| of.setting.crowd.is_some());
    let free = crowds.map(|of| control(of, FREE, Setting { marked: marked([FREE_HINT]).marked, ..of.setting.clone() }));
    both.chain(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_main_one_is_first() {
        for all in [all(), crowd()] {
            assert_eq!(all[0].id.0, "main");
            for (i, experiment) in all.iter().enumerate() {
                assert!(all[..i].iter().all(|other| other.id != experiment.id), "{:?}", experiment.id);
            }
        }
    }

    /// Each choice has its pairs: several draws, which the main experiment has under the same seeds.
    #[test]
    fn every_open_choice_is_compared_by_several_pairs() {
        for (all, least) in [(all(), 4), (crowd(), 2)] {
            let swept = super::super::open::ITEMS.iter().map(|item| item.group);
            let swept: Vec<_> = swept.flat_map(|group| all.iter().filter(move |of| of.id.0 == group)).collect();
            let paired = |of: &Experiment| of.draws <= all[0].draws && of.seeds[1] <= all[0].seeds[1];
            assert!(swept.len() > 30 && swept.iter().all(|of| of.draws >= least && paired(of)), "{swept:?}");
        }
    }

    #[test]
    fn crowds_have_the_order_at_the_home_unless_they_say_otherwise() {
        for experiment in crowd() {
            let of = |key: &str| {
                let mine = experiment.setting.marked.iter().filter_map(|of| of.strip_prefix(key));
                mine.collect::<Vec<_>>()
            };
            let own = |group| if group == RELEASES { "network" } else { HOME };
            let place = if experiment.id.0 == WHERE { &experiment.id.1 } else { own(experiment.id.0) };
            assert_eq!(of("ocor.where="), [place], "{:?}", experiment.id);
            // No key stands twice: the second would silently win.
            assert!(of("ocor.mark_release=").len() <= 1, "{:?}", experiment.id);
            assert_eq!(experiment.shape, Some("crowd with meetings"));
        }
    }

    #[test]
    fn settings_are_keys_and_rules_are_rules() {
        let chip = include_str!("../../../../chips/ocor64.toml");
        for experiment in all().into_iter().chain(crowd()) {
            let Setting { both, marked, other, threads, .. } = &experiment.setting;
            let settings = [both.clone(), marked.clone(), other.settings(marked)].concat();
            let made = baton_chip::Chip::from_toml_at(chip, "ocor64.toml", Some((*threads).max(4)), &settings);
            assert!(made.is_ok(), "{:?}: {}", experiment.id, made.unwrap_err());
        }
    }

    #[test]
    fn the_price_is_paid_in_both_arms_of_a_control() {
        let all = all();
        let control = &all.iter().find(|of| of.id == (PRICED, "hint: 20 cycles".to_owned())).unwrap().setting;
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
