"""Breaks what makes threads of an OpenMP team take part, and a construct end: does `omp-takes-part` see it?

Memory orderings and wake-ups of the runtime one by one are the target `orderings --crate omp`. Twenty minutes, and the build."""

from built import Mutant

CRATE = "gomp"
TESTS = {"programs": ["every_construct_ends"]}
PATIENCE = 60

RUN = "crates/omp/src/tasking/run.rs"
QUEUE = "crates/omp/src/tasks/queue.rs"
QUEUEING = "crates/omp/src/tasking/queueing.rs"
LISTS = "crates/omp/src/tasks/lists.rs"
STEAL = "crates/omp/src/tasking/steal.rs"
SETTINGS = "crates/omp/src/settings.rs"
SHARE = "crates/omp/src/share.rs"
TASKLOOP = "crates/gomp/src/taskloop.rs"

MUTANTS = [
    # Throttles of tasks that make one thread run all of them.
    Mutant("throttle: a taskloop is decided as a whole", TASKLOOP, "place.is_inline(Kind::OfLoop)", "cut.tasks > 64"),
    Mutant("throttle: no task has room", QUEUE, "u64::from(waiting) >= room", "true"),
    Mutant("throttle: a detached task waits for its event", RUN, "kind != Kind::Detached && queue.is_full(self.id, size, kind)",
           "queue.is_full(self.id, size, kind)"),
    # Wake-ups that are left out.
    Mutant("wake-up: those at the barrier are not woken for tasks", STEAL, "barrier.wake(wakes, waits.meeting());", ""),
    Mutant("wake-up: those at the barrier are not told of tasks", STEAL, "barrier.tasks_wait();", ""),
    Mutant("wake-up: nobody hears that all tasks have ended", LISTS, "self.signal(waits, u32::MAX);", ""),
    Mutant("wake-up: nobody hears of a task in the team's queue", QUEUEING, "barrier.wake(wakes, waits.meeting());", ""),
    # A wait policy that ignores that there are more threads than CPUs.
    Mutant("policy: more threads than CPUs wait as few do", SETTINGS, "size > cpus", "false"),
    # A construct that does not end.
    Mutant("ring: a cancelled region waits for departed threads", SHARE, "state % 4 == 2 && cancelled()", "false"),
]
