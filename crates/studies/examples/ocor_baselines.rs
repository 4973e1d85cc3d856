//! What OCOR's profiles show without OCOR, beside what the paper prints; and the fit that finds their draws.
//!
//! `cargo run --release -p baton-studies --example ocor_baselines -- [OPTIONS] [profiles/ocor/NAME.toml ...]`
//!
//! Without files: all of `profiles/ocor`. `--fit N` finds N draws a file and writes them into it; `--draws N` looks at the
//! first N only; `--acquisitions N` a thread in the place of the draw's, `--threads N` (64), `--steps N` (10) runs a
//! candidate, `--candidates N` (3) a draw, `--seed N` (1) of the candidates, `--chip FILE` (`chips/ocor64.toml`),
//! `--set KEY=VALUE` of it, `--lock NAME` (`spin-park`), `--jobs N` files side by side (1).
//!
//! Nothing here knows of priorities in the network: profiles are made on the baseline.

use baton_chip::Chip;
use baton_machine::wait::SPIN_TRIES;
use baton_studies::ocor::program::Program;
use baton_studies::ocor::run::Run;
use baton_workloads::profile::fit::{Fitted, Shown, alike, fit, off};
use baton_workloads::profile::{Draw, Profile, set};
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
    seed: u64,
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
        candidates: 3,
        seed: 1,
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
            "--seed" => args.seed = value.parse().map_err(|_| bad())?,
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

/// One run of a draw without any priority in the network, accounted for as the study does.
fn measure(args: &Args, chip: &str, draw: &Draw, seed: u64) -> Result<Shown, Failed> {
    let (name, draw) = (String::new(), *draw);
    let program = Program { name, number: 0, draw, high_cs_rate: false, high_network: false };
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
        for (number, draw) in profile.draws.iter().take(args.draws).enumerate() {
            let shown = measure(args, chip, draw, 1 + number as u64)?;
            let met = if off(&profile, &shown) == 0.0 { "" } else { " not met" };
            print(&profile.name, &format!("{number}{met}"), draw, &shown);
        }
        return Ok(());
    };
    let mut draws: Vec<(Draw, String)> = Vec::new();
    for stratum in 0..wanted {
        // A candidate that cannot be moved to what is printed, or is one that there is, is replaced by another one of its
        // stratum. What is not met is left out.
        for again in 0..args.candidates {
            // A study runs a draw with its number as the seed.
            let seed = 1 + draws.len() as u64;
            let found = fit(&profile, (stratum, wanted), args.seed + again, args.steps, |draw| {
                measure(args, chip, draw, seed)
            })?;
            let Some(Fitted { draw, shown, off }) = found else { continue };
            let alike = draws.iter().any(|(other, _)| alike(other, &draw));
            let met = if off == 0.0 { if alike { "alike" } else { "met" } } else { "not met" };
            print(&profile.name, met, &draw, &shown);
            if met == "met" {
                let remark = format!(
                    "critical sections {:.1}%, overhead {:.1}%, spinning {:.1}%, rate {:.3}, packets {:.1}",
                    100.0 * shown.cs_share,
                    100.0 * shown.coh_share,
                    100.0 * shown.entered_spinning,
                    shown.rate,
                    shown.packets,
                );
                draws.push((draw, remark));
                break;
            }
        }
    }
    let text = std::fs::read_to_string(path)?;
    std::fs::write(path, set::with_draws(&text, &draws))?;
    Ok(())
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
