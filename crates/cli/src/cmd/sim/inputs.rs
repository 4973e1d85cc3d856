//! Options of the workloads with packets, jobs and vectors.

use super::args::Args;
use crate::error::BadInput;
use baton_machine::flows::FlowOrder;
use baton_workloads::inputs::kind_name;
use baton_workloads::{Dispatch, Inputs, Prepush, Reduction};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

/// The workloads whose runs show the options of [`all_of`].
const WORKLOADS: [&str; 5] = ["clusters", "firewall", "distributor", "regression", "tasks"];

/// The workload with flows, whose runs show the options of flows; and the queue with flows in memory.
const FLOWS: &str = "flows";

/// The workloads that run on queues with flows too, and show these options then.
const WITH_FLOWS: [&str; 2] = ["firewall", "distributor"];

/// The beginning of the names of the workloads that run OpenMP teams. `--dispatch` says where the
/// tasks of such a team wait to be run.
const TEAMS: &str = "epcc";

/// The options of the workloads with packets, jobs and vectors.
#[derive(Clone, clap::Args)]
pub(super) struct InputArgs {
    /// A capture in the classic pcap format, for firewall, clusters, and a distributor with flows
    /// (docs/reference/applications.md). Left out: generated packets.
    #[arg(long, value_name = "FILE.pcap")]
    packets: Option<PathBuf>,
    /// The firewall's rules: a line each, ACTION PROTOCOL SOURCE DESTINATION PORTS; the first that fits decides.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Rows for regression, the label in the last column. Left out: generated rows.
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// Threads of each stage of clusters, the sources first: 1,1 is one to one.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = Inputs::default().clusters.to_vec())]
    clusters: Vec<u32>,
    /// Packet buffers. Left out: a bulk for each thread, and 256 at least.
    #[arg(long, value_name = "N")]
    pool: Option<usize>,
    /// 64-byte blocks of a packet that threads write and read, from its first; a firewall's header has 3.
    #[arg(long, value_name = "N", default_value_t = 3)]
    blocks: u32,
    /// One generated packet in N is suspicious; 0: none.
    #[arg(long, value_name = "N", default_value_t = 8)]
    suspicious: u32,
    /// Number of packets of a bulk that a thread prefetches ahead; 0: none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    prefetch: u32,
    /// Whether threads push packets that they pass on out of their caches: to the shared level, or to the consumer's core, where
    /// thread N is on CPU N (--pin).
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = prepush())]
    prepush: Prepush,
    /// How distributor hands out jobs, how workers of tasks come by theirs (steal, shared, balanced), or where an OpenMP team's tasks
    /// wait (shared, steal). Left out: balanced with --queue qmd, else slots, steal, and for OpenMP shared.
    #[arg(long, value_name = "HOW", value_parser = dispatch())]
    dispatch: Option<Dispatch>,
    /// Which party adds regression's vectors: the first worker (master), or the queue device
    /// (device). Left out: device with --queue qmd, otherwise master.
    #[arg(long, value_name = "WHAT", value_parser = reduction())]
    reduction: Option<Reduction>,
    /// Rows that a worker of regression looks at in an iteration.
    #[arg(long, value_name = "N", default_value_t = 8)]
    rows: u32,
    /// Length of a step of regression.
    #[arg(long, value_name = "X", default_value_t = 0.5)]
    step: f64,
    /// What a queue with flows promises. Left out: parallel. With this option firewall and distributor have such a queue too.
    #[arg(long, value_name = "KIND", value_parser = kind())]
    kind: Option<FlowOrder>,
    /// Number of flows (flows; made packets of firewall and distributor at a queue with flows).
    #[arg(long, value_name = "N", default_value_t = 64)]
    flows: u32,
    /// Flow k, from 0, has a share of flows' packets as 1 / (k + 1) to this power.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = super::args::load)]
    zipf: f64,
    /// Share of flows' packets that flow 0 has beyond that.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = super::args::share)]
    elephant: f64,
    /// Window of the queue of flows: entries that the device looks at (atomic; with --queue flows the number of buckets), or places
    /// of the reorder buffer (ordered).
    #[arg(long, value_name = "N", default_value_t = 16)]
    flow_window: u16,
    /// Cycles that a producer of flows computes before each packet.
    #[arg(long, value_name = "CYCLES", default_value_t = 0)]
    gap: u64,
}

/// The value of an option that takes one of several names.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(move |one| name(*one)));
    names.map(move |found| {
        all.iter().copied().find(|one| name(*one) == found).expect("the parser knows these names alone")
    })
}

fn prepush() -> impl TypedValueParser<Value = Prepush> {
    one_of(Prepush::ALL, Prepush::name)
}

fn dispatch() -> impl TypedValueParser<Value = Dispatch> {
    one_of(Dispatch::ALL, Dispatch::name)
}

fn kind() -> impl TypedValueParser<Value = FlowOrder> {
    one_of(&FlowOrder::ALL, kind_name)
}

fn reduction() -> impl TypedValueParser<Value = Reduction> {
    one_of(Reduction::ALL, Reduction::name)
}

impl InputArgs {
    /// The options as settings of workloads.
    pub(super) fn knobs(&self) -> Inputs<'_> {
        Inputs {
            packets: self.packets.as_deref(),
            rules: self.rules.as_deref(),
            data: self.data.as_deref(),
            clusters: &self.clusters,
            pool: self.pool,
            blocks: self.blocks,
            suspicious: self.suspicious,
            prefetch: self.prefetch,
            prepush: self.prepush,
            dispatch: self.dispatch,
            reduction: self.reduction,
            rows: self.rows,
            step: self.step,
            kind: self.kind,
            flows: self.flows,
            zipf: self.zipf,
            elephant: self.elephant,
            window: self.flow_window,
            gap: self.gap,
        }
    }

    /// Sets one option, for a sweep. Returns whether there is such an option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<bool, BadInput> {
        let bad = |what: &str| BadInput::new(format!("`--sweep {name}`: `{value}` is {what}"));
        let small = || value.parse::<u32>().map_err(|_| bad("no whole number"));
        fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, what: &str, value: &str) -> Result<T, BadInput> {
            let unknown = || BadInput::unknown(what, value, all.iter().map(|one| name(*one)));
            all.iter().copied().find(|one| name(*one) == value).ok_or_else(unknown)
        }
        match name {
            "pool" => self.pool = Some(value.parse().map_err(|_| bad("no whole number"))?),
            "blocks" => self.blocks = small()?,
            "suspicious" => self.suspicious = small()?,
            "prefetch" => self.prefetch = small()?,
            "rows" => self.rows = small()?,
            "step" => self.step = value.parse().map_err(|_| bad("no number"))?,
            "flows" => self.flows = small()?,
            "zipf" => self.zipf = super::args::load(value).map_err(BadInput::new)?,
            "elephant" => self.elephant = super::args::share(value).map_err(BadInput::new)?,
            "flow-window" => self.flow_window = value.parse().map_err(|_| bad("no whole number"))?,
            "gap" => self.gap = value.parse().map_err(|_| bad("no whole number"))?,
            "kind" => self.kind = Some(named(&FlowOrder::ALL, kind_name, name, value)?),
            "prepush" => self.prepush = named(Prepush::ALL, Prepush::name, name, value)?,
            "dispatch" => self.dispatch = Some(named(Dispatch::ALL, Dispatch::name, name, value)?),
            "reduction" => self.reduction = Some(named(Reduction::ALL, Reduction::name, name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Refuses a file for a workload that does not read it.
pub(super) fn check(args: &Args) -> Result<(), BadInput> {
    let (inputs, workload) = (&args.inputs, args.workload.text());
    let files: [(&str, bool, &[&str]); 3] = [
        ("--packets", inputs.packets.is_some(), &["firewall", "clusters", "distributor"]),
        ("--rules", inputs.rules.is_some(), &["firewall"]),
        ("--data", inputs.data.is_some(), &["regression"]),
    ];
    match files.iter().find(|(_, given, readers)| *given && !readers.contains(&workload)) {
        Some((option, _, readers)) => {
            let (last, others) = readers.split_last().unwrap_or((&"", &[]));
            let others = others.iter().map(|other| format!("{other}, ")).collect::<String>();
            let others = others.strip_suffix(", ").map_or(String::new(), |others| format!("{others} and "));
            Err(BadInput::new(format!("{option} is for --workload {others}{last}, not {workload}")))
        }
        None => Ok(()),
    }
}

/// Adds the workload's own options to those that a run shows: [`all_of`] for a workload in
/// [`WORKLOADS`], the options of flows for a queue with flows. An OpenMP team gets `dispatch`, if
/// given.
pub(super) fn shown(args: &Args, options: &mut serde_json::Value) {
    let (inputs, workload) = (&args.inputs, args.workload.text());
    let mut add = |more: serde_json::Value| {
        if let (Some(all), serde_json::Value::Object(more)) = (options.as_object_mut(), more) {
            all.extend(more);
        }
    };
    if let (true, Some(dispatch)) = (workload.starts_with(TEAMS), inputs.dispatch) {
        add(serde_json::json!({ "dispatch": dispatch.name() }));
    }
    let has_flows = inputs.kind.is_some() || args.queue == FLOWS;
    if workload == FLOWS || WITH_FLOWS.contains(&workload) && has_flows {
        add(serde_json::json!({
            "kind": kind_name(inputs.kind.unwrap_or(FlowOrder::Parallel)), "flows": inputs.flows, "zipf": inputs.zipf,
            "elephant": inputs.elephant, "flow_window": inputs.flow_window,
        }));
    }
    if workload == FLOWS {
        add(serde_json::json!({ "gap": inputs.gap }));
    }
    if WORKLOADS.contains(&workload) {
        add(all_of(inputs));
    }
}

/// The options of the workloads in [`WORKLOADS`].
fn all_of(inputs: &InputArgs) -> serde_json::Value {
    serde_json::json!({
        "packets": inputs.packets, "rules": inputs.rules, "data": inputs.data, "clusters": inputs.clusters,
        "pool": inputs.pool, "blocks": inputs.blocks, "suspicious": inputs.suspicious, "prefetch": inputs.prefetch,
        "prepush": inputs.prepush.name(), "dispatch": inputs.dispatch.map(Dispatch::name),
        "reduction": inputs.reduction.map(Reduction::name), "rows": inputs.rows, "step": inputs.step,
    })
}
