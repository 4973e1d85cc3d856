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

/// What is small enough under every order that the memory orderings allow. Loom does not know that a count of references orders the ends of
/// what it counts: so where threads share such a thing, the last one to go must be the test's, and tasks that make tasks are not here.
#[cfg(feature = "deep")]
mod loom {
    use baton_check::world::Loom;
    baton_check::omp_tests! { Loom: regions: regions fork_and_join critical loops reduction tasks }
    baton_check::omp_tests! { Loom: parts: meeting shares slots_awaited turns copied cancelled cancelled_unmet crew }
    baton_check::omp_tests! { Loom: tasks: before_a_barrier behind_a_taskwait by_another awaited_dependence groups cancelled_groups
    registered detached awaited_event priorities }
}

/// The same of threads that steal tasks.
#[cfg(feature = "deep")]
mod loom_thieves {
    use baton_check::world::Thieves;
    baton_check::omp_tests! { Thieves: tasks: before_a_barrier behind_a_taskwait by_another within_a_task outliving_its_maker dependences several_dependences
    awaited_dependence groups groups_of_descendants detached detached_at_the_end priorities }
}
