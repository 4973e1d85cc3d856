//! The limit on the CPU time of the program's group (`cpu.max`): threads are ready, and the kernel
//! holds them back although CPUs are free.

use super::own_locks::WORTH_A_STEP;
use crate::format::{duration, percent};
use crate::model::{CpuLimit, NextStep, Report, Share};
use baton_trace::{Trace, disturbance};
use baton_units::Nanos;

/// The limit of a program for time in which a thread was ready and the kernel may have held it back
/// because its group had used up its CPU time.
pub(super) const LIMIT: &str = "cpu-limit";

/// The limit that the recording had, if there was one.
pub(super) fn of(trace: &Trace) -> Option<CpuLimit> {
    let (cpus, stopped) = disturbance::cpu_limit(trace.meta.as_ref()?)?;
    Some(CpuLimit { cpus, stopped_ns: Nanos(stopped) })
}

/// The part that the group's limit may explain of `left`, the time in which a thread of the path was
/// ready and a CPU ran none of the program's threads. The kernel counts the time for which it held
/// threads back, but not which thread when; so the part is an upper bound.
pub(super) fn part(report: &Report, left: Nanos) -> Nanos {
    report.limits.cpu_limit.map_or(Nanos(0), |limit| limit.stopped_ns.min(left))
}

/// The group's limit, as a phrase.
fn cpus(report: &Report) -> String {
    let limit = report.limits.cpu_limit.unwrap_or_default();
    let word = if limit.cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{} {word}", (limit.cpus * 100.0).round() / 100.0)
}

pub(super) fn headline(report: &Report, most: &Share) -> String {
    let stopped = report.limits.cpu_limit.unwrap_or_default().stopped_ns;
    format!(
        "The limit on its group's CPU time limits it: the group may use {} (`cpu.max`) and was held back for {}; for at most \
         {} of the critical path a thread could run and was held back.",
        cpus(report),
        duration(stopped),
        percent(most.share)
    )
}

fn share(shares: &[Share]) -> Option<&Share> {
    shares.iter().find(|share| share.limit == LIMIT && share.share >= WORTH_A_STEP)
}

/// What could be won if the group had no limit.
pub(super) fn gains(report: &Report, shares: &[Share]) -> Option<String> {
    let share = share(shares)?;
    Some(format!("if the program's group might use more than {}: at most {}", cpus(report), percent(share.share)))
}

/// The advice, with the share of the limit.
pub(super) fn next(report: &Report, shares: &[Share]) -> Option<(f64, NextStep)> {
    let share = share(shares)?;
    let text = format!(
        "give the program's group more than {} (`cpu.max`, `systemd-run -p CPUQuota=`, a container's `--cpus`), or run as \
         many threads as it may use, and record again",
        cpus(report)
    );
    Some((share.share, NextStep { text, command: report.with("baton profile -o again --") }))
}
