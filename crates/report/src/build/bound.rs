//! Threads that are bound to too few CPUs: they are ready, and the CPUs that the program leaves free
//! are none of theirs.

use super::own_locks::WORTH_A_STEP;
use crate::format::percent;
use crate::model::{NextStep, Report, Share};

/// The limit for time in which a thread was ready, all CPUs that it may use ran threads of the program,
/// and another CPU of the program ran none.
pub(super) const LIMIT: &str = "bound";

/// The CPUs to which most of the waiting threads are bound, as a phrase, and how many threads are
/// bound to the same.
fn cpus(report: &Report) -> Option<(String, usize)> {
    let thread = report.threads.get(report.critical_path.bound_thread? as usize)?;
    let cpus = thread.cpus.as_ref()?;
    let threads = report.threads.iter().filter(|other| other.cpus.as_ref() == Some(cpus)).count();
    let word = if cpus.contains([',', '-']) { "CPUs" } else { "CPU" };
    Some((format!("{word} {cpus}"), threads))
}

pub(super) fn headline(report: &Report, most: &Share) -> String {
    let (cpus, threads) = cpus(report).unwrap_or_else(|| ("some CPUs".to_owned(), report.threads.len()));
    format!(
        "Threads are bound to too few CPUs: {threads} of {} may use {cpus} only, and for {} of the critical path one of them \
         could run and had no CPU, while a CPU that it may not use ran none of the program's threads.",
        report.threads.len(),
        percent(most.share)
    )
}

fn share(shares: &[Share]) -> Option<&Share> {
    shares.iter().find(|share| share.limit == LIMIT && share.share >= WORTH_A_STEP)
}

/// What could be won if threads were not bound.
pub(super) fn gains(report: &Report, shares: &[Share]) -> Option<String> {
    let (share, (cpus, _)) = (share(shares)?, cpus(report)?);
    Some(format!("if threads were not bound to {cpus}: at most {}", percent(share.share)))
}

/// The advice, with the share of the limit.
pub(super) fn next(report: &Report, shares: &[Share]) -> Option<(f64, NextStep)> {
    let (share, (cpus, _)) = (share(shares)?, cpus(report)?);
    let text = format!(
        "let the threads use more than {cpus} (`pthread_setaffinity_np`, `sched_setaffinity`, `taskset` and OpenMP's places bind \
         threads), and record again"
    );
    Some((share.share, NextStep { text, command: report.with("baton profile -o again --") }))
}
