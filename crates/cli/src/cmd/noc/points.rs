//! A point of a sweep of `noc`.

use super::options::{Options, input};
use crate::cmd::sweep::{Matched, Ready, Swept, listed};
use anyhow::Context;
use baton_studio::subject::{Failure, Figure, Why};
use baton_studio::value::Value;
use clap::Args as _;

/// `baton noc` as the subject of a sweep.
pub(crate) struct Noc;

/// Estimated bytes of memory that a run takes for each node, with full source queues.
const A_NODE: u64 = 64 << 10;
const FIXED: u64 = 16 << 20;

/// Figures: path, unit, meaning; a figure whose unit ends with `!` is a whole number.
const FIGURES: [(&str, &str, &str); 34] = [
    (
        "packet_latency.mean",
        "cycles",
        "From a packet's creation to the leaving of its tail; null if the run did not settle.",
    ),
    ("packet_latency.half_width_95", "cycles", "Half of the 95% interval of packet_latency.mean."),
    ("packet_latency.p50", "cycles!", "Median latency."),
    ("packet_latency.p99", "cycles!", "99th percentile of the latencies."),
    ("packet_latency.max", "cycles!", "Largest latency."),
    ("network_latency.mean", "cycles", "From the entering of a packet's head to the leaving of its tail."),
    ("network_latency.half_width_95", "cycles", "Half of the 95% interval of network_latency.mean."),
    ("network_latency.p50", "cycles!", "Median of the same."),
    ("network_latency.p99", "cycles!", "99th percentile of the same."),
    ("network_latency.max", "cycles!", "Largest of the same."),
    ("round_trip.latency.mean", "cycles", "From a request's creation to the arrival of its reply."),
    ("round_trip.latency.p99", "cycles!", "99th percentile of the same."),
    ("round_trip.rate", "replies per node and cycle", "Replies that arrived."),
    ("round_trip.replies", "replies!", "Replies that were created."),
    ("hops", "routers", "Routers that a packet passes, as a mean."),
    ("offered_packets", "packets per node and cycle", "Packets that were created."),
    ("accepted_flits", "flits per node and cycle", "Flits that left the network."),
    ("saturated", "!", "1 if the mean latency did not settle below 1,000 cycles, otherwise 0."),
    ("packets", "packets!", "Packets that were measured."),
    ("flit_hops", "flit hops!", "Sum over all flits of the routers that each passed."),
    ("cycles", "cycles!", "Length of the whole run."),
    ("warm_up", "cycles!", "Length of the warm-up."),
    ("oldest", "cycles!", "Greatest age of a packet on its way."),
    ("runtime", "cycles!", "Until the last of a batch had arrived."),
    ("energy.buffer_write", "picojoules", "Energy of buffer writes."),
    ("energy.buffer_read", "picojoules", "Energy of buffer reads."),
    ("energy.arbitration", "picojoules", "Energy of allocations."),
    ("energy.crossbar", "picojoules", "Energy of switches."),
    ("energy.link", "picojoules", "Energy of links."),
    ("energy.clock", "picojoules", "Energy of the routers' clocks."),
    ("energy.leakage", "picojoules", "Leakage of the routers."),
    ("energy.total", "picojoules", "Sum of the energies."),
    ("area.routers", "square micrometres", "Silicon of all routers."),
    ("area.link_wires", "square micrometres", "Wires of all links."),
];

impl Swept for Noc {
    const COMMAND: &'static str = "noc";
    const NOT_OF_A_POINT: &'static [&'static str] = &[];
    // The experiment has all values of these files and options.
    const EXPANDED: &'static [&'static str] = &["config", "graph", "routes"];
    const TAKES_KEYS: bool = false;

    fn options() -> clap::Command {
        Options::augment_args(clap::Command::new("noc"))
    }

    fn ready(&self, point: &Matched) -> anyhow::Result<Ready> {
        let options: Options = point.args()?;
        let experiment = options.experiment()?;
        options.technology()?;
        // Sizes are checked before a graph of these sizes is built.
        experiment.network.validate().map_err(input)?;
        let nodes = experiment.network.topology.build().map_err(input)?.nodes.len() as u64;
        let identity = serde_json::to_string(&experiment).context("the experiment as JSON")?;
        Ok(Ready {
            identity,
            cost: nodes as f64 * experiment.cycles as f64,
            memory: FIXED + nodes * A_NODE,
            run: Box::new(move || super::figures(&options, &experiment, &|| true)),
        })
    }

    fn value(&self, _: &Matched, _: &str) -> anyhow::Result<Option<Value>> {
        Ok(None)
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn figures(&self) -> Vec<Figure> {
        listed(&FIGURES)
    }

    fn usual(&self, _: &Matched) -> Vec<String> {
        ["packet_latency.mean", "packet_latency.p99", "accepted_flits", "saturated"].map(ToOwned::to_owned).to_vec()
    }

    fn failed(&self, result: &serde_json::Value) -> Option<Failure> {
        (result["outcome"] == "deadlocked").then(|| {
            Failure::new(Why::Deadlock, "packets are in flight and nothing moves; `baton noc explain` says why")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run has every declared figure, except those of batches and replies, which this run lacks.
    #[test]
    fn figures_are_those_of_a_run() {
        let mut options = Options::default();
        options.load.rate = Some(0.05);
        let mut experiment = options.experiment().unwrap();
        experiment.cycles = 300;
        let result = super::super::figures(&options, &experiment, &|| true).unwrap();
        for figure in Noc.figures() {
            let optional = figure.path.starts_with("round_trip") || figure.path == "runtime";
            let found = baton_studio::sweep::find(&result, &figure.path);
            assert!(optional || found.is_some_and(|found| found.is_number() || found.is_boolean()), "{}", figure.path);
        }
    }
}
