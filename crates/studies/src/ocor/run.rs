//! One run: a program's threads on the chip, with or without marks, and what it showed.

use super::account::{Account, Requests};
use super::notes::{Noted, Notes};
use super::program::Program;
use super::window::Window;
use crate::kit::simulate;
use baton_chip::{Chip, LockLog, Options, Outcome, Simulated, Simulation};
use baton_machine::Wait;
use baton_programs::synthetic::Profile;
use baton_programs::synthetic::fit::{self, Shown};
use baton_sync::lock::{self, LockVisitor, RawLock, ZeroInit};
use baton_workloads::Team;
use serde::{Deserialize, Serialize};

/// The inputs of a run: everything on which its figures depend, except the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole: every key and value.
    pub chip: String,
    /// The program.
    pub program: Program,
    pub lock: &'static str,
    /// The number of tries before a thread sleeps.
    pub tries: u32,
    /// Threads, one a core.
    pub threads: u32,
    /// Acquisitions a thread: its fixed work.
    pub acquisitions: u64,
    /// The seed.
    pub seed: u64,
}

/// What a run showed. Durations are cycles of the core's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The region of interest: from the first thread's beginning to the last one's end.
    pub cycles: u64,
    /// The number of threads.
    pub threads: u32,
    /// Where blocked time went, by the lock's word.
    pub account: Account,
    /// Where blocked time went, as measured at the calls of the threads, which tell neither causes
    /// nor which threads slept.
    pub calls: Account,
    /// Packets given to the network in the region of interest.
    pub packets: u64,
    /// Packets that carried a lock or wake-up request.
    pub lock_packets: u64,
    /// The longest time that a marked packet took, and the longest that an unmarked packet took.
    pub longest: [u64; 2],
    /// The number of routers that flits passed, summed over all flits.
    pub flit_hops: u64,
    /// Thread-time in the region: of each thread from its own beginning to its own end.
    pub active: u64,
    /// The section and think time that a fit gave the draw; `None` if the draw was not fitted
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<[u64; 2]>,
    /// What the first threads did over time, in the run that figure 10 is drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

impl Figures {
    /// Whether these figures, of a run without marks, show everything that the paper prints of the
    /// program without marks.
    pub fn meets(&self, profile: &Profile) -> bool {
        fit::off(profile, &self.shown()) == 0.0
    }

    /// The figures that a fit compares with those that the paper prints.
    pub(super) fn shown(&self) -> Shown {
        Shown {
            cs_share: self.cs_share() / 100.0,
            coh_share: self.coh_share() / 100.0,
            entered_spinning: self.entered_spinning() / 100.0,
            rate: self.acquisition_rate(),
            packets: self.packet_rate(),
        }
    }

    /// Acquisitions for each thousand cycles and thread.
    pub fn acquisition_rate(&self) -> f64 {
        1000.0 * self.account.acquisitions as f64 / (self.cycles.max(1) as f64 * f64::from(self.threads))
    }

    /// `cycles` as a share of thread-time, in percent.
    pub(super) fn over_thread_time(&self, cycles: u64) -> f64 {
        100.0 * cycles as f64 / (self.cycles.max(1) as f64 * f64::from(self.threads))
    }

    /// Share of thread-time in critical sections, in percent.
    pub fn cs_share(&self) -> f64 {
        self.over_thread_time(self.account.sections)
    }

    /// Share of thread-time in competition overhead, in percent.
    pub fn coh_share(&self) -> f64 {
        self.over_thread_time(self.account.overhead)
    }

    /// Share of acquisitions by threads that had not gone to sleep for them, in percent.
    pub fn entered_spinning(&self) -> f64 {
        100.0 * self.account.entered_spinning as f64 / self.account.acquisitions.max(1) as f64
    }

    /// Packets with a lock or wake-up request that were injected, for each thousand cycles and
    /// thread.
    pub fn cs_rate(&self) -> f64 {
        1000.0 * self.lock_packets as f64 / (self.cycles.max(1) as f64 * f64::from(self.threads))
    }

    /// Packets that were injected, for each thousand cycles and thread.
    pub fn packet_rate(&self) -> f64 {
        1000.0 * self.packets as f64 / (self.cycles.max(1) as f64 * f64::from(self.threads))
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
        Ok(self.run.program.team::<L, _>(self.run, self.line_bytes, self.wait, self.notes))
    }
}

/// What every run needs, whatever its threads do.
pub(super) struct Setup<'a> {
    /// The chip, whole.
    pub(super) chip: &'a str,
    pub(super) lock: &'a str,
    pub(super) wait: Wait,
    pub(super) threads: u32,
    pub(super) seed: u64,
}

/// What was watched in a run, beside its figures.
pub(super) struct Watched {
    pub(super) log: LockLog,
    pub(super) requests: Requests,
    /// The beginning and the end of the region of interest, in cycles.
    pub(super) region: (u64, u64),
}

impl Setup<'_> {
    /// Runs a team and checks its result. `bytes` returns the guest memory that the team needs for
    /// a given line size, and `team` creates it. With `watch` the simulation keeps a log of the
    /// locks' words.
    ///
    /// # Errors
    /// Like [`Run::figures`].
    pub(super) fn run(
        &self,
        watch: bool,
        bytes: impl FnOnce(usize) -> usize,
        team: impl FnOnce(usize, Wait) -> Result<Team, String>,
    ) -> Result<(Simulation, Outcome), String> {
        let chip = Chip::from_toml(self.chip, "the study's chip").map_err(|error| error.to_string())?;
        let info = lock::info(self.lock).map_err(|error| error.to_string())?;
        let wait = info.wait(Some(self.wait))?;
        let line_bytes = chip.cache.line_bytes as usize;
        let options = Options {
            seed: self.seed,
            watch_locks: watch,
            threads: self.threads as usize,
            heap_bytes: (16 << 20) + bytes(line_bytes),
            ..Options::default()
        };
        simulate(&chip, &options, || team(line_bytes, wait))
    }

    /// Like [`Setup::run`], with an account from the locks' words.
    ///
    /// # Errors
    /// Like [`Setup::run`], and for an account that does not add up.
    pub(super) fn measure(
        &self,
        bytes: impl FnOnce(usize) -> usize,
        team: impl FnOnce(usize, Wait, Notes) -> Result<Team, String>,
    ) -> Result<(Figures, Watched), String> {
        let notes = Notes::default();
        let noted = notes.clone();
        let (mut simulation, outcome) = self.run(true, bytes, |line, wait| team(line, wait, notes))?;
        let log = held_alone(self.lock, simulation.lock_log());
        let Noted { requests, region, calls } = noted.take();
        let account = Account::of(&log, &requests)?;
        if account.residual() != 0 {
            return Err(format!("{} cycles of waiting have no cause", account.residual()));
        }
        let figures = region.figures(&outcome, self.threads, account, calls.account());
        Ok((figures, Watched { log, requests, region: region.times(&outcome) }))
    }
}

/// Returns the log with words that are 0 while no thread holds the lock. The word of
/// `spin-park-granted` also counts sleepers and says for whom the lock is reserved; its bit 0 says
/// that a thread holds the lock. While the lock is granted and not yet taken, no thread holds it:
/// its next holder is waking up.
fn held_alone(lock: &str, mut log: LockLog) -> LockLog {
    if lock == "spin-park-granted" {
        log.changes.iter_mut().for_each(|change| (change.from, change.to) = (change.from & 1, change.to & 1));
        log.changes.retain(|change| change.from != change.to);
    }
    log
}

impl Run {
    /// Does the run.
    ///
    /// # Errors
    /// The reason why there are no figures: a chip or lock that is not possible, a run that hangs,
    /// wrong results, or an account that does not add up.
    pub fn figures(&self) -> Result<Figures, String> {
        Ok(self.watched()?.0)
    }

    /// Like [`Run::figures`], with the activity of the first threads over time.
    ///
    /// # Errors
    /// Like [`Run::figures`].
    pub fn with_window(&self) -> Result<Figures, String> {
        let (figures, watched) = self.watched()?;
        let window = Window::of(&watched.log, &watched.requests, watched.region)?;
        Ok(Figures { window: Some(window), ..figures })
    }

    fn watched(&self) -> Result<(Figures, Watched), String> {
        let Run { ref chip, lock, tries, threads, seed, .. } = *self;
        let setup = Setup { chip, lock, wait: Wait::SpinPark(tries), threads, seed };
        let team = |line_bytes, wait, notes| {
            let make = Make { run: self, line_bytes, wait, notes };
            lock::visit::<Simulated, _>(lock, make).map_err(|error| error.to_string())?
        };
        let (figures, watched) = setup.measure(|line| self.program.bytes(threads, line), team)?;
        let expected = u64::from(threads) * self.acquisitions;
        if figures.account.acquisitions != expected {
            return Err(format!("{} acquisitions were seen, {expected} were made", figures.account.acquisitions));
        }
        Ok((figures, watched))
    }
}
