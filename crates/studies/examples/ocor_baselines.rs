//! Prints what OCOR's profiles show without OCOR, beside the figures that the paper prints. With
//! `--fit`, finds draws of the profiles.
//!
//! `cargo run --release -p baton-studies --example ocor_baselines -- [OPTIONS] [profiles/ocor/NAME.toml ...]`
//!
//! Without files, it takes all of `profiles/ocor`. Defaults are in brackets. `--fit N` finds draws
//! until a file has N of them, and writes each draw into the file at once; `--draws N` shows only
//! the first N draws of a file; `--acquisitions N` sets the acquisitions a thread (those of the
//! draw); `--threads N` (64); `--steps N` is the greatest number of runs for a candidate (10);
//! `--candidates N` ends the fit after N candidates in a row without a new draw (6); `--table N` is
//! the table of ranges to draw from, counted from 0 (each in turn); `--seed N` is the seed of the
//! candidates (1); `--again N` takes the seed of a study's run number N (0); `--chip FILE`
//! (`chips/ocor64.toml`); `--set KEY=VALUE` changes a key of the chip; `--lock NAME` (`spin-park`);
//! `--jobs N` works on N files side by side (1).
//!
//! Draws are found and shown on the baseline: no run has priorities in the network.

use baton_chip::Chip;
use baton_machine::wait::SPIN_TRIES;
use baton_programs::synthetic::fit::{Fitted, Shown, Source, alike, fit, off};
use baton_programs::synthetic::{Draw, Numbered, Profile, set};
use baton_studies::kit::Draw as _;
use baton_studies::ocor::program::{Program, Shape};
use baton_studies::ocor::run::Run;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Failed = Box<dyn std::error::Error + Send + Sync>;

struct Args {
    files: Vec<PathBuf>,
    fit: Option<u32>,
    draws: usize,
    acquisitions: Option<u64>,
    threads: u32,
    steps: u32,
    candidates: u64,
    table: Option<u32>,
    seed: u64,
    again: u64,
    chip: PathBuf,
    set: Vec<String>,
    lock: &'static str,
    jobs: usize,
}

fn arguments() -> Result<Args, Failed> {
    let mut args = Args {
        files: Vec::new(),
        fit: None,
        draws: usize::MAX,
        acquisitions: None,
        threads: 64,
        steps: 10,
        candidates: 6,
        table: None,
        seed: 1,
        again: 0,
        chip: "chips/ocor64.toml".into(),
        set: Vec::new(),
        lock: "spin-park",
        jobs: 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            args.files.push(word.into());
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let bad = || format!("{word}: `{value}` is no number that it takes");
        match word.as_str() {
            "--fit" => args.fit = Some(value.parse().map_err(|_| bad())?),
            "--draws" => args.draws = value.parse().map_err(|_| bad())?,
            "--acquisitions" => args.acquisitions = Some(value.parse().map_err(|_| bad())?),
            "--threads" => args.threads = value.parse().map_err(|_| bad())?,
            "--steps" => args.steps = value.parse().map_err(|_| bad())?,
            "--candidates" => args.candidates = value.parse().map_err(|_| bad())?,
            "--table" => args.table = Some(value.parse().map_err(|_| bad())?),
            "--seed" => args.seed = value.parse().map_err(|_| bad())?,
            "--again" => args.again = value.parse().map_err(|_| bad())?,
            "--jobs" => args.jobs = value.parse().map_err(|_| bad())?,
            "--chip" => args.chip = value.into(),
            "--lock" => args.lock = baton_sync::lock::info(&value)?.name,
            "--set" => args.set.push(value),
            _ => return Err(format!("unknown option {word}; the file's head names those that there are").into()),
        }
    }
    if args.files.is_empty() {
        for entry in std::fs::read_dir("profiles/ocor")? {
            args.files.push(entry?.path());
        }
        args.files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        args.files.sort();
    }
    Ok(args)
}

/// Does one run of a draw without any priority in the network. Accounts for its time in the way of
/// the study.
fn measure(args: &Args, chip: &str, drawn: &Numbered) -> Result<Shown, Failed> {
    let (name, Numbered { number, draw }) = (String::new(), *drawn);
    let program =
        Program { name, place: 0, shape: Shape::of(&draw), number, draw, high_cs_rate: false, high_network: false };
    let seed = program.seed(args.again);
    let (lock, tries, threads) = (args.lock, SPIN_TRIES, args.threads);
    let run = Run {
        chip: chip.to_owned(),
        program,
        lock,
        tries,
        threads,
        acquisitions: args.acquisitions.unwrap_or(draw.acquisitions),
        seed,
    };
    let figures = run.figures()?;
    let thread_kilocycles = figures.cycles as f64 * f64::from(threads) / 1000.0;
    Ok(Shown {
        cs_share: figures.cs_share() / 100.0,
        coh_share: figures.coh_share() / 100.0,
        entered_spinning: figures.entered_spinning() / 100.0,
        rate: figures.account.acquisitions as f64 / thread_kilocycles.max(1.0),
        packets: figures.packet_rate(),
    })
}

fn print(name: &str, which: &str, draw: &Draw, shown: &Shown) {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    println!(
        "{name:12} {which:>9} {:>6} {:>6} {:>8} {:>7.4} {:>8.1}   locks {} hot {:.2} section {}+{} lines think {} spread {:.2} phase {} misses {:.1}",
        percent(shown.cs_share),
        percent(shown.coh_share),
        percent(shown.entered_spinning),
        shown.rate,
        shown.packets,
        draw.locks,
        draw.hot,
        draw.section_cycles,
        draw.section_lines,
        draw.think_cycles,
        draw.spread,
        draw.phase,
        draw.misses,
    );
}

fn one(args: &Args, chip: &str, path: &Path) -> Result<(), Failed> {
    let profile = Profile::open(path)?;
    let printed = profile.printed;
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
    println!(
        "{:12}   printed {:>6} {:>6} {:>8} {:>7} {:>8}",
        profile.name,
        percent(printed.cs_share),
        percent(printed.coh_share),
        percent(printed.entered_spinning),
        printed.cs_rate.name(),
        printed.network.name(),
    );
    let Some(wanted) = args.fit else {
        for drawn in profile.draws.iter().take(args.draws) {
            let shown = measure(args, chip, drawn)?;
            let met = if off(&profile, &shown) == 0.0 { "" } else { " not met" };
            print(&profile.name, &format!("{}{met}", drawn.number), &drawn.draw, &shown);
        }
        return Ok(());
    };
    let mut profile = profile;
    let (mut runs, mut tries) = (0, 0);
    while profile.draws.len() < wanted as usize && tries < args.candidates {
        let number = profile.next_number();
        let drawn = |draw| Numbered { number, draw };
        let candidate = u64::from(number) + tries;
        let source = Source {
            stratum: (candidate % u64::from(wanted)) as u32,
            strata: wanted,
            table: args.table,
            seed: args.seed + 1000 * u64::from(number) + tries,
        };
        let found = fit(&profile, source, args.steps, |draw| {
            runs += 1;
            measure(args, chip, &drawn(*draw))
        })?;
        tries += 1;
        let Some(Fitted { draw, shown, off }) = found else { continue };
        let alike = profile.draws.iter().any(|other| alike(&other.draw, &draw));
        let met = if off == 0.0 { if alike { "alike" } else { "met" } } else { "not met" };
        print(&profile.name, &format!("{number} {met}"), &draw, &shown);
        if met == "met" {
            // The draw is written at once. If the fit is interrupted, only one candidate is lost,
            // and the same command continues from here.
            let text = set::with_draw(&std::fs::read_to_string(path)?, &drawn(draw), &remark(&shown));
            let beside = path.with_extension("toml.new");
            std::fs::write(&beside, text)?;
            std::fs::rename(&beside, path)?;
            profile.draws.push(drawn(draw));
            tries = 0;
        }
    }
    println!("{:12} {} draws after {runs} runs", profile.name, profile.draws.len());
    Ok(())
}

/// The remark above a draw in its file: the figures that the draw showed when it was found.
fn remark(shown: &Shown) -> String {
    format!(
        "critical sections {:.1}%, overhead {:.1}%, spinning {:.1}%, rate {:.3}, packets {:.1}",
        100.0 * shown.cs_share,
        100.0 * shown.coh_share,
        100.0 * shown.entered_spinning,
        shown.rate,
        shown.packets,
    )
}

fn main() -> Result<(), Failed> {
    let args = arguments()?;
    let chip = Chip::open(&args.chip, &args.set)?.to_toml();
    println!(
        "{:12} {:>9} {:>6} {:>6} {:>8} {:>7} {:>8}",
        "program", "draw", "CS %", "COH %", "spinning", "rate", "packets"
    );
    let next = AtomicUsize::new(0);
    let worker = || -> Result<(), Failed> {
        while let Some(path) = args.files.get(next.fetch_add(1, Relaxed)) {
            one(&args, &chip, path)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Failed::from("a run panicked"))?)
    })
}
