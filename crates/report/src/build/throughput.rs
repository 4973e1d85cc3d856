//! The verdict about a server: what limits its throughput. Its critical path runs along idle
//! connections, and says nothing.

use super::cannot_tell::{self, Unseen};
use super::own_locks::{self, WORTH_A_STEP};
use crate::format::{count, duration, lock_phrase, percent, quoted, shell};
use crate::model::{NextStep, Report, RequestPart, Requests, Serving, Share, Verdict, ratio};

/// With fewer requests than this, no rate can be told.
const LEAST: u64 = 100;
/// A lock, or the CPUs, limit the throughput if they are in use for this share of the time.
const BUSY: f64 = 0.7;
/// If the time from the first request to the last is less than this share of the recorded time, the
/// program is no server.
const SERVES: f64 = 0.3;
/// Threads that are on CPUs all the time limit the throughput if they read or answer at least this
/// share of the requests.
const SERVES_MOST: f64 = 0.5;
/// If the waits at one futex take this share of the requests' time, and nothing else limits the
/// throughput, the limit is not known.
const MUCH: f64 = 0.3;

/// The lock that requests wait for and that is in use longest.
struct Busiest {
    /// The lock's name as a phrase.
    name: String,
    /// The name of the lock's class; `None` for a futex, or for a lock inside of the C library.
    class: Option<String>,
    /// The number of locks in the class.
    locks: u32,
    /// The time in which the lock is in use (held exclusively, or waited for) as a share of the time
    /// from the first request to the last, at most 1.
    in_use: f64,
    /// The limit that the verdict names for this lock.
    limit: &'static str,
    /// Whether requests wait for the lock long enough for it to limit them.
    limits: bool,
}

impl Busiest {
    fn how(&self) -> &'static str {
        if self.class.is_some() { "is held or waited for during" } else { "is waited for during" }
    }
}

/// The figures of a server's requests on which the verdict rests.
struct Load<'a> {
    requests: &'a Requests,
    rate: f64,
    lock: Option<Busiest>,
    /// The time for which the threads of the program ran, as a share of all CPUs' time from the
    /// beginning of the first request to the end of the last, at most 1.
    cpus: f64,
    /// The number of the machine's CPUs.
    machine: u32,
    unseen: &'a Unseen<'a>,
}

/// The verdict on a server that a signal ended, or whose path is mostly blocked, in calls, waiting
/// or ready without a CPU. `None` for other programs, and for fewer than [`LEAST`] requests.
pub(super) fn verdict(
    report: &Report,
    shares: &[Share],
    most_by_lock: f64,
    unseen: &Unseen<'_>,
    place: &str,
) -> Option<Verdict> {
    let requests = report.requests.as_ref().filter(|requests| requests.count >= LEAST)?;
    let long = ratio(requests.span_ns.0, report.totals.span_ns.0) >= SERVES;
    let outside =
        shares.first().is_some_and(|share| matches!(share.limit.as_str(), "blocked" | "calls" | "waiting" | "ready"));
    if !long || !(outside || report.run.exit_signal.is_some()) {
        return None;
    }
    let load = Load {
        requests,
        rate: requests.per_second?,
        lock: lock(report, requests),
        cpus: cpus(report, requests),
        machine: report.run.host.cpus,
        unseen,
    };
    let (limit, headline) = load.headline();
    Some(Verdict {
        limit: limit.to_owned(),
        headline,
        second: None,
        gains: load.gains(),
        next: load.next(report, place),
        doubts: report.limits.disturbed.iter().cloned().collect(),
        most_by_lock,
        unseen_share: unseen.share,
        shares: shares.to_vec(),
    })
}

/// The lock that requests wait for and that is in use longest, with its name.
fn lock(report: &Report, requests: &Requests) -> Option<Busiest> {
    let busiest = requests.busiest?;
    let in_use = ratio(busiest.in_use_ns.0, requests.span_ns.0).min(1.0);
    if let Some(waitable) = busiest.waitable {
        let object = report.waitables.get(waitable as usize)?;
        let limit = if object.kind == "futex" { "futex" } else { "libc-lock" };
        return Some(Busiest {
            name: own_locks::name(object),
            class: None,
            locks: 1,
            in_use,
            limit,
            limits: busiest.limits,
        });
    }
    let class = report.classes.get(report.locks.get(busiest.lock? as usize)?.class as usize)?;
    let name = lock_phrase(&class.name);
    Some(Busiest {
        name,
        class: Some(class.name.clone()),
        locks: class.locks,
        in_use,
        limit: "sections",
        limits: busiest.limits,
    })
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
        if let Some(lock) = self.lock.as_ref().filter(|lock| lock.limits && lock.in_use >= BUSY) {
            let kind = if lock.class.is_some() { "lock" } else { lock.limit };
            let waits = self.part(kind).map_or_else(String::new, |part| {
                format!(
                    "; a request spends {} {}, {} of its time",
                    duration(part.mean_ns),
                    part.name,
                    percent(part.share)
                )
            });
            let name = lock.name.strip_prefix("the ").map_or(lock.name.clone(), |name| format!("The {name}"));
            let text = format!(
                "{name} limits the throughput: it {} {} of the time{waits}. {served}",
                lock.how(),
                percent(lock.in_use)
            );
            return (lock.limit, text);
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
        if let Some(serving) = self.saturated() {
            return ("serving-threads", format!("{} {served}", all_the_time(serving)));
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
            false => match self.own_locks(MUCH) {
                Some((share, most)) => (cannot_tell::LIMIT, unknown_holder(share, most) + " " + &served),
                None => ("requests", format!("No lock and no CPU limits the throughput alone{most}. {served}")),
            },
        }
    }

    /// The threads that serve most requests, if they are on CPUs all the time.
    fn saturated(&self) -> Option<&Serving> {
        self.requests.serving.as_ref().filter(|serving| serving.busy > 0 && serving.of_busy >= SERVES_MOST)
    }

    /// The share of the requests' time that goes to waits at futexes of the program's own and for locks
    /// inside of the C library, and the one of them that takes most; `None` if that is less than
    /// `least`.
    fn own_locks(&self, least: f64) -> Option<(f64, &RequestPart)> {
        let waits = || self.requests.parts.iter().filter(|part| part.waitable.is_some());
        let share: f64 = waits().map(|part| part.share).sum();
        waits().next().map(|most| (share, most)).filter(|_| share >= least)
    }

    fn gains(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(lock) = self.lock.as_ref().filter(|lock| lock.in_use >= WORTH_A_STEP) {
            let count = if lock.locks > 1 { format!(" (the busiest of {} locks)", lock.locks) } else { String::new() };
            out.push(format!(
                "{}{count} {} {} of the time: as it is, it allows at most {} requests a second",
                lock.name,
                lock.how(),
                percent(lock.in_use),
                rate(self.rate / lock.in_use)
            ));
        }
        if let Some(serving) = self.saturated().filter(|serving| self.machine > serving.busy) {
            let more = format!(
                "by more threads that serve: at most {:.1} times as many requests, on {} CPUs",
                f64::from(self.machine) / f64::from(serving.busy),
                self.machine
            );
            out.push(more);
        }
        let waits =
            |part: &&RequestPart| (part.kind == "lock" || part.waitable.is_some()) && part.share >= WORTH_A_STEP;
        for part in self.requests.parts.iter().filter(waits) {
            out.push(format!("without {}: latency shorter by at most {}", part.name, percent(part.share)));
        }
        if out.is_empty() {
            let own = self.own_locks(WORTH_A_STEP).map(|(share, _)| {
                format!("by another lock: cannot tell; {} of a request's time goes to waits at futexes", percent(share))
            });
            let nothing = || "by another lock: nothing; requests hardly wait for locks".to_owned();
            out.push(own.or_else(|| self.unseen.by_another_lock()).unwrap_or_else(nothing));
        }
        out
    }

    fn next(&self, report: &Report, place: &str) -> Vec<NextStep> {
        let mut steps = Vec::new();
        let lock = self.lock.as_ref().filter(|lock| lock.in_use >= 0.2);
        match lock.map(|lock| (lock, &lock.class)) {
            Some((lock, Some(class))) => steps.push(NextStep {
                text: format!("do less under {}; this replays the recording with half of it:", lock.name),
                command: Some(format!("baton whatif {} --shrink {}", quoted(place), quoted(&format!("{class}=0.5")))),
            }),
            Some((lock, None)) => steps.push(NextStep {
                text: format!("do less between taking and releasing {}, or split it", lock.name),
                command: Some(format!("baton report {} --html report.html", quoted(place))),
            }),
            None if self.own_locks(WORTH_A_STEP).is_some() => steps.push(NextStep {
                text: "see which threads wake the ones that wait there, and what they do before that".to_owned(),
                command: Some(format!("baton report {} --perfetto waits.pftrace", quoted(place))),
            }),
            None => {}
        }
        if self.saturated().is_some() {
            let text = "let more threads serve (another event loop), or do less for each request".to_owned();
            steps.push(NextStep { text, command: None });
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

/// A sentence on the threads that are on CPUs all the time.
fn all_the_time(serving: &Serving) -> String {
    let (of, ran) = (percent(serving.of_busy), percent(serving.busy_share));
    match (serving.busy, serving.threads) {
        (1, 1) => {
            format!("One thread limits the throughput: it alone serves, and runs on a CPU for {ran} of the time.")
        }
        (1, all) => format!(
            "One thread limits the throughput: among {all} that serve, it reads or answers {of} of the requests, and it runs on a \
             CPU for {ran} of the time."
        ),
        (busy, all) => format!(
            "The threads that serve limit the throughput: {busy} of {all} read or answer {of} of the requests, and run on CPUs for \
             {ran} of the time."
        ),
    }
}

/// A sentence on futexes at which requests wait for `share` of their time, and of which none is known
/// to be a lock that is in use all the time.
fn unknown_holder(share: f64, most: &RequestPart) -> String {
    let at = match most.share >= share * 0.95 {
        true => most.name.clone(),
        false => format!("waiting at futexes, most of it {}", most.name),
    };
    format!(
        "Cannot tell what limits the throughput: a request spends {} of its time {at}, and the trace does not show which thread \
         it waits for there.",
        percent(share)
    )
}
