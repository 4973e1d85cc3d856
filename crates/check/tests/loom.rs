//! Every algorithm on the machine `loom`.

mod locks {
    baton_check::lock_suite!(baton_check::world::Loom);
}

mod machine {
    baton_check::machine_suite!(baton_check::world::Loom);
}
