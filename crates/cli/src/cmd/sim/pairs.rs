//! Ping-pong between the two cores of every pair: the distance of cores, as a line travels.

use super::args::Args;
use super::drawing::draw;
use super::one;
use crate::error::BadInput;
use crate::{chips, ui};
use baton_chip::Chip;
use baton_plot::Matrix;
use rayon::prelude::*;
use std::process::ExitCode;

/// Runs all pairs in parallel on the host's cores.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.workload.text() != "pingpong" {
        return Err(BadInput::new("--pairs is for --workload pingpong").into());
    }
    let chip = args.chip.open()?;
    let cores = args.cpus.unwrap_or(chip.cpus()).min(chip.cpus());
    let pairs: Vec<(u32, u32)> = (0..cores).flat_map(|a| (a + 1..cores).map(move |b| (a, b))).collect();
    let one = |&(a, b): &(u32, u32)| one_way(args, &chip, a, b);
    let cycles = pairs.par_iter().map(one).collect::<anyhow::Result<Vec<f64>>>()?;
    let mut rows = vec![vec![None; cores as usize]; cores as usize];
    for (&(a, b), &cycles) in pairs.iter().zip(&cycles) {
        rows[a as usize][b as usize] = Some(cycles);
        rows[b as usize][a as usize] = Some(cycles);
    }
    if let Some(path) = &args.plot {
        let matrix = Matrix {
            title: format!("{}: a line from core to core and into its hands", chip.name),
            what: "cycles a pass".to_owned(),
            rows: rows.clone(),
        };
        draw(path, &matrix.title, &matrix.svg(), "", &chip)?;
    }
    if args.json {
        let whole = serde_json::json!({
            "schema": "baton-sim-pairs/1", "seed": args.seed, "cycles_a_pass": rows, "chip": chips::echo(&chip),
        });
        println!("{}", serde_json::to_string_pretty(&whole)?);
    } else {
        let cell = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.0}"));
        let names: Vec<String> = (0..cores).map(|core| core.to_string()).collect();
        let header: Vec<&str> = std::iter::once("core").chain(names.iter().map(String::as_str)).collect();
        let row = |(core, row): (usize, &Vec<Option<f64>>)| {
            std::iter::once(core.to_string()).chain(row.iter().map(cell)).collect::<Vec<_>>()
        };
        print!("{}", ui::table(&header, &rows.iter().enumerate().map(row).collect::<Vec<_>>()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Cycles from one thread's store to the other thread's load, with the threads on these cores.
fn one_way(args: &Args, chip: &Chip, a: u32, b: u32) -> anyhow::Result<f64> {
    let run = |iterations: u64| {
        let args =
            Args { at: vec![a, b], iterations: Some(iterations), cycles: None, threads: Some(2), ..args.clone() };
        Ok::<u64, anyhow::Error>(one::run(&args, chip)?.cycles)
    };
    // A run with twice the passes minus a run with once the passes: the cost of the start cancels.
    let iterations = args.iterations.unwrap_or(100);
    Ok((run(2 * iterations)?.saturating_sub(run(iterations)?)) as f64 / (2 * iterations) as f64)
}
