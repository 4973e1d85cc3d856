//! Measures one lock on this machine: threads think, lock, compute and unlock, as in `baton sim
//! --workload lock`; how often they had the lock within a window is counted. `scripts/measure/zoo`
//! compares the counts with those of the simulator.
//!
//! `target/release/examples/contend mcs --wait spin --threads 4 --cs 1000 --think 4000 --ms 100`
//!
//! `--lines N` (1) and `--spread PERCENT` (50) mean what the simulator's options mean, except that
//! the simulator's spread is a share. When the window is over the process ends, whatever its
//! threads do: spinners whose holder has lost its CPU would take long to come to an end by
//! themselves. It prints the acquisitions and the window's length in nanoseconds.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a run on the real machine: its threads and its clock"
)]

use baton_machine::units::Cycles;
use baton_machine::{Native, Wait};
use baton_sync::lock::{self, LockVisitor, RawLock, ZeroInit};
use baton_workloads::lock::Contention;
use baton_workloads::{Probe, Team};
use std::cell::Cell;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// A thread's acquisitions, on a pair of lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Count(AtomicU64);

thread_local!(static NUMBER: Cell<usize> = const { Cell::new(0) });

/// Counts acquisitions, each thread for itself.
#[derive(Clone)]
struct Counts(Arc<Vec<Count>>);

impl Counts {
    fn sum(&self) -> u64 {
        self.0.iter().map(|count| count.0.load(Relaxed)).sum()
    }
}

impl Probe for Counts {
    fn request(&self, _: u32) -> u64 {
        0
    }
    fn acquired(&self, _: u32, _: u64) {
        // No other thread writes this count, so a load and a store suffice.
        let count = &self.0[NUMBER.get()].0;
        count.store(count.load(Relaxed) + 1, Relaxed);
    }
    fn release(&self, _: u32) {}
}

/// The workload with the lock that it visits.
struct Made(Contention, Option<Wait>, Counts);

impl LockVisitor<Native> for Made {
    type Out = Result<Team, String>;
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> Self::Out {
        let Made(contention, asked, counts) = self;
        let wait = L::INFO.wait(asked)?;
        Native::check(wait).map_err(|missing| missing.to_string())?;
        Ok(contention.team::<Native, L, _>(wait, counts))
    }
}

fn run(words: &[String]) -> Result<(u64, Duration), String> {
    let usage = "expected a lock, and --wait, --threads, --cs, --think, --lines, --spread, --ms";
    let name = words.first().ok_or(usage)?;
    let mut contention = Contention {
        threads: 2,
        critical: Cycles(1000),
        think: Cycles(4000),
        spread: 0.5,
        lines: 1,
        iterations: u64::MAX,
    };
    let (mut wait, mut ms) = (None, 100);
    for option in words[1..].chunks(2) {
        let [option, value] = option else { return Err(usage.into()) };
        let number = |most: u64| match value.parse::<u64>() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(format!("{option} is `{value}`; expected a whole number, at most {most}")),
        };
        match option.as_str() {
            "--wait" => wait = Some(value.parse::<Wait>().map_err(|bad| bad.to_string())?),
            "--threads" => contention.threads = number(1024)?.max(1) as u32,
            "--cs" => contention.critical = Cycles(number(1 << 40)?),
            "--think" => contention.think = Cycles(number(1 << 40)?),
            "--lines" => contention.lines = number(1 << 16)? as u32,
            "--spread" => contention.spread = number(100)? as f64 / 100.0,
            "--ms" => ms = number(600_000)?.max(1),
            _ => return Err(usage.into()),
        }
    }
    let counts = Counts(Arc::new((0..contention.threads).map(|_| Count::default()).collect()));
    let made = lock::visit::<Native, _>(name, Made(contention, wait, counts.clone()));
    let team = made.map_err(|unknown| unknown.to_string())??;
    let start = Arc::new(Barrier::new(team.bodies.len() + 1));
    for (number, body) in team.bodies.into_iter().enumerate() {
        let start = start.clone();
        std::thread::spawn(move || {
            NUMBER.set(number);
            start.wait();
            body();
        });
    }
    start.wait();
    let (before, from) = (counts.sum(), Instant::now());
    std::thread::sleep(Duration::from_millis(ms));
    Ok((counts.sum() - before, from.elapsed()))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok((acquisitions, time)) => {
            println!("{acquisitions} {}", time.as_nanos());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("contend: {why}");
            ExitCode::FAILURE
        }
    }
}
