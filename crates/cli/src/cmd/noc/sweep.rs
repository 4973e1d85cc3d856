//! `baton noc sweep`: latency against load, all cores used; the result does not depend on how many.

use super::options::Options;
use super::{input, page};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_noc::experiment::{Point, bisect_saturation};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which loads, and what to leave.
#[derive(clap::Args)]
#[command(after_help = "\
The saturation load is where mean packet latency reaches three times its value at no load, found by bisection.

Examples:
  baton noc sweep --rates 0.01..0.5
  baton noc sweep --traffic transpose --rates 0.02,0.06,0.1,0.12,0.13,0.14 --plot transpose.html
  baton noc sweep --arbiter age --rates 0.05..0.45 --points 20 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    options: Box<Options>,
    /// Loads: FROM..TO, or a list with commas.
    #[arg(long, default_value = "0.01..0.5")]
    rates: String,
    /// How many loads FROM..TO is cut into.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=1000))]
    points: u32,
    /// How finely the saturation load is found, in packets a node a cycle.
    #[arg(long, default_value_t = 0.005)]
    precision: f64,
    /// Leave a page with the curve; it needs no network.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn loads(text: &str, points: u32) -> anyhow::Result<Vec<f64>> {
    let bad = || BadInput::new(format!("`--rates {text}`: expected FROM..TO or a list, each from 0 to 1"));
    let number = |s: &str| s.trim().parse::<f64>().ok().filter(|v| (0.0..=1.0).contains(v)).ok_or_else(bad);
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if to < from {
                return Err(bad().into());
            }
            let step = (to - from) / f64::from(points - 1);
            // Rounded, so that what is printed is what was run.
            Ok((0..points).map(|i| ((from + step * f64::from(i)) * 1e6).round() / 1e6).collect())
        }
        None => text.split(',').map(|s| number(s).map_err(Into::into)).collect(),
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let rates = loads(&args.rates, args.points)?;
    if !(1e-6..=0.5).contains(&args.precision) {
        return Err(BadInput::new(format!("`--precision {}`: expected 0.000001 to 0.5", args.precision)).into());
    }
    let experiment = args.options.experiment()?;
    let bar = ProgressBar::new(rates.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").context("progress bar")?);
    let (curve, saturation) = rayon::join(
        || {
            rates
                .par_iter()
                .map(|&rate| {
                    let result = experiment.at_rate(rate).run()?;
                    bar.inc(1);
                    Ok(Point { rate, result })
                })
                .collect::<Result<Vec<Point>, _>>()
        },
        || {
            bisect_saturation(&experiment, args.precision, &mut |p| {
                bar.set_message(format!("saturation: {:.4}", p.rate));
            })
        },
    );
    bar.finish_and_clear();
    let (curve, saturation) = (curve.map_err(input)?, saturation.map_err(input)?);
    if let Some(path) = &args.plot {
        std::fs::write(path, page::curve(&experiment, &curve, saturation))
            .with_context(|| format!("cannot write {}", path.display()))?;
        ui::note(format!("curve in {}", path.display()));
    }
    if args.json {
        let points: Vec<_> = curve.iter().map(page::point).collect();
        let all = json!({ "points": points, "saturation_load": saturation, "configuration": experiment });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    print!("{}", table(&curve));
    match saturation {
        Some(load) => println!("saturation load: {load:.4} packets a node a cycle (± {})", args.precision),
        None => println!("saturation load: not reached by one packet a node a cycle"),
    }
    Ok(ExitCode::SUCCESS)
}

fn table(curve: &[Point]) -> String {
    let rows: Vec<Vec<String>> = curve
        .iter()
        .map(|p| {
            let (r, l) = (&p.result, &p.result.packet_latency);
            if r.saturated {
                return vec![format!("{}", p.rate), "saturated".into(), String::new(), String::new(), String::new()];
            }
            let half = l.half_width_95.map_or_else(|| "-".into(), |h| format!("{h:.3}"));
            let (mean, p99, accepted) =
                (format!("{:.3}", l.mean), l.p99.to_string(), format!("{:.5}", r.accepted_flits));
            vec![format!("{}", p.rate), mean, half, p99, accepted]
        })
        .collect();
    ui::table(&["load", "packet latency", "± 95%", "p99", "flits accepted"], &rows)
}
