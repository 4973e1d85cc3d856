//! `baton noc sweep`: latency against load, on all cores. The result does not depend on their
//! number.

use super::options::Options;
use super::page;
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_host::launch::signals::{PassedOn, asked_to_end};
use baton_noc::NocError;
use baton_noc::experiment::{Experiment, Point, bisect_saturation};
use baton_studio::sweep::each;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `baton noc sweep`.
#[derive(clap::Args)]
#[command(after_help = super::options::help("\
The saturation load is where mean packet latency reaches three times its value at no load, found
by bisection.

Examples:
  baton noc sweep --rates 0.01..0.5
  baton noc sweep --traffic transpose --rates 0.02,0.06,0.1,0.12,0.13,0.14 --plot transpose.html
  baton noc sweep --arbiter age --rates 0.05..0.45 --points 20 --json
  baton noc sweep --compare arbiter=round-robin,matrix,age --plot arbiters.html
  baton noc sweep --compare vcs=2,4,6 --beside earlier.json --beside reference.csv --plot all.html"))]
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
    /// Sweep once for each value of an option, and put the curves beside each other.
    #[arg(long, value_name = "OPTION=VALUE,VALUE…")]
    compare: Option<String>,
    /// Curves to put beside these: an earlier sweep's --json, or a table `load,mean latency`.
    #[arg(long, value_name = "FILE", requires = "plot")]
    beside: Vec<PathBuf>,
    /// Leave a page with the curves; it needs no network.
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
            // The loads are rounded, so that the printed load is the load that ran.
            Ok((0..points).map(|i| ((from + step * f64::from(i)) * 1e6).round() / 1e6).collect())
        }
        None => text.split(',').map(|s| number(s).map_err(Into::into)).collect(),
    }
}

/// The result of one sweep.
struct Swept {
    /// The value that is compared, or the topology's name.
    name: String,
    experiment: Experiment,
    points: Vec<Point>,
    /// The points of the search for the saturation load. The page draws them too, because they lie
    /// where the curve bends.
    search: Vec<Point>,
    saturation: Option<f64>,
}

/// The experiments to sweep, each with its name.
fn variants(args: &Args) -> anyhow::Result<Vec<(String, Experiment)>> {
    let Some(compare) = &args.compare else {
        let experiment = args.options.experiment()?;
        return Ok(vec![(experiment.network.topology.name().to_owned(), experiment)]);
    };
    let bad =
        || BadInput::new(format!("`--compare {compare}`: expected OPTION=VALUE,VALUE…, such as arbiter=age,ocor"));
    let (option, values) = compare.split_once('=').filter(|(_, v)| !v.is_empty()).ok_or_else(bad)?;
    let one = |value: &str| {
        let mut options = args.options.clone();
        options.set(option.trim_start_matches('-'), value)?;
        Ok((format!("{option} {value}"), options.experiment()?))
    };
    values.split(',').map(|v| one(v.trim())).collect()
}

/// A run of a sweep.
enum Task {
    /// A run at one load: the indices of the variant and of the load.
    Load(usize, usize),
    /// The search for a variant's saturation load.
    Search(usize),
}

/// What a run gave.
enum Gave {
    Point(Box<Point>),
    Saturation(Option<f64>, Vec<Point>),
}

/// Runs all loads of all variants and the searches for saturation loads, in parallel on all cores.
/// Returns whether all ended before Ctrl-C; points that did not are left out.
fn sweep(args: &Args, rates: &[f64]) -> anyhow::Result<(Vec<Swept>, bool)> {
    let variants = variants(args)?;
    if let Some((name, _)) = variants.iter().find(|(_, e)| e.traffic.iter().any(|f| f.batch > 0)) {
        let what = format!("{name}: a batch runs to its end at any load: sweep without `--batch`");
        return Err(BadInput::new(what).into());
    }
    let bar = ProgressBar::new((rates.len() * variants.len()) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").context("progress bar")?);
    // The searches take longest, and begin first.
    let searches = (0..variants.len()).map(Task::Search);
    let loads = (0..variants.len()).flat_map(|variant| (0..rates.len()).map(move |load| Task::Load(variant, load)));
    let tasks: Arc<Vec<Task>> = Arc::new(searches.chain(loads).collect());
    let run = {
        let (tasks, bar, rates, precision) = (tasks.clone(), bar.clone(), rates.to_vec(), args.precision);
        let experiments: Vec<Experiment> = variants.iter().map(|(_, experiment)| experiment.clone()).collect();
        move |at: usize| match tasks[at] {
            Task::Load(variant, load) => {
                let rate = rates[load];
                let result = experiments[variant].at_rate(rate).run()?;
                bar.inc(1);
                Ok(Gave::Point(Box::new(Point { rate, result })))
            }
            Task::Search(variant) => {
                let mut search = vec![];
                let found = bisect_saturation(&experiments[variant], precision, &mut |p| {
                    bar.set_message(format!("saturation: {:.4}", p.rate));
                    search.push(p.clone());
                });
                found.map(|found| Gave::Saturation(found, search))
            }
        }
    };
    let mut found: Vec<Option<Gave>> = tasks.iter().map(|_| None).collect();
    let mut failed: Option<(usize, NocError)> = None;
    let signals = PassedOn::begin();
    let whole = each(tasks.len(), &asked_to_end, run, &mut |at, gave| match gave {
        Ok(gave) => found[at] = Some(gave),
        // The first error of several is told, whichever came first.
        Err(error) if failed.as_ref().is_none_or(|(first, _)| at < *first) => failed = Some((at, error)),
        Err(_) => {}
    })?;
    drop(signals);
    bar.finish_and_clear();
    if let Some((_, error)) = failed {
        return Err(args.options.blame(error));
    }
    let mut swept: Vec<Swept> = variants
        .into_iter()
        .map(|(name, experiment)| Swept { name, experiment, points: vec![], search: vec![], saturation: None })
        .collect();
    for (task, gave) in tasks.iter().zip(found) {
        match (task, gave) {
            (Task::Load(variant, _), Some(Gave::Point(point))) => swept[*variant].points.push(*point),
            (Task::Search(variant), Some(Gave::Saturation(load, search))) => {
                (swept[*variant].saturation, swept[*variant].search) = (load, search);
            }
            _ => {}
        }
    }
    Ok((swept, whole))
}

/// The exit code of a command that Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let rates = loads(&args.rates, args.points)?;
    if !(1e-6..=0.5).contains(&args.precision) {
        return Err(BadInput::new(format!("`--precision {}`: expected 0.000001 to 0.5", args.precision)).into());
    }
    let mut beside = vec![];
    for path in &args.beside {
        beside.extend(page::earlier(path)?);
    }
    let (swept, whole) = sweep(&args, &rates)?;
    let ended = if whole { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) };
    if !whole {
        ui::note("stopped: points and searches that had not ended are left out");
    }
    if let Some(path) = &args.plot {
        let curves: Vec<page::Curve> = swept
            .iter()
            .map(|s| page::Curve::of(&s.name, s.points.iter().chain(&s.search), s.saturation, json!(s.experiment)))
            .chain(beside)
            .collect();
        let title = format!("Latency against load: {}", swept[0].experiment.network.topology.name());
        std::fs::write(path, page::curves(&title, &curves))
            .with_context(|| format!("cannot write {}", path.display()))?;
        ui::note(format!("{} in {}", if curves.len() > 1 { "curves" } else { "curve" }, path.display()));
    }
    if args.json {
        let figures = |s: &Swept| {
            let points: Vec<_> = s.points.iter().map(page::point).collect();
            json!({ "points": points, "saturation_load": s.saturation, "configuration": s.experiment })
        };
        let mut all: Vec<Value> = swept.iter().map(figures).collect();
        let text = if args.compare.is_some() {
            swept.iter().zip(&mut all).for_each(|(s, v)| v["name"] = json!(s.name));
            json!({ "curves": all })
        } else {
            all.remove(0)
        };
        println!("{}", serde_json::to_string_pretty(&text)?);
        return Ok(ended);
    }
    for s in &swept {
        if args.compare.is_some() {
            println!("{}", s.name);
        }
        print!("{}", table(&s.points));
        match s.saturation {
            Some(load) => println!("saturation load: {load:.4} packets a node a cycle (± {})", args.precision),
            None if whole => println!("saturation load: not reached by one packet a node a cycle"),
            None => println!("saturation load: not found yet"),
        }
    }
    Ok(ended)
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
