//! Running one experiment.

use super::{BatchMeans, Histogram};
use crate::arbiter::Arbiter;
use crate::config::Config;
use crate::error::{NocError, bad};
use crate::network::Network;
use crate::packet::{Delivered, Sink};
use crate::traffic::{Flow, Injector};
use serde::{Deserialize, Serialize};

/// A network, its traffic, and how long to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// The network.
    pub network: Config,
    /// Its traffic.
    pub traffic: Vec<Flow>,
    /// Measured cycles; warm-up and drain come on top.
    pub cycles: u64,
    /// Seed of the traffic.
    pub seed: u64,
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment { network: Config::default(), traffic: vec![Flow::default()], cycles: 60_000, seed: 1 }
    }
}

/// Mean, 95% interval and percentiles of a latency, in cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Half the width of the mean's 95% interval; absent where too few packets arrived.
    pub half_width_95: Option<f64>,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

/// Figures of one message class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassResult {
    /// The class.
    pub class: u8,
    /// Packets measured.
    pub packets: u64,
    /// Packet latency.
    pub packet_latency: Latency,
}

/// Load of one channel over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// Upstream router, or node where the channel is an injection channel.
    pub from: u32,
    /// Downstream router, or node where it is an ejection channel.
    pub to: u32,
    /// `link`, `injection` or `ejection`.
    pub kind: &'static str,
    /// Length in tiles.
    pub length: u32,
    /// Flits over the whole run.
    pub flits: u64,
    /// Flits a cycle.
    pub load: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The mean settled and every measured packet arrived.
    Settled,
    /// The mean did not settle below 1,000 cycles.
    Saturated,
    /// Packets were in flight and nothing moved.
    Deadlocked,
}

/// What a run gives. Rates are per node and cycle; `offered` and `accepted` are of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Packet latency: creation to the tail's leaving.
    pub packet_latency: Latency,
    /// Network latency: the head's entering to the tail's leaving.
    pub network_latency: Latency,
    /// Mean routers passed, both ends counted.
    pub hops: f64,
    /// Packets a node a cycle that were created.
    pub offered_packets: f64,
    /// Flits a node a cycle that left the network.
    pub accepted_flits: f64,
    /// The mean did not settle below 1,000 cycles.
    pub saturated: bool,
    /// How the run ended.
    pub outcome: Outcome,
    /// Packets measured.
    pub packets: u64,
    /// One for each flit and router passed, over the whole run, warm-up and drain included.
    pub flit_hops: u64,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// Cycles of the warm-up.
    pub warm_up: u64,
    /// Greatest age of a packet that was still on its way, at the ends of the run's windows.
    pub oldest: u64,
    /// By message class.
    pub classes: Vec<ClassResult>,
    /// By channel.
    pub links: Vec<LinkLoad>,
}

/// A mean above this is saturation (the reference's threshold).
const SATURATED: f64 = 1000.0;
/// Warm-up ends when the means of two windows differ by less.
const SETTLED: f64 = 0.05;
/// First warm-up window; windows then double, so that a queue that grows shows as a mean that doubles.
const WINDOW: u64 = 1000;
/// Longest warm-up window.
const LONGEST_WINDOW: u64 = 256_000;
/// Cycles without any flit's moving, while packets are in flight, that count as deadlock.
const DEAD: u64 = 20_000;

/// Collects what is measured.
#[derive(Default)]
struct Measure {
    from: u64,
    to: u64,
    batch: u64,
    packet: Histogram,
    network: Histogram,
    means: BatchMeans,
    network_means: BatchMeans,
    by_class: Vec<Option<Box<(Histogram, BatchMeans)>>>,
    hops: u64,
    flits: u64,
    // Of the window that is open: packets and their latency by time of arrival, flits.
    window: (u64, u64),
}

impl Sink for Measure {
    #[inline]
    fn delivered(&mut self, p: &Delivered) {
        let latency = p.arrived.0 - p.created.0;
        self.window.0 += 1;
        self.window.1 += latency;
        if p.arrived.0.wrapping_sub(self.from) < self.to - self.from {
            self.flits += u64::from(p.flits);
        }
        if p.created.0.wrapping_sub(self.from) >= self.to - self.from {
            return;
        }
        let batch = ((p.created.0 - self.from) / self.batch) as usize;
        self.packet.add(latency);
        self.means.add(batch, latency);
        self.network.add(p.arrived.0 - p.entered.0);
        self.network_means.add(batch, p.arrived.0 - p.entered.0);
        self.hops += u64::from(p.hops);
        if self.by_class.len() > 1 {
            self.add_to_class(p.header.class, batch, latency);
        }
    }
}

impl Measure {
    fn add_to_class(&mut self, class: u8, batch: usize, latency: u64) {
        let (histogram, means) = &mut **self.by_class[usize::from(class)].get_or_insert_default();
        histogram.add(latency);
        means.add(batch, latency);
    }
}

fn latency(h: &Histogram, means: &BatchMeans) -> Latency {
    Latency {
        mean: h.mean(),
        half_width_95: means.half_width(),
        p50: h.percentile(0.5),
        p99: h.percentile(0.99),
        max: h.max(),
    }
}

impl Experiment {
    /// Reads an experiment from TOML; an error names `file`, line and key.
    pub fn from_toml(file: &str, text: &str) -> Result<Experiment, NocError> {
        toml::from_str(text).map_err(|e| crate::config::parse_error(file, text, &e))
    }

    /// Runs it with the arbiter that the configuration names.
    pub fn run(&self) -> Result<RunResult, NocError> {
        self.run_watched(&mut |_| {})
    }

    /// The same; `watch` is told the cycle now and then.
    pub fn run_watched(&self, watch: &mut dyn FnMut(u64)) -> Result<RunResult, NocError> {
        crate::with_arbiter!(&self.network, |arbiter| self.run_with(arbiter, watch))
    }

    /// Runs it with any arbiter.
    pub fn run_with<A: Arbiter>(&self, arbiter: A, watch: &mut dyn FnMut(u64)) -> Result<RunResult, NocError> {
        if !(30..=1_000_000_000_000).contains(&self.cycles) {
            return Err(bad("cycles", self.cycles, "30 to 1e12"));
        }
        if self.traffic.is_empty() {
            return Err(bad("traffic", "[]", "at least one flow"));
        }
        if self.network.endpoint_places > 0 {
            let expected = "0 in an experiment: nobody would give the places back";
            return Err(bad("endpoint_places", self.network.endpoint_places, expected));
        }
        let network = Network::with_arbiter(&self.network, arbiter)?;
        let injectors = (0u64..)
            .zip(&self.traffic)
            .map(|(i, flow)| Injector::new(flow, network.graph(), self.network.classes, self.seed, i))
            .collect::<Result<Vec<_>, _>>()?;
        let mut by_class = vec![];
        by_class.resize_with(self.network.classes as usize, || None);
        let measure = Measure { from: 0, to: 0, batch: 1, by_class, ..Measure::default() };
        let mut run = Running { network, injectors, measure, oldest: 0, last_moved: (0, 0), dead: false };
        Ok(run.run(self.cycles, watch))
    }
}

/// Loads of all channels so far.
pub(crate) fn link_loads<A: Arbiter>(network: &Network<A>) -> Vec<LinkLoad> {
    let cycles = network.now().0.max(1) as f64;
    let kind = |c: &crate::ChannelView| match (c.from_source, c.to_endpoint) {
        (true, _) => "injection",
        (_, true) => "ejection",
        _ => "link",
    };
    let load = |c: crate::ChannelView| LinkLoad {
        from: c.from,
        to: c.to,
        kind: kind(&c),
        length: c.length,
        flits: c.flits,
        load: c.flits as f64 / cycles,
    };
    network.channel_views().map(load).collect()
}

struct Running<A: Arbiter> {
    network: Network<A>,
    injectors: Vec<Injector>,
    measure: Measure,
    oldest: u64,
    last_moved: (u64, u64),
    dead: bool,
}

impl<A: Arbiter> Running<A> {
    /// One cycle; gives the packets born in it.
    #[inline]
    fn cycle(&mut self) -> u64 {
        let mut born = 0;
        for injector in &mut self.injectors {
            born += injector.poll(&mut self.network);
        }
        self.network.step(&mut self.measure);
        born
    }

    fn cycles(&mut self, n: u64, watch: &mut dyn FnMut(u64)) -> u64 {
        let mut born = 0;
        let mut left = n;
        while left > 0 && !self.dead {
            let chunk = left.min(WINDOW);
            for _ in 0..chunk {
                born += self.cycle();
            }
            left -= chunk;
            watch(self.network.now().0);
            self.look_around();
        }
        born
    }

    fn look_around(&mut self) {
        let now = self.network.now().0;
        if let Some(created) = self.network.oldest() {
            self.oldest = self.oldest.max(now - created.0);
        }
        let hops = self.network.flit_hops();
        if hops != self.last_moved.0 || self.network.in_flight() == 0 {
            self.last_moved = (hops, now);
        }
        self.dead = now - self.last_moved.1 >= DEAD;
    }

    /// Warm-up; true if the mean settled.
    fn warm_up(&mut self, watch: &mut dyn FnMut(u64)) -> bool {
        let mut window = WINDOW;
        let mut before: Option<f64> = None;
        loop {
            self.measure.window = (0, 0);
            self.cycles(window, watch);
            let (n, sum) = self.measure.window;
            let mean = (n > 0).then(|| sum as f64 / n as f64);
            if self.dead || mean.is_some_and(|m| m > SATURATED) {
                return false;
            }
            let settled = match (before, mean) {
                (Some(b), Some(m)) => (m - b).abs() <= SETTLED * m,
                // Loads so low that windows stay empty have nothing to warm up.
                _ => window >= 8 * WINDOW,
            };
            if settled && self.network.now().0 >= 3 * WINDOW {
                return true;
            }
            if window >= LONGEST_WINDOW {
                return false;
            }
            before = mean.or(before);
            window = if self.network.now().0 < 2 * WINDOW { WINDOW } else { window * 2 };
        }
    }

    fn run(&mut self, cycles: u64, watch: &mut dyn FnMut(u64)) -> RunResult {
        let settled = self.warm_up(watch);
        let from = self.network.now().0;
        let m = &mut self.measure;
        (m.from, m.to, m.batch) = (from, from + cycles, cycles.div_ceil(BatchMeans::BATCHES));
        let born = if settled { self.cycles(cycles, watch) } else { 0 };
        // The load goes on while the measured packets leave.
        let mut patience = 64 * WINDOW + cycles;
        while settled && !self.dead && self.measure.packet.total() < born && patience > 0 {
            for _ in 0..100.min(patience) {
                self.cycle();
            }
            patience = patience.saturating_sub(100);
            self.look_around();
        }
        let all = self.measure.packet.total() == born;
        let mean = self.measure.packet.mean();
        let outcome = match (self.dead, settled && all && mean < SATURATED) {
            (true, _) => Outcome::Deadlocked,
            (false, true) => Outcome::Settled,
            (false, false) => Outcome::Saturated,
        };
        self.result(outcome, from, born, cycles)
    }

    fn result(&self, outcome: Outcome, warm_up: u64, born: u64, cycles: u64) -> RunResult {
        let m = &self.measure;
        let nodes = f64::from(self.network.nodes());
        let total = self.network.now().0;
        let classes = (0u8..).zip(&m.by_class).filter_map(|(class, c)| {
            let (h, b) = &**c.as_ref()?;
            Some(ClassResult { class, packets: h.total(), packet_latency: latency(h, b) })
        });
        RunResult {
            packet_latency: latency(&m.packet, &m.means),
            network_latency: latency(&m.network, &m.network_means),
            hops: m.hops as f64 / m.packet.total().max(1) as f64,
            offered_packets: born as f64 / nodes / cycles as f64,
            accepted_flits: m.flits as f64 / nodes / cycles as f64,
            saturated: outcome != Outcome::Settled,
            outcome,
            packets: m.packet.total(),
            flit_hops: self.network.flit_hops(),
            cycles: total,
            warm_up,
            oldest: self.oldest,
            classes: classes.collect(),
            links: link_loads(&self.network),
        }
    }
}
