//! Locks that several threads take very often although hardly any acquisition waits, as readers of a reader-writer
//! lock do. Each acquisition and release writes to the lock, so the lock's cache line may move to another CPU each
//! time. The trace does not show how long that takes: the time passes for the program's own work.

use crate::format::{count, duration, percent};
use crate::model::{Lock, Report, ratio};
use baton_units::Nanos;

/// What an acquisition and its release may take if the lock's cache line comes from another CPU: two reads of about
/// 50 ns (64 ns were measured for a pair of glibc's reader-writer lock on two CPUs of a virtual machine).
const MOVES_NS: u64 = 100;
/// If no more than this share of the acquisitions waited, waits do not tell what the lock costs.
const HARDLY: f64 = 0.01;
/// The least share of the program's time that such acquisitions may take to be mentioned, and to leave open what limits
/// the program.
const MENTIONED: f64 = 0.1;
const DECIDES: f64 = 0.5;

/// A lock, and the greatest share of the program's time without recording that its acquisitions may take.
pub(super) struct Unwaited<'a> {
    lock: &'a Lock,
    every: Nanos,
    share: f64,
}

/// The lock whose acquisitions may take most, if they may take enough to be mentioned.
pub(super) fn unwaited(report: &Report) -> Option<Unwaited<'_>> {
    let times = report.run.dilation.as_ref().map_or(1.0, |dilation| dilation.times.max(1.0));
    let alone = (report.totals.span_ns.0 as f64 / times) as u64;
    let of = |lock| Unwaited::of(lock, alone);
    let most = report.locks.iter().filter_map(of).max_by(|a, b| a.share.total_cmp(&b.share));
    most.filter(|most| most.share >= MENTIONED && report.several_threads_run())
}

impl Unwaited<'_> {
    fn of(lock: &Lock, alone: u64) -> Option<Unwaited<'_>> {
        let all = lock.usage.acquisitions;
        if lock.owners < 2 || ratio(lock.usage.contended, all) > HARDLY {
            return None;
        }
        // The lock's line moves at most twice for each acquisition by another thread than the busiest one.
        let moves = all.min(2 * lock.others) / u64::from(lock.owners);
        let every = Nanos(alone.checked_div(all / u64::from(lock.owners))?);
        Some(Unwaited { lock, every, share: ratio(moves * MOVES_NS, alone).min(1.0) })
    }

    fn taken(&self) -> String {
        let (all, owners) = (count(self.lock.usage.acquisitions), self.lock.owners);
        format!("{} was taken {all} times by {owners} threads, by each every {}", self.lock.name, duration(self.every))
    }

    /// The headline if nothing else than the program's own work, which takes `work` of the critical path, limits it.
    pub(super) fn headline(&self, work: f64) -> Option<String> {
        (self.share >= DECIDES).then(|| {
            format!(
                "Cannot tell: {} of its critical path runs on a CPU, outside of critical sections, and much of it may be \
                 acquisitions of a lock for which hardly any thread waits: {}. Its cache line may move to another CPU each time, \
                 which Baton does not see.",
                percent(work),
                self.taken()
            )
        })
    }

    /// What another lock could win.
    pub(super) fn gain(&self) -> String {
        format!("by another lock, or fewer acquisitions: cannot tell; {}, and hardly ever waited for", self.taken())
    }

    /// The advice.
    pub(super) fn text(&self) -> String {
        format!(
            "take {} less often, as by a copy of the data for each thread or by RCU, and see whether that helps",
            self.lock.name
        )
    }

    pub(super) fn share(&self) -> f64 {
        self.share
    }
}
