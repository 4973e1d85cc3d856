//! The contract suite: runs every policy of the registry on the test's machine, under random
//! histories.

mod common;

use baton_sched::{Affinity, FULL_SPEED, POLICIES, Params, ThreadId};
use baton_units::{CpuId, Cycles};
use common::{PARAMS, State, World};
use proptest::prelude::*;

/// Policies that ignore how fast a CPU is.
const IGNORE_SPEEDS: [&str; 5] = ["fair", "sticky", "eevdf", "eevdf-guest", "amp-default"];

/// Policies under which no CPU is idle while a thread waits that may run on it.
const STEAL: [&str; 10] =
    ["fair", "amp-default", "busy-fcs", "rr", "static-ipc", "min-tlp", "pa", "linux", "crit", "pa-speedup"];

#[derive(Clone, Debug)]
enum Act {
    Born(Option<Vec<u32>>, i64),
    Block(usize),
    Wake(usize),
    Exit(usize),
    Pass(u64),
    Switch(usize),
    Affinity(usize, Option<Vec<u32>>),
    Speed(usize, u32),
}

fn acts(cpus: u32) -> impl Strategy<Value = Vec<Act>> {
    let set = move || prop::option::of(prop::collection::vec(0..cpus, 1..3));
    let act = prop_oneof![
        2 => (set(), -1i64..2).prop_map(|(set, nice)| Act::Born(set, nice)),
        4 => any::<usize>().prop_map(Act::Block),
        4 => any::<usize>().prop_map(Act::Wake),
        1 => any::<usize>().prop_map(Act::Exit),
        6 => (0u64..150).prop_map(Act::Pass),
        1 => any::<usize>().prop_map(Act::Switch),
        1 => (any::<usize>(), set()).prop_map(|(id, set)| Act::Affinity(id, set)),
        1 => (any::<usize>(), 1..=FULL_SPEED).prop_map(|(cpu, speed)| Act::Speed(cpu, speed)),
    ];
    prop::collection::vec(act, 0..120)
}

fn affinity(set: &Option<Vec<u32>>) -> Affinity {
    Affinity::to(set.iter().flatten().map(|&cpu| CpuId(cpu)))
}

fn play(world: &mut World, acts: &[Act], steals: bool) {
    for act in acts {
        let some = |at: usize, fits: fn(&State) -> bool| {
            let fitting: Vec<u32> =
                (0..world.threads.len() as u32).filter(|&id| fits(&world.threads[id as usize].state)).collect();
            (!fitting.is_empty()).then(|| ThreadId(fitting[at % fitting.len()]))
        };
        let running = |state: &State| matches!(state, State::Running(_));
        match act {
            Act::Born(set, nice) => {
                let set = affinity(set);
                if world.usable(&set, &world.on) {
                    world.born_nice(set, *nice);
                }
            }
            Act::Block(at) | Act::Exit(at) => {
                let Some(id) = some(*at, running) else { continue };
                let State::Running(cpu) = world.threads[id.0 as usize].state else { unreachable!() };
                let ends = matches!(act, Act::Exit(_));
                world.leaves(id, if ends { State::Gone } else { State::Blocked });
                world.told(
                    |policy, now, out| {
                        if ends { policy.exit(now, id, out) } else { policy.block(now, id, out) }
                    },
                );
                world.free(cpu);
                world.told(|_, _, _| {});
            }
            Act::Wake(at) => {
                let Some(id) = some(*at, |state| *state == State::Blocked) else { continue };
                world.threads[id.0 as usize].state = State::Ready;
                if let Some(waker) = world.current.iter().position(Option::is_some) {
                    world.policy.waker(CpuId(waker as u32));
                }
                world.told(|policy, now, out| policy.wake(now, id, out));
            }
            Act::Pass(time) => world.pass(world.now + time),
            Act::Switch(at) => {
                let cpu = at % world.on.len();
                let mut on = world.on.clone();
                on[cpu] = !on[cpu];
                let living = world.threads.iter().filter(|thread| thread.state != State::Gone);
                if on.contains(&true) && living.clone().all(|thread| world.usable(&thread.affinity, &on)) {
                    world.on = on;
                    let online = world.on[cpu];
                    world.told(|policy, now, out| policy.set_online(now, CpuId(cpu as u32), online, out));
                }
            }
            Act::Speed(at, speed) => {
                let cpu = CpuId((at % world.on.len()) as u32);
                world.told(|policy, now, out| policy.set_speed(now, cpu, *speed, out));
            }
            Act::Affinity(at, set) => {
                let Some(id) = some(*at, |state| *state != State::Gone) else { continue };
                let set = affinity(set);
                if world.usable(&set, &world.on) {
                    world.threads[id.0 as usize].affinity = set.clone();
                    world.told(|policy, now, out| policy.set_affinity(now, id, &set, out));
                }
            }
        }
        world.check(steals);
        let misplaced = world
            .current
            .iter()
            .enumerate()
            .find(|(cpu, id)| id.is_some_and(|id| !world.threads[id.0 as usize].affinity.has(CpuId(*cpu as u32))));
        assert!(misplaced.is_none(), "{misplaced:?} runs where it must not");
    }
}

proptest! {
    #![proptest_config(baton_needs::property!(256))]
    /// No thread is lost, run twice, or run where it may not; no thread waits for ever while others
    /// run.
    #[test]
    fn every_policy_keeps_every_thread(n in 1u32..9, acts in acts(8)) {
        for policy in POLICIES {
            let n = n.max(1);
            let acts: Vec<Act> = acts.iter().filter(|act| match act {
                Act::Born(Some(set), _) | Act::Affinity(_, Some(set)) => set.iter().all(|&cpu| cpu < n),
                _ => true,
            }).cloned().collect();
            let mut world = World::new(policy, n, PARAMS);
            play(&mut world, &acts, STEAL.contains(&policy.name));
            // Every thread that can run gets its turn within one slice for each living thread.
            // Under a policy by which threads owe time, this may come after the others have had
            // what the thread owes: at most 16 slices under `fair`.
            let (ran, living) = (world.ran(), world.threads.len() as u64);
            let waits = |world: &World| {
                let later = world.ran();
                (0..ran.len()).find(|&id| world.threads[id].state == State::Ready && later[id] <= ran[id])
            };
            let end = world.now + 100 * (living + 1) * 18;
            world.pass(world.now + 100 * (2 * living + 20));
            while world.now < end && waits(&world).is_some() {
                world.pass(world.now + 1_000);
            }
            prop_assert!(waits(&world).is_none(), "{}: thread {:?} starves", policy.name, waits(&world));
        }
    }

    /// Every policy accepts a change of clock at any moment; policies that ignore speeds decide as
    /// if none had come.
    #[test]
    fn policies_that_ignore_speeds_decide_the_same(acts in acts(4)) {
        let no_speeds: Vec<Act> = acts.iter().filter(|act| !matches!(act, Act::Speed(..))).cloned().collect();
        for policy in POLICIES.iter().filter(|policy| IGNORE_SPEEDS.contains(&policy.name)) {
            let run = |acts: &[Act]| {
                let mut world = World::new(policy, 4, PARAMS);
                play(&mut world, acts, STEAL.contains(&policy.name));
                (world.current.clone(), world.threads.iter().map(|thread| (thread.ran, thread.state)).collect::<Vec<_>>())
            };
            prop_assert_eq!(run(&acts), run(&no_speeds));
        }
    }

    /// The same calls give the same answers.
    #[test]
    fn policies_are_deterministic(acts in acts(4)) {
        for policy in POLICIES {
            let run = || {
                let mut world = World::new(policy, 4, PARAMS);
                play(&mut world, &acts, STEAL.contains(&policy.name));
                world.threads.iter().map(|thread| (thread.ran, thread.state)).collect::<Vec<_>>()
            };
            prop_assert_eq!(run(), run());
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    for policy in POLICIES {
        assert_eq!(POLICIES.iter().filter(|other| other.name == policy.name).count(), 1);
        assert!(baton_sched::names().contains(&policy.name) && baton_sched::find(policy.name).is_some());
    }
    assert!(baton_sched::find("fairest").is_none());
}

/// A thread that sleeps in debt and is woken before the others have caught up takes the CPU from no
/// thread. A waker that is ahead of the mean loses its CPU to the thread that it wakes.
#[test]
fn eevdf_preempts_wakers_that_are_ahead_only() {
    let policy = baton_sched::find("eevdf").unwrap();
    let mut world = World::new(policy, 1, Params { time_slice: Cycles(1000), ..PARAMS });
    let (a, b) = (world.born(Affinity::ALL), world.born(Affinity::ALL));
    let sleeps = |world: &mut World, id: ThreadId| {
        let State::Running(cpu) = world.threads[id.0 as usize].state else { panic!("{id:?} does not run") };
        world.leaves(id, State::Blocked);
        world.told(|policy, now, out| policy.block(now, id, out));
        world.free(cpu);
    };
    let wakes = |world: &mut World, id: ThreadId| {
        world.threads[id.0 as usize].state = State::Ready;
        world.told(|policy, now, out| policy.wake(now, id, out));
    };
    let first = if world.current[0] == Some(a) { a } else { b };
    let second = if first == a { b } else { a };
    // The first thread runs 50 and sleeps while it is ahead of the mean. The second thread wakes it
    // after 20 more: the second is behind the mean, so it runs on.
    world.pass(50);
    sleeps(&mut world, first);
    assert_eq!(world.current[0], Some(second));
    world.pass(70);
    wakes(&mut world, first);
    assert_eq!(world.current[0], Some(second), "the waker is behind the mean");
    // The second thread sleeps after 10 more, while the first is still ahead. When the first wakes
    // it later, the second is owed run time and takes the CPU.
    world.pass(80);
    sleeps(&mut world, second);
    assert_eq!(world.current[0], Some(first));
    world.pass(90);
    wakes(&mut world, second);
    assert_eq!(world.current[0], Some(second), "the waker is ahead of the mean");
}

/// A thread that sleeps in debt stays in its queue. If it is woken soon, it runs on that queue's
/// CPU, even if another CPU is idle.
#[test]
fn eevdf_leaves_sleepers_in_debt_where_they_are() {
    let policy = baton_sched::find("eevdf").unwrap();
    let mut world = World::new(policy, 2, Params { time_slice: Cycles(1000), ..PARAMS });
    let here = Affinity::to([CpuId(0)]);
    let (a, b) = (world.born(here.clone()), world.born(here));
    world.pass(50);
    let State::Running(cpu) = world.threads[a.0 as usize].state else { panic!("the first runs first") };
    world.leaves(a, State::Blocked);
    world.told(|policy, now, out| policy.block(now, a, out));
    world.free(cpu);
    assert_eq!(world.current, [Some(b), None]);
    world.threads[a.0 as usize].affinity = Affinity::ALL;
    world.told(|policy, now, out| policy.set_affinity(now, a, &Affinity::ALL, out));
    world.pass(70);
    world.threads[a.0 as usize].state = State::Ready;
    world.told(|policy, now, out| policy.wake(now, a, out));
    assert_eq!((world.policy.place(a), world.current[1]), (CpuId(0), None), "in debt: it stays");
    // A tick finds CPU 1 idle and moves one of the threads there.
    world.pass(1000);
    assert!(world.current[1].is_some());
}

/// Returns how many of 40 wake-ups of an idle CPU's thread bring it to the waker's CPU, when
/// `others` more threads have worked on the thread's own CPU.
fn pulled(pull: u32, others: u32) -> u32 {
    let policy = baton_sched::find("eevdf-guest").unwrap();
    let mut world = World::new(policy, 2, Params { time_slice: Cycles(1_000_000), wake_pull: pull, ..PARAMS });
    let sleeps = |world: &mut World, id: ThreadId| {
        world.leaves(id, State::Blocked);
        world.told(|policy, now, out| policy.block(now, id, out));
        world.free(CpuId(1));
    };
    let waker = world.born(Affinity::to([CpuId(0)]));
    for _ in 0..others {
        let other = world.born(Affinity::to([CpuId(1)]));
        sleeps(&mut world, other);
    }
    let sleeper = world.born(Affinity::to([CpuId(1)]));
    assert_eq!(world.current, [Some(waker), Some(sleeper)]);
    let mut pulled = 0;
    for _ in 0..40 {
        world.pass(world.now + 10);
        sleeps(&mut world, sleeper);
        let at = sleeper.0 as usize;
        world.threads[at].affinity = Affinity::ALL;
        world.told(|policy, now, out| policy.set_affinity(now, sleeper, &Affinity::ALL, out));
        world.threads[at].state = State::Ready;
        world.policy.waker(CpuId(0));
        world.told(|policy, now, out| policy.wake(now, sleeper, out));
        pulled += u32::from(world.policy.place(sleeper) == CpuId(0));
        // The affinity sends the thread back to its own CPU.
        let back = Affinity::to([CpuId(1)]);
        world.threads[at].affinity = back.clone();
        world.told(|policy, now, out| policy.set_affinity(now, sleeper, &back, out));
        assert_eq!(world.current, [Some(waker), Some(sleeper)]);
    }
    pulled
}

/// The stated share of wake-ups of an idle CPU's thread brings it to the waker's CPU, if that CPU
/// was less busy.
#[test]
fn eevdf_pulls_the_stated_share() {
    for (pull, expected) in [(0, 0), (250, 10), (1000, 40)] {
        // Without the thread, its own CPU had the work of two threads; with the thread, the waker's
        // CPU would have that of two as well, and 8% more are tolerated. With fewer others, the
        // waker's CPU would be the busier one.
        assert_eq!(pulled(pull, 2), expected, "{pull} in a thousand");
        for others in [0, 1] {
            assert_eq!(pulled(pull, others), 0, "{pull} in a thousand, beside {others}");
        }
    }
}

#[test]
fn a_sleeper_with_credit_preempts_and_one_without_waits() {
    for (credit, at_once) in [(0, false), (30, false), (31, true), (500, true)] {
        let params = Params { sleeper_credit: Cycles(credit), ..PARAMS };
        let mut world = World::new(baton_sched::find("fair").unwrap(), 1, params);
        let sleeper = world.born(Affinity::ALL);
        world.leaves(sleeper, State::Blocked);
        world.told(|policy, now, out| policy.block(now, sleeper, out));
        let worker = world.born(Affinity::ALL);
        world.pass(1000);
        world.threads[sleeper.0 as usize].state = State::Ready;
        world.told(|policy, now, out| policy.wake(now, sleeper, out));
        let runs = if at_once { sleeper } else { worker };
        assert_eq!(world.current[0], Some(runs), "with a credit of {credit}");
    }
}
