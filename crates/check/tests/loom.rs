//! Every algorithm on the machine `loom`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Loom);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Loom);
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Loom);
}

mod events {
    baton_check::event_suite!(baton_check::world::Loom);
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Loom);
}
