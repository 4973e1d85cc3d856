//! `baton noc explain`: why is it slow, or stuck.

use super::input;
use super::options::Options;
use crate::ui;
use baton_noc::explain::{Explanation, explain};
use std::process::ExitCode;

/// What to run, and whom to follow.
#[derive(clap::Args)]
#[command(after_help = "\
Runs from an empty network for `--cycles` and looks: who waits for whom, where flits stand, one packet's way.

Examples:
  baton noc explain --traffic transpose --rate 0.15
  baton noc explain --rate 0.05 --follow 100
  baton noc explain --topology torus --size 4x4 --vcs 1 --routing table --allow-deadlock --rate 0.5 --packet 8")]
pub(crate) struct Args {
    #[command(flatten)]
    options: Box<Options>,
    /// The number of a packet, in the order of creation: print its way cycle by cycle.
    #[arg(long, value_name = "PACKET")]
    follow: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let experiment = args.options.experiment()?;
    let found = explain(&experiment, args.follow).map_err(input)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = experiment.network.topology.build().map_err(input)?.grid.map(|g| g.width as usize);
    print!("{}", text(&found, width));
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
    if let (Some(width), Some(last)) = (width, e.held.last()) {
        out.push_str("\nflits in each router's buffers, mean of the last tenth of the run\n");
        out.push_str(&heat(last, width));
    }
    if !e.journey.is_empty() {
        out.push_str("\nthe packet's way\n");
        e.journey.iter().for_each(|l| out.push_str(&format!("  {l}\n")));
    }
    out
}

/// A grid of shades with the figures.
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
