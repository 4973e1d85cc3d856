//! Every algorithm on the machine `native`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Native);

    /// The policies that need instructions which not every processor has: those that this one has.
    #[test]
    fn policies_of_this_processor() {
        use baton_check::contract::machine::deliver;
        use baton_machine::{Native, Ordering, Wait};
        for wait in [Wait::Spin, Wait::Umwait, Wait::Tpause, Wait::Mwaitx, Wait::Wfe] {
            match Native::check(wait) {
                Ok(()) => deliver::<baton_check::world::Native>(wait, Ordering::Release),
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

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}
