//! Every algorithm on the machine `native`.

mod machine {
    baton_check::machine_suite!(baton_check::world::Native);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Native);
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Native);
}

mod events {
    baton_check::event_suite!(baton_check::world::Native);
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Native);
}
