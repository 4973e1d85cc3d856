//! The coarse mode beside the cycle-level one: the same profiles, played as phases and as streams
//! of accesses. `scripts/measure/phases-validation` has more and longer runs.

use baton_chip::{Application, Chip, Options, Runs, Simulated, Simulation, Spawn, act};
use baton_machine::Wait;
use baton_machine::units::{CoreId, Cycles};
use baton_programs::phases::PhaseProgram;
use baton_workloads::{Knobs, Silent, Workload};
use std::path::Path;

const BARCELONA: &str = include_str!("../../../../chips/barcelona-amp.toml");

fn chip(model: &str, clocks: &str) -> Chip {
    let mut settings = vec![format!("memory.model={model}"), "noise.start=0".to_owned()];
    if model == "phases" {
        // The banks of the shared level belong to homes, as in the coherent model.
        settings.push("phases.shared=homes".to_owned());
    }
    if !clocks.is_empty() {
        settings.push(format!("core.clocks={clocks}"));
    }
    Chip::from_toml_with(BARCELONA, "barcelona-amp.toml", &settings).expect("reads")
}

/// How long each program takes if all begin at once. A program is a profile, its millions of
/// instructions, and its cores.
fn times(chip: &Chip, programs: &[(&str, u32, &[u32])]) -> Vec<u64> {
    let options = Options { heap_bytes: 1 << 30, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("starts");
    for &(name, millions, cores) in programs {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../profiles/pa/{name}.toml"));
        let (threads, size) = (Some(cores.len() as u32), Some(millions));
        let knobs = Knobs { threads, size, profile: Some(&path), iterations: Some(1), ..Knobs::default() };
        let program = PhaseProgram::choose(&knobs).unwrap_or_else(|refused| panic!("{refused}"));
        let cores = cores.to_vec();
        let on = move |thread: usize| Spawn { affinity: vec![CoreId(cores[thread])], ..Spawn::default() };
        let main = on(0);
        let body = move || {
            let team = act::outside(|| program.team::<Simulated, _>(Wait::Pause, Silent)).expect("a team");
            let mut bodies = team.bodies.into_iter();
            let first = bodies.next().expect("a thread");
            let others: Vec<_> = bodies.enumerate().map(|(turn, body)| act::spawn(on(turn + 1), body)).collect();
            first();
            others.into_iter().for_each(act::join);
            act::outside(team.verify).expect("all met");
        };
        let application = Application { name: name.to_owned(), runs: Runs::Times(1), start: Cycles(0), main };
        simulation.application(application, body).expect("starts");
    }
    let outcome = simulation.run().expect("ends");
    assert!(outcome.finished);
    outcome.apps.iter().map(|app| app.runs[0].0).collect()
}

#[test]
fn applications_take_as_long_as_in_the_cycle_level_mode() {
    let mut off = Vec::new();
    for (clocks, programs) in [
        ("", [("gamess", 1, &[0][..])].as_slice()),
        ("1:1_150_000_000", &[("gobmk", 1, &[0]), ("gamess", 1, &[1])]),
        ("", &[("ep", 8, &[0, 1, 2])]),
    ] {
        let [fine, coarse] = ["coherent", "phases"].map(|model| times(&chip(model, clocks), programs));
        for ((fine, coarse), program) in fine.iter().zip(&coarse).zip(programs) {
            let share = *coarse as f64 / *fine as f64 - 1.0;
            println!("| {clocks} | {program:?} | {fine} | {coarse} | {:+.1}% |", share * 100.0);
            off.push((program.0, share));
        }
    }
    let worst = off.iter().filter(|(_, share)| share.abs() > 0.05).collect::<Vec<_>>();
    assert!(worst.is_empty(), "more than 5% off: {worst:?}");
}

/// Two applications begin together and run again until the slower one has run twice.
#[test]
fn applications_run_together_until_the_slowest_has_its_runs() {
    let chip = chip("phases", "");
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("starts");
    for (core, cycles) in [(0, 1_000_000), (1, 10_000_000)] {
        let main = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let application = Application { name: format!("app {core}"), runs: Runs::Together(2), start: Cycles(0), main };
        let body = move || <Simulated as baton_machine::Machine>::work(baton_machine::units::Cycles(cycles));
        simulation.application(application, body).expect("starts");
    }
    let outcome = simulation.run().expect("ends");
    let runs: Vec<usize> = outcome.apps.iter().map(|app| app.runs.len()).collect();
    assert!(outcome.finished && runs[1] == 2 && (19..=20).contains(&runs[0]), "{runs:?}");
}
