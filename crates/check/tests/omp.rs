//! The OpenMP runtime on the machines that explore. A program by itself: they take minutes to build.
//!
//! `cargo test -p baton-check --features deep --test omp` tries more than random schedules: some minutes.

/// Random schedules.
mod shuttle {
    baton_check::omp_suite!(baton_check::world::Shuttle);
}

/// What is small enough under every schedule.
#[cfg(feature = "deep")]
mod every_schedule {
    baton_check::omp_tests! { baton_check::world::EverySchedule: tasks: awaited_event }
}

/// What is small enough under every order that the memory orderings allow. Of what is counted by references, which loom does not know, the
/// last one to go must be the test's.
#[cfg(feature = "deep")]
mod loom {
    use baton_check::world::Loom;
    baton_check::omp_tests! { Loom: parts: meeting turns copied cancelled crew }
    baton_check::omp_tests! { Loom: tasks: behind_a_taskwait by_another awaited_dependence awaited_event priorities }
}
