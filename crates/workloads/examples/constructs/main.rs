//! Runs OpenMP's constructs on Baton's runtime, for counting their instructions and accesses: a
//! team of eight threads, which take turns on one processor.
//!
//! | `constructs` | prints, or does |
//! | --- | --- |
//! | `epcc N`, `tasks N` | runs the workload `epcc` with N iterations, or N regions whose eight threads make twenty tasks each; prints how often the threads gave their turn back, and 0 |
//! | `epcc N accesses`, `tasks N accesses` | runs the same; prints the number of accesses in place of the 0 |
//! | `turns N` | runs eight threads that do nothing but give their turn back N times each |
//! | `said` | prints what the simulated chip charges for an iteration: the name, tenths of an instruction, accesses |
//!
//! `scripts/check/omp-instructions` counts the instructions.

mod turns;

use baton_machine::Wait;
use baton_omp::{Crew, Runtime, Settings};
use baton_workloads::epcc::{COUNTED, COUNTED_TASKS, Epcc};
use baton_workloads::{Silent, Workload};
use std::process::ExitCode;
use std::sync::Arc;
use turns::{Run, Turns, run, turn};

const TEAM: u32 = 8;
const TASKS: u32 = 20;

fn epcc<const COUNT: bool>(iterations: u64) -> Run {
    let epcc = Epcc::counted(TEAM, iterations);
    let team = epcc.team::<Turns<COUNT>, _>(Wait::Pause, Silent).expect("a team of eight");
    let ran = run(team.bodies.into_iter().map(|body| body as Box<dyn FnOnce()>).collect());
    (team.verify)().expect("all delays");
    ran
}

fn tasks<const COUNT: bool>(regions: u64) -> Run {
    let crew = Crew::<Turns<COUNT>>::new(TEAM - 1, TEAM, Wait::Pause);
    let settings = Settings { waits: Some(baton_omp::Waits::all(Wait::Pause)), ..Settings::new(TEAM) };
    let runtime = Arc::new(Runtime::<Turns<COUNT>>::new(settings, Box::new(crew.clone())));
    let all = crew.clone();
    let first = move || {
        for _ in 0..regions {
            runtime.region(TEAM, |context| {
                // SAFETY: a task borrows nothing.
                (0..TASKS).for_each(|_| unsafe { context.task(|| ()) });
            });
        }
        runtime.release();
        all.dismiss();
    };
    let mut bodies: Vec<Box<dyn FnOnce()>> = vec![Box::new(first)];
    bodies.extend((1..TEAM).map(|worker| {
        let crew = crew.clone();
        Box::new(move || crew.serve(worker - 1)) as Box<dyn FnOnce()>
    }));
    run(bodies)
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let times = arguments.get(1).map_or(Ok(0), |times| times.parse());
    let (Ok(times), Some(&what)) = (times, arguments.first()) else { return usage() };
    let ran = match (what, arguments.get(2)) {
        ("said", _) => {
            for (name, counted) in [("epcc", COUNTED), ("tasks", COUNTED_TASKS)] {
                println!("{name} {} {}", (counted.instructions * 10.0).round(), counted.accesses);
            }
            return ExitCode::SUCCESS;
        }
        ("epcc", None) => epcc::<false>(times),
        ("epcc", Some(&"accesses")) => epcc::<true>(times),
        ("tasks", None) => tasks::<false>(times),
        ("tasks", Some(&"accesses")) => tasks::<true>(times),
        ("turns", None) => run((0..TEAM).map(|_| Box::new(move || (0..times).for_each(|_| turn())) as _).collect()),
        _ => return usage(),
    };
    println!("{} {}", ran.turns, ran.accesses);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: constructs epcc|tasks N [accesses], constructs turns N, or constructs said");
    ExitCode::FAILURE
}
