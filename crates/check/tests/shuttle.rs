//! Every algorithm on the machine `shuttle`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Shuttle);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Shuttle);
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Shuttle);
}

mod events {
    baton_check::event_suite!(baton_check::world::Shuttle);
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Shuttle);
}
