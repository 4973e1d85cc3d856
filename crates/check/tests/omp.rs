//! The OpenMP runtime on the machines that explore. A program by itself: `loom` and `shuttle` take minutes to build.

/// Random schedules.
mod shuttle {
    baton_check::omp_suite!(baton_check::world::Shuttle);
}

/// What is small enough under every schedule.
mod every_schedule {
    use baton_check::world::EverySchedule;
    baton_check::omp_tests! { EverySchedule: parts: shares turns crew }
    baton_check::omp_tests! { EverySchedule: tasks: awaited_event }
}

/// What is small enough under every order that the memory orderings allow. Tasks that are made by tasks are not: of what is counted by
/// references, which loom does not know, the last one to go must be the test's.
mod loom {
    use baton_check::world::Loom;
    baton_check::omp_tests! { Loom: regions: fork_and_join critical reduction }
    baton_check::omp_tests! { Loom: parts: meeting shares turns copied cancelled crew }
    baton_check::omp_tests! { Loom: tasks: before_a_barrier behind_a_taskwait by_another dependences awaited_dependence groups
    cancelled_groups detached awaited_event priorities }
}
