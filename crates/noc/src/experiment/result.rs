//! What a run gives.

use super::histogram::Histogram;
use super::interval::BatchMeans;
use serde::Serialize;

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

/// Requests and their replies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// Replies that were created in the measured window.
    pub replies: u64,
    /// Replies a node a cycle that arrived in the measured window.
    pub rate: f64,
    /// From the request's creation to the arrival of the reply's tail.
    pub latency: Latency,
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
    /// Cycle after the last arrival of a batch; absent without batches.
    pub runtime: Option<u64>,
    /// Requests and replies; absent without them.
    pub round_trip: Option<RoundTrips>,
    /// By message class.
    pub classes: Vec<ClassResult>,
    /// By channel.
    pub links: Vec<LinkLoad>,
}

impl Latency {
    /// The figures of a histogram and its batches.
    pub(super) fn of(h: &Histogram, means: &BatchMeans) -> Latency {
        Latency {
            mean: h.mean(),
            half_width_95: means.half_width(),
            p50: h.percentile(0.5),
            p99: h.percentile(0.99),
            max: h.max(),
        }
    }
}
