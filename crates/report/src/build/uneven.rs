//! Work that is spread unevenly between the waits at a barrier: the threads that have less of it wait there for the
//! thread that comes last.

use super::own_locks::WORTH_A_STEP;
use crate::format::{count, percent, phrase, quoted};
use crate::model::{NextStep, Report, Waitable, ratio};

/// A thread that comes last in more than this share of the rounds has more work than the others. Else now one
/// thread has more, now another.
const MOSTLY: f64 = 0.5;

/// A barrier, and what could be won there.
struct Uneven<'a> {
    barrier: &'a Waitable,
    /// By how much the rounds would be shorter if all threads came at the mean of their times, as a share of the
    /// critical path.
    share: f64,
}

/// The barrier at which most could be won, if that is worth advice. If more threads meet than there are CPUs, threads
/// come late because they wait for a CPU, whatever their work is: then nothing is said.
fn uneven(report: &Report) -> Option<Uneven<'_>> {
    let of = |barrier| Some(Uneven { barrier, share: gain(report, barrier)? });
    let all = report.waitables.iter().filter(|one| one.kind == "barrier").filter_map(of);
    all.max_by(|a, b| a.share.total_cmp(&b.share)).filter(|most| most.share >= WORTH_A_STEP)
}

fn gain(report: &Report, barrier: &Waitable) -> Option<f64> {
    let threads = (barrier.waits + barrier.rounds / 2).checked_div(barrier.rounds)?;
    let cpus = u64::from(report.run.host.cpus);
    if cpus > 0 && threads > cpus {
        return None;
    }
    // A wait lasts until the last thread comes, and then until the waiter runs.
    let until_last = barrier.wait_ns.total_ns.0.saturating_sub(barrier.wake_ns.total_ns.0);
    Some(ratio(until_last / threads.max(1), report.critical_path.length_ns.0).min(1.0))
}

impl Uneven<'_> {
    fn name(&self) -> String {
        phrase("barrier", &self.barrier.name)
    }

    /// Which thread came last, as a phrase.
    fn last(&self, report: &Report) -> String {
        let rounds = self.barrier.rounds;
        let most = self.barrier.last.first().filter(|last| last.rounds as f64 > rounds as f64 * MOSTLY);
        let thread = most.and_then(|last| Some((report.threads.get(last.thread as usize)?, last.rounds)));
        match thread {
            Some((thread, times)) => {
                format!("{} came last in {} of {} rounds", thread.name, count(times), count(rounds))
            }
            None => "now one thread came last, now another".to_owned(),
        }
    }
}

/// What could be won if all threads came to the barrier at the same time.
pub(super) fn gains(report: &Report) -> Option<String> {
    let uneven = uneven(report)?;
    Some(format!(
        "by work that is spread evenly between the waits at {}: at most {}",
        uneven.name(),
        percent(uneven.share)
    ))
}

/// The advice, with the share of the path that could be won.
pub(super) fn next(report: &Report, place: &str) -> Option<(f64, NextStep)> {
    let uneven = uneven(report)?;
    let by = if uneven.barrier.construct.is_some() { ", as by `schedule(dynamic)`" } else { "" };
    let text = format!("spread the work evenly between the waits at {}{by}: {}", uneven.name(), uneven.last(report));
    let command = Some(format!("baton report {} --perfetto waits.pftrace", quoted(place)));
    Some((uneven.share, NextStep { text, command }))
}
