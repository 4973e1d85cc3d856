//! Every algorithm on the machine `native`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Native);

    /// Every wait policy that this processor has.
    #[test]
    fn policies_of_this_processor() {
        use baton_check::contract::machine::deliver;
        use baton_machine::wait::POLICIES;
        use baton_machine::{Native, Ordering};
        for (wait, _) in POLICIES {
            match Native::check(*wait) {
                Ok(()) => deliver::<baton_check::world::Native>(*wait, Ordering::Release),
                Err(missing) => println!("not tested: {missing}"),
            }
        }
    }
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Native);
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Native);

    /// The barrier is made for two nodes, whatever this machine has.
    #[test]
    fn two_levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Native, World};
        use baton_sync::barrier::two_level::TwoLevel;
        type M = <Native as World>::M;
        for (&crowd, &wait) in
            Native::CROWDS.iter().flat_map(|crowd| Native::WAITS.iter().map(move |wait| (crowd, wait)))
        {
            meet::<Native, TwoLevel<M>>(crowd, wait, |n| {
                TwoLevel::placed(&Vec::from_iter((0..n.get()).map(|i| i % 2)))
            });
        }
    }

    /// The barrier is made for two participants per core and four per cluster, whatever this
    /// machine has.
    #[test]
    fn levels() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Native, World};
        use baton_machine::Site;
        use baton_sync::barrier::levels::Levels;
        type M = <Native as World>::M;
        for (&crowd, &wait) in
            Native::CROWDS.iter().flat_map(|crowd| Native::WAITS.iter().map(move |wait| (crowd, wait)))
        {
            meet::<Native, Levels<M>>(crowd, wait, |n| {
                let site = |i| Site { node: 0, cluster: i / 4, core: i / 2 };
                Levels::placed(&Vec::from_iter((0..n.get()).map(site)))
            });
        }
    }
}

mod events {
    baton_check::event_suite!(baton_check::world::Native);

    #[test]
    fn one_leaves_and_one_stays() {
        use baton_check::contract::event::leaving_company;
        use baton_check::world::{Native, World};
        use baton_sync::event::{count::EventCount, queue::QueueEvent};
        leaving_company::<Native, EventCount<<Native as World>::M>>();
        leaving_company::<Native, QueueEvent<<Native as World>::M>>();
    }
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Native);
}

mod flows {
    baton_check::flow_suite!(baton_check::world::Native);
}

mod deque {
    baton_check::deque_suite!(baton_check::world::Native);
}

mod rwlocks {
    baton_check::rwlock_suite!(baton_check::world::Native);
}

mod semaphores {
    baton_check::semaphore_suite!(baton_check::world::Native);
}

mod channels {
    baton_check::channel_suite!(baton_check::world::Native);
}

mod watched {
    baton_check::watched_suite!(baton_check::world::Native);
}

mod lending {
    baton_check::lend_suite!(baton_check::world::Native);
}

mod once {
    baton_check::once_suite!(baton_check::world::Native);
}

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}

mod omp {
    baton_check::omp_suite!(baton_check::world::Native);
}
