//! Experiments, and the loop that runs one.

use super::collector::Measure;
use super::interval::BatchMeans;
use super::load::Load;
use super::result::{ClassResult, Latency, LinkLoad, Outcome, RoundTrips, RunResult};
use crate::arbiter::{Arbiter, with_arbiter};
use crate::config::Config;
use crate::error::{NocError, bad};
use crate::network::{ChannelView, Network};
use crate::traffic::Flow;
use serde::{Deserialize, Serialize};

/// A network, its traffic, and how long to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// Configuration of the network.
    pub network: Config,
    /// Flows that send packets into the network.
    pub traffic: Vec<Flow>,
    /// Cycles that an endpoint takes to serve a packet, one packet after another; then the packet's
    /// place is free and its reply is sent. With 0 the service ends on arrival.
    pub endpoint_service: u32,
    /// Measured cycles; warm-up and drain come on top. Ignored if a flow has a batch.
    pub cycles: u64,
    /// Seed of the traffic's random choices.
    pub seed: u64,
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment {
            network: Config::default(),
            traffic: vec![Flow::default()],
            endpoint_service: 0,
            cycles: 60_000,
            seed: 1,
        }
    }
}

/// A mean latency above this many cycles counts as saturation (the reference's threshold).
const SATURATED: f64 = 1000.0;
/// Warm-up ends when the means of two consecutive windows differ by less than this fraction.
const SETTLED: f64 = 0.05;
/// Length in cycles of the first two warm-up windows. Each later window is twice as long as the one
/// before it, so that a growing queue shows as a doubling mean.
const WINDOW: u64 = 1000;
/// Cycles between two looks at the oldest packet while batches run.
const LOOK: u64 = 100;
/// Longest warm-up window in cycles.
const LONGEST_WINDOW: u64 = 256_000;
/// Cycles without movement of any flit, while packets are in flight, that count as a deadlock.
const DEAD: u64 = 20_000;

impl Experiment {
    /// Reads an experiment from TOML text. An error names `file`, the line
    /// and what is wrong there.
    pub fn from_toml(file: &str, text: &str) -> Result<Experiment, NocError> {
        toml::from_str(text).map_err(|e| NocError::toml(file, text, &e))
    }

    /// Runs the experiment with the arbiter that the configuration names. Fails if a value is
    /// invalid.
    pub fn run(&self) -> Result<RunResult, NocError> {
        self.run_watched(&mut |_| {})
    }

    /// Like [`Experiment::run`], but calls `watch` with the current cycle now and then, to show
    /// progress.
    pub fn run_watched(&self, watch: &mut dyn FnMut(u64)) -> Result<RunResult, NocError> {
        with_arbiter!(&self.network, |arbiter| self.run_with(arbiter, watch))
    }

    /// Like [`Experiment::run`], but asks `go_on` with the current cycle now and then. If `go_on`
    /// returns false, the run ends early; its result then means nothing.
    pub fn run_while(&self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<RunResult, NocError> {
        with_arbiter!(&self.network, |arbiter| self.begin(arbiter, go_on))
    }

    /// Like [`Experiment::run_watched`], but with `arbiter` instead of the one that the
    /// configuration names.
    pub fn run_with<A: Arbiter>(&self, arbiter: A, watch: &mut dyn FnMut(u64)) -> Result<RunResult, NocError> {
        self.begin(arbiter, &mut |now| {
            watch(now);
            true
        })
    }

    fn begin<A: Arbiter>(&self, arbiter: A, go_on: GoOn<'_>) -> Result<RunResult, NocError> {
        if !(30..=1_000_000_000_000).contains(&self.cycles) {
            return Err(bad("cycles", self.cycles, "30 to 1e12"));
        }
        let network = Network::with_arbiter(&self.network, arbiter)?;
        let load = Load::new(self, &network)?;
        let mut by_class = vec![];
        by_class.resize_with(self.network.classes as usize, || None);
        let measure = Measure { from: 0, to: 0, batch: 1, by_class, ..Measure::default() };
        let mut run =
            Running { network, load, measure, oldest: 0, last_moved: (0, 0), dead: false, full: false, over: false };
        Ok(if run.load.has_batches() { run.batches(go_on) } else { run.run(self.cycles, go_on) })
    }
}

/// Returns the loads of all channels up to the current cycle.
pub(crate) fn link_loads<A: Arbiter>(network: &Network<A>) -> Vec<LinkLoad> {
    let cycles = network.now().0.max(1) as f64;
    let kind = |c: &ChannelView| match (c.from_source, c.to_endpoint) {
        (true, _) => "injection",
        (_, true) => "ejection",
        _ => "link",
    };
    let load = |c: ChannelView| LinkLoad {
        from: c.from,
        to: c.to,
        kind: kind(&c),
        length: c.length,
        flits: c.flits,
        load: c.flits as f64 / cycles,
    };
    network.channel_views().map(load).collect()
}

/// Is asked with the current cycle now and then whether the run goes on.
type GoOn<'a> = &'a mut dyn FnMut(u64) -> bool;

struct Running<A: Arbiter> {
    network: Network<A>,
    load: Load,
    measure: Measure,
    oldest: u64,
    last_moved: (u64, u64),
    dead: bool,
    /// Whether the source queues have outgrown the memory: the run then ends early, as saturated.
    full: bool,
    /// Whether the caller wants the run to end.
    over: bool,
}

impl<A: Arbiter> Running<A> {
    /// Simulates one cycle. Returns the number of packets created in it.
    #[inline]
    fn cycle(&mut self) -> u64 {
        let born = self.load.poll(&mut self.network, &mut self.measure.inbox);
        self.network.step(&mut self.measure);
        born
    }

    fn cycles(&mut self, n: u64, go_on: GoOn<'_>) -> u64 {
        let mut born = 0;
        let mut left = n;
        while left > 0 && !self.ends() {
            let chunk = left.min(WINDOW);
            for _ in 0..chunk {
                born += self.cycle();
            }
            left -= chunk;
            self.look_around(go_on);
        }
        born
    }

    /// Whether the run ends before it has all its cycles.
    fn ends(&self) -> bool {
        self.dead || self.full || self.over
    }

    fn look_around(&mut self, go_on: GoOn<'_>) {
        let now = self.network.now().0;
        self.over |= !go_on(now);
        if let Some(created) = self.network.oldest() {
            self.oldest = self.oldest.max(now - created.0);
        }
        let hops = self.network.flit_hops();
        if hops != self.last_moved.0 || self.network.in_flight() == 0 || self.load.serving() {
            self.last_moved = (hops, now);
        }
        self.dead = now - self.last_moved.1 >= DEAD;
        self.full = Load::overflows(&self.network);
    }

    /// Runs the warm-up. Returns whether the mean settled.
    fn warm_up(&mut self, go_on: GoOn<'_>) -> bool {
        let mut window = WINDOW;
        let mut before: Option<f64> = None;
        loop {
            self.measure.window = (0, 0);
            self.cycles(window, go_on);
            let (n, sum) = self.measure.window;
            let mean = (n > 0).then(|| sum as f64 / n as f64);
            if self.ends() || mean.is_some_and(|m| m > SATURATED) {
                return false;
            }
            let settled = match (before, mean) {
                (Some(b), Some(m)) => (m - b).abs() <= SETTLED * m,
                // At loads so low that windows stay empty there is nothing to warm up.
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

    fn run(&mut self, cycles: u64, go_on: GoOn<'_>) -> RunResult {
        let settled = self.warm_up(go_on);
        let from = self.network.now().0;
        let m = &mut self.measure;
        (m.from, m.to, m.batch) = (from, from + cycles, cycles.div_ceil(BatchMeans::BATCHES));
        let born = if settled { self.cycles(cycles, go_on) } else { 0 };
        // The load goes on while the measured packets leave.
        let mut patience = 64 * WINDOW + cycles;
        while settled && !self.ends() && self.measure.packet.total() < born && patience > 0 {
            for _ in 0..100.min(patience) {
                self.cycle();
            }
            patience = patience.saturating_sub(100);
            self.look_around(go_on);
        }
        let all = self.measure.packet.total() == born && !self.full;
        let mean = self.measure.packet.mean();
        let outcome = match (self.dead, settled && all && mean < SATURATED) {
            (true, _) => Outcome::Deadlocked,
            (false, true) => Outcome::Settled,
            (false, false) => Outcome::Saturated,
        };
        self.result(outcome, from, born, cycles)
    }

    /// Runs until all batches have ended; the whole run is measured.
    fn batches(&mut self, go_on: GoOn<'_>) -> RunResult {
        (self.measure.to, self.measure.batch) = (u64::MAX, u64::MAX);
        let mut born = 0;
        while !self.ends() && self.load.unfinished() > 0 {
            for _ in 0..LOOK {
                born += self.cycle();
                // The load counts a packet as completed one cycle after the packet has arrived.
                if self.load.unfinished() == 0 {
                    break;
                }
            }
            self.look_around(go_on);
        }
        let outcome = match (self.dead, self.full) {
            (true, _) => Outcome::Deadlocked,
            (_, true) => Outcome::Saturated,
            _ => Outcome::Settled,
        };
        let cycles = self.network.now().0;
        let mut result = self.result(outcome, 0, born, cycles);
        result.runtime = (outcome == Outcome::Settled).then(|| self.load.last_end() + 1);
        result
    }

    fn result(&self, outcome: Outcome, warm_up: u64, born: u64, cycles: u64) -> RunResult {
        let m = &self.measure;
        let nodes = f64::from(self.network.nodes());
        let total = self.network.now().0;
        let classes = (0u8..).zip(&m.by_class).filter_map(|(class, c)| {
            let (h, b) = &**c.as_ref()?;
            Some(ClassResult { class, packets: h.total(), packet_latency: Latency::of(h, b) })
        });
        RunResult {
            packet_latency: Latency::of(&m.packet, &m.means),
            network_latency: Latency::of(&m.network, &m.network_means),
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
            runtime: None,
            round_trip: m.round_trips.as_ref().filter(|r| r.latency.total() > 0).map(|r| RoundTrips {
                replies: r.latency.total(),
                rate: r.arrived as f64 / nodes / cycles as f64,
                latency: Latency::of(&r.latency, &r.means),
            }),
            classes: classes.collect(),
            links: link_loads(&self.network),
        }
    }
}
