//! Every algorithm on the machine `shuttle`.

mod locks {
    baton_check::lock_suite!(baton_check::world::Shuttle);
}

mod machine {
    baton_check::machine_suite!(baton_check::world::Shuttle);
}
