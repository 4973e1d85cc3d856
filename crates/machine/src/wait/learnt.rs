//! What a thread has learnt of its waits, and how it waits next (policy `adaptive`).
//!
//! Each thread keeps, by cell, the mean of how long its waits last, and whether another thread lately wanted its CPU. Nothing is shared,
//! so learning moves no line, and a thread that comes early to a barrier learns other waits than one that comes late.
//!
//! A CPU is wanted if more threads can run than there are CPUs (as far as is known: those that wait by this policy), or if the kernel says so
//! when the thread offers it, which it does each time that it could have slept.
//!
//! A wait tries, then stands still with a monitor, then sleeps. A stage that the mean wait outlasts is left out.
//!
//! | the CPU is | the monitor comes after | sleep comes after |
//! | --- | --- | --- |
//! | its own | its exit, times the other CPUs, times [`PART`] ([`BESIDE`] where a sibling wants the slots) | a sleep's cost, times the other CPUs, times [`PART`] |
//! | wanted | the same | a sleep's cost; at once where the mean is half of that, as the thread that gets the CPU may be the one that is waited for |
//!
//! The bounds are those of ski rental, for a queue: where threads hand over one to the next, each that leaves a monitor or sleep takes
//! that time from all behind it, and a wait there lasts that long times the waiters before it. With a CPU for each, these are as many as there are
//! other CPUs at most. So a wait that outlasts the bound is not made long by the way in which others wait.

use crate::units::Nanos;
use core::cell::Cell;

/// An exit costs at most this part of the wait before it: 5%.
const PART: u64 = 20;
/// The same where a sibling shares the core, which a thread that tries slows down.
const BESIDE: u64 = 4;
/// Waits for which a CPU that was wanted counts as wanted. One of them looks again.
const REMEMBERED: u32 = 64;
/// Cells told apart.
const CELLS: usize = 64;
/// The longest wait that is kept.
const LONGEST: u64 = 1 << 30;

/// What a machine says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What a sleep and its wake-up cost.
    pub sleep: Nanos,
    /// What the exit of the monitor costs that users have, if they have one.
    pub exit: Option<Nanos>,
    /// Whether another thread shares the core's slots.
    pub sibling: bool,
    /// How many CPUs there are.
    pub cpus: u32,
    /// How many threads can run, this one among them.
    pub threads: u32,
}

impl Terms {
    /// Whether threads are without a CPU, or share one.
    pub fn is_crowded(self) -> bool {
        self.threads > self.cpus
    }
}

/// How a wait goes: each stage's end, from the begin of the wait. Behind them the thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tries until then.
    pub tries: Nanos,
    /// A monitor until then.
    pub monitor: Nanos,
    /// Whether the kernel is to be asked, after each time in which one could have slept, if another thread wants the CPU.
    pub asks: bool,
}

/// What a thread has learnt.
#[derive(Debug)]
pub struct Learnt {
    /// The mean wait in nanoseconds, by cell.
    means: [Cell<u32>; CELLS],
    /// For how many waits the CPU still counts as wanted.
    wanted: Cell<u32>,
}

impl Learnt {
    /// Nothing yet.
    pub const fn new() -> Learnt {
        Learnt { means: [const { Cell::new(0) }; CELLS], wanted: Cell::new(0) }
    }

    fn mean(&self, cell: usize) -> &Cell<u32> {
        // The bits above those of a line's bytes, mixed (Fibonacci hashing).
        let hash = (cell as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.means[(hash >> 58) as usize % CELLS]
    }

    /// A wait for the cell at that address begins.
    pub fn plan(&self, cell: usize, terms: Terms) -> Plan {
        let (mean, sleep) = (u64::from(self.mean(cell).get()), terms.sleep.0);
        let wanted = self.wanted.get();
        self.wanted.set(wanted.saturating_sub(1));
        // The last of those waits finds out anew.
        let is_wanted = wanted > 1 || terms.is_crowded();
        let others = u64::from(terms.cpus.max(2)) - 1;
        let (most, longest) =
            if is_wanted { (sleep, sleep / 2) } else { (sleep * others * PART, sleep * others * PART) };
        // One wait in so many looks, even where all before were long.
        let most = if mean > longest && wanted != 1 { 0 } else { most };
        let exit = terms.exit.map(|exit| exit.0 * others * if terms.sibling { BESIDE } else { PART });
        let tries = match exit {
            Some(exit) if mean > exit => 0,
            Some(exit) => exit.min(most),
            None => most,
        };
        Plan { tries: Nanos(tries), monitor: Nanos(most), asks: !is_wanted }
    }

    /// Another thread wanted the CPU.
    pub fn cpu_is_wanted(&self) {
        self.wanted.set(REMEMBERED);
    }

    /// The wait has ended after so long. Of one that slept, what the sleep cost is no part.
    pub fn ended(&self, cell: usize, lasted: Nanos, slept: bool, terms: Terms) {
        let lasted = if slept { lasted.0.saturating_sub(terms.sleep.0) } else { lasted.0 }.min(LONGEST);
        let mean = self.mean(cell);
        let before = i64::from(mean.get());
        mean.set((before + (lasted as i64 - before) / 4) as u32);
    }
}

impl Default for Learnt {
    fn default() -> Learnt {
        Learnt::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { sleep: Nanos(10_000), exit: Some(Nanos(500)), sibling: false, cpus: 4, threads: 4 };

    /// What is planned after many waits of that length.
    fn after(lasted: u64, slept: bool, terms: Terms) -> Plan {
        let learnt = Learnt::new();
        (0..50).for_each(|_| learnt.ended(64, Nanos(lasted), slept, terms));
        learnt.plan(64, terms)
    }

    #[test]
    fn the_first_wait_pays_no_stage_before_it_is_worth_it() {
        let plan = Learnt::new().plan(64, TERMS);
        assert_eq!(plan, Plan { tries: Nanos(30_000), monitor: Nanos(600_000), asks: true });
        let alone = Learnt::new().plan(64, Terms { exit: None, ..TERMS });
        assert_eq!(alone.tries, alone.monitor);
        assert_eq!(Learnt::new().plan(64, Terms { sibling: true, ..TERMS }).tries, Nanos(6000));
        assert_eq!(Learnt::new().plan(64, Terms { cpus: 65, ..TERMS }).monitor, Nanos(12_800_000));
        assert_eq!(Learnt::new().plan(64, Terms { cpus: 1, threads: 1, ..TERMS }).tries, Nanos(10_000));
    }

    #[test]
    fn a_stage_that_waits_outlast_is_left_out() {
        assert_eq!(after(300, false, TERMS).tries, Nanos(30_000));
        assert_eq!(after(50_000, false, TERMS), Plan { tries: Nanos(0), monitor: Nanos(600_000), asks: true });
        assert_eq!(after(900_000, true, TERMS).monitor, Nanos(0));
        // What a sleep cost is no part of the wait.
        assert_eq!(after(605_000, true, TERMS).monitor, Nanos(600_000));
    }

    #[test]
    fn a_cpu_that_is_wanted_is_given_up_as_soon_as_a_sleep_is_paid_for() {
        let crowded = Terms { threads: 5, ..TERMS };
        assert_eq!(Learnt::new().plan(64, crowded).monitor, Nanos(10_000));
        let learnt = Learnt::new();
        learnt.cpu_is_wanted();
        assert_eq!(learnt.plan(64, TERMS), Plan { tries: Nanos(10_000), monitor: Nanos(10_000), asks: false });
        (0..50).for_each(|_| learnt.ended(64, Nanos(40_000), true, TERMS));
        assert_eq!(learnt.plan(64, TERMS).monitor, Nanos(0));
        // And it is asked again.
        let asks = (0..REMEMBERED).filter(|_| learnt.plan(64, TERMS).asks).count();
        assert_eq!(asks, 3);
        assert_eq!(learnt.plan(64, TERMS).monitor, Nanos(600_000));
    }

    #[test]
    fn waits_that_get_short_again_are_learnt() {
        let learnt = Learnt::new();
        (0..50).for_each(|_| learnt.ended(64, Nanos(LONGEST * 4), true, TERMS));
        assert_eq!(learnt.plan(64, TERMS).monitor, Nanos(0));
        (0..60).for_each(|_| learnt.ended(64, Nanos(200), false, TERMS));
        assert_eq!(learnt.plan(64, TERMS).tries, Nanos(30_000));
        assert_ne!(core::ptr::from_ref(learnt.mean(0)), core::ptr::from_ref(learnt.mean(128)));
    }
}
