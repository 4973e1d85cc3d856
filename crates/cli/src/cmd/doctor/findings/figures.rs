//! Measures the times of single operations, one after the other.

use super::{Cpus, Figure, LeftOut, Levels, Progress};
use baton_host::costs::kernel::Kernel;
use baton_host::costs::{Budget, Spread, core, futex, gaps, memory, moving, sched};
use baton_machine::discover::Topology;
use std::time::Duration;

/// The figures that have been measured, and the ones that could not be measured.
pub(super) struct Taken<'a> {
    pub(super) figures: Vec<Figure>,
    pub(super) left_out: Vec<LeftOut>,
    progress: &'a Progress,
}

type Names = (&'static str, &'static str, &'static str);

impl Taken<'_> {
    /// Measures one figure: its name for programs, its name for people, and how it is measured.
    fn add(&mut self, id: &'static str, what: &'static str, how: &'static str, measure: &dyn Fn() -> Option<Spread>) {
        self.progress.step(what);
        self.figures.extend(measure().map(|spread| Figure { id, what, how, spread }));
    }

    /// Measures a figure that may not exist, or not be measurable well: then the reason is kept.
    fn attempt(&mut self, (id, what, how): Names, measure: &dyn Fn() -> Result<Spread, String>) {
        self.progress.step(what);
        match measure().and_then(steady) {
            Ok(spread) => self.figures.push(Figure { id, what, how, spread }),
            Err(why) => self.left_out.push(LeftOut { id, what, why }),
        }
    }
}

/// Refuses a sample whose middle four fifths reach above three times the median, or below a third
/// of it: such a sample is no price.
fn steady(spread: Spread) -> Result<Spread, String> {
    const WIDEST: f64 = 3.0;
    if spread.high <= WIDEST * spread.median && spread.median <= WIDEST * spread.low {
        return Ok(spread);
    }
    let Spread { median, low, high, samples } = spread;
    Err(format!("too unsteady: {median:.0} ns, but four fifths of {samples} within {low:.0} – {high:.0}"))
}

/// Measures all figures.
pub(super) fn take<'a>(
    budget: Budget,
    progress: &'a Progress,
    topology: &Topology,
    cpus: &Cpus,
    kernel: &Kernel,
) -> Taken<'a> {
    let mut taken = Taken { figures: Vec::new(), left_out: Vec::new(), progress };
    hardware(&mut taken, budget, topology, cpus);
    sleeping(&mut taken, budget, cpus);
    scheduling(&mut taken, budget, cpus);
    interrupts(&mut taken, budget, cpus, kernel);
    taken
}

/// Measures cores, caches and memory.
fn hardware(t: &mut Taken, budget: Budget, topology: &Topology, cpus: &Cpus) {
    let last_level = topology.caches.iter().map(|c| c.bytes).max().unwrap_or(0);
    t.add("hit", "first-level cache hit", "a chain of dependent loads over 2 KiB", &|| Some(core::hit(budget)));
    t.add("spin-turn", "turn of a spinning wait", "load, compare, branch on an own line", &|| {
        Some(core::spin_turn(budget))
    });
    t.add("pause", "PAUSE", "a loop of them", &|| Some(core::pause(budget)));
    t.add("atomic", "uncontended atomic add", "a loop of them on an own line", &|| Some(core::atomic(budget)));
    t.add("fence", "sequentially consistent fence", "a loop of them", &|| Some(core::sequential_fence(budget)));
    t.add("memory", "memory latency", "a chain of dependent loads, four times the last-level cache", &|| {
        Some(core::memory(budget, last_level))
    });
    let levels = Levels::of(&topology.caches, topology.threads_per_core());
    if let Some(l2) = levels.second {
        t.add("l2", "second-level cache", "a chain of dependent loads, half of it", &|| {
            Some(core::level(budget, l2.bytes / 2))
        });
    }
    if let Some(shared) = levels.last {
        let below = levels.second.map_or(0, |l2| 2 * l2.bytes);
        let bytes = (shared.bytes / 4).max(below).min(shared.bytes / 2);
        t.add("last-level", "last-level cache", "a chain of dependent loads, a quarter of it", &|| {
            Some(core::level(budget, bytes))
        });
    }
    let line = topology.caches.first().map_or(64, |c| c.line);
    t.add("line-rate", "memory, a line, all CPUs reading", "long ranges, wall-clock time by lines", &|| {
        memory::line_rate(&cpus.allowed, line, last_level, budget)
    });
    t.add("clock", "reading the clock", "a loop of clock_gettime", &|| Some(core::clock(budget)));
    t.add("work", "a cycle of Native::work", "the calibrated loop, by its iterations", &|| Some(core::work(budget)));
}

/// Measures futexes.
fn sleeping(t: &mut Taken, budget: Budget, cpus: &Cpus) {
    let one = cpus.allowed[0];
    t.add("futex-wake-none", "futex wake, nobody asleep", "a loop of them", &|| Some(futex::wake_none(budget)));
    t.add("futex-wait-changed", "futex wait, value changed", "a loop of them", &|| Some(futex::wait_changed(budget)));
    if let Some(two) = cpus.two {
        let woken = |n, idle, pick: fn(futex::Woken) -> Spread| {
            futex::wake_sleepers(two, n, Duration::from_micros(idle), budget.long).map(pick)
        };
        t.add(
            "futex-wake",
            "futex wake of a sleeper, at the waker",
            "sleeper on another CPU, asleep for 1 ms",
            &|| woken(1, 1_000, |w| w.call),
        );
        t.add("futex-wake-8", "futex wake of 8 sleepers, at the waker", "sleepers on one other CPU", &|| {
            woken(8, 1_000, |w| w.call)
        });
        t.add("futex-round-trip", "futex round trip, two CPUs", "two threads that wake each other and sleep", &|| {
            futex::round_trip(two, budget.long)
        });
    }
    t.add("futex-round-trip-one", "futex round trip, one CPU", "the same, both on one CPU", &|| {
        futex::round_trip((one, one), budget.long)
    });
}

/// Measures how threads are switched and placed on CPUs.
fn scheduling(t: &mut Taken, budget: Budget, cpus: &Cpus) {
    let one = cpus.allowed[0];
    t.add(
        "context-switch",
        "context switch",
        "two threads on one CPU that yield, by the kernel's count of switches",
        &|| sched::context_switch(one, budget),
    );
    t.add("time-slice", "time slice", "run lengths of two busy threads on one CPU", &|| sched::time_slice(one, budget));
    t.add(
        "preemption",
        "busy thread runs on while one wakes",
        "beyond the wake-up time of one that sleeps 20 µs at a time",
        &|| sched::preemption(one, budget),
    );
    t.add("thread-create", "creating a thread, at its creator", "pthread_create, joined outside of the time", &|| {
        sched::thread_create(budget)
    });
    let names = (
        "migration",
        "waking a thread on another CPU than its last",
        "beyond a wake-up on its last CPU, both after 2 ms, by turns; median of the differences, with its 95% interval",
    );
    match cpus.two {
        Some(two) => t.attempt(names, &|| moving::migration(two, budget)),
        None => t.attempt(names, &|| Err("there is one CPU".into())),
    }
}

/// Measures the time that the kernel takes from a running thread.
fn interrupts(t: &mut Taken, budget: Budget, cpus: &Cpus, kernel: &Kernel) {
    let one = cpus.allowed[0];
    t.add("syscall", "system call that does nothing", "a loop of getppid", &|| Some(futex::system_call(budget)));
    let names = ("tick", "timer tick", "gaps at the kernel's period in a loop that reads the clock");
    t.attempt(names, &|| gaps::tick(one, kernel.tick_ns, budget));
    let names = (
        "interrupt",
        "interrupt from another CPU",
        "gaps in a loop that reads the clock while another CPU calls membarrier",
    );
    match cpus.two {
        Some(two) => t.attempt(names, &|| gaps::interrupt(two, budget)),
        None => t.attempt(names, &|| Err("there is one CPU".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsteady_samples_are_no_prices() {
        let spread = |low, median, high| Spread { median, low, high, samples: 50 };
        assert!(steady(spread(900.0, 1_000.0, 2_500.0)).is_ok());
        assert!(steady(spread(900.0, 1_000.0, 3_500.0)).unwrap_err().contains("too unsteady"));
        assert!(steady(spread(200.0, 1_000.0, 1_100.0)).is_err());
    }
}
