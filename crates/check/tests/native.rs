//! Every algorithm on the machine `native`.

mod locks {
    baton_check::lock_suite!(baton_check::world::Native);
}

mod machine {
    baton_check::machine_suite!(baton_check::world::Native);
}
