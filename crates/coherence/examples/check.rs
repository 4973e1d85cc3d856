//! Checks the protocol exhaustively and prints the figures of every world. With `--small` it
//! explores the worlds of the tests, otherwise a longer list with large worlds; further arguments
//! select the worlds in whose names they occur.
//!
//! ```text
//! cargo run --release -p baton-coherence --example check [-- [--small] [PART OF A WORLD'S NAME]…]
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use baton_coherence::Policy;
use baton_coherence::model::{Config, Coverage, Model};
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let small =
        arguments.iter().position(|argument| argument == "--small").map(|place| arguments.remove(place)).is_some();
    let wanted =
        |config: &Config| arguments.is_empty() || arguments.iter().any(|part| config.name.contains(part.as_str()));
    let mut sound = true;
    for policy in [Policy::Blocking, Policy::Nonblocking] {
        let worlds = if small { common::worlds::small(policy) } else { common::worlds::full(policy) };
        let covered = Coverage::default();
        sound &= explore_all(worlds.into_iter().filter(|config| wanted(config)).collect(), &covered);
        let (rows, missing) = covered.missing(policy.protocol());
        println!("{policy:?}: {} of {rows} rows exercised\n", rows - missing.len());
        missing.iter().for_each(|row| println!("  never: {row}"));
        sound &= missing.is_empty() || !arguments.is_empty();
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Explores the worlds, one per processor at a time, and prints a line for each when it is
/// finished. Returns whether no world has a fault.
fn explore_all(worlds: VecDeque<Config>, covered: &Coverage) -> bool {
    let (queue, sound) = (Mutex::new(worlds), Mutex::new(true));
    println!("{:<12} {:<52} {:>10} {:>10} {:>6} {:>8}", "home", "world", "states", "moves", "depth", "seconds");
    let work = || {
        loop {
            let Some(config) = queue.lock().expect("no worker panics").pop_front() else { return };
            let model = Arc::new(Model::new(config));
            let figures = common::explore(&model, 1, None);
            covered.add(&model.coverage);
            let (name, policy) = (model.config.name, format!("{:?}", model.config.policy));
            let (states, moves, depth, took) =
                (figures.states, figures.generated, figures.depth, figures.took.as_secs_f64());
            println!("{policy:<12} {name:<52} {states:>10} {moves:>10} {depth:>6} {took:>8.1}");
            if let Some((fault, path)) = figures.fault {
                println!("{fault}:\n{}", path.join("\n"));
                *sound.lock().expect("no worker panics") = false;
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    sound.into_inner().expect("no worker panics")
}
