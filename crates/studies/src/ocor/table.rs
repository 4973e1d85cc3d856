//! Lock by network: what a designer should build. One workload on each lock and each network, at several numbers of cores.
//!
//! Only `spin-park` and `adaptive` give hints among the locks of the table, so the others are
//! instrumented from outside ([`Instrumented`]), in all arms alike. Overhead is what threads see
//! ([`super::calls`]); the account by lock words ([`super::account`]) reads only the words of
//! `spin-park` and its variants.

use super::account::Account;
use super::calls::Calls;
use super::experiments::sleep;
use super::notes::Region;
use super::program::Program;
use super::run::{Figures, Setup};
use baton_chip::{Simulated, act};
use baton_machine::Wait;
use baton_programs::synthetic::{self, Draw};
use baton_sync::lock::instrumented::Instrumented;
use baton_sync::lock::{self, LockVisitor, RawLock, ZeroInit};
use baton_workloads::{Probe, Team};
use serde::Serialize;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// A lock of the table: its name in the registry, how it waits, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockRow {
    /// The lock's name in the registry.
    pub lock: &'static str,
    /// How it waits.
    pub wait: Wait,
    /// The label of the lock in the table.
    pub what: &'static str,
    /// Whether the lock is run in a quick study, and whether it is run on the largest chip.
    pub chosen: [bool; 2],
    /// Whether sleeping and waking cost nothing; the row then shows the lock without that cost.
    pub free_sleep: bool,
}

const fn kind(lock: &'static str, wait: Wait, what: &'static str, chosen: [bool; 2]) -> LockRow {
    LockRow { lock, wait, what, chosen, free_sleep: false }
}

/// The locks of the table, a row each.
pub const LOCKS: [LockRow; 10] = [
    kind("spin-park", Wait::SpinPark(128), "spin-park, 128 tries: the paper's", [true, true]),
    kind(
        "spin-park",
        Wait::SpinPark(10),
        "spin-park, 10 tries: parking_lot's budget, without its growing pauses",
        [false; 2],
    ),
    kind("adaptive", Wait::SpinPark(100), "adaptive, up to 100 tries: glibc's adaptive mutex", [false, true]),
    kind("futex", Wait::Futex, "futex: glibc's default mutex", [true, true]),
    kind("ttas", Wait::Pause, "ttas, back-off", [false; 2]),
    kind("mcs", Wait::Pause, "mcs, spinning", [true, true]),
    kind("mcs", Wait::Mwait(1), "mcs, MWAIT", [false, true]),
    kind("mcs", Wait::SpinPark(128), "mcs, 128 looks, then asleep", [false; 2]),
    // This row shows whether the hand-offs of the row above wait for sleepers to wake.
    LockRow {
        free_sleep: true,
        ..kind("mcs", Wait::SpinPark(128), "mcs, 128 looks, then asleep at no cost", [false; 2])
    },
    kind("clh", Wait::Pause, "clh, spinning", [false; 2]),
];

/// The networks of the table, each with the settings that make it.
pub const NETWORKS: [(&str, &[&str]); 3] = [
    ("round robin", &["ocor.enabled=false"]),
    ("OCOR", &["ocor.enabled=true"]),
    ("holder first", &["ocor.enabled=true", "ocor.rule=holder-first"]),
];

/// The prices of MWAIT in user code, taken from `opteron6272x4.toml`, because `ocor64` has none.
const MWAIT: [&str; 4] =
    ["wait.monitor=40", "wait.mwait.level=user", "wait.mwait.c1.enter=80", "wait.mwait.c1.exit=1000"];

/// A number of threads and cores, and the runs on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Threads, and cores.
    pub threads: u32,
    /// Acquisitions a thread; fewer on great chips, so that a run stays below a minute.
    pub acquisitions: u64,
    /// Draws of the program.
    pub draws: usize,
    /// Seeds of each draw.
    pub seeds: u64,
}

const fn size(threads: u32, acquisitions: u64, draws: usize, seeds: u64) -> Size {
    Size { threads, acquisitions, draws, seeds }
}

/// The sizes for which the table is made.
pub const SIZES: [Size; 4] = [size(16, 30, 3, 2), size(64, 30, 3, 1), size(256, 20, 1, 1), size(1024, 8, 1, 1)];

/// The program with the greatest rate of critical sections; its first draws are the workload.
pub const PROGRAM: &str = "ilbdc";

/// A cell of the table, for one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) kind: usize,
    pub(super) network: usize,
    pub(super) size: usize,
    pub(super) draw: usize,
    pub(super) seed: u64,
}

/// The cells of a full study, or those of a quick one.
pub(super) fn cases(full: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let last = SIZES.len() - 1;
    for (size, of) in SIZES.iter().enumerate().take(if full { SIZES.len() } else { 1 }) {
        let wanted = |kind: &LockRow| if full { size != last || kind.chosen[1] } else { kind.chosen[0] };
        for (kind, _) in LOCKS.iter().enumerate().filter(|(_, kind)| wanted(kind)) {
            for network in 0..NETWORKS.len() {
                let (draws, seeds) = if full { (of.draws, of.seeds) } else { (1, 1) };
                let all = (0..draws).flat_map(|draw| (1..=seeds).map(move |seed| (draw, seed)));
                cases.extend(all.map(|(draw, seed)| Case { kind, network, size, draw, seed }));
            }
        }
    }
    cases
}

impl Case {
    pub(super) fn threads(&self) -> u32 {
        SIZES[self.size].threads
    }

    /// The settings of the chip for this lock and network.
    pub(super) fn settings(&self) -> Vec<String> {
        let kind = &LOCKS[self.kind];
        let monitors = if matches!(kind.wait, Wait::Mwait(_)) { &MWAIT[..] } else { &[] };
        let own = NETWORKS[self.network].1.iter().chain(monitors).map(|&setting| setting.to_owned());
        own.chain(if kind.free_sleep { sleep(0, 1) } else { Vec::new() }).collect()
    }

    /// The run of this cell on `chip`.
    pub(super) fn run(&self, chip: String, program: &Program) -> Run {
        let Size { threads, acquisitions, .. } = SIZES[self.size];
        let LockRow { lock, wait, .. } = LOCKS[self.kind];
        let mut program = program.clone();
        // The number of locks grows with the threads, so that the contention of a lock stays the
        // same.
        let locks = (u64::from(program.draw.locks) * u64::from(threads)).div_ceil(64) as u32;
        program.draw = Draw { locks, hot: 0.0, ..program.draw };
        Run { chip, program, lock, wait: wait.to_string(), threads, acquisitions, seed: self.seed }
    }

    pub(super) fn name(&self) -> String {
        let Case { kind, network, draw, seed, .. } = *self;
        format!("{}, {}, {} threads, draw {draw}, seed {seed}", LOCKS[kind].what, NETWORKS[network].0, self.threads())
    }
}

/// The inputs of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole.
    pub chip: String,
    /// The workload.
    pub program: Program,
    pub lock: &'static str,
    /// How waiters wait.
    pub wait: String,
    /// Threads, one a core.
    pub threads: u32,
    /// Acquisitions a thread.
    pub acquisitions: u64,
    /// The seed.
    pub seed: u64,
}

/// What threads see, and the part of the run that counts.
#[derive(Default)]
struct Seen {
    calls: Calls,
    region: Region,
}

/// Notes what threads see.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<Seen>>);

impl Notes {
    fn with<R>(&self, f: impl FnOnce(&mut Seen, u64) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), act::time().0)
    }
}

impl Probe for Notes {
    fn request(&self, _: u32) -> u64 {
        act::time().0
    }
    fn acquired(&self, lock: u32, requested: u64) {
        self.with(|seen, now| seen.calls.acquired(lock, requested, now));
    }
    fn release(&self, lock: u32) {
        self.with(|seen, now| seen.calls.release(lock, now));
    }
    fn begin(&self) {
        self.with(|seen, _| seen.region.begin());
    }
    fn end(&self) {
        self.with(|seen, _| seen.region.end());
    }
}

/// Makes the threads once the lock's type is known.
struct Make<'a> {
    run: &'a Run,
    line_bytes: usize,
    wait: Wait,
    notes: Notes,
}

impl LockVisitor<Simulated> for Make<'_> {
    type Out = Result<Team, String>;
    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Self::Out {
        let Run { threads, acquisitions, seed, .. } = *self.run;
        let threads = NonZeroU32::new(threads).unwrap_or(NonZeroU32::MIN);
        let how = synthetic::SyntheticRun { threads, acquisitions, line_bytes: self.line_bytes, seed };
        let draw = self.run.program.draw;
        Ok(if L::INFO.hints {
            draw.team::<Simulated, L, _>(how, self.wait, self.notes)
        } else {
            draw.team::<Simulated, Instrumented<Simulated, L>, _>(how, self.wait, self.notes)
        })
    }
}

impl Setup<'_> {
    /// Like [`Setup::run`], with an account from what threads observe, which works for any lock.
    /// The account has acquisitions, sections, blocked time and overhead, but no causes. Each sleep
    /// counts as an acquisition that was not entered spinning.
    ///
    /// # Errors
    /// Like [`Setup::run`].
    pub(super) fn by_calls(
        &self,
        bytes: impl FnOnce(usize) -> usize,
        team: impl FnOnce(usize, Wait, Notes) -> Result<Team, String>,
    ) -> Result<Figures, String> {
        let notes = Notes::default();
        let noted = notes.clone();
        let (_simulation, outcome) = self.run(false, bytes, |line, wait| team(line, wait, notes))?;
        let seen = noted.0.lock().unwrap_or_else(PoisonError::into_inner);
        let account = seen.calls.account();
        let slept: u64 = outcome.threads.iter().map(|thread| thread.counts.sleeps).sum();
        let account = Account { entered_spinning: account.acquisitions.saturating_sub(slept), ..account };
        Ok(seen.region.figures(&outcome, self.threads, account.clone(), account))
    }
}

impl Run {
    /// Does the run.
    ///
    /// # Errors
    /// The reason why there are no figures: a chip or lock that is not possible, a run that hangs,
    /// or wrong results.
    pub fn figures(&self) -> Result<Figures, String> {
        let Run { ref chip, lock, threads, seed, .. } = *self;
        let wait: Wait = self.wait.parse().map_err(|error| format!("{error}"))?;
        let setup = Setup { chip, lock, wait, threads, seed };
        let team = |line_bytes, wait, notes| {
            let make = Make { run: self, line_bytes, wait, notes };
            lock::visit::<Simulated, _>(lock, make).map_err(|error| error.to_string())?
        };
        setup.by_calls(|line| self.program.bytes(threads, line), team)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_table_is_small_and_a_full_one_whole() {
        assert_eq!(cases(false).len(), 3 * NETWORKS.len());
        let full = cases(true);
        let of = |size: usize| full.iter().filter(|case| case.size == size).count();
        assert_eq!([0, 1, 2, 3].map(of), [180, 90, 30, 15]);
        assert!(full.iter().all(|case| case.size != 3 || LOCKS[case.kind].chosen[1]));
    }
}
