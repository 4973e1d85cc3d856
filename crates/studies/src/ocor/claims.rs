//! O1 to O21: what the paper claims, and when ours keeps it. Committed before the first full run; part of `frozen.rules`.
//!
//! Tolerances: a quarter of the paper's figure for improvements; where that is less than two points, two points.

use super::results::{Placement, Results};
use super::segment::{CYCLES, Segment, blocked};
use super::values::{Pair, Value, roi, spinning};
use super::why::Why;
use crate::kit::{self, over_draws, over_programs, said};
use crate::{Basis, Claim, Rule};

/// The tolerance of every figure that has one.
const TOLERANCE: f64 = 0.25;

/// Why a figure of the baseline is not judged.
const DRAWN: &str = "the stand-ins were drawn to show it";
/// What claims over all programs need.
const ALL: &str = "all 25 programs";
/// What claims need whose programs a quick study has too: a single draw has no interval.
const DRAWS: &str = "more than one draw";

struct Judge<'a> {
    results: &'a Results<'a>,
    why: &'a Why<'a>,
    all: kit::Judge,
}

/// Of a reduction that is small in the paper: two points.
fn rule(paper: f64) -> Rule {
    if paper.abs() * TOLERANCE < 2.0 { Rule::Points(2.0) } else { Rule::Within(TOLERANCE) }
}

impl Judge<'_> {
    /// A reduction of a program's in the main experiment.
    fn program(&mut self, id: &'static str, name: &str, what: &str, paper: f64, figure: Value) {
        let pairs = self.results.program(name);
        let (ours, why) = (over_draws(&pairs, figure), self.why.causes("main", &pairs));
        self.all.push(Claim::new(id, name, what, "%"), paper, ours, rule(paper), DRAWS, why);
    }

    /// A mean over programs.
    fn mean(&mut self, id: &'static str, part: &str, what: &str, paper: f64, figure: Value) {
        let suite = |pair: &&Pair<'_>| match part {
            "PARSEC" => PARSEC.contains(&pair.program.name.as_str()),
            "OMP2012" => !PARSEC.contains(&pair.program.name.as_str()),
            _ => true,
        };
        let main = self.results.main();
        let pairs: Vec<Pair<'_>> = main.iter().filter(suite).copied().collect();
        let (ours, why) = (over_programs(&pairs, figure), self.why.headline(&pairs));
        self.all.push(Claim::new(id, part, what, "%"), paper, ours, rule(paper), ALL, why);
    }

    /// The greatest (or least) over programs of the mean over draws.
    fn extreme(&mut self, claim: Claim, paper: f64, figure: Value, greatest: bool) {
        let ours = self.results.best(figure, |a, b| (a > b) == greatest);
        let why = ours.map_or_else(String::new, |(_, name)| {
            format!("ours is {name}. {}", self.why.causes("main", &self.results.program(name)))
        });
        self.all.push(claim, paper, ours.map(|ours| ours.0), rule(paper), ALL, why);
    }
}

/// The programs of table 3 that are PARSEC's; the others are OMP2012's.
const PARSEC: [&str; 11] = [
    "ferret",
    "vips",
    "fluidanimate",
    "bodytrack",
    "freqmine",
    "streamcluster",
    "x264",
    "swaptions",
    "facesim",
    "dedup",
    "canneal",
];

/// Every claim, every part.
pub(super) fn all(results: &Results<'_>, why: &Why<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge { results, why, all: kit::Judge::new(full) };
    headline(&mut judge);
    shares(&mut judge);
    entered(&mut judge);
    scaling(&mut judge);
    correlation(&mut judge);
    let number = |claim: &Claim| claim.id[1..].parse::<u32>().unwrap_or(0);
    let mut claims = judge.all.claims;
    claims.sort_by_key(number);
    claims
}

/// O1 to O7, O14, O17.
fn headline(judge: &mut Judge<'_>) {
    let coh = judge.results.view.by.coh();
    judge.mean("O1", "", "mean reduction of competition overhead, 64 threads", 39.9, coh);
    let of = |id, what| Claim::new(id, "", what, "%");
    judge.extreme(of("O2", "greatest reduction of competition overhead (paper: botss)"), 61.8, coh, true);
    judge.mean("O3", "", "mean reduction of the region's time, 64 threads", 14.4, roi);
    judge.extreme(of("O4", "greatest reduction of the region's time (paper: ilbdc)"), 24.5, roi, true);
    judge.mean("O5", "PARSEC", "mean reduction of competition overhead", 40.4, coh);
    judge.mean("O5", "OMP2012", "mean reduction of competition overhead", 39.3, coh);
    judge.mean("O6", "PARSEC", "mean reduction of the region's time", 13.7, roi);
    judge.mean("O6", "OMP2012", "mean reduction of the region's time", 15.1, roi);
    judge.extreme(of("O7", "least reduction of competition overhead (paper: imag)"), 12.5, coh, false);
    for (name, paper) in [("botss", 61.8), ("ilbdc", 61.5), ("botsa", 58.2)] {
        judge.program("O14", name, "reduction of competition overhead", paper, coh);
    }
    for (name, paper) in [("ilbdc", 24.5), ("imag", 3.4)] {
        judge.program("O17", name, "reduction of the region's time", paper, roi);
    }
}

/// O8, O15, O16; O9 to O11 by `window`.
fn shares(judge: &mut Judge<'_>) {
    let printed = [("bodytrack", 3.8, 35.1), ("imag", 1.1, 27.4), ("canneal", 9.3, 38.6), ("ilbdc", 13.3, 39.7)];
    for (name, cs, coh) in printed {
        let pairs = judge.results.program(name);
        let printed = [("critical sections", cs), ("competition overhead", coh)];
        for ((what, paper), figure) in printed.into_iter().zip(judge.results.view.by.shares()) {
            let claim = Claim::new("O8", format!("{name}, {what}"), "share of the region's time, original", "%");
            judge.all.claims.push(claim.calibrated(paper, over_draws(&pairs, figure), Rule::Within(TOLERANCE), DRAWN));
        }
    }
    window(judge);
    let sections = judge.results.view.by.sections();
    // The change that is farthest from 0, over programs.
    let worst = judge.results.best(sections, |a, b| a.abs() > b.abs());
    let claim = Claim::new("O15", "", "change of the time in critical sections, the greatest of all programs", "%");
    let free = said(over_programs(&judge.results.of("hint", "free"), sections));
    let why = worst.map_or_else(String::new, |(_, name)| {
        format!("`main`: of {name}; `hint`, free registers, botss, ilbdc and imag: {free}%")
    });
    judge.all.push(claim, 0.0, worst.map(|worst| worst.0), Rule::AtMost(2.0), ALL, why);
    for (part, paper, greatest) in [("largest (paper: kdtree)", 39.8, true), ("smallest (paper: ferret)", 26.1, false)]
    {
        let mut claim = Claim::new("O16", part, "share of competition overhead, original", "%");
        claim.basis = Basis::Calibrated;
        judge.extreme(claim, paper, judge.results.view.by.shares()[1], greatest);
        if let Some(claim) = judge.all.claims.last_mut() {
            claim.why = "both ends bound what the stand-ins were drawn from".to_owned();
        }
    }
}

/// O9 to O11: figure 10.
fn window(judge: &mut Judge<'_>) {
    let on = |[off, routers, home]: [_; 3]| match judge.results.view.placement {
        Placement::Routers => (off, routers),
        Placement::Home => (off, home),
    };
    let segment = judge.results.window.map(on).and_then(|(off, on)| Segment::of(off, on, CYCLES));
    let shorter = |segment: &Segment| 100.0 * (CYCLES as f64 - segment.cycles as f64) / CYCLES as f64;
    type Of<'a> = &'a dyn Fn(&Segment) -> f64;
    let claims: [(&'static str, &str, f64, Of<'_>); 4] = [
        ("O9", "critical sections' share, first 16 threads", 5.2, &|segment| segment.off[1]),
        ("O10", "blocked share without marks", 33.2, &|segment| blocked(&segment.off)),
        ("O10", "blocked share with marks", 18.7, &|segment| blocked(&segment.on)),
        ("O11", "reduction of the segment's length", 14.5, &shorter),
    ];
    for (id, what, paper, ours) in claims {
        let mut claim = Claim::new(id, what, "bodytrack, the first 3,000 cycles of its region (figure 10)", "%");
        claim.basis = Basis::NotComparable;
        claim.ours = segment.as_ref().map(ours);
        let why = "the first 3,000 cycles of the program itself; a stand-in's beginning is another: its threads leave a barrier";
        judge.all.claims.push(claim.open(Some(paper), Rule::Within(TOLERANCE), why));
    }
}

/// O12, O13.
fn entered(judge: &mut Judge<'_>) {
    let botss = judge.results.program("botss");
    let what = "acquisitions entered while spinning";
    let original = over_draws(&botss, |pair| pair.off.entered_spinning());
    let claim = Claim::new("O12", "botss, original", what, "%");
    judge.all.claims.push(claim.calibrated(25.7, original, Rule::Within(TOLERANCE), DRAWN));
    let marked = over_draws(&botss, |pair| pair.on.entered_spinning());
    let why = judge.why.entries("botss");
    let claim = Claim::new("O12", "botss, with marks", what, "%");
    judge.all.push(claim, 79.2, marked, rule(79.2), DRAWS, why.clone());
    let more = over_draws(&botss, spinning);
    judge.all.push(Claim::new("O12", "botss, more", what, "points"), 53.5, more, rule(53.5), DRAWS, why);
    let least = Claim::new("O13", "least gain (paper: imag)", what, "points");
    judge.extreme(least, 9.5, spinning, false);
    judge.mean("O13", "mean gain", what, 33.1, spinning);
    // Both are of entries: the price and the number of tries say why.
    let entries = judge.why.entries("");
    let missed = judge.all.claims.iter_mut().filter(|claim| claim.id == "O13" && claim.holds == Some(false));
    missed.for_each(|claim| claim.why.clone_from(&entries));
}

/// O18 to O20.
fn scaling(judge: &mut Judge<'_>) {
    let (results, whys, view) = (judge.results, judge.why, judge.results.view);
    let (coh, of_threads, of_levels) = (view.by.coh(), view.group("threads"), view.group("levels"));
    let at = |threads: u32, name: &str| {
        let (group, place) = if threads == 64 { ("main", String::new()) } else { (of_threads, threads.to_string()) };
        let all = if threads == 64 { results.main() } else { results.of(group, &place) };
        let wanted =
            |pair: &Pair<'_>| pair.program.name == name && view.shape.is_none_or(|shape| shape == pair.program.shape);
        let pairs: Vec<Pair<'_>> = all.into_iter().filter(wanted).collect();
        let experiment = if place.is_empty() { group.to_owned() } else { format!("{group}, {place}") };
        (over_draws(&pairs, coh), whys.causes(&experiment, &pairs))
    };
    let printed = [("imag", [1.7, 4.9, 9.2, 12.5]), ("ilbdc", [5.0, 18.3, 43.5, 61.5])];
    let mut grows = Some(true);
    for (name, papers) in printed {
        let mut before = f64::NEG_INFINITY;
        for (threads, paper) in [4, 16, 32, 64].into_iter().zip(papers) {
            let (ours, why) = at(threads, name);
            grows = ours.and_then(|ours| grows.map(|grows| grows && ours.mean > before));
            before = ours.map_or(before, |ours| ours.mean);
            let part = format!("{name}, {threads} threads");
            judge.all.push(
                Claim::new("O18", part, "reduction of competition overhead", "%"),
                paper,
                ours,
                rule(paper),
                DRAWS,
                why,
            );
        }
    }
    let by_threads = judge.why.places("threads", &["4", "16", "32", "64"], &["imag", "ilbdc"]);
    judge.all.condition(
        Claim::new("O19", "", "the more threads, the larger the reduction", "1 if so"),
        "of imag and of ilbdc, greater at each of 4, 16, 32, 64 threads than at the one before",
        grows,
        DRAWS,
        by_threads,
    );
    let level = |levels: u32| {
        let pairs = if levels == 8 { judge.results.main() } else { judge.results.of(of_levels, &levels.to_string()) };
        let botss: Vec<Pair<'_>> = pairs.into_iter().filter(|pair| pair.program.name == "botss").collect();
        over_draws(&botss, coh).map(|ours| ours.mean)
    };
    let saturates =
        || Some((level(1)?, level(8)?, level(128)?)).map(|(one, eight, all)| eight > one && all - eight < eight - one);
    let holds = saturates();
    let by_levels = judge.why.places("levels", &["1", "8", "128"], &["botss"]);
    judge.all.condition(
        Claim::new("O20", "botss", "the reduction grows with the levels, and saturates", "1 if so"),
        "more at 8 levels than at 1, and less from 8 to 128 than from 1 to 8",
        holds,
        DRAWS,
        by_levels,
    );
}

/// O21.
fn correlation(judge: &mut Judge<'_>) {
    let coh = judge.results.view.by.coh();
    let mean = |cs: bool, network: bool| {
        let main = judge.results.main();
        let pairs: Vec<Pair<'_>> =
            main.into_iter().filter(|p| p.program.high_cs_rate == cs && p.program.high_network == network).collect();
        over_programs(&pairs, coh).map(|ours| ours.mean)
    };
    let both = mean(true, true).zip(mean(false, false)).map(|(high, low)| high > low);
    let rate = mean(true, false).zip(mean(false, true)).map(|(cs, network)| cs > network);
    let what = "mean reduction of competition overhead by what table 3 prints of rate and network";
    judge.all.condition(
        Claim::new("O21", "both", what, "1 if so"),
        "greater where both are high than where both are low",
        both,
        ALL,
        judge.why.classes(),
    );
    judge.all.condition(
        Claim::new("O21", "rate weighs more", what, "1 if so"),
        "greater where only the rate is high than where only the network is",
        rate,
        ALL,
        judge.why.classes(),
    );
}
