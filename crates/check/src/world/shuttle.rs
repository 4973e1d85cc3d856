//! Tries random schedules, or all of them; guests are tasks of shuttle.

use super::{Crowd, Scenario, World};
use crate::schedules;
use ::shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use ::shuttle::{Config, MaxSteps, Runner};
use baton_machine::Wait;
use baton_machine::units::Nanos;
use std::sync::Arc;

/// The world whose guests are tasks of shuttle, on the machine [`schedules::Shuttle`].
#[derive(Clone, Copy, Debug)]
pub struct Shuttle;

/// Number of random schedules of a plan, and number of PCT schedules. They are deterministic: the
/// same seed gives the same schedules.
const SCHEDULES: usize = 500;
/// Number of schedules of each kind (random and PCT) for one of very many plans.
const SAMPLE: usize = 300;
/// Environment variable with the number of schedules of each kind (random and PCT) to try instead.
const WANTED: &str = "BATON_SCHEDULES";
/// Number of schedules from which on a plan is too large to try all.
const ALL: usize = 1_000_000;
const SEED: u64 = 0x0ba7_0001;
/// The depth of PCT (probabilistic concurrency testing): it finds any bug that shows if this many
/// steps come in a certain order, with a known probability.
const PCT_DEPTH: usize = 3;
/// Number of steps after which an execution counts as making no progress.
const STEPS: usize = 50_000;
/// Size of a stack in bytes; formatting a panic takes more than shuttle's default.
const STACK: usize = 128 * 1024;

impl World for Shuttle {
    type M = schedules::Shuttle;
    const CROWDS: &'static [Crowd] = &[Crowd { guests: 2, rounds: 3 }, Crowd { guests: 4, rounds: 2 }];
    const WAITS: &'static [Wait] = &[Wait::Pause, Wait::Futex, Wait::SpinPark(2)];
    const TEAMS: &'static [usize] = &[2, 3];
    const COMERS: usize = 3;
    const SOON: Nanos = Nanos(1_000);
    const QUEUE_DEVICE: bool = true;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        try_schedules(SCHEDULES, plan);
    }

    fn sample(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        try_schedules(SAMPLE, plan);
    }
}

/// The world in which tasks of shuttle take turns in every possible way. No sleeper wakes up and no
/// exchange fails without a reason. Its plans are the smallest, and its guests sleep where they
/// wait, because a guest that looks again and again has endlessly many schedules.
#[derive(Clone, Copy, Debug)]
pub struct EverySchedule;

impl World for EverySchedule {
    type M = schedules::Shuttle;
    const CROWDS: &'static [Crowd] = &[Crowd { guests: 2, rounds: 1 }];
    const WAITS: &'static [Wait] = &[Wait::Futex];
    const TEAMS: &'static [usize] = &[2];
    const COMERS: usize = 1;
    const SOON: Nanos = Nanos(1_000);
    const QUEUE_DEVICE: bool = true;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        let tried = explore(DfsScheduler::new(Some(ALL), false), Arc::new(plan), schedules::Whims::None);
        assert!(tried < ALL, "more than {ALL} schedules: not all were tried");
    }
}

/// Tries `count` random schedules and `count` PCT schedules, or as many of each as the environment
/// variable says.
fn try_schedules(count: usize, plan: impl Fn() -> Scenario + Send + Sync + 'static) {
    let count = match std::env::var(WANTED) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{WANTED}={text}: expected a number of schedules")),
        Err(_) => count,
    };
    let plan = Arc::new(plan);
    let whims = schedules::Whims::Some;
    explore(RandomScheduler::new_from_seed(SEED, count), plan.clone(), whims);
    explore(PctScheduler::new_from_seed(SEED, PCT_DEPTH, count), plan, whims);
}

/// Explores `plan` with `scheduler`. Returns the number of schedules that were tried.
fn explore(
    scheduler: impl Scheduler + 'static,
    plan: Arc<impl Fn() -> Scenario + Send + Sync + 'static>,
    whims: schedules::Whims,
) -> usize {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.stack_size = STACK;
    Runner::new(scheduler, config).run(move || {
        schedules::begin(whims);
        // PCT needs a point at which it can choose, even in a plan with one guest.
        let idle = ::shuttle::thread::spawn(::shuttle::thread::yield_now);
        ::shuttle::thread::yield_now();
        idle.join().expect("it does nothing");
        schedules::as_guest(|| {
            let (waves, finally, _) = plan().into_parts();
            for wave in waves {
                let spawn = |guest| ::shuttle::thread::spawn(move || schedules::as_guest(guest));
                let guests: Vec<_> = wave.into_iter().map(spawn).collect();
                for guest in guests {
                    guest.join().expect("shuttle reports a guest's panic itself");
                }
            }
            finally();
        });
    })
}
