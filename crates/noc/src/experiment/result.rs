//! The results of a run.

use super::histogram::Histogram;
use super::interval::BatchMeans;
use serde::Serialize;

/// Mean, 95% interval and percentiles of a latency, in cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Mean of all measured packets.
    pub mean: f64,
    /// Half the width of the mean's 95% interval; absent if too few packets arrived.
    pub half_width_95: Option<f64>,
    /// Median of the latencies.
    pub p50: u64,
    /// The 99th percentile of the latencies.
    pub p99: u64,
    /// Largest latency of any measured packet.
    pub max: u64,
}

/// Results of one message class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassResult {
    /// Number of the class.
    pub class: u8,
    /// Number of packets measured.
    pub packets: u64,
    /// Latency from the packet's creation to the leaving of its tail.
    pub packet_latency: Latency,
}

/// Results for requests and their replies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// Number of replies that were created in the measured window and arrived.
    pub replies: u64,
    /// Replies per node per cycle that arrived in the measured window.
    pub rate: f64,
    /// Time from the request's creation to the arrival of the reply's tail.
    pub latency: Latency,
}

/// Load of one channel over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// Router at which the channel begins, or the node for an injection channel.
    pub from: u32,
    /// Router at which the channel ends, or the node for an ejection channel.
    pub to: u32,
    /// One of `link`, `injection` and `ejection`.
    pub kind: &'static str,
    /// Length in tiles.
    pub length: u32,
    /// Flits that crossed the channel in the whole run.
    pub flits: u64,
    /// Mean number of flits per cycle.
    pub load: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The mean settled below 1,000 cycles and every measured packet arrived; in a run of batches,
    /// all batches ended.
    Settled,
    /// The mean did not settle below 1,000 cycles, measured packets had not arrived at the end of
    /// the longest drain, or the source queues outgrew the memory.
    Saturated,
    /// Packets were in flight and nothing moved.
    Deadlocked,
}

/// The result of a run. Rates are per node and cycle; the offered and accepted rates cover the
/// measured window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Latency from the packet's creation to the leaving of its tail.
    pub packet_latency: Latency,
    /// Latency from the entering of the packet's head to the leaving of its tail.
    pub network_latency: Latency,
    /// Mean number of routers that a packet passes, first and last included.
    pub hops: f64,
    /// Packets created per node per cycle.
    pub offered_packets: f64,
    /// Flits that left the network, per node per cycle.
    pub accepted_flits: f64,
    /// Whether the run ended otherwise than as [`Outcome::Settled`]: saturated or deadlocked.
    pub saturated: bool,
    /// How the run ended.
    pub outcome: Outcome,
    /// Number of packets measured.
    pub packets: u64,
    /// Sum over all flits of the routers that they passed, in the whole run with warm-up and drain.
    pub flit_hops: u64,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// Cycles of the warm-up.
    pub warm_up: u64,
    /// Greatest age in cycles of a packet that was still on its way when the run looked, which it
    /// does regularly.
    pub oldest: u64,
    /// The cycle after the last arrival of a batch; absent without batches, and if they did not
    /// end.
    pub runtime: Option<u64>,
    /// Results of requests and replies; absent if no reply was created in the measured window and
    /// arrived.
    pub round_trip: Option<RoundTrips>,
    /// Results of each message class of which packets were measured; empty if the network has only
    /// one class.
    pub classes: Vec<ClassResult>,
    /// Load of each channel.
    pub links: Vec<LinkLoad>,
}

impl Latency {
    /// Computes the figures from a histogram and its batches.
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
