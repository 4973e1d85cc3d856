//! Every algorithm, and the machine itself, in the contract suite on the simulated machine: more
//! guests than cores, short time slices so that spinners and holders are preempted in the middle,
//! several seeds, with and without store buffers.

use crate::common;
use baton_check::world::{Crowd, Scenario, World};
use baton_chip::{Options, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{Cycles, Nanos};

/// Guests are coroutines on a simulated chip of four cores.
struct Simulated;

impl World for Simulated {
    type M = baton_chip::Simulated;
    const CROWDS: &'static [Crowd] =
        &[Crowd { guests: 2, rounds: 60 }, Crowd { guests: 4, rounds: 30 }, Crowd { guests: 9, rounds: 8 }];
    const TEAMS: &'static [usize] = &[2, 5];
    const COMERS: usize = 6;
    const WAITS: &'static [Wait] = &[
        Wait::Spin,
        Wait::Pause,
        Wait::Tpause,
        Wait::UmwaitC02,
        Wait::Mwait(1),
        Wait::Mwmon,
        Wait::Halt,
        Wait::Futex,
        Wait::SpinPark(20),
    ];
    const SOON: Nanos = Nanos(100_000);
    const QUEUE_DEVICE: bool = true;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        let settings = [
            "noise.latency=0.1",
            "noise.start=2000",
            "os.time_slice=15000",
            "os.wakeup_granularity=4000",
            "wait.tpause=60",
            "wait.umwait.enter=20",
            "wait.umwait.exit=50",
            "wait.umwait_c02.enter=31",
            "wait.umwait_c02.exit=170",
            "wait.tpause_c02=90",
            "wait.mwaitx.enter=20",
            "wait.mwaitx.exit=50",
            "wait.wfe.enter=20",
            "wait.wfe.exit=50",
            "wait.spurious=50",
            "wait.mwait.c1.enter=20",
            "wait.mwait.c1.exit=50",
            "wait.mwmon.call=90",
            "wait.mwmon.return=70",
            "wait.halt.enter=200",
            "wait.halt.send=300",
            "wait.halt.exit=400",
        ];
        for (seed, entries) in [(1, 0), (2, 8), (3, 1)] {
            let entries = format!("core.store_buffer={entries}");
            let chip = common::cores(4, &[&settings[..], &common::QUEUE_DEVICE, &[&entries]].concat());
            // The limit is far beyond what any contract takes: a livelock ends there, as a failure.
            let limit = Some(Cycles(300_000_000));
            let options = Options { seed, limit, heap_bytes: 4 << 20, threads: 64, ..Options::default() };
            let mut simulation = Simulation::new(&chip, &options).unwrap();
            let (waves, finally, _) = simulation.outside(&plan).into_parts();
            for wave in waves {
                for guest in wave {
                    simulation.spawn(Spawn::default(), guest).unwrap();
                }
                match simulation.run() {
                    Err(stuck) => panic!("seed {seed}: {stuck}"),
                    Ok(outcome) => assert!(outcome.finished, "seed {seed}: a livelock: {:#?}", outcome.threads),
                }
            }
            simulation.outside(finally);
        }
    }
}

mod locks {
    use super::Simulated;
    baton_check::lock_suite!(Simulated);
}

mod machine {
    baton_check::machine_suite!(super::Simulated);

    /// Every policy of the registry delivers a change: the chip has a price for each policy.
    #[test]
    fn every_policy() {
        for (wait, _) in baton_machine::wait::POLICIES {
            baton_check::contract::machine::deliver::<super::Simulated>(*wait, baton_machine::Ordering::Release);
        }
    }
}

mod barriers {
    use super::Simulated;
    baton_check::barrier_suite!(Simulated);

    /// The barrier takes its participants to be on two nodes.
    #[test]
    fn two_levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::World;
        use baton_sync::barrier::two_level::TwoLevel;
        for (&crowd, &wait) in Simulated::CROWDS.iter().flat_map(|c| Simulated::WAITS.iter().map(move |wait| (c, wait)))
        {
            let placed = |n: std::num::NonZeroU32| TwoLevel::placed(&Vec::from_iter((0..n.get()).map(|i| i % 2)));
            meet::<Simulated, TwoLevel<baton_chip::Simulated>>(crowd, wait, placed);
        }
    }

    /// The barrier takes two participants to share a core, four a cluster, and six a node.
    #[test]
    fn levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::World;
        use baton_machine::Site;
        use baton_sync::barrier::levels::Levels;
        for (&crowd, &wait) in Simulated::CROWDS.iter().flat_map(|c| Simulated::WAITS.iter().map(move |wait| (c, wait)))
        {
            let placed = |n: std::num::NonZeroU32| {
                let site = |i| Site { node: i / 6, cluster: i / 4, core: i / 2 };
                Levels::placed(&Vec::from_iter((0..n.get()).map(site)))
            };
            meet::<Simulated, Levels<baton_chip::Simulated>>(crowd, wait, placed);
        }
    }
}

mod events {
    use super::Simulated;
    baton_check::event_suite!(Simulated);
}

mod queues {
    use super::Simulated;
    baton_check::queue_suite!(Simulated);
}

mod flows {
    use super::Simulated;
    baton_check::flow_suite!(Simulated);
}

mod deque {
    use super::Simulated;
    baton_check::deque_suite!(Simulated);
}

mod rwlocks {
    use super::Simulated;
    baton_check::rwlock_suite!(Simulated);
}

mod semaphores {
    use super::Simulated;
    baton_check::semaphore_suite!(Simulated);
}

mod channels {
    use super::Simulated;
    baton_check::channel_suite!(Simulated);
}

mod once {
    use super::Simulated;
    baton_check::once_suite!(Simulated);
}

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}

mod omp {
    use super::Simulated;
    baton_check::omp_suite!(Simulated);
    baton_check::omp_tests! { Simulated: parts: copied_by_one }
}
