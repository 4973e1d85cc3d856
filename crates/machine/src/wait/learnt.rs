//! What a thread has learnt about its waits, and how it plans the next one (policy `adaptive`).
//!
//! For each cell, a thread keeps the mean length of its waits; it also remembers whether another
//! thread lately wanted its CPU. Nothing is shared, so learning moves no cache line, and a thread
//! that arrives early at a barrier learns other waits than one that arrives late.
//!
//! The CPU is wanted if more threads can run than there are CPUs (counting threads that use this
//! policy), or if the kernel runs another thread when this one yields. The thread yields each time
//! when it has waited as long as a sleep costs.
//!
//! A wait tries, then rests with a monitor, then sleeps. Stages that are shorter than the mean wait
//! are skipped.
//!
//! | the CPU is | the monitor comes after | sleep comes after |
//! | --- | --- | --- |
//! | its own | its exit, times the other CPUs, times [`PART`] ([`BESIDE`] where a sibling wants the slots) | a sleep's cost, times the other CPUs, times [`PART`] |
//! | wanted | the same, but a sleep's cost at most | a sleep's cost; at once where the mean is more than half of that, as the thread that gets the CPU may be the one that is waited for |
//!
//! The bounds apply ski rental to a queue. Where threads hand over to each other in turn, a thread
//! that leaves a monitor or sleep delays all threads behind it, and a wait lasts as long as the
//! hand-overs of all waiters before it. If each thread has a CPU, at most as many waiters are ahead
//! as there are other CPUs. So if a wait exceeds the bound, the cause is not how the other threads
//! wait.

use crate::units::Nanos;
use core::cell::Cell;

/// The exit from an idle stage costs at most 1/`PART` of the wait before it: 5%.
const PART: u64 = 20;
/// Like `PART`, for a core that is shared with a sibling: a thread that tries slows the sibling
/// down.
const BESIDE: u64 = 4;
/// For how many waits a CPU that was wanted still counts as wanted. The last of them checks again.
const REMEMBERED: u32 = 64;
/// Number of means that a thread keeps; cells are hashed to them.
const CELLS: usize = 64;
/// Waits are capped to this many nanoseconds.
const LONGEST: u64 = 1 << 30;

/// What a machine reports for planning a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Cost of a sleep and its wake-up.
    pub sleep: Nanos,
    /// Cost of leaving the monitor that user code can use; `None` if there is none.
    pub exit: Option<Nanos>,
    /// Whether another hardware thread shares the core.
    pub sibling: bool,
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of threads that can run, including the one that plans the wait.
    pub threads: u32,
}

impl Terms {
    /// Whether there are more threads than CPUs.
    pub fn is_crowded(self) -> bool {
        self.threads > self.cpus
    }
}

/// The plan of a wait: when the tries and the monitor's stage end, measured from the beginning of
/// the wait. The thread sleeps afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// End of the tries.
    pub tries: Nanos,
    /// End of the monitor's stage.
    pub monitor: Nanos,
    /// Whether to yield, each time the thread has waited as long as a sleep costs, to find out if
    /// another thread wants the CPU.
    pub asks: bool,
}

/// What a thread has learnt so far.
#[derive(Debug)]
pub struct Learnt {
    /// Mean wait in nanoseconds, by the cell's hash.
    means: [Cell<u32>; CELLS],
    /// The number of waits for which the CPU still counts as wanted.
    wanted: Cell<u32>,
}

impl Learnt {
    /// Nothing learnt yet.
    pub const fn new() -> Learnt {
        Learnt { means: [const { Cell::new(0) }; CELLS], wanted: Cell::new(0) }
    }

    fn mean(&self, cell: usize) -> &Cell<u32> {
        // Hashes the address without its three lowest bits (Fibonacci hashing).
        let hash = (cell as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.means[(hash >> 58) as usize % CELLS]
    }

    /// Plans a wait for the cell at address `cell`.
    pub fn plan(&self, cell: usize, terms: Terms) -> Plan {
        let (mean, sleep) = (u64::from(self.mean(cell).get()), terms.sleep.0);
        let wanted = self.wanted.get();
        self.wanted.set(wanted.saturating_sub(1));
        // The last of the remembered waits (`wanted == 1`) checks again.
        let is_wanted = wanted > 1 || terms.is_crowded();
        let others = u64::from(terms.cpus.max(2)) - 1;
        let (most, longest) =
            if is_wanted { (sleep, sleep / 2) } else { (sleep * others * PART, sleep * others * PART) };
        // The last wait that remembers a wanted CPU keeps the stage even if all earlier waits were
        // long.
        let most = if mean > longest && wanted != 1 { 0 } else { most };
        let exit = terms.exit.map(|exit| exit.0 * others * if terms.sibling { BESIDE } else { PART });
        let tries = match exit {
            Some(exit) if mean > exit => 0,
            Some(exit) => exit.min(most),
            None => most,
        };
        Plan { tries: Nanos(tries), monitor: Nanos(most), asks: !is_wanted }
    }

    /// Records that another thread wanted the CPU.
    pub fn cpu_is_wanted(&self) {
        self.wanted.set(REMEMBERED);
    }

    /// Records a wait for `cell` that lasted `lasted`. Excludes the cost of sleeping for waits that
    /// slept.
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

    /// Returns the plan after fifty waits of length `lasted`.
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
        // The cost of the sleep is not part of the wait.
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
        // The CPU counts as wanted for [`REMEMBERED`] waits, two of which were planned above. So
        // the plans ask again from the last of these waits on: 3 of the 64 that are planned now.
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
