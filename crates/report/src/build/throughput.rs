//! The verdict about a server: what limits its throughput. Its critical path runs along idle
//! connections, and says nothing.

use crate::format::{count, duration, lock_phrase, percent, quoted, shell};
use crate::model::{NextStep, Report, RequestPart, Requests, Share, Verdict, ratio};
use std::cmp::Reverse;

/// With fewer requests than this, no rate can be told.
const LEAST: u64 = 100;
/// A lock, or the CPUs, limit the throughput if they are in use for this share of the time.
const BUSY: f64 = 0.7;
/// If the time from the first request to the last is less than this share of the recorded time, the
/// program is no server.
const SERVES: f64 = 0.3;
/// A part of the latency below this share is not worth advice.
const WORTH_A_STEP: f64 = 0.05;

/// The figures of a server's requests on which the verdict rests.
struct Load<'a> {
    requests: &'a Requests,
    rate: f64,
    /// The lock with waiters that is held longest: the name of its class, the number of locks in
    /// the class, and the time in which the lock is in use (is held, or is free while a thread
    /// waits for it) as a share of the time from the first request to the last, at most 1.
    lock: Option<(String, u32, f64)>,
    /// The time for which the threads of the program ran, as a share of all CPUs' time from the
    /// beginning of the first request to the end of the last, at most 1.
    cpus: f64,
}

/// The verdict on a server that a signal ended, or whose path is mostly blocked, in calls, waiting
/// or ready without a CPU. `None` for other programs, and for fewer than [`LEAST`] requests.
pub(super) fn verdict(
    report: &Report,
    shares: &[Share],
    (most_by_lock, unseen_share): (f64, f64),
    place: &str,
) -> Option<Verdict> {
    let requests = report.requests.as_ref().filter(|requests| requests.count >= LEAST)?;
    let long = ratio(requests.span_ns.0, report.totals.span_ns.0) >= SERVES;
    let outside =
        shares.first().is_some_and(|share| matches!(share.limit.as_str(), "blocked" | "calls" | "waiting" | "ready"));
    if !long || !(outside || report.run.exit_signal.is_some()) {
        return None;
    }
    let load =
        Load { requests, rate: requests.per_second?, lock: lock(report, requests), cpus: cpus(report, requests) };
    let (limit, headline) = load.headline();
    Some(Verdict {
        limit: limit.to_owned(),
        headline,
        gains: load.gains(),
        next: load.next(report, place),
        doubts: report.limits.disturbed.iter().cloned().collect(),
        most_by_lock,
        unseen_share,
        shares: shares.to_vec(),
    })
}

/// The lock that is held longest among the locks that a thread waited for, as in `Load`.
fn lock(report: &Report, requests: &Requests) -> Option<(String, u32, f64)> {
    let contended = report.locks.iter().filter(|lock| lock.usage.contended > 0);
    let busiest = contended.max_by_key(|lock| (lock.usage.busy_ns, Reverse(lock.class)))?;
    let class = report.classes.get(busiest.class as usize)?;
    let in_use = busiest.usage.busy_ns + busiest.usage.idle_contended_ns;
    Some((class.name.clone(), class.locks, ratio(in_use.0, requests.span_ns.0).min(1.0)))
}

fn cpus(report: &Report, requests: &Requests) -> f64 {
    let all = requests.span_ns.0.saturating_mul(u64::from(report.run.host.cpus.max(1)));
    ratio(requests.running_ns.0, all).min(1.0)
}

impl Load<'_> {
    fn part(&self, kind: &str) -> Option<&RequestPart> {
        self.requests.parts.iter().find(|part| part.kind == kind)
    }

    fn share(&self, kind: &str) -> f64 {
        self.requests.parts.iter().filter(|part| part.kind == kind).map(|part| part.share).sum()
    }

    fn served(&self) -> String {
        let latency = &self.requests.latency_ns;
        format!(
            "It answers {} requests a second, half of them within {}, 99% within {}.",
            rate(self.rate),
            duration(latency.p50_ns),
            duration(latency.p99_ns)
        )
    }

    /// The limit of the throughput, and a sentence about it.
    fn headline(&self) -> (&'static str, String) {
        let served = self.served();
        if let Some((name, _, in_use)) = self.lock.as_ref().filter(|(_, _, in_use)| *in_use >= BUSY) {
            let waits = self.part("lock").map_or_else(String::new, |part| {
                format!(
                    "; a request spends {} {}, {} of its time",
                    duration(part.mean_ns),
                    part.name,
                    percent(part.share)
                )
            });
            let name = lock_phrase(name);
            return (
                "sections",
                format!(
                    "{name} limits the throughput: it is held or waited for during {} of the time{waits}. {served}",
                    percent(*in_use)
                ),
            );
        }
        // Clients on the same machine use CPUs too, so the server is short of CPUs before it uses
        // all of them.
        if self.cpus >= BUSY || self.share("ready") >= 0.3 {
            let text = format!(
                "CPUs limit the throughput: requests spend {} of their time ready, without a CPU, and {} on one. {served}",
                percent(self.share("ready")),
                percent(self.share("cpu"))
            );
            return ("ready", text);
        }
        let most = self.requests.parts.first().map_or_else(String::new, |part| {
            format!("; most of a request's time, {}, goes to: {}", percent(part.share), part.name)
        });
        let idle = 1.0 - (self.requests.under_way / f64::from(self.requests.connections.max(1))).min(1.0);
        match idle >= 0.5 && !self.requests.named {
            true => (
                "clients",
                format!(
                    "The clients limit the throughput: {} of the time a connection waits for its next request{most}. {served}",
                    percent(idle)
                ),
            ),
            false => ("requests", format!("No lock and no CPU limits the throughput alone{most}. {served}")),
        }
    }

    fn gains(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some((name, locks, in_use)) = self.lock.as_ref().filter(|(_, _, in_use)| *in_use >= WORTH_A_STEP) {
            let count = if *locks > 1 { format!(" (the busiest of {locks} locks)") } else { String::new() };
            out.push(format!(
                "{name}{count} is held or waited for during {} of the time: as it is, it allows at most {} requests a second",
                percent(*in_use),
                rate(self.rate / in_use)
            ));
        }
        for part in self.requests.parts.iter().filter(|part| part.kind == "lock" && part.share >= WORTH_A_STEP) {
            out.push(format!("without {}: latency shorter by at most {}", part.name, percent(part.share)));
        }
        if out.is_empty() {
            out.push("by another lock: nothing; requests hardly wait for locks".to_owned());
        }
        out
    }

    fn next(&self, report: &Report, place: &str) -> Vec<NextStep> {
        let mut steps = Vec::new();
        if let Some((name, ..)) = self.lock.as_ref().filter(|(_, _, in_use)| *in_use >= 0.2) {
            steps.push(NextStep {
                text: format!("do less under {}; this replays the recording with half of it:", lock_phrase(name)),
                command: Some(format!("baton whatif {} --shrink {}", quoted(place), quoted(&format!("{name}=0.5")))),
            });
        }
        if self.share("ready") >= WORTH_A_STEP {
            let text =
                "requests wait for CPUs: run the clients on another machine, or serve with fewer threads".to_owned();
            steps.push(NextStep { text, command: None });
        }
        if self.share("cpu") >= WORTH_A_STEP {
            let command = shell(&report.run.command);
            let command = (!command.is_empty()).then(|| format!("perf record -g -- {command}"));
            steps.push(NextStep { text: "see which functions take the time of requests".to_owned(), command });
        }
        steps
    }
}

fn rate(rate: f64) -> String {
    if rate < 1000.0 { format!("{rate:.1}") } else { count(rate.round() as u64) }
}
