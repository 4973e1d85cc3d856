//! The OpenMP runtime on the machines that explore. It is a program by itself, because it takes
//! minutes to build.
//!
//! `cargo test -p baton-check --features deep --test omp` tries more than random schedules and
//! takes some minutes.

/// Tests under random schedules.
mod shuttle {
    baton_check::omp_suite!(baton_check::world::Shuttle);
}

/// Tests that are small enough to run under every schedule.
#[cfg(feature = "deep")]
mod every_schedule {
    baton_check::omp_tests! { baton_check::world::EverySchedule: tasks: awaited_event }
}

/// Tests that are small enough for every execution that the memory orderings allow.
#[cfg(feature = "deep")]
mod loom {
    use baton_check::world::Loom;
    baton_check::omp_tests! { Loom: regions: regions fork_and_join critical loops reduction tasks }
    baton_check::omp_tests! { Loom: parts: meeting shares slots_awaited turns copied cancelled cancelled_unmet crew }
    baton_check::omp_tests! { Loom: tasks: before_a_barrier behind_a_taskwait by_another awaited_dependence groups cancelled_groups
    registered detached awaited_event priorities }
}

/// Tests with two threads, in the team's queue and in lists from which they steal, including tasks
/// that make tasks.
#[cfg(feature = "deep")]
mod loom_pairs {
    use baton_check::world::Pairs;
    baton_check::omp_tests! { Pairs: parts: larger_ring copied_without_the_copier gathered gathered_behind_a_task told_under_another_lock }
    baton_check::omp_tests! { Pairs: tasks: before_a_barrier made_late behind_a_taskwait by_another within_a_task outliving_its_maker dependences several_dependences
    awaited_dependence groups groups_of_descendants made_late_in_a_group detached detached_at_the_end released_before_a_dependence
    released_in_a_group priorities }
}
