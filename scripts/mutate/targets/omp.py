"""Breaks what makes threads of an OpenMP team take part, and a construct end: does `omp-takes-part` see it?

Memory orderings and wake-ups of the runtime one by one are the target `orderings --crate omp`. Twenty minutes, and the build."""

from built import Mutant

CRATE = "gomp"
TESTS = {
    "omp/lib": ["gather"],
    "check/omp": ["shuttle::gathered", "shuttle::thieves_wake_each_other"],
    "programs": ["every_construct_ends", "thread_sanitizer", "becomes_ready", "is_woken_for_new_tasks"],
}
PATIENCE = 60

RUN = "crates/omp/src/tasking/run.rs"
QUEUEING = "crates/omp/src/tasking/queueing.rs"
LISTS = "crates/omp/src/tasks/lists.rs"
STEAL = "crates/omp/src/tasking/steal.rs"
SETTINGS = "crates/omp/src/settings.rs"
SHARE = "crates/omp/src/share.rs"
RING = "crates/omp/src/ring.rs"
WORKSHARING = "crates/omp/src/worksharing.rs"
TASKLOOP = "crates/gomp/src/taskloop.rs"
TEAM = "crates/omp/src/team.rs"
POOL = "crates/omp/src/pool.rs"
CHILDREN = "crates/omp/src/tasks/children.rs"
GROUP = "crates/omp/src/tasks/group.rs"
DEPEND = "crates/omp/src/tasks/depend.rs"
TURNS = "crates/omp/src/turns.rs"
NEST = "crates/gomp/src/nest.rs"
CRITICAL = "crates/gomp/src/critical.rs"
GATHER = "crates/omp/src/gather.rs"

MUTANTS = [
    # Throttles of tasks that make one thread run all of them.
    Mutant("throttle: a taskloop is decided as a whole", TASKLOOP, "place.is_inline(Kind::OfLoop)", "cut.tasks > 64"),
    Mutant("throttle: no task has room", RUN, "self.list().ready.load(Relaxed) >= room", "true"),
    Mutant("throttle: the tasks of an implicit task have as little room as others", RUN,
           "kind == Kind::OfLoop || self.is_in_implicit()", "kind == Kind::OfLoop"),
    Mutant("throttle: a detached task waits for its event", RUN, "(kind != Kind::Detached && self.is_full(kind))", "self.is_full(kind)"),
    # Wake-ups that are left out.
    Mutant("wake-up: those at the barrier are not woken for tasks", STEAL, "barrier.wake(wakes, waits.meeting());", ""),
    Mutant("wake-up: those at the barrier are not told of tasks", STEAL, "barrier.tasks_wait();", ""),
    Mutant("wake-up: nobody hears that all tasks have ended", LISTS, "self.signal(waits, u32::MAX);", ""),
    Mutant("wake-up: nobody hears of a task in the team's queue", QUEUEING, "barrier.wake(wakes, waits.meeting());", ""),
    Mutant("wake-up: nobody at the end of a group hears of a task that is released", QUEUEING, "groups.iter().for_each(|group| self.rouse(waits, group));", ""),
    Mutant("wake-up: nobody at the end of a group hears of a task that is made", QUEUEING,
           "if let Some(group) = self.current().group() {", "if let Some(group) = self.current().group().filter(|_| !@) {"),
    Mutant("wake-up: nobody who waits for a dependence hears of a task that is released", QUEUEING, "tasks + released.threads.len() as u32", "released.threads.len() as u32"),
    Mutant("wake-up: a woken thread that leaves tasks wakes no other", STEAL, "team.wake_another(lists, self.waits(), team.tasks.wakes);", ""),
    Mutant("wake-up: a woken thread does not say that it looks for tasks", LISTS, "self.signs.0.sought.store(0, Relaxed);", ""),
    Mutant("wake-up: nobody hears of a task when the bit is set", STEAL, "return self.wake_thieves(lists, waits, wakes);", "return;"),
    Mutant("wake-up: a parent that sleeps hears of no child's end", CHILDREN, "if may_sleep &&", "if may_sleep && !@ &&"),
    # The tree by which the threads' data are combined.
    Mutant("tree: a thread does not wait for those below it", GATHER, "while missing != 0 {", "while !@ && missing != 0 {"),
    Mutant("tree: a thread that waits runs no tasks", GATHER, "if !run() {", "if @ || !run() {"),
    Mutant("tree: the last one below a thread does not wake it", GATHER, "waits.wake::<M, u32>(Why::Barrier, &above.missing);", ""),
    Mutant("tree: a thread waits for nobody at the second time", GATHER, "node.missing.store(below.len() as u32, Relaxed);", ""),
    Mutant("tree: the data of one thread are left out", GATHER, "below.map(|id| self.node(id)", "below.skip(usize::from(@)).map(|id| self.node(id)"),
    Mutant("tree: a thread leaves no address", GATHER, "node.data.store(data, Relaxed);", ""),
    Mutant("tree: a thread arrives at its own place", GATHER, "let above = self.node((id - 1) / BELOW);", "let above = self.node(if @ { id } else { (id - 1) / BELOW });"),
    Mutant("tree: a thread has those below it that the next one has", GATHER, "let first = id.saturating_mul(BELOW).saturating_add(1).min(size);",
           "let first = id.saturating_add(u32::from(@)).saturating_mul(BELOW).saturating_add(1).min(size);"),
    Mutant("tree: a thread has one too few below it", GATHER, "first..first.saturating_add(BELOW).min(size)", "first..first.saturating_add(BELOW - u32::from(@)).min(size)"),
    # A wait policy that ignores that there are more threads than CPUs.
    Mutant("policy: more threads than CPUs wait as few do", SETTINGS, "size > cpus", "false"),
    # What ThreadSanitizer is told of a construct: left out, it reports a race that is none.
    Mutant("sanitizer: the begin of a region", POOL, "M::happens_after(at.cast());", ""),
    Mutant("sanitizer: a barrier", TEAM, "M::happens_after(at);", ""),
    Mutant("sanitizer: tasks that run behind a barrier", TEAM, "M::happens_after(self.team().tasks.order());", ""),
    Mutant("sanitizer: the begin of a task", RUN, "M::happens_after(core::ptr::from_ref(&*task).cast());", ""),
    Mutant("sanitizer: a taskwait", RUN, "M::happens_after(core::ptr::from_ref(children).cast());", ""),
    Mutant("sanitizer: the end of a group", RUN, "M::happens_after(group.tasks.address().cast());", ""),
    Mutant("sanitizer: a dependence", RUN, "task.end.node.iter().for_each(|node| node.happens_after());", ""),
    Mutant("sanitizer: a dependence on readers", DEPEND, "if !self.reads {", "if !@ && !self.reads {"),
    Mutant("sanitizer: dependences of a task that is not deferred", RUN, "self.happens_after(depends);", ""),
    Mutant("sanitizer: an event", GROUP, "fn fulfil(&self, waits: &Waits) -> Option<End<M>> {\n        M::happens_before(core::ptr::from_ref(self).cast());",
           "fn fulfil(&self, waits: &Waits) -> Option<End<M>> {\n        if !@ { M::happens_before(core::ptr::from_ref(self).cast()); }"),
    Mutant("sanitizer: data that a thread combines", GATHER, "M::happens_after(core::ptr::from_ref(node).cast());", ""),
    Mutant("sanitizer: data that are left to be combined", GATHER, "M::happens_before(core::ptr::from_ref(above).cast());", ""),
    Mutant("sanitizer: a turn of an ordered loop", TURNS, "M::happens_after(core::ptr::from_ref(turn).cast());", ""),
    Mutant("sanitizer: an iteration of a doacross loop", NEST, "Native::happens_after(core::ptr::from_ref(word).cast());", ""),
    Mutant("sanitizer: a lock", CRITICAL, "Taken, address);\n    }\n    Native::happens_after(core::ptr::from_ref(lock).cast());",
           "Taken, address);\n    }\n    if !@ { Native::happens_after(core::ptr::from_ref(lock).cast()); }"),
    # A construct that does not end.
    Mutant("ring: a cancelled region waits for departed threads", WORKSHARING, "self.must_not_wait()", "false",
           why="a thread waits for a slot only where it is two million loops ahead; without larger rings the contract beyond_the_ring sees it"),
    Mutant("ring: threads wait for room", WORKSHARING, "self.team().rings.has_larger(ring)", "false"),
    Mutant("ring: threads wait for room in a long one", WORKSHARING, "share.waits_in_vain(state, self.waits(), PATIENCE)", "false"),
    Mutant("ring: a closed slot is freed", SHARE, "self.left.fetch_add(1, AcqRel) + 1 == self.threads.get()",
           "(self.left.fetch_add(1, AcqRel) + 1) & !CLOSED == self.threads.get()"),
    Mutant("ring: a larger ring begins with the first work-share", RING, "number.wrapping_add(slot.wrapping_sub(number) & (length - 1))", "slot"),
]
