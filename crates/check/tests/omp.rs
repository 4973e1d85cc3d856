//! The OpenMP runtime on the machines that explore. A program by itself: `loom` and `shuttle` take minutes to build.

/// Random schedules.
mod shuttle {
    baton_check::omp_suite!(baton_check::world::Shuttle);
}

/// What is small enough under every schedule.
mod every_schedule {
    baton_check::omp_tests! { baton_check::world::EverySchedule: tasks: awaited_event }
}

/// What is small enough under every order that the memory orderings allow. Of what is counted by references, which loom does not know, the
/// last one to go must be the test's.
mod loom {
    use baton_check::world::Loom;
    baton_check::omp_tests! { Loom: parts: meeting cancelled crew }
    baton_check::omp_tests! { Loom: tasks: awaited_event priorities }
}
