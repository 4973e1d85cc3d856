//! The part of the critical path that the trace does not explain. A large part forbids a verdict.

use crate::format::percent;
use crate::model::{Report, Share, WORTH_A_LOCK};
use baton_units::Nanos;

/// The limit of a verdict that says that the limit is not known.
pub(super) const LIMIT: &str = "cannot-tell";

/// An unexplained share of the path below this never decides the verdict.
const DECIDES: f64 = 0.1;

/// Limits whose shares tell what could be won. The program's own work (`running`) is not among
/// them: a lock that the trace does not show may make it wait.
const EXPLAINED: [&str; 7] = ["sections", "competition", "ready", "calls", "futex", "libc-lock", "waiting"];

/// The shares of the critical path that the trace leaves open.
pub(super) struct Unseen<'a> {
    report: &'a Report,
    /// The share of the path in which a thread was blocked or off its CPU for an unknown reason.
    pub(super) share: f64,
    /// The greatest share of a limit in [`EXPLAINED`].
    explained: f64,
    /// The share of the path at futexes of the program's own, and at locks inside of the C library.
    own_locks: f64,
    /// Whether most of `share` is time off the CPU of threads whose context switches were not
    /// recorded. Without them, blocked and ready time cannot be told apart.
    mostly_off: bool,
}

impl<'a> Unseen<'a> {
    pub(super) fn of(report: &'a Report, shares: &[Share]) -> Unseen<'a> {
        let of = |limit: &str| shares.iter().find(|share| share.limit == limit).map_or(0.0, |share| share.share);
        Unseen {
            report,
            share: of("blocked") + of("off-cpu"),
            explained: EXPLAINED.iter().map(|limit| of(limit)).fold(0.0, f64::max),
            own_locks: of("futex") + of("libc-lock"),
            mostly_off: of("off-cpu") > of("blocked"),
        }
    }

    /// The headline if the unexplained share is at least [`DECIDES`] and greater than the share of
    /// each limit in [`EXPLAINED`]; `None` otherwise.
    pub(super) fn headline(&self) -> Option<String> {
        (self.share >= DECIDES && self.share > self.explained).then(|| {
            format!(
                "Cannot tell: for {} of its critical path the thread was {}, and the trace does not show why{}. It may have waited \
                 for a lock that Baton does not see: {}.",
                percent(self.share),
                if self.mostly_off { "off its CPU" } else { "blocked" },
                most_outside(self.report),
                self.reason()
            )
        })
    }

    /// A sentence on what another lock could win, for a trace that shows no competition for locks.
    /// `None` if the path is explained, hardly lies at futexes of the program's own or at locks
    /// inside of the C library, and no runtime's waits are unseen.
    pub(super) fn by_another_lock(&self) -> Option<String> {
        if self.share >= WORTH_A_LOCK {
            return Some(format!(
                "by another lock: cannot tell; {} of the critical path is not explained",
                percent(self.share)
            ));
        }
        if let Some(runtime) = self.report.limits.unseen_runtimes.first() {
            return Some(format!("by another lock: cannot tell; the program has {runtime}"));
        }
        let nothing =
            "by another lock in place of pthread's: nothing; no competition for one lies on the critical path";
        (self.own_locks >= WORTH_A_LOCK).then(|| nothing.to_owned())
    }

    /// An addition to the sentence on what another lock could win, for a trace that shows
    /// competition.
    pub(super) fn besides(&self) -> String {
        if self.share < WORTH_A_LOCK {
            return String::new();
        }
        format!("; besides, {} of the critical path is not explained", percent(self.share))
    }

    fn reason(&self) -> String {
        match self.report.limits.unseen_runtimes.first() {
            _ if self.mostly_off => self.switches(),
            Some(runtime) => runtime.clone(),
            None => {
                "one that enters the kernel without the C library, or one that waits inside of a library".to_owned()
            }
        }
    }

    /// For how many threads context switches were recorded.
    fn switches(&self) -> String {
        let threads = &self.report.threads;
        match threads.iter().filter(|thread| thread.off_cpu_known == "all").count() {
            0 => "no context switches were recorded".to_owned(),
            some => format!("context switches were recorded for only {some} of {} threads", threads.len()),
        }
    }
}

/// The place that has most of the time off the CPU on the critical path, as `, most of it between a
/// and b`.
pub(super) fn most_outside(report: &Report) -> String {
    let most = report.outside.iter().max_by_key(|place| place.path_ns).filter(|place| place.path_ns > Nanos(0));
    most.map_or_else(String::new, |place| format!(", most of it {}", place.place()))
}
