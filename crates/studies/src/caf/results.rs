//! The results of the study's runs, with functions for the figures that claims need.

use super::apps::{App, By, Case};
use super::cases::{self, CLOSED, OnMesh, PERCENT, SELDOM, interval};
use super::experiments::IDEAL;
use super::jobs::Caf;
use super::loads::{ARMS, Load, RING};
use super::mesh;
use super::run::{Figures, Run};
use super::weights::Weights;
use crate::kit::{self, over_draws};
use crate::{Extent, Interval};

/// The same load under the same seed in two arms.
pub(super) type Pair<'a> = kit::Pair<'a, Load, Figures>;
type Done = (Result<Run, String>, Figures);

/// The results of the study's runs, by the kind of run.
pub(super) struct Results<'a> {
    pub(super) samples: kit::Samples<'a, Load, Figures>,
    mesh: Vec<(OnMesh, &'a Figures)>,
    weights: Vec<(Weights, &'a Figures)>,
    apps: Vec<(Case, &'a Figures)>,
}

/// The throughput of the second arm over that of the first, in items a cycle; 0 if the first arm
/// has no throughput.
pub(super) fn gain(pair: &Pair<'_>) -> f64 {
    if pair.off.rate() == 0.0 { 0.0 } else { pair.on.rate() / pair.off.rate() }
}

/// The core cycles that a device itself takes for a request that waits for no other request. A
/// device cycle is two core cycles. The request comes half a device cycle before the next edge on
/// average, waits one device cycle for its turn, and takes 50 for the access.
pub(super) const IN_DEVICE: f64 = 2.0 * (0.5 + 1.0 + 50.0);

impl<'a> Results<'a> {
    /// The results of finished runs, which are in the order of the plan.
    pub(super) fn new(caf: &Caf, extent: Extent, done: &'a [Done]) -> Results<'a> {
        let (samples, rest) = caf.plan(extent).samples(done);
        let full = extent == Extent::Full;
        let all = cases::on_mesh(full);
        let (on_mesh, rest) = rest.split_at(all.len());
        let mesh = all.into_iter().zip(on_mesh.iter().map(|(_, figures)| figures)).collect();
        let all = cases::weights(full);
        let (with_weights, rest) = rest.split_at(all.len());
        let weights = all.into_iter().zip(with_weights.iter().map(|(_, figures)| figures)).collect();
        let apps = cases::applications(full).into_iter().zip(rest.iter().map(|(_, figures)| figures)).collect();
        Results { samples, mesh, weights, apps }
    }

    /// The pairs of a load in two arms of an experiment, without pairs in which a run ended in a
    /// deadlock.
    pub(super) fn pairs(&self, id: (&str, &str), load: &str, arms: [usize; 2]) -> Vec<Pair<'a>> {
        let all = self.samples.between(id.0, id.1, arms).into_iter();
        all.filter(|pair| pair.program.name == load && pair.off.locked.is_none() && pair.on.locked.is_none()).collect()
    }

    /// The report of a run of this arm that ended in a deadlock; `None` if no run did.
    pub(super) fn locked(&self, id: (&str, &str), load: &str, arm: usize) -> Option<&'a str> {
        let all = self.samples.between(id.0, id.1, [arm, arm]).into_iter();
        all.filter(|pair| pair.program.name == load).find_map(|pair| pair.on.locked.as_deref())
    }

    /// The ratio of an arm's throughput to the ring's.
    pub(super) fn gain(&self, id: (&str, &str), load: &str, arm: usize) -> Option<Interval> {
        over_draws(&self.pairs(id, load, [RING, arm]), gain)
    }

    /// The ratio of an arm's throughput to the ring's in the main experiment.
    pub(super) fn main(&self, load: &str, arm: usize) -> Option<Interval> {
        self.gain(("main", ""), load, arm)
    }

    /// An arm's throughput over the ring's with the device at its ideal.
    pub(super) fn ideal(&self, load: &str, arm: usize) -> Option<Interval> {
        self.gain((IDEAL, ""), load, arm)
    }

    /// The mean of a figure of an arm.
    pub(super) fn figure(
        &self,
        id: (&str, &str),
        load: &str,
        arm: usize,
        of: impl Fn(&Figures) -> f64,
    ) -> Option<Interval> {
        over_draws(&self.pairs(id, load, [arm, arm]), |pair| of(pair.on))
    }

    /// Cycles an item in an arm.
    pub(super) fn cost(&self, id: (&str, &str), load: &str, arm: usize) -> Option<Interval> {
        self.figure(id, load, arm, Figures::cost)
    }

    /// By how many percent an arm takes fewer cycles an item at the second load than at the first.
    pub(super) fn less(&self, id: (&str, &str), [from, to]: [&str; 2], arm: usize) -> Option<Interval> {
        let [from, to] = [from, to].map(|load| self.pairs(id, load, [arm, arm]));
        let both = from.iter().zip(&to).filter(|(a, b)| a.again == b.again);
        let less: Vec<f64> = both.map(|(a, b)| kit::reduction(a.on.cost(), b.on.cost())).collect();
        Interval::of(&less)
    }

    /// The ratio of an arm's throughput in the second experiment to that in the first, on the same
    /// load.
    pub(super) fn against(&self, [from, to]: [(&str, &str); 2], load: &str, arm: usize) -> Option<Interval> {
        let [from, to] = [from, to].map(|id| self.pairs(id, load, [arm, arm]));
        let both = from.iter().zip(&to).filter(|(a, b)| a.again == b.again && a.on.rate() > 0.0);
        Interval::of(&both.map(|(a, b)| b.on.rate() / a.on.rate()).collect::<Vec<_>>())
    }

    /// The one of the windows `smallest` and `largest` under which an arm gains least over the
    /// ring: its name, and the gain.
    pub(super) fn kindest(&self, load: &str, arm: usize) -> Option<(&'static str, Interval)> {
        let under = |name: &'static str| Some((name, self.gain(("window", name), load, arm)?));
        let both = ["smallest", "largest"].into_iter().filter_map(under);
        both.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
    }

    /// HAQu's throughput over the ring's, under the window of that name, or under the chip's if it
    /// is empty.
    pub(super) fn haqu(&self, load: &str, window: &str) -> Option<Interval> {
        let ring = if window.is_empty() { ("main", "") } else { ("window", window) };
        self.against([ring, ("haqu", window)], load, RING)
    }

    fn on_mesh(&self, devices: u32, load: mesh::Load, of: impl Fn(&Figures) -> f64) -> Option<Interval> {
        let mine = self.mesh.iter().filter(|(case, _)| (case.devices, case.load) == (devices, load));
        Interval::of(&mine.map(|(_, figures)| of(figures)).collect::<Vec<_>>())
    }

    /// The mean cycles of a request, and those of a dequeue, in an open loop in which requests
    /// seldom meet.
    pub(super) fn seldom(&self, devices: u32) -> Option<[Interval; 2]> {
        let load = mesh::Load::Open(SELDOM);
        let all = self.on_mesh(devices, load, |figures| mean(figures.requests.cycles, figures.requests.count))?;
        let requests =
            self.on_mesh(devices, load, |figures| mean(figures.requests.dequeue_cycles, figures.requests.dequeues))?;
        Some([all, requests])
    }

    /// The open loop, point by point: how many requests of all cores come in 1000 cycles, and the
    /// mean cycles of a request.
    pub(super) fn curve(&self, devices: u32) -> Vec<(f64, Interval)> {
        let point = |between: u64| {
            let latency = self.on_mesh(devices, mesh::Load::Open(between), |figures| {
                mean(figures.requests.cycles, figures.requests.count)
            })?;
            Some((64_000.0 / between as f64, latency))
        };
        let mut points: Vec<_> =
            [SELDOM].into_iter().chain(PERCENT.map(|percent| interval(devices, percent))).filter_map(point).collect();
        points.dedup_by(|a, b| a.0 == b.0);
        points
    }

    /// The rate at which a request takes twice as long as where requests seldom meet, interpolated
    /// between the rates that were run.
    pub(super) fn sustained(&self, devices: u32) -> Option<f64> {
        let curve = self.curve(devices);
        let most = 2.0 * curve.first()?.1.mean;
        let step = curve.windows(2).find(|two| two[1].1.mean > most)?;
        let [(from, below), (to, above)] = [step[0], step[1]];
        Some(from + (to - from) * (most - below.mean) / (above.mean - below.mean))
    }

    /// The closed loop: for each number of requests under way in a core, the requests of all cores
    /// in 1000 cycles.
    pub(super) fn closed(&self, devices: u32) -> Vec<(u64, Interval)> {
        let point = |most: u64| {
            let of = |figures: &Figures| 1000.0 * figures.requests.rate;
            Some((most, self.on_mesh(devices, mesh::Load::Closed(most), of)?))
        };
        CLOSED.into_iter().filter_map(point).collect()
    }

    /// A figure that compares two ways in which an application moves its items, as a mean over
    /// seeds.
    pub(super) fn app(
        &self,
        app: App,
        window: Option<&str>,
        [off, on]: [By; 2],
        of: impl Fn(&Figures, &Figures) -> f64,
    ) -> Option<Interval> {
        let mine =
            |by: By| self.apps.iter().filter(move |(case, _)| (case.app, case.by, case.window) == (app, by, window));
        let both = mine(off).zip(mine(on)).map(|((_, off), (_, on))| (*off, *on));
        let ended = both.filter(|(off, on)| off.locked.is_none() && on.locked.is_none());
        Interval::of(&ended.map(|(off, on)| of(off, on)).collect::<Vec<_>>())
    }

    /// Runs of applications whose threads waited for each other for ever.
    pub(super) fn locked_apps(&self) -> Vec<String> {
        let locked = self.apps.iter().filter(|(_, figures)| figures.locked.is_some());
        locked.map(|(case, _)| format!("{:?} by {:?}, seed {}", case.app, case.by, case.seed)).collect()
    }

    /// An application's throughput over that of the paper's software.
    pub(super) fn app_gain(&self, app: App, by: By) -> Option<Interval> {
        self.app(app, None, [By::Software, by], |off, on| off.cost() / on.cost())
    }

    /// The one of the windows `smallest` and `largest` under which `by` gains least over the
    /// paper's software: its name, and the gain.
    pub(super) fn app_kindest(&self, app: App, by: By) -> Option<(&'static str, Interval)> {
        let under = |name: &'static str| {
            Some((name, self.app(app, Some(name), [By::Software, by], |off, on| off.cost() / on.cost())?))
        };
        let both = ["smallest", "largest"].into_iter().filter_map(under);
        both.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
    }

    /// The ratio of the second producer's items to the first one's, for these weights, with or
    /// without credits.
    pub(super) fn shares(&self, weights: [u32; 2], credits: bool, entries: u32) -> Option<Interval> {
        let mine = self
            .weights
            .iter()
            .filter(|(case, _)| (case.weights, case.credits, case.entries) == (weights, credits, entries));
        Interval::of(&mine.map(|(_, figures)| mean(figures.shares[1], figures.shares[0])).collect::<Vec<_>>())
    }

    /// The best queue in memory of the main experiment: its name, and cycles an item.
    pub(super) fn best_software(&self, load: &str) -> Option<(&'static str, Interval)> {
        let of = |arm: usize| Some((ARMS[arm], self.cost(("main", ""), load, arm)?));
        let all = [RING, super::loads::SOFTWARE].into_iter().filter_map(of);
        all.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
    }
}

fn mean(of: u64, over: u64) -> f64 {
    if over == 0 { 0.0 } else { of as f64 / over as f64 }
}

/// Pearson's correlation of `x` and `y`.
pub(super) fn correlation<const N: usize>(x: [f64; N], y: [f64; N]) -> f64 {
    let mean = |of: [f64; N]| of.iter().sum::<f64>() / N as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - mx, y - my)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}
