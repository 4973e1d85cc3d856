//! Breaks the protocol row by row and shows that the exhaustive check notices
//! (`scripts/mutate/mutate protocol`).
//!
//! Each mutant is explored in the small worlds that exercise its row, the smallest first. Prints
//! how many of the mutants were caught, and the survivors. Each survivor must stand in
//! `equivalent.rs` with the reason why it makes no difference. Exits with 1 if one does not, or if
//! a reason there has no survivor.

#[path = "../../tests/common/mod.rs"]
mod common;
mod equivalent;

use baton_coherence::model::{Config, Coverage, Model};
use baton_coherence::mutate::{Mutant, mutants};
use baton_coherence::{Policy, Protocol};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What happened to a mutant.
enum Fate {
    /// The check found this fault.
    Caught(String),
    /// The check found no fault.
    Survived,
}

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let mut sound = true;
    let mut unused: Vec<&equivalent::Reason> = equivalent::REASONS.iter().collect();
    for policy in [Policy::Blocking, Policy::Nonblocking] {
        let worlds = worlds(policy);
        let mutants = of_interest(policy, &parts);
        let (next, fates) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(mutant) = mutants.get(number) else { return };
                let fate = fate(mutant, &worlds);
                if number % 100 == 0 {
                    eprintln!("{policy:?}: {number} of {}", mutants.len());
                }
                fates.lock().expect("no worker panics").insert(number, fate);
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        sound &= tell(policy, &mutants, &fates.into_inner().expect("no worker panics"), &mut unused);
    }
    if !parts.is_empty() {
        unused.clear();
    }
    for reason in &unused {
        println!("equivalent.rs: no survivor is {reason:?}");
    }
    if sound && unused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns all mutants of the blocking protocol; of the non-blocking protocol, those of rows that
/// differ from the blocking one's. If there are `parts`, keeps only the mutants in whose names one
/// of them occurs.
fn of_interest(policy: Policy, parts: &[String]) -> Vec<Mutant> {
    let blocking: Protocol = Policy::Blocking.protocol().clone();
    let mut found = mutants(policy.protocol());
    if policy == Policy::Nonblocking {
        let mut shared: Vec<String> = Vec::new();
        for (state, event, row) in policy.protocol().cache.iter() {
            if blocking.cache.row(state, event).ok() == Some(&row) {
                shared.push(format!("cache {state} {event}"));
            }
        }
        for (state, event, row) in policy.protocol().home.iter() {
            if blocking.home.row(state, event).ok() == Some(&row) {
                shared.push(format!("home {state} {event}"));
            }
        }
        found.retain(|mutant| !shared.contains(&mutant.row));
    }
    let name = |mutant: &Mutant| format!("{policy:?} {} {}", mutant.row, mutant.change);
    found.retain(|mutant| parts.is_empty() || parts.iter().any(|part| name(mutant).contains(part.as_str())));
    found
}

/// Returns the small worlds, the smallest first, each with the names of the rows that it does not
/// exercise.
fn worlds(policy: Policy) -> Vec<(Config, Vec<String>)> {
    let explored = common::worlds::small(policy).into_iter().map(|config| {
        let model = Arc::new(Model::new(config));
        let states = common::explore(&model, 1, None).states;
        let (_, missing) = model.coverage.missing(&model.protocol);
        (states, model.config.clone(), missing)
    });
    let mut explored: Vec<_> = explored.collect();
    explored.sort_by_key(|(states, ..)| *states);
    explored.into_iter().map(|(_, config, missing)| (config, missing)).collect()
}

/// Explores the mutant in each world that exercises its row. Searches for a world that never comes
/// to rest only at the end, because that takes long.
fn fate(mutant: &Mutant, worlds: &[(Config, Vec<String>)]) -> Fate {
    let worlds: Vec<&Config> =
        worlds.iter().filter(|(_, missing)| !missing.contains(&mutant.row)).map(|(config, _)| config).collect();
    let hasty = worlds.iter().map(|config| Config { drain: false, ..(*config).clone() });
    let patient = worlds.iter().filter(|config| config.drain).map(|config| (*config).clone());
    for config in hasty.chain(patient) {
        let model = Model { config, protocol: mutant.protocol.clone(), coverage: Coverage::default() };
        // Correct worlds need far fewer moves; the limit stops mutants that never end.
        let figures = common::explore(&Arc::new(model), 1, Some(4_000_000));
        match figures.fault {
            Some((fault, _)) => return Fate::Caught(fault),
            None if !figures.exhausted => return Fate::Caught("no end of states".to_owned()),
            None => {}
        }
    }
    Fate::Survived
}

fn tell(
    policy: Policy,
    mutants: &[Mutant],
    fates: &BTreeMap<usize, Fate>,
    unused: &mut Vec<&equivalent::Reason>,
) -> bool {
    let mut by_fault: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unexplained = 0;
    let mut survivors = 0;
    for (number, mutant) in mutants.iter().enumerate() {
        match &fates[&number] {
            Fate::Caught(fault) => *by_fault.entry(fault).or_default() += 1,
            Fate::Survived => {
                survivors += 1;
                let reason = equivalent::REASONS.iter().find(|reason| reason.covers(&mutant.row, &mutant.change));
                unused.retain(|other| reason.is_none_or(|reason| !std::ptr::eq(*other, reason)));
                unexplained += usize::from(reason.is_none());
                let why = reason.map_or("NOT EXPLAINED", |reason| reason.why);
                println!("survived: {} {}: {why}", mutant.row, mutant.change);
            }
        }
    }
    println!(
        "{policy:?}: {} of {} mutants caught, {survivors} survive, {unexplained} of these without a reason",
        mutants.len() - survivors,
        mutants.len()
    );
    for (fault, count) in by_fault {
        println!("  {count:>5}  {fault}");
    }
    println!();
    unexplained == 0
}
