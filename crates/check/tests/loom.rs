//! Every algorithm on the machine `loom`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Loom);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Loom);

    /// A head that is granted the lock at its first sleep, where 16 are more than a checker explores.
    #[test]
    fn a_barging_lock_that_is_granted() {
        use baton_check::contract::{ability, lock};
        use baton_check::world::{Loom, World};
        use baton_sync::lock::barging::Barging;
        use baton_sync::lock::mcs_barging::McsQueue;
        type M = <Loom as World>::M;
        type Granted = Barging<M, McsQueue<M>, 0>;
        lock::exclusion::<Loom, Granted>();
        lock::freed_by_the_last::<Loom, Granted>();
        ability::tries_among_waiters::<Loom, Granted>();
    }
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Loom);

    /// With nodes for four, a tree that loom can take has one node: with nodes for two, it has a leaf for two, a leaf
    /// for one, and a root.
    #[test]
    fn a_tree_with_a_root_above_its_leaves() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::tree::Tree;
        type M = <Loom as World>::M;
        let crowd = Crowd { guests: 3, rounds: 1 };
        meet::<Loom, Tree<M>>(crowd, baton_machine::Wait::Pause, |n| Tree::with_fan_in(n, 2));
    }

    /// Two at one node and one at another; and one at each, who meet three times.
    #[test]
    fn two_levels_of_known_places() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::two_level::TwoLevel;
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 3, rounds: 1 }, wait, |_| TwoLevel::placed(&[1, 0, 1]));
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 2, rounds: 3 }, wait, |_| TwoLevel::placed(&[0, 1]));
    }

    /// Five meetings: one that finds who was last where, one that finds a stranger, a census, and two of two levels.
    #[test]
    fn two_levels_of_places_to_learn() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::{RawBarrier, two_level::TwoLevel};
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 2, rounds: 5 }, wait, TwoLevel::new);
    }
}

mod events {
    baton_check::event_suite!(baton_check::world::Loom);
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Loom);
}

mod rwlocks {
    baton_check::rwlock_suite!(baton_check::world::Loom);
}

mod semaphores {
    baton_check::semaphore_suite!(baton_check::world::Loom);
}

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}
