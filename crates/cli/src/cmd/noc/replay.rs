//! `baton noc replay`: sends recorded packets, with their dependencies.

use super::options::{Options, input};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_noc::topology::TopologyConfig;
use baton_noc::trace::{Replay, ReplayResult, Trace};
use baton_noc::{Network, with_arbiter};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton noc replay`.
#[derive(clap::Args)]
#[command(after_help = super::options::help("\
Reads Netrace's format, compressed by bzip2 or not, and Baton's own (docs/reference/noc.md).
Without --size the network is the smallest square mesh that holds the trace's nodes.

Examples:
  baton noc replay blackscholes.tra.bz2
  baton noc replay --topology torus --size 8x8 --classes 2 trace.txt --json
  baton noc replay --no-dependencies --write plain.txt trace.tra"))]
pub(crate) struct Args {
    #[command(flatten)]
    options: Box<Options>,
    /// The traces.
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Send every packet at its cycle, whatever it depends on.
    #[arg(long)]
    no_dependencies: bool,
    /// Bytes a flit carries.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    flit_bytes: u32,
    /// Write the (only) trace in Baton's own format.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
}

/// Largest size of a packet trace that is read.
const MOST_BYTES: u64 = 1 << 30;

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.write.is_some() && args.traces.len() > 1 {
        return Err(BadInput::new("`--write` takes one trace").into());
    }
    let mut results = vec![];
    for path in &args.traces {
        let file = path.display().to_string();
        let bytes = baton_trace::files::read(path, MOST_BYTES).map_err(|e| BadInput::new(format!("{file}: {e}")))?;
        let trace = baton_noc::trace::read(&file, &bytes).map_err(input)?;
        if let Some(out) = &args.write {
            let text = baton_noc::trace::write_own(&trace, args.flit_bytes);
            std::fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))?;
        }
        let result = replay(&args, &trace)?;
        results.push((file, trace, result));
    }
    if args.json {
        let all: Vec<_> = results
            .iter()
            .map(|(file, trace, r)| json!({ "file": file, "name": trace.name, "nodes": trace.nodes, "result": r }))
            .collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|(file, _, r)| {
            vec![
                file.clone(),
                r.packets.to_string(),
                r.dependencies.to_string(),
                r.cycles.to_string(),
                format!("{:.3}", r.packet_latency),
                r.p99.to_string(),
                format!("{:.4}", r.hops),
                format!("{:.1}", r.held_back),
            ]
        })
        .collect();
    let header = ["trace", "packets", "dependencies", "cycles", "packet latency", "p99", "hops", "held back"];
    print!("{}", ui::table(&header, &rows));
    Ok(ExitCode::SUCCESS)
}

fn replay(args: &Args, trace: &Trace) -> anyhow::Result<ReplayResult> {
    let experiment = args.options.experiment()?;
    let mut config = experiment.network;
    if !args.options.names_topology() {
        let side = (1..=1024u32).find(|s| s * s >= trace.nodes).unwrap_or(1024);
        config.topology = TopologyConfig::Mesh { size: [side; 2] };
    }
    let how = Replay {
        flit_bytes: args.flit_bytes,
        dependencies: !args.no_dependencies,
        endpoint_service: experiment.endpoint_service,
    };
    let result = with_arbiter!(&config, |arbiter| {
        Network::with_arbiter(&config, arbiter).and_then(|mut network| how.run(trace, &mut network))
    });
    result.map_err(|e| args.options.blame(e))
}
