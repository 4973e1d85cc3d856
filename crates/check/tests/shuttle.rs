//! Every algorithm on the machine `shuttle`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Shuttle);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Shuttle);

    /// Tests a barging lock whose first waiter is granted the lock at its first sleep. The default
    /// of 16 sleeps is more than a checker can explore.
    #[test]
    fn a_barging_lock_that_is_granted() {
        use baton_check::contract::{ability, lock};
        use baton_check::world::{Shuttle, World};
        use baton_sync::lock::barging::Barging;
        use baton_sync::lock::mcs_barging::McsQueue;
        type M = <Shuttle as World>::M;
        type Granted = Barging<M, McsQueue<M>, 0>;
        lock::exclusion::<Shuttle, Granted>();
        lock::freed_by_the_last::<Shuttle, Granted>();
        ability::tries_among_waiters::<Shuttle, Granted>();
    }

    /// Tests a fair lock that hands itself over whenever a thread waits. The default of 500
    /// microseconds does not pass in a checker's execution.
    #[test]
    fn a_fair_lock_without_patience() {
        use baton_check::contract::{ability, lock};
        use baton_check::world::{Shuttle, World};
        type Hurried = baton_sync::lock::fair::Fair<<Shuttle as World>::M, 0>;
        lock::exclusion::<Shuttle, Hurried>();
        lock::freed_by_the_last::<Shuttle, Hurried>();
        ability::giving_up_together::<Shuttle, Hurried>();
        ability::giving_up_among_waiters::<Shuttle, Hurried>();
    }
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Shuttle);

    /// Tests a tree of three levels under every wait policy.
    #[test]
    fn a_high_tree() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Shuttle, World};
        use baton_sync::barrier::tree::Tree;
        type M = <Shuttle as World>::M;
        for &wait in Shuttle::WAITS {
            meet::<Shuttle, Tree<M>>(Crowd { guests: 5, rounds: 2 }, wait, |n| Tree::with_fan_in(n, 2));
        }
    }

    /// Tests barriers that know where participants are, and barriers that learn it, in more
    /// meetings than learning takes.
    #[test]
    fn two_levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Shuttle, World};
        use baton_sync::barrier::{RawBarrier, two_level::TwoLevel};
        type M = <Shuttle as World>::M;
        for &wait in Shuttle::WAITS {
            let crowd = |rounds| Crowd { guests: 5, rounds };
            meet::<Shuttle, TwoLevel<M>>(crowd(2), wait, |_| TwoLevel::placed(&[0, 2, 0, 2, 2]));
            meet::<Shuttle, TwoLevel<M>>(crowd(6), wait, TwoLevel::new);
        }
    }

    /// Tests counters of three levels: two nodes, one of which has two clusters; one of these
    /// clusters has a core for two participants. Then tests counters that are learnt.
    #[test]
    fn levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Shuttle, World};
        use baton_machine::Site;
        use baton_sync::barrier::{RawBarrier, levels::Levels};
        type M = <Shuttle as World>::M;
        for &wait in Shuttle::WAITS {
            let sites = |_| {
                let at = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3)];
                Levels::placed(&at.map(|(node, cluster, core)| Site { node, cluster, core }))
            };
            meet::<Shuttle, Levels<M>>(Crowd { guests: 5, rounds: 2 }, wait, sites);
            meet::<Shuttle, Levels<M>>(Crowd { guests: 5, rounds: 4 }, wait, Levels::new);
        }
    }

    /// Four participants drop out, one after another. Each test begins after another number of
    /// rounds, so that participants leave under each way of counting.
    #[test]
    fn dropping_out_of_parts() {
        use baton_check::contract::barrier::drop_out;
        use baton_check::world::{Shuttle, World};
        use baton_machine::{Site, Wait};
        use baton_sync::barrier::{RawBarrier, levels::Levels, two_level::TwoLevel};
        type M = <Shuttle as World>::M;
        let placed = |_| Levels::placed(&[0, 1, 0, 1].map(|core| Site { core, ..Site::default() }));
        drop_out::<Shuttle, Levels<M>>(4, 0, Wait::Futex, placed);
        for before in 0..3 {
            drop_out::<Shuttle, TwoLevel<M>>(4, before, Wait::Futex, TwoLevel::new);
            drop_out::<Shuttle, Levels<M>>(4, before, Wait::Pause, Levels::new);
        }
    }

    /// A bare barrier must outlive the threads that it lets go.
    #[test]
    fn only_an_ending_barrier_may_be_freed_by_the_first() {
        use baton_check::contract::barrier::end;
        use baton_check::world::{Shuttle, World};
        use baton_machine::Wait;
        use baton_sync::barrier::{BARRIERS, BarrierVisitor, RawBarrier, visit};
        struct End;
        impl BarrierVisitor<<Shuttle as World>::M> for End {
            type Out = bool;
            fn visit<B: RawBarrier<<Shuttle as World>::M>>(self) -> bool {
                std::panic::catch_unwind(|| end::<Shuttle, B>(Wait::Pause)).is_err()
            }
        }
        for barrier in BARRIERS {
            assert!(visit::<<Shuttle as World>::M, _>(barrier.name, End).unwrap(), "{} may be freed", barrier.name);
        }
    }
}

mod events {
    baton_check::event_suite!(baton_check::world::Shuttle);

    #[test]
    fn one_leaves_and_one_stays() {
        use baton_check::contract::event::leaving_company;
        use baton_check::world::{Shuttle, World};
        use baton_sync::event::{count::EventCount, queue::QueueEvent};
        leaving_company::<Shuttle, EventCount<<Shuttle as World>::M>>();
        leaving_company::<Shuttle, QueueEvent<<Shuttle as World>::M>>();
    }
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Shuttle);
}

mod flows {
    baton_check::flow_suite!(baton_check::world::Shuttle);
}

mod deque {
    baton_check::deque_suite!(baton_check::world::Shuttle);
}

mod rwlocks {
    baton_check::rwlock_suite!(baton_check::world::Shuttle);
}

mod semaphores {
    baton_check::semaphore_suite!(baton_check::world::Shuttle);
}

mod channels {
    baton_check::channel_suite!(baton_check::world::Shuttle);
}

mod watched {
    baton_check::watched_suite!(baton_check::world::Shuttle);
}

mod lending {
    baton_check::lend_suite!(baton_check::world::Shuttle);
}

mod segments {
    baton_check::segments_suite!(baton_check::world::Shuttle; of_one 1);
}

mod once {
    baton_check::once_suite!(baton_check::world::Shuttle);
}

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}
