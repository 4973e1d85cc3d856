//! Explores all executions of a few guests, which are threads of loom.

use super::{Crowd, Scenario, World};
use crate::orderings;
use ::loom::model::Builder;
use baton_machine::Wait;
use baton_machine::units::Nanos;
use baton_omp::settings::TaskQueue;

/// The world whose guests are threads of loom, on the machine [`orderings::Loom`].
#[derive(Clone, Copy, Debug)]
pub struct Loom;

/// Number of preemptions explored in an execution. Two find most bugs (Musuvathi and Qadeer, PLDI
/// 2007) and keep the number of executions in the thousands.
const PREEMPTIONS: usize = 2;
/// Number of preemptions for plans of many steps.
const FEW_PREEMPTIONS: usize = 1;
/// Number of preemptions for plans of very many steps. Guests then give way only where they wait;
/// the values that a load may read are explored as always.
const NO_PREEMPTIONS: usize = 0;
/// Number of preemptions for plans of few steps. With two, loom's reduction misses an acquire that
/// the single-producer ring needs.
const MORE_PREEMPTIONS: usize = 3;
/// Number of steps after which an execution counts as making no progress.
const STEPS: usize = 5_000;
/// Size of a guest's stack in bytes (loom counts words). Loom's default of 32 KiB is exhausted
/// inside a region with tasks, or while a panic's message is formatted.
const STACK: usize = 128 * 1024;

impl World for Loom {
    type M = orderings::Loom;
    const CROWDS: &'static [Crowd] = &[Crowd { guests: 2, rounds: 2 }, Crowd { guests: 3, rounds: 1 }];
    // Every wait is a loop of yield and load here, so other policies would show nothing new.
    const WAITS: &'static [Wait] = &[Wait::Pause];
    const TEAMS: &'static [usize] = &[2, 3];
    const REGIONS: &'static [usize] = &[2];
    // `Pairs` tests the lists from which threads steal.
    const TASKS: &'static [TaskQueue] = &[TaskQueue::Team];
    const COMERS: usize = 1;
    const SOON: Nanos = Nanos(1_000);
    const QUEUE_DEVICE: bool = true;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(PREEMPTIONS, plan);
    }

    fn skim(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(FEW_PREEMPTIONS, plan);
    }

    fn glance(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(NO_PREEMPTIONS, plan);
    }

    fn dig(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(MORE_PREEMPTIONS, plan);
    }
}

/// Like [`Loom`], for teams of two threads whose tasks make tasks or lie in lists from which
/// threads steal; with three threads there are too many executions.
#[derive(Clone, Copy, Debug)]
pub struct Pairs;

impl World for Pairs {
    type M = orderings::Loom;
    const CROWDS: &'static [Crowd] = Loom::CROWDS;
    const WAITS: &'static [Wait] = Loom::WAITS;
    const TEAMS: &'static [usize] = &[2];
    const TASKS: &'static [TaskQueue] = &[TaskQueue::Team, TaskQueue::Steal];
    const COMERS: usize = Loom::COMERS;
    const SOON: Nanos = Loom::SOON;
    const QUEUE_DEVICE: bool = Loom::QUEUE_DEVICE;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(FEW_PREEMPTIONS, plan);
    }
}

/// Like [`Loom`], for algorithms of very many steps: guests give way only where they wait. The values
/// that a load may read are explored as always.
#[derive(Clone, Copy, Debug)]
pub struct Brief;

impl World for Brief {
    type M = orderings::Loom;
    const CROWDS: &'static [Crowd] = Loom::CROWDS;
    const WAITS: &'static [Wait] = Loom::WAITS;
    const TEAMS: &'static [usize] = Loom::TEAMS;
    const COMERS: usize = Loom::COMERS;
    const SOON: Nanos = Loom::SOON;
    const QUEUE_DEVICE: bool = Loom::QUEUE_DEVICE;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        explore(NO_PREEMPTIONS, plan);
    }
}

/// Explores all executions of `plan` with up to `preemptions` preemptions, or up to the number that
/// loom's own environment variable `LOOM_MAX_PREEMPTIONS` names.
fn explore(preemptions: usize, plan: impl Fn() -> Scenario + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = STEPS;
    builder.check(move || {
        orderings::begin();
        let (waves, finally, deadlines) = plan().into_parts();
        for wave in waves {
            let first = orderings::announce(wave.len());
            let spawn = |(i, guest)| {
                let thread = ::loom::thread::Builder::new().stack_size(STACK / size_of::<usize>());
                let guest = move || orderings::as_guest(first + i, guest);
                thread.spawn(guest).expect("loom starts every thread")
            };
            let guests: Vec<_> = wave.into_iter().enumerate().map(spawn).collect();
            if deadlines {
                orderings::let_deadlines_pass();
            }
            for guest in guests {
                guest.join().expect("loom reports a guest's panic itself");
            }
        }
        if !orderings::abandoned() {
            finally();
        }
        orderings::end();
    });
}
