//! Where an order pays: threads a lock by the section's length, with and without meetings, at two
//! prices of waking and on several sizes of chip. Each cell compares every place in which marks can
//! be heeded with locks in software that need no marks.

use super::experiments::{BOTH, HOME, ORACLE, heeded, sleep};
use super::program::{Program, Shape};
use super::table;
use baton_machine::Wait;
use baton_programs::synthetic::Draw;

/// The arms of a cell. All others are compared with the first.
pub(super) const ARMS: [&str; 8] =
    ["no marks", "routers", "home", "both", "oracle", "mcs", "ttas, back-off", "adaptive, up to 100 tries"];
/// The arms that are locks of another kind, without marks: their waiters never sleep, or sleep by a rule of their own.
pub(super) const SOFTWARE: std::ops::Range<usize> = 5..8;
/// The index of the oracle, which no hardware can be.
pub(super) const BOUND: usize = 4;

/// The cycles that 128 tries take if they hit in the waiter's cache.
pub(super) const BUDGET: u64 = 1000;
/// The lengths of sections, as multiples of [`BUDGET`].
pub(super) const SECTIONS: [f64; 3] = [0.25, 1.0, 4.0];
/// The prices of waking as fractions of the chosen price: name, numerator and denominator.
pub(super) const PRICES: [(&str, u64, u64); 2] = [("as chosen", 1, 1), ("an eighth", 1, 8)];

/// The sizes of chip: cores, which are as many as threads; acquisitions a thread; numbers of
/// threads a lock; and how many of the [`PRICES`] are run.
pub(super) const SIZES: [(u32, u64, &[u32], usize); 3] =
    [(16, 30, &[4, 16], 2), (64, 20, &[4, 16, 32], 2), (256, 6, &[16, 64], 1)];

/// A cell, and one of its arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) size: usize,
    pub(super) per_lock: u32,
    /// Which of [`SECTIONS`].
    pub(super) section: usize,
    pub(super) meets: bool,
    /// Which of [`PRICES`].
    pub(super) price: usize,
    /// Which of [`ARMS`].
    pub(super) arm: usize,
}

/// All runs, arm by arm within a cell. A quick study has none.
pub(super) fn cases(full: bool) -> Vec<Case> {
    let mut all = Vec::new();
    for (size, &(_, _, per_locks, prices)) in SIZES.iter().enumerate().take(if full { SIZES.len() } else { 0 }) {
        for &per_lock in per_locks {
            for section in 0..SECTIONS.len() {
                for meets in [false, true] {
                    for price in 0..prices {
                        let case = |arm| Case { size, per_lock, section, meets, price, arm };
                        all.extend((0..ARMS.len()).map(case));
                    }
                }
            }
        }
    }
    all
}

impl Case {
    pub(super) fn threads(&self) -> u32 {
        SIZES[self.size].0
    }

    /// The settings of the chip in this arm and at this price.
    pub(super) fn settings(&self) -> Vec<String> {
        let marks = |of: Vec<String>| [vec!["ocor.enabled=true".to_owned()], of].concat();
        let own = match self.arm {
            1 => marks(Vec::new()),
            2 => marks(heeded(HOME)),
            3 => marks(heeded(BOTH)),
            BOUND => marks(heeded(ORACLE)),
            _ => Vec::new(),
        };
        let (_, numerator, denominator) = PRICES[self.price];
        let price = if numerator == denominator { Vec::new() } else { sleep(numerator, denominator) };
        [own, price].concat()
    }

    /// The run of this case on `chip`.
    pub(super) fn run(&self, chip: String) -> table::Run {
        let (threads, acquisitions, ..) = SIZES[self.size];
        let section_cycles = (SECTIONS[self.section] * BUDGET as f64) as u64;
        // Without meetings, a thread's own work takes as long as the sections of half of its lock's
        // threads, so that the lock's queue is neither empty nor holds all threads.
        let think_cycles = if self.meets { 400 } else { section_cycles * u64::from(self.per_lock) / 2 };
        let draw = Draw {
            acquisitions,
            locks: threads / self.per_lock,
            even: 1.0,
            section_cycles,
            section_lines: 2,
            think_cycles,
            spread: 0.3,
            phase: u32::from(self.meets),
            misses: 1.0,
            burst: 1,
            writes: 0.3,
            own_lines: 64,
            ..Draw::default()
        };
        let (name, shape) = ("map".to_owned(), Shape::of(&draw));
        let program = Program { name, place: 0, shape, number: 0, draw, high_cs_rate: false, high_network: false };
        let (lock, wait) = match self.arm {
            5 => ("mcs", Wait::Pause),
            6 => ("ttas", Wait::Pause),
            7 => ("adaptive", Wait::SpinPark(100)),
            _ => ("spin-park", Wait::SpinPark(128)),
        };
        table::Run { chip, program, lock, wait: wait.to_string(), threads, acquisitions, seed: 1 }
    }

    pub(super) fn name(&self) -> String {
        let Case { per_lock, section, meets, price, arm, .. } = *self;
        let (section, price) = (SECTIONS[section], PRICES[price].0);
        let meeting = if meets { "meetings" } else { "no meetings" };
        format!(
            "map, {} threads, {per_lock} a lock, section {section}, {meeting}, waking {price}, {}",
            self.threads(),
            ARMS[arm]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_every_arm_in_order_and_a_quick_study_none() {
        let all = cases(true);
        assert!(cases(false).is_empty() && all.len().is_multiple_of(ARMS.len()));
        for cell in all.chunks_exact(ARMS.len()) {
            assert!(
                cell.iter().enumerate().all(|(arm, case)| case.arm == arm && Case { arm: 0, ..*case } == cell[0]),
                "{cell:?}"
            );
            // Locks times threads a lock is the number of threads, so each lock has as many
            // threads.
            assert_eq!(cell[0].run(String::new()).program.draw.locks * cell[0].per_lock, cell[0].threads());
        }
    }
}
