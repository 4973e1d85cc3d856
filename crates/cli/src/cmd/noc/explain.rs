//! `baton noc explain`: shows why a network is slow or stuck.

use super::options::{Options, input};
use super::page;
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_noc::experiment::Experiment;
use baton_noc::explain::{Explanation, Journey, Look, Stage, explain};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton noc explain`.
#[derive(clap::Args)]
#[command(after_help = super::options::help("\
Runs from an empty network for `--cycles` and looks: who waits for whom, where flits stand, one
packet's way.

Examples:
  baton noc explain --traffic transpose --rate 0.15 --page map.html
  baton noc explain --rate 0.05 --follow 100
  baton noc explain --rate 0.4 --cycles 5000 --follow slowest
  baton noc explain --topology torus --size 4x4 --vcs 1 --routing table --allow-deadlock \\
      --rate 0.5 --packet 8"))]
pub(crate) struct Args {
    #[command(flatten)]
    options: Box<Options>,
    /// The number of a packet, in the order of creation, or `slowest`: tell its way cycle by cycle.
    #[arg(long, value_name = "PACKET")]
    follow: Option<String>,
    /// Pieces into which the run is cut; 10, or 40 with --page.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slices: Option<u32>,
    /// Leave a page with maps of links, buffers and waiting over time; it needs no network.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn look(&self, experiment: &Experiment) -> anyhow::Result<Explanation> {
        let slices = self.slices.unwrap_or(if self.page.is_some() { 40 } else { 10 });
        let look = |follow| explain(experiment, Look { follow, slices }).map_err(|e| self.options.blame(e));
        match self.follow.as_deref() {
            None => look(None),
            // The first run finds the slowest packet; the second run, which is the same because
            // runs are deterministic, follows it.
            Some("slowest") => look(look(None)?.slowest.map(|(packet, _)| packet)),
            Some(number) => {
                let bad = || BadInput::new(format!("`--follow {number}`: expected a packet's number, or `slowest`"));
                look(Some(number.parse().map_err(|_| bad())?))
            }
        }
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let experiment = args.options.experiment()?;
    let found = args.look(&experiment)?;
    let graph = experiment.network.topology.build().map_err(input)?;
    if let Some(path) = &args.page {
        let first = experiment.traffic.first();
        let title = format!(
            "{} of {} routers, {} packets a node a cycle",
            experiment.network.topology.name(),
            graph.routers,
            first.map_or(0.0, |f| f.rate),
        );
        let configuration = serde_json::to_string_pretty(&experiment)?;
        let text = page::map(&page::Map { title: &title, found: &found, graph: &graph, configuration });
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        ui::note(format!("maps in {}", path.display()));
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    print!("{}", text(&found, graph.grid.map(|g| g.width as usize)));
    Ok(ExitCode::SUCCESS)
}

fn text(e: &Explanation, width: Option<usize>) -> String {
    let mut out = format!(
        "{} cycles, {} packets created, {} delivered; the oldest on its way is {} cycles old\n",
        e.cycles, e.packets.0, e.packets.1, e.oldest
    );
    if e.deadlock.is_empty() {
        out.push_str("no ring of packets that wait for each other\n");
    } else {
        out.push_str(&format!("deadlock: nothing has moved for {} cycles; each waits for the next:\n", e.still_for));
        e.deadlock.iter().for_each(|l| out.push_str(&format!("  {l}\n")));
    }
    out.push_str("\nbusiest channels\n");
    let rows: Vec<Vec<String>> = e
        .links
        .iter()
        .take(8)
        .map(|l| vec![l.kind.to_owned(), format!("{} -> {}", l.from, l.to), format!("{:.3}", l.load)])
        .collect();
    out.push_str(&ui::table(&["kind", "from -> to", "flits a cycle"], &rows));
    if let (Some(width), Some(last)) = (width, e.slices.last()) {
        out.push_str("\nflits in each router's buffers, mean of the last piece of the run\n");
        out.push_str(&heat(&last.held, width));
    }
    if let Some(j) = &e.journey {
        out.push_str(&way(j));
    }
    out
}

/// The way of a packet in words.
fn way(j: &Journey) -> String {
    let mut out = format!("\npacket {}", j.packet);
    match (j.src, j.dst, j.flits, j.stages.first()) {
        (Some(src), Some(dst), Some(flits), Some(first)) => {
            let flits = if flits == 1 { "1 flit".to_owned() } else { format!("{flits} flits") };
            out.push_str(&format!(": created at node {src} in cycle {}, {flits} for node {dst}\n", first.from));
        }
        _ => out.push_str(" has not arrived\n"),
    }
    let cells = |s: &Stage| {
        let cycles = if s.to - s.from > 1 { format!("{}-{}", s.from, s.to - 1) } else { s.from.to_string() };
        vec![cycles, s.place.clone(), s.what.clone()]
    };
    let rows: Vec<Vec<String>> = j.stages.iter().map(cells).collect();
    out.push_str(&ui::table(&["cycles", "where", "what"], &rows));
    out
}

/// A grid of shades, with the figures.
fn heat(held: &[f64], width: usize) -> String {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    let most = held.iter().copied().fold(1e-9, f64::max);
    let mut out = String::new();
    for row in held.chunks(width) {
        for v in row {
            let shade = SHADES[((v / most * 4.0).round() as usize).min(4)];
            out.push_str(&format!(" {shade}{shade} {v:7.2}"));
        }
        out.push('\n');
    }
    out
}
