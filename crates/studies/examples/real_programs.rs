//! Runs the study's real programs alone, in both arms, and checks their results:
//! `cargo run --release -p baton-studies --example real_programs -- [THREADS...]`
//! (without counts: all thread counts of the study).
//!
//! Prints one line for each program, thread count and comparison (`real::Arms`): cycles, shares,
//! the savings of the second arm, and the host's seconds for both runs.

use baton_chip::Chip;
use baton_programs::real::Program;
use baton_studies::ocor::real::{self, Arms, Run, What};
use baton_studies::ocor::run::Figures;
use std::time::Instant;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = |word: &String| {
        let count = word.parse().ok().filter(|count| (1..=1024).contains(count));
        count.ok_or_else(|| format!("`{word}`: expected a number of threads, 1 to 1024"))
    };
    let mut threads: Vec<u32> = words.iter().map(count).collect::<Result<_, _>>()?;
    if threads.is_empty() {
        threads = real::THREADS.into();
    }
    let text = std::fs::read_to_string("chips/ocor64.toml").map_err(|error| format!("chips/ocor64.toml: {error}"))?;
    println!(
        "{:13} {:26} {:>7} {:>10} {:>8} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "program",
        "compared",
        "threads",
        "cycles",
        "sections",
        "cs %",
        "coh %",
        "spin %",
        "marked",
        "less coh",
        "less time",
        "host s"
    );
    for program in Program::ALL {
        for (&threads, arms) in threads.iter().flat_map(|threads| Arms::ALL.map(|arms| (threads, arms))) {
            let start = Instant::now();
            let arm = |settings: Vec<String>, lock| -> Result<Figures, String> {
                let chip = Chip::from_toml_at(&text, "chips/ocor64.toml", Some(threads.max(4)), &settings);
                let chip = chip.map_err(|error| error.to_string())?.to_toml();
                Run { chip, what: What { program, scale: real::scale(program, 1) }, lock, threads, seed: 1 }.figures()
            };
            let ([off, on], [lock_off, lock_on]) = (arms.settings(), arms.locks());
            let (off, on) = (arm(off, lock_off)?, arm(on, lock_on)?);
            let less = |off: u64, on: u64| 100.0 * (off as f64 - on as f64) / off.max(1) as f64;
            println!(
                "{:13} {:26} {threads:>7} {:>10} {:>8} {:>7.2} {:>7.2} {:>9.1} {:>9.1} {:>9.1} {:>9.2} {:>7.1}",
                program.info().name,
                arms.name(),
                off.cycles,
                off.account.acquisitions,
                off.cs_share(),
                off.coh_share(),
                off.entered_spinning(),
                on.entered_spinning(),
                less(off.account.overhead, on.account.overhead),
                less(off.cycles, on.cycles),
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
