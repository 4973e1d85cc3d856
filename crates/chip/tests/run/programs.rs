//! The real programs and a profile's draw on a small simulated chip: results are right with 1, 4
//! and 16 threads, the same run comes out the same, and what is recorded of the locks adds up.

use crate::recorder::Recorder;
use baton_chip::account::{LockRecorder, Shares};
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_programs::monitor::Locks;
use baton_programs::real::{Program, Scale};
use baton_programs::synthetic::{Draw, SyntheticRun};
use baton_sync::lock::{RawLock, mcs::Mcs, spin_park::SpinPark};
use baton_workloads::Team;
use std::num::NonZeroU32;

fn chip(cores: u32) -> Chip {
    let text = include_str!("../../../../chips/ocor64.toml");
    Chip::from_toml_at(text, "ocor64.toml", Some(cores), &[]).unwrap()
}

/// Runs a team on a chip of four cores. Returns the outcome, what the team's locks cost, and the
/// record of the locks.
fn run(threads: u32, team: impl FnOnce(Recorder) -> Team) -> (Outcome, Shares, LockRecorder) {
    let options = Options { record: true, heap_bytes: 8 << 20, threads: threads as usize, ..Options::default() };
    let mut simulation = Simulation::new(&chip(4), &options).unwrap();
    let recorder = Recorder::default();
    let team = simulation.outside(|| team(recorder.clone()));
    for body in team.bodies {
        simulation.spawn(Spawn::default(), body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert_eq!(simulation.outside(team.verify), Ok(()));
    let trace = simulation.into_trace();
    let shares = Shares::of(&trace, recorder.0.counted(&trace), threads);
    (outcome, shares, recorder.0)
}

/// A small scale of a program, and how often its locks are taken at least.
fn small(program: Program) -> (Scale, u64) {
    let (size, grain, locks) = match program {
        Program::ImageFilter => (64, 8, 2 * (8 + 1)),
        Program::Dedup => (2048, 256, 8 * 4),
        Program::KdTree => (64, 8, 15 * 2 + 7),
        Program::Sort => (128, 16, 15 * 2),
        Program::Align => (32, 8, 16 * 3),
    };
    (Scale { size, grain, seed: 3 }, locks)
}

fn program<L: RawLock<Simulated>>(program: Program, threads: u32, wait: Wait) -> (Outcome, Shares) {
    scaled::<L>(program, small(program), threads, wait)
}

fn scaled<L: RawLock<Simulated>>(
    program: Program,
    (scale, locks): (Scale, u64),
    threads: u32,
    wait: Wait,
) -> (Outcome, Shares) {
    let (outcome, shares, _) = run(threads, |recorder| {
        program.team::<Simulated, _>(threads, scale, &Locks::<L, _>::new(wait, recorder)).unwrap()
    });
    assert!(shares.acquisitions >= locks, "{program:?}: {shares:?}");
    assert!(shares.residual == 0 && shares.sections > 0.0 && shares.blocked < 1.0, "{program:?}: {shares:?}");
    if threads == 1 {
        assert_eq!((shares.contended, shares.blocked), (0.0, 0.0), "{program:?}");
    }
    (outcome, shares)
}

#[test]
fn programs_are_right_at_any_number_of_threads() {
    for kind in Program::ALL {
        for threads in [1, 4, 16] {
            program::<SpinPark<Simulated>>(kind, threads, Wait::SpinPark(16));
        }
        program::<Mcs<Simulated>>(kind, 4, Wait::Pause);
    }
}

#[test]
fn more_threads_are_faster_and_wait_more() {
    // The ranges are long compared with what a task costs.
    let scale = Scale { size: 1024, grain: 64, seed: 3 };
    let run = |threads| scaled::<Mcs<Simulated>>(Program::Sort, (scale, 31 * 2), threads, Wait::Pause);
    let (one, four) = (run(1), run(4));
    assert!(four.0.cycles.0 * 3 < one.0.cycles.0 * 2, "{} {}", four.0.cycles, one.0.cycles);
    assert!(four.1.blocked > 0.0);
}

#[test]
fn the_same_run_comes_out_the_same() {
    let run = || program::<SpinPark<Simulated>>(Program::Dedup, 4, Wait::SpinPark(16));
    assert_eq!(run(), run());
}

const DRAW: Draw = Draw {
    acquisitions: 30,
    locks: 2,
    hot: 0.2,
    even: 0.0,
    section_cycles: 200,
    section_lines: 2,
    think_cycles: 1000,
    spread: 0.5,
    phase: 0,
    misses: 10.0,
    burst: 2,
    writes: 0.3,
    own_lines: 384,
};

fn draw(draw: Draw, threads: u32) -> (Shares, f64) {
    let threads = NonZeroU32::new(threads).unwrap();
    let with = SyntheticRun { threads, acquisitions: 30, line_bytes: 128, seed: 1 };
    let team = |probe| draw.team::<Simulated, SpinPark<Simulated>, _>(with, Wait::SpinPark(128), probe);
    let (outcome, shares, recorder) = run(threads.get(), team);
    assert_eq!(shares.acquisitions, 30 * u64::from(threads.get()));
    assert!(shares.cycles < outcome.cycles.0, "warm-up does not count");
    (shares, recorder.messages().unwrap() as f64 / shares.cycles as f64)
}

#[test]
fn a_draw_does_what_it_says() {
    let (alone, _) = draw(DRAW, 1);
    // A section of 200 cycles and its lines, beside 1,000 cycles of own work, is a fifth of the
    // time, or somewhat less because of misses.
    assert!((0.10..0.22).contains(&alone.sections) && alone.overhead == 0.0, "{alone:?}");
    assert_eq!(alone.entered_spinning, 1.0);
    let (four, quiet) = draw(DRAW, 4);
    assert!(four.blocked > 0.0 && four.residual == 0, "{four:?}");
    let (_, loaded) = draw(DRAW.with_load(4.0), 4);
    assert!(loaded > 1.5 * quiet, "{quiet} {loaded} messages a cycle");
    let (phases, _) = draw(Draw { phase: 1, spread: 0.0, ..DRAW }, 4);
    assert!(phases.contended > four.contended, "{phases:?} {four:?}");
}
