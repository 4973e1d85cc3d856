//! C1 to C21: what the paper claims, and when ours keeps it. Committed before the first gain was computed; part of `frozen.rules`.
//!
//! A gain is over the paper's ring in the right mode, with the machine's own compare-and-swap. It holds only if it holds too under
//! the window of the cores that is kindest to the ring. Tolerances: a quarter of the paper's figure.

use super::apps::{App, By};
use super::cases::{APP_BULKS, APP_NOPS};
use super::experiments::{FREE_SECTION, IDEAL, IDEAL_BUT, NO_PREFETCH};
use super::loads::{CAF, QMD, QUEUES, RING};
use super::results::{IN_DEVICE, Results, correlation};
use super::run::Figures;
use super::why;
use crate::kit::{self, Judge};
use crate::{Basis, Claim, Effect, Interval, Rule, Verdict};

const QUARTER: Rule = Rule::Within(0.25);
/// What a quick study lacks.
const ALL: &str = "its loads, seeds and windows";
struct Judged<'a, 'r> {
    results: &'a Results<'r>,
    all: Judge,
}

impl Judged<'_, '_> {
    fn push(&mut self, claim: Claim, paper: f64, ours: Option<Interval>, rule: Rule) {
        let why = why::of(self.results, claim.id, &claim.part);
        self.all.push(claim, paper, ours, rule, ALL, why);
    }

    /// A condition, and the same under the oracle arm `arm`.
    fn condition(&mut self, claim: Claim, rule: &'static str, holds: Option<bool>, (arm, ideal): Arm) {
        let why = why::of(self.results, claim.id, &claim.part);
        self.all.condition(claim, rule, holds, ALL, why);
        self.all.ideal_condition(arm, ideal.map(Verdict::of));
    }

    /// Adds the figure of the claim that was judged last with the device at its ideal.
    fn ideal(&mut self, ideal: Option<Interval>) {
        self.all.ideal(IDEAL, ideal, QUARTER, Effect::Raises);
    }

    /// A gain on a load; under the kindest window it must hold too.
    fn gain(&mut self, claim: Claim, paper: f64, load: &str, arm: usize) {
        let ours = self.results.main(load, arm);
        self.push(claim, paper, ours, QUARTER);
        let kindest = self.results.kindest(load, arm);
        self.kindest(paper, kindest);
        self.ideal(self.results.ideal(load, arm));
    }

    /// The claim judged last holds only where it holds under this window too.
    fn kindest(&mut self, paper: f64, kindest: Option<(&str, Interval)>) {
        let Some(claim) = self.all.claims.last_mut().filter(|claim| claim.holds == Some(true)) else { return };
        let Some((window, ours)) = kindest else { return };
        let why = format!("`window`: under the {window} window, the kindest to the ring, {:.2}", ours.mean);
        claim.decide(QUARTER.judge(paper, ours), why);
    }

    /// The greatest gain over these applications; under the kindest window it must hold too.
    fn app(&mut self, claim: Claim, paper: f64, apps: &[App], by: By) {
        let best = |by| extreme(apps.iter().map(|app| Some((self.results.app_gain(*app, by)?, *app))), true);
        let (best, ideal) = (best(by), best(By::Ideal));
        self.push(claim, paper, best.map(|(ours, _)| ours), QUARTER);
        let kindest = best.and_then(|(_, app)| self.results.app_kindest(app, by));
        self.kindest(paper, kindest);
        self.ideal(ideal.map(|(ideal, _)| ideal));
    }

    /// The greatest (or least) gain over loads.
    fn extreme(&mut self, claim: Claim, paper: f64, loads: &[&str], greatest: bool) {
        let best = extreme(loads.iter().map(|load| Some((self.results.main(load, CAF)?, *load))), greatest);
        let ideal = extreme(loads.iter().map(|load| Some((self.results.ideal(load, CAF)?, *load))), greatest);
        self.push(claim, paper, best.map(|(ours, _)| ours), QUARTER);
        let kindest = best.and_then(|(_, load)| self.results.kindest(load, CAF));
        self.kindest(paper, kindest);
        self.ideal(ideal.map(|(ideal, _)| ideal));
    }
}

/// The greatest (or least) of several figures; `None` if one of them is missing.
fn extreme<T>(all: impl Iterator<Item = Option<(Interval, T)>>, greatest: bool) -> Option<(Interval, T)> {
    let better = |a: f64, b: f64| if greatest { b > a } else { b < a };
    let all: Vec<(Interval, T)> = all.collect::<Option<_>>()?;
    all.into_iter().reduce(|a, b| if better(a.0.mean, b.0.mean) { b } else { a })
}

/// An oracle arm, and whether a condition is met under it.
type Arm = (&'static str, Option<bool>);

/// The arm of a condition that has none. A claim that holds needs no arm, and an ideal treatment
/// cannot show that there is no gain.
const NONE: Arm = ("none", None);

/// Every claim, every part.
pub(super) fn all(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judged = Judged { results, all: Judge::new(full) };
    queues(&mut judged);
    alone(&mut judged);
    device(&mut judged);
    mesh(&mut judged);
    applications(&mut judged);
    rest(&mut judged);
    let mut claims = judged.all.claims;
    let number = |claim: &Claim| claim.id[1..].parse::<u32>().unwrap_or(0);
    claims.sort_by_key(number);
    claims
}

fn claim(id: &'static str, part: &str, what: &str, unit: &'static str) -> Claim {
    Claim::new(id, part, what, unit)
}

/// C1, C2, C5, C6, C7: producers and consumers.
fn queues(judged: &mut Judged<'_, '_>) {
    let over = "queues of figures 7 and 8, over the ring";
    judged.extreme(claim("C1", "greatest", over, "times"), 12.0, &QUEUES, true);
    judged.extreme(claim("C1", "least", over, "times"), 2.0, &QUEUES, false);
    for (part, loads) in [("1-1", ["1-1 bulk 8", "1-1 bulk 32"]), ("2-2", ["2-2 bulk 8", "2-2 bulk 32"])] {
        // Less time, as more throughput.
        let more = |group: &str| {
            let less = judged.results.less((group, ""), loads, RING)?;
            let more = |percent: f64| 100.0 * (1.0 / (1.0 - percent / 100.0) - 1.0);
            let half = less.half.map(|half| more(less.mean + half) - more(less.mean));
            Some(Interval { mean: more(less.mean), half })
        };
        let (ours, ideal) = (more("main"), more(FREE_SECTION));
        let what = "the ring's throughput, bulk 32 over bulk 8, more";
        judged.push(claim("C2", part, what, "%"), 40.0, ours, QUARTER);
        judged.all.ideal(FREE_SECTION, ideal, QUARTER, Effect::Raises);
    }
    let one = "one producer and consumer, over the ring";
    for (part, paper, load) in
        [("no bulk", 6.0, "1-1 bulk 1"), ("bulk 16", 2.0, "1-1 bulk 16"), ("bulk 32", 2.0, "1-1 bulk 32")]
    {
        judged.gain(claim("C5", part, one, "times"), paper, load, CAF);
    }
    let falls = |group: &str| {
        let gains = ["1-1 bulk 1", "1-1 bulk 8", "1-1 bulk 32"].map(|load| judged.results.gain((group, ""), load, QMD));
        all_of(gains).map(|[a, b, c]| a > b && b > c)
    };
    let (ours, ideal) = (falls("main"), (IDEAL, falls(IDEAL)));
    let what = "the part of the control plane (no prepush) by bulk";
    judged.condition(claim("C5", "control plane", what, "1 if so"), "falls from bulk 1 to 8 to 32", ours, ideal);
    let bulks = ["2-2 bulk 1", "2-2 bulk 2", "2-2 bulk 4", "2-2 bulk 8"];
    judged.extreme(
        claim("C6", "", "two producers and consumers, bulk 1 to 8, greatest over the ring", "times"),
        12.0,
        &bulks,
        true,
    );
    let eight = "eight producers and consumers, bulk 8, over the ring";
    judged.gain(claim("C7", "with prepush", eight, "times"), 7.0, "8-8 bulk 8", CAF);
    judged.gain(claim("C7", "without prepush", eight, "times"), 4.0, "8-8 bulk 8", QMD);
}

fn all_of<const N: usize>(of: [Option<Interval>; N]) -> Option<[f64; N]> {
    let values: Vec<f64> = of.into_iter().map(|one| one.map(|one| one.mean)).collect::<Option<_>>()?;
    values.try_into().ok()
}

/// C3, C4, C11, C12: dequeues alone, and beside HAQu.
fn alone(judged: &mut Judged<'_, '_>) {
    let ends = ["dequeue 2", "dequeue 16"];
    let what = "dequeues alone, bulk 8: less time with 16 threads than with 2";
    // With few requests under way the device's engine does not bind.
    let few = "four requests under way";
    let parts = [
        ("ring", 10.0, RING, FREE_SECTION, (FREE_SECTION, "")),
        ("device", 80.0, QMD, few, ("requests in flight", "4")),
    ];
    for (part, paper, arm, free, id) in parts {
        let less = |id: (&str, &str)| judged.results.less(id, ends, arm);
        let (ours, ideal) = (less(("main", "")), less(id));
        judged.push(claim("C3", part, what, "%"), paper, ours, QUARTER);
        judged.all.ideal(free, ideal, QUARTER, Effect::Raises);
    }
    let rises = |group: &str| {
        let loads = ["dequeue 2", "dequeue 4", "dequeue 8", "dequeue 16"];
        let gains = all_of(loads.map(|load| judged.results.gain((group, ""), load, QMD)));
        gains.map(|gains| gains.windows(2).all(|two| two[1] > two[0]))
    };
    let (ours, ideal) = (rises("main"), (IDEAL, rises(IDEAL)));
    let what = "dequeues alone, over the ring";
    judged.condition(claim("C4", "2, 4, 8, 16 threads", what, "1 if so"), "more each time", ours, ideal);
    judged.gain(claim("C4", "16 threads", what, "times"), 20.0, "dequeue 16", QMD);
    let what = "one producer and consumer, bulk 8, over the ring";
    judged.gain(claim("C11", "device", what, "times"), 1.35, "1-1 bulk 8", QMD);
    let what = "one consumer alone, bulk 8, over the ring";
    judged.gain(claim("C12", "device", what, "times"), 1.7, "dequeue 1", QMD);
    let wins = all_of([judged.results.haqu("dequeue 1", ""), judged.results.main("dequeue 1", QMD)]);
    let rule = "HAQu's gain is above the device's";
    let wins = wins.map(|[haqu, device]| haqu > device);
    judged.condition(claim("C12", "HAQu wins", what, "1 if so"), rule, wins, NONE);
    for (id, what, paper, load) in [
        ("C11", "one producer and consumer, bulk 8, over the ring", 1.2, "1-1 bulk 8"),
        ("C12", "one consumer alone, bulk 8, over the ring", 2.1, "dequeue 1"),
    ] {
        let ours = judged.results.haqu(load, "");
        judged.push(claim(id, "HAQu", what, "times"), paper, ours, QUARTER);
        let under = |name: &'static str| Some((name, judged.results.haqu(load, name)?));
        let both = ["smallest", "largest"].into_iter().filter_map(under);
        let kindest = both.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        judged.kindest(paper, kindest);
        let ideal = judged.results.against([("main", ""), ("haqu", "largest")], load, RING);
        judged.all.ideal("HAQu in the largest window", ideal, QUARTER, Effect::Raises);
    }
}

/// A ratio of throughputs as percent less.
fn less(rate: Interval) -> Interval {
    Interval { mean: 100.0 * (1.0 - rate.mean), half: rate.half.map(|half| 100.0 * half) }
}

/// Throughput of a group's place over that as chosen, on one producer and consumer at bulk 8.
fn beside(results: &Results<'_>, group: &str, place: &str) -> Option<Interval> {
    results.against([("main", ""), (group, place)], "1-1 bulk 8", CAF)
}

/// C13, C14, C17, C20: the device's latency and clock, credits, prepush with a destination.
fn device(judged: &mut Judged<'_, '_>) {
    let [latency, clocks] = IDEAL_BUT;
    let linear = |group: &str, usual: (&str, &str)| {
        let of = |ns: &str| judged.results.cost((group, ns), "1-1 bulk 8", CAF);
        let costs = [of("10"), judged.results.cost(usual, "1-1 bulk 8", CAF), of("100"), of("200"), of("500")];
        all_of(costs).map(|costs| correlation([10.0, 50.0, 100.0, 200.0, 500.0], costs) > 0.99)
    };
    let (ours, ideal) = (linear("SRAM latency", ("main", "")), (latency, linear(latency, (latency, "50"))));
    let what = "time of an item by the SRAM's latency, 10 to 500 ns";
    judged.condition(claim("C13", "linear", what, "1 if so"), "a correlation above 0.99", ours, ideal);
    let slower = |group: &str| judged.results.against([(group, "10"), (group, "100")], "1-1 bulk 8", CAF).map(less);
    let (ours, ideal) = (slower("SRAM latency"), slower(latency));
    judged.push(claim("C13", "100 against 10 ns", "less throughput", "%"), 10.0, ours, QUARTER);
    judged.all.ideal(latency, ideal, QUARTER, Effect::Lowers);
    let over = |group: &str, [from, to]: [&str; 2]| {
        Some(judged.results.against([(group, from), (group, to)], "1-1 bulk 8", CAF)?.mean)
    };
    let clock = |mhz: &str| beside(judged.results, "device clock", mhz);
    let flat = all_of([clock("500"), clock("2000")]).map(|[half, double]| double / half < 1.1);
    let drop = all_of([clock("100"), clock("300")]).map(|[low, high]| low / high < 0.75);
    let ideal = [
        (clocks, over(clocks, ["500", "2000"]).map(|rate| rate < 1.1)),
        (clocks, over(clocks, ["300", "100"]).map(|rate| rate < 0.75)),
    ];
    let what = "throughput by the device's clock";
    let rule = "2 GHz gives less than a tenth more than 500 MHz";
    judged.condition(claim("C14", "above 500 MHz", what, "1 if so"), rule, flat, ideal[0]);
    judged.condition(claim("C14", "300 to 100 MHz", what, "1 if so"), "at least a quarter less", drop, ideal[1]);
    let tenth = beside(judged.results, "device clock", "100").map(less);
    let ideal = judged.results.against([(clocks, "1000"), (clocks, "100")], "1-1 bulk 8", CAF).map(less);
    judged.push(claim("C14", "a tenth of 1 GHz", "less throughput", "%"), 40.0, tenth, QUARTER);
    judged.all.ideal(clocks, ideal, QUARTER, Effect::Lowers);
    for (part, weights) in [("1:1", [1, 1]), ("1:2", [1, 2]), ("1:3", [1, 3])] {
        let ours = judged.results.shares(weights, true, 16);
        let what = "two producers with credits by weight: the second's throughput over the first's";
        judged.push(claim("C17", part, what, "times"), f64::from(weights[1]), ours, Rule::Within(0.1));
    }
    let advanced =
        |groups: [&str; 2], nops: &str| judged.results.against(groups.map(|group| (group, nops)), "1-1 bulk 8", CAF);
    let usual = ["nops", "nops, to the consumer"];
    let grows = |groups: [&str; 2]| {
        let gains = all_of(["0", "100", "400"].map(|nops| advanced(groups, nops)));
        gains.map(|gains| gains[2] > gains[0].max(1.01))
    };
    let none = advanced(usual, "0").map(|gain| gain.mean < 1.01);
    let (ours, ideal) = (grows(usual), ("a consumer that does not prefetch", grows(NO_PREFETCH)));
    let what = "prepush into the consumer's cache over that to the shared level";
    judged.condition(claim("C20", "no work of the consumer", what, "1 if so"), "a gain below 1%", none, NONE);
    let rule = "with 400 cycles a gain above 1%, and above that with none";
    judged.condition(claim("C20", "more work of the consumer", what, "1 if so"), rule, ours, ideal);
}

/// C15, C16: several devices.
fn mesh(judged: &mut Judged<'_, '_>) {
    let results = judged.results;
    let sustained = results.sustained(1).zip(results.sustained(16)).map(|(one, many)| many / one);
    let ratio = sustained.map(|mean| Interval { mean, half: None });
    let what = "64 cores: the rate at which a request takes twice its least, 16 devices over 1";
    let rule = "more than 10 times";
    let known = ratio.is_some();
    judged.condition(claim("C15", "rate", what, "1 if so"), rule, ratio.map(|ratio| ratio.mean > 10.0), NONE);
    if let (true, Some(claim), Some(ratio)) = (known, judged.all.claims.last_mut(), ratio) {
        // The figure itself says more than that it is kept.
        (claim.paper, claim.ours, claim.unit) = (Some(10.0), Some(ratio.mean), "times");
    }
    let latency = results.seldom(1).zip(results.seldom(16));
    let lower = latency.map(|(one, many)| many[0].mean < one[0].mean);
    let what = "64 cores: a request's time where requests seldom meet, 16 devices against 1";
    judged.condition(claim("C15", "latency", what, "1 if so"), "less", lower, NONE);
    let less = latency.map(|(one, many)| {
        let [one, many] = [one, many].map(|of| of[1].mean - IN_DEVICE);
        Interval { mean: kit::reduction(one, many), half: None }
    });
    let what = "64 cores: less time of a dequeue in the network, 16 devices against 1";
    judged.push(claim("C16", "", what, "%"), 60.0, less, QUARTER);
}

/// C8 to C10, C18, C19: applications.
fn applications(judged: &mut Judged<'_, '_>) {
    let clusters = |bulk| App::Clusters { bulk, nops: 0 };
    let what = "pipeline of clusters, over the ring";
    judged.app(claim("C8", "small bulk, greatest", what, "times"), 5.0, &[1, 2, 4].map(clusters), By::Prepush);
    judged.app(claim("C8", "little work, bulk 8", what, "times"), 2.0, &[clusters(8)], By::Prepush);
    let most = App::Clusters { bulk: 8, nops: APP_NOPS[5] };
    let none = judged.results.app_gain(most, By::Prepush).map(|gain| gain.mean < 1.05);
    judged.condition(claim("C8", "much work, bulk 8", what, "1 if so"), "a gain below 5%", none, NONE);
    let firewall = APP_BULKS.map(|bulk| App::Firewall { bulk });
    let what = "firewall, over the ring";
    judged.app(claim("C9", "bulk 1 to 8, greatest", what, "times"), 4.0, &firewall, By::Prepush);
    let less = |of: fn(&Figures) -> u64| {
        let app = App::Firewall { bulk: 8 };
        let less = |by| {
            let ratio = |off: &Figures, on: &Figures| of(on) as f64 / of(off).max(1) as f64;
            Some(judged.results.app(app, None, [By::Software, by], ratio)?.mean < 0.5)
        };
        (less(By::Device), (IDEAL, less(By::Ideal)))
    };
    let all = [
        less(|figures| figures.instructions),
        less(|figures| figures.traffic[0]),
        less(|figures| figures.traffic[1] + figures.traffic[2]),
    ];
    let rule = "less than half of the ring's";
    let parts = ["instructions", "accesses of caches", "forwards and invalidations"];
    for (part, (ours, ideal)) in parts.into_iter().zip(all) {
        let claim = claim("C10", part, "firewall, bulk 8, the device without prepush", "1 if so");
        judged.condition(claim, rule, ours, ideal);
    }
    let distributor = APP_NOPS.map(|nops| App::Distributor { nops });
    let what = "job distributor, 4 workers, over a slot a worker, greatest";
    judged.app(claim("C18", "", what, "times"), 1.8, &distributor, By::Device);
    let regression = |workers, rows, by| judged.results.app_gain(App::Regression { workers, rows }, by);
    let percent = |of: Interval| Interval { mean: 100.0 * (of.mean - 1.0), half: of.half.map(|half| 100.0 * half) };
    let most = [By::Device, By::Ideal].map(|by| regression(16, 1, by).map(percent));
    let [ours, other] = [By::Device, By::Lanes].map(|by| regression(4, 16, by).map(|gain: Interval| gain.mean < 1.05));
    let what = "logistic regression by map and reduce, more throughput";
    judged.push(claim("C19", "16 workers, a row each", what, "%"), 15.0, most[0], QUARTER);
    judged.ideal(most[1]);
    let arm = ("other software in the device's place", other);
    judged.condition(claim("C19", "4 workers, 16 rows each", what, "1 if so"), "less than 5%", ours, arm);
}

/// What is not judged.
fn rest(judged: &mut Judged<'_, '_>) {
    let mut never = |claim: Claim, paper: f64, why: &str| {
        let claim = Claim { basis: Basis::NotComparable, ..claim };
        judged.all.claims.push(claim.open(Some(paper), QUARTER, why));
    };
    let power =
        "the chip has no prices of cores and of stalled ones with a source, so that no power of a processor follows";
    never(claim("C9", "dynamic power", "firewall, dynamic power of the processor, less", "%"), 50.0, power);
    let prices = "the paper's own figures of CACTI and ORION at 45 nm; the chip file has them as they are, and no other source is at hand";
    for (part, paper, unit) in
        [("routers", 0.04, "W"), ("SRAM", 0.09, "W"), ("area of routers", 0.03, "mm2"), ("area of SRAM", 0.71, "mm2")]
    {
        never(claim("C21", part, "price of the device", unit), paper, prices);
    }
}
