//! The verdict, derived from the critical path: what limits the program, what could be won at most,
//! and what to do next.

use super::cannot_tell::{self, Unseen, most_outside};
use super::heaviest::{Heaviest, heaviest};
use super::kinds::{SECTION, SHARED};
use super::own_locks::{self, WORTH_A_STEP};
use super::unwaited::{Unwaited, unwaited};
use super::{bound, cpu_limit, new_threads, second, starved, uneven, vain};
use crate::format::{duration, percent};
use crate::model::{NextStep, Report, Share, Verdict, WORTH_A_LOCK, ratio};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The causes that can limit a program, each with the phrase for it.
const LIMITS: [(&str, &str); 17] = [
    ("running", "on a CPU, outside of critical sections"),
    ("sections", "in critical sections"),
    ("competition", "competition for locks: hand-offs and waits while a lock is free"),
    ("ready", "ready, while the program's own threads had the CPUs"),
    (bound::LIMIT, "ready, while the thread may not use the CPUs that ran none of the program's threads"),
    (cpu_limit::LIMIT, "ready, while the limit on the group's CPU time may have held the thread back"),
    (OTHERS, "ready, while a CPU ran none of the program's threads"),
    ("blocked", "blocked outside of what Baton sees"),
    ("calls", "blocked in calls for input, output or sleep"),
    (RECORDER, "blocked in Baton's recorder, which was making room for events"),
    ("off-cpu", "off the CPU, why is not known"),
    ("futex", "at futexes of the program's own: waits, and work that others wait for there"),
    ("libc-lock", "at locks inside of the C library: waits, and work at a contended lock"),
    (own_locks::AWAITED, "at semaphores and condition variables: work that others wait for there"),
    (vain::FUTILE, "futile wake-ups: threads that find nothing to do and wait again, and what waits for them"),
    (vain::POLLING, "polling under a lock, and what waits for the lock or for a CPU meanwhile"),
    ("waiting", "waiting for other threads: conditions, barriers, semaphores, starts, ends"),
];

/// The limit for time in which a thread was ready and the program had left a CPU to others. Such
/// time is a fault of the recording rather than of the program, so it limits the program only where
/// nothing else does.
pub(super) const OTHERS: &str = "others";

/// The limit for time in which a thread was blocked because the recorder was making room for events.
/// Such time is the recording's fault too.
pub(super) const RECORDER: &str = "recorder";

/// The verdict names the thread that does at least this share of the path's work, if no other thread ran for more than
/// this share of its time.
const MOSTLY: f64 = 0.8;
const FAR_LESS: f64 = 0.5;

/// The phrase for what could be won of the time in which a thread of the critical path was ready
/// and had no CPU. It is a bound, because with more CPUs the program would have another path.
const NO_CPU: &str = "if each ready thread had had a CPU at once, which is a bound and no forecast";

/// The limit to which a kind of time on the path belongs.
fn limit(kind: &str) -> &str {
    match kind {
        // A holder that sleeps or waits for input keeps other threads waiting just as a holder that
        // computes does.
        "critical-section" | "critical-section-call" | "critical-section-blocked" | "critical-section-off-cpu" => {
            "sections"
        }
        "critical-section-ready" => "ready",
        "critical-section-recorder" => RECORDER,
        "call" => "calls",
        SHARED => "blocked",
        at if own_locks::is_awaited(at) => own_locks::AWAITED,
        futex if futex.starts_with("futex-") => "futex",
        lock if lock.starts_with("libc-lock-") => "libc-lock",
        "lock-hand-off" | "lock-wait" => "competition",
        "running" | "ready" | "blocked" | RECORDER | "off-cpu" | vain::FUTILE | vain::POLLING => kind,
        _ => "waiting",
    }
}

/// Gives the verdict. `place` is the profile's directory as the user's commands name it.
pub(super) fn verdict(report: &Report, place: &str) -> Verdict {
    let shares = shares(report);
    let most_by_lock = most_by_lock(report);
    if let Some(still) = &report.standstill {
        return super::standstill::verdict(report, still, shares, most_by_lock, place);
    }
    let lock = heaviest(report);
    let unseen = Unseen::of(report, &shares);
    if let Some(verdict) = super::throughput::verdict(report, &shares, most_by_lock, &unseen, place) {
        return verdict;
    }
    let cause = match unseen.headline() {
        Some(headline) => Cause { limit: cannot_tell::LIMIT, share: unseen.share, headline },
        None => cause(report, &shares, lock.as_ref()),
    };
    let unwaited = unwaited(report);
    let open = unwaited.as_ref().filter(|_| cause.limit == "running").and_then(|lock| lock.headline(cause.share));
    let Cause { limit, share, headline } = match open {
        Some(headline) => Cause { limit: cannot_tell::LIMIT, share: cause.share, headline },
        None => cause,
    };
    let others = others(report, &shares);
    let mut verdict = Verdict {
        limit: limit.to_owned(),
        headline,
        second: None,
        gains: gains(report, &shares, lock.as_ref(), &unseen, unwaited.as_ref()),
        next: next(report, &shares, lock.as_ref(), &unseen, unwaited.as_ref(), place),
        doubts: report.limits.disturbed.iter().cloned().collect(),
        most_by_lock,
        unseen_share: unseen.share,
        shares,
    };
    second::add(&mut verdict, share, lock.as_ref());
    verdict.headline += &others;
    verdict
}

/// What limits the program.
struct Cause<'a> {
    limit: &'a str,
    /// The share of the path that it takes.
    share: f64,
    /// The sentence about it.
    headline: String,
}

/// The limit of the program. If threads starve at the lock with the
/// heaviest sections, and these take at least as much as the greatest limit, starvation is the
/// limit.
fn cause<'a>(report: &Report, shares: &'a [Share], lock: Option<&Heaviest<'_>>) -> Cause<'a> {
    let Some(most) = most(shares) else {
        let headline = "There is no critical path: the trace has no length.".to_owned();
        return Cause { limit: "nothing", share: 0.0, headline };
    };
    let starving = starved::starving(report);
    let starves = |lock: &&Heaviest<'_>| {
        lock.share >= most.share && starving.as_ref().is_some_and(|starving| starving.number == lock.number)
    };
    match (&starving, lock.filter(starves)) {
        (Some(starving), Some(lock)) => {
            Cause { limit: starved::LIMIT, share: lock.share, headline: starving.headline() }
        }
        _ => Cause { limit: &most.limit, share: most.share, headline: headline(report, most, lock) },
    }
}

/// The share of the time in which a lock is free while a thread waits for it. At every other
/// moment, a lock of another type could not let a waiting thread run either.
fn most_by_lock(report: &Report) -> f64 {
    ratio(report.totals.free_while_wanted_ns.0, report.totals.span_ns.0).min(1.0)
}

fn shares(report: &Report) -> Vec<Share> {
    let path = &report.critical_path;
    let mut sums: BTreeMap<&str, Nanos> = BTreeMap::new();
    // The parts of single locks are left out, because they would count nested sections twice.
    for part in path.parts.iter().filter(|part| !part.kind.starts_with(SECTION)) {
        *sums.entry(limit(&part.kind)).or_default() += part.total_ns;
    }
    for section in &path.sections {
        // Sections that no thread waited for are the program's own work.
        let own = section.kind[SECTION.len()..].strip_prefix('-').unwrap_or("running");
        *sums.entry(limit(&section.kind)).or_default() += section.waited_for_ns;
        *sums.entry(limit(own)).or_default() += section.total_ns - section.waited_for_ns;
    }
    let ready = sums.get("ready").copied().unwrap_or_default();
    let part = |of: Nanos| Nanos((ready.0 as f64 * ratio(of.0, path.ready_ns.0)).round() as u64);
    let (others, bound) = (part(path.ready_left_ns), part(path.ready_bound_ns));
    sums.insert("ready", Nanos(ready.0.saturating_sub(others.0 + bound.0)));
    let held_back = cpu_limit::part(report, others);
    sums.insert(cpu_limit::LIMIT, held_back);
    sums.insert(OTHERS, others - held_back);
    sums.insert(bound::LIMIT, bound);
    let all = path.length_ns.0.max(sums.values().map(|ns| ns.0).sum());
    let share = |(limit, name): &(&str, &str)| {
        let total_ns = sums.get(limit).copied().filter(|total| *total > Nanos(0))?;
        Some(Share { limit: (*limit).into(), name: (*name).into(), total_ns, share: ratio(total_ns.0, all) })
    };
    let mut shares: Vec<Share> = LIMITS.iter().filter_map(share).collect();
    shares.sort_by_key(|share| Reverse(share.total_ns));
    shares
}

/// The greatest share that can limit the program. What other programs or the recorder took limits it
/// only where nothing else does.
fn most(shares: &[Share]) -> Option<&Share> {
    shares.iter().find(|share| share.limit != OTHERS && share.limit != RECORDER).or(shares.first())
}

fn headline(report: &Report, most: &Share, lock: Option<&Heaviest<'_>>) -> String {
    let share = percent(most.share);
    match (most.limit.as_str(), lock) {
        ("running", _) => format!(
            "The program's own work limits it: {share} of its critical path runs on a CPU, outside of critical sections.{}",
            mostly_one_thread(report)
        ),
        ("sections", Some(lock)) => format!(
            "Critical sections limit it: {share} of its critical path lies inside of them, {} inside of {}'s{}.",
            percent(lock.share),
            lock.name,
            lock.details()
        ),
        ("sections", None) => format!("Critical sections limit it: {share} of its critical path lies inside of them."),
        ("competition", _) => {
            format!(
                "Competition for locks limits it: for {share} of its critical path a lock is free and a thread waits for it."
            )
        }
        ("ready", _) => format!(
            "CPUs are missing: for {share} of its critical path the thread could run and had none ({} threads, {}).",
            report.threads.len(),
            cpus(report)
        ),
        (bound::LIMIT, _) => bound::headline(report, most),
        (cpu_limit::LIMIT, _) => cpu_limit::headline(report, most),
        ("blocked", _) => format!(
            "Waits outside of what Baton sees limit it: for {share} of its critical path the thread was blocked{}.",
            most_outside(report)
        ),
        ("calls", _) => format!(
            "Input, output or sleep limits it: for {share} of its critical path the thread was blocked in such calls{}.",
            most_outside(report)
        ),
        ("futex" | "libc-lock" | own_locks::AWAITED, _) => own_locks::headline(report, most),
        (vain::FUTILE | vain::POLLING, _) => vain::headline(report, most),
        (RECORDER, _) => "The recording itself limits it: Baton's recorder was making room for events.".to_owned(),
        (OTHERS, _) => "The program waited for a CPU, and not because of its own threads.".to_owned(),
        ("off-cpu", _) => format!(
            "Threads were off their CPUs for {share} of its critical path; why is not known, as {}{}.",
            if cannot_tell::lost_switches(report) {
                "context switches were lost"
            } else {
                "no context switches were recorded"
            },
            most_outside(report)
        ),
        _ => new_threads::headline(report, most.share).unwrap_or_else(|| {
            format!(
                "Threads wait for each other: {share} of its critical path passes between a cause and its waiter's waking up."
            )
        }),
    }
}

/// Sentences on how much of the path was lost to other programs and to the recorder.
fn others(report: &Report, shares: &[Share]) -> String {
    let of = |limit: &str| shares.iter().find(|share| share.limit == limit && share.share >= WORTH_A_STEP);
    let why = if report.limits.disturbed.is_some() { ", as other programs had it" } else { "" };
    let ready = of(OTHERS).map(|share| {
        format!(" For {} it was ready while a CPU ran none of the program's threads{why}.", percent(share.share))
    });
    let recorder = of(RECORDER).map(|share| {
        format!(" For {} it was blocked because Baton's recorder was making room for events.", percent(share.share))
    });
    ready.unwrap_or_default() + &recorder.unwrap_or_default()
}

fn gains(
    report: &Report,
    shares: &[Share],
    lock: Option<&Heaviest<'_>>,
    unseen: &Unseen<'_>,
    unwaited: Option<&Unwaited<'_>>,
) -> Vec<String> {
    let of = |limit: &str| shares.iter().find(|share| share.limit == limit);
    let at_most = |share: f64| if share == 0.0 { "nothing".to_owned() } else { format!("at most {}", percent(share)) };
    let (free, all) = (report.totals.free_while_wanted_ns, duration(report.totals.span_ns));
    let mut out = vec![match free {
        Nanos(0) => {
            let unknown = unseen.by_another_lock().or_else(|| unwaited.map(Unwaited::gain));
            unknown.unwrap_or_else(|| nothing(report, &all))
        }
        free => format!(
            "by another lock: {}; for {} of {all} a lock was free while a thread waited for it{}",
            at_most(most_by_lock(report)),
            duration(free),
            unseen.besides()
        ),
    }];
    out.extend(own_locks::gains(report, shares));
    out.extend(bound::gains(report, shares));
    out.extend(cpu_limit::gains(report, shares));
    out.extend(vain::gains(report));
    out.extend(uneven::gains(report));
    if let Some(lock) = lock.filter(|lock| lock.share >= 0.001) {
        let count = if lock.locks > 1 { format!(" ({} locks)", lock.locks) } else { String::new() };
        out.push(format!("by critical sections of {}{count} that take no time: {}", lock.name, at_most(lock.share)));
    }
    let ready = of("ready").map(|share| (NO_CPU, share));
    let calls = of("calls").map(|share| ("by shorter input, output or sleep", share));
    let blocked =
        of("blocked").filter(|_| !unseen.may_wait_for_threads()).map(|share| ("by shorter waits outside", share));
    for (how, share) in ready.into_iter().chain(calls).chain(blocked).filter(|(_, share)| share.share >= WORTH_A_STEP) {
        out.push(format!("{how}: {}", at_most(share.share)));
    }
    out
}

/// A sentence for a trace in which no thread waited for a free lock. Where several threads run, a lock
/// that spins on a variable of the program's own would look like their work.
fn nothing(report: &Report, all: &str) -> String {
    let waited = format!("in {all} no thread waited for a lock that was free");
    match report.several_threads_run() {
        true => format!(
            "by another lock: nothing that is seen; {waited}, but locks that spin in the program's own code are not seen"
        ),
        false => format!("by another lock: nothing; {waited}"),
    }
}

fn next(
    report: &Report,
    shares: &[Share],
    lock: Option<&Heaviest<'_>>,
    unseen: &Unseen<'_>,
    unwaited: Option<&Unwaited<'_>>,
    place: &str,
) -> Vec<NextStep> {
    let share = |limit: &str| shares.iter().find(|share| share.limit == limit).map_or(0.0, |share| share.share);
    let step = |text: String, command: Option<String>| NextStep { text, command };
    let with = |tool: &str| report.with(tool);
    let mut steps: Vec<(f64, NextStep)> = own_locks::next(report, shares, place);
    steps.extend(vain::next(report, place));
    steps.extend(unwaited.map(|lock| (lock.share(), step(lock.text(), None))));
    steps.extend(uneven::next(report, place));
    let starving = starved::starving(report);
    let competition = most_by_lock(report);
    if competition >= WORTH_A_LOCK && !unseen.may_wait_for_threads() {
        let text = "measure whether another lock makes it faster".to_owned();
        steps.push((competition, step(text, Some(format!("baton try {}", crate::format::quoted(place))))));
    }
    if let Some(lock) = lock {
        if lock.with_cpu() >= WORTH_A_STEP && starving.as_ref().is_none_or(|at| at.number != lock.number) {
            steps.push((lock.with_cpu(), lock.next(place)));
        }
        steps.extend(lock.without_cpu(report));
    }
    if let Some(starving) = starving {
        // Waits that starve may matter even if they do not limit the program, so their advice has
        // at least the weight of a share that is worth a step.
        let share = lock.filter(|lock| lock.number == starving.number).map_or(0.0, |lock| lock.share);
        steps.push((share.max(WORTH_A_STEP) * 1.01, starving.next(place)));
    }
    steps.extend(unseen.next(place).into_iter().map(|step| (share("blocked"), step)));
    steps.extend(bound::next(report, shares));
    steps.extend(cpu_limit::next(report, shares));
    if share("blocked") >= WORTH_A_STEP && !unseen.may_wait_for_threads() {
        steps.push((
            share("blocked"),
            step(
                "see which calls of the kernel block (with -k instead of -c: from where)".into(),
                with("strace -f -w -c --"),
            ),
        ));
    }
    if share("calls") >= WORTH_A_STEP {
        steps.push((share("calls"), step("see which calls take the time".into(), with("strace -f -w -c --"))));
    }
    if share("off-cpu") >= WORTH_A_STEP && cannot_tell::lost_switches(report) {
        let text = "see which calls of the kernel, and how many switches of threads, take the time".to_owned();
        steps.push((share("off-cpu"), step(text, with("perf trace -s --"))));
    } else if share("off-cpu") >= WORTH_A_STEP {
        let text = "permit context switches to be recorded, and record again".to_owned();
        steps.push((share("off-cpu"), step(text, Some("sudo sysctl kernel.perf_event_paranoid=2".into()))));
    }
    if share("ready") >= WORTH_A_STEP {
        steps.push((share("ready"), step(fewer_threads(report, place), with("baton profile -o again --"))));
    }
    if share(RECORDER) >= WORTH_A_STEP {
        let text = "record again into memory rather than onto a disk".to_owned();
        steps.push((share(RECORDER), step(text, with("baton profile -o /dev/shm/profile --"))));
    }
    if share(OTHERS) >= WORTH_A_STEP {
        let text = "record again while nothing else runs".to_owned();
        steps.push((share(OTHERS), step(text, with("baton profile -o again --"))));
    }
    if share("waiting") >= WORTH_A_STEP {
        let events = format!("baton report {} --perfetto waits.pftrace", crate::format::quoted(place));
        let advice = new_threads::advice(report, share("waiting")).unwrap_or_else(|| fewer_waits(report));
        steps.push((share("waiting"), step(advice, Some(events))));
    }
    if share("running") >= WORTH_A_STEP {
        let text = "see which functions take the time".to_owned();
        steps.push((share("running"), step(text, with("perf record -g --"))));
        steps.extend(vain::cache_lines(report, share("running"), with("perf c2c record --")));
    }
    steps.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    steps.into_iter().map(|(_, step)| step).take(3).collect()
}

/// The CPUs of the machine as a phrase, or the one CPU that all threads but the first may use.
/// A sentence on the thread that does most of the path's work, if there is one and it works far more than any other.
fn mostly_one_thread(report: &Report) -> String {
    let on_path: u64 = report.critical_path.threads.iter().map(|one| one.running_ns.0).sum();
    let Some(most) = report.critical_path.threads.first() else { return String::new() };
    let Some(thread) = report.threads.get(most.thread as usize) else { return String::new() };
    let others = report.threads.iter().enumerate().filter(|(number, _)| *number != most.thread as usize);
    let next = others.map(|(_, other)| other.running_ns).max().unwrap_or_default();
    let far_more = next > Nanos(0) && next.0 as f64 <= thread.running_ns.0 as f64 * FAR_LESS;
    if !far_more || ratio(most.running_ns.0, on_path) < MOSTLY {
        return String::new();
    }
    format!(
        " Most of it is that of {}, which ran for {}, and no other thread for more than {}.",
        thread.name,
        duration(thread.running_ns),
        duration(next)
    )
}

fn cpus(report: &Report) -> String {
    let mut sets = report.threads.iter().skip(1).map(|thread| thread.cpus.as_deref());
    match sets.next().flatten() {
        Some(one) if !one.contains([',', '-']) && sets.all(|other| other == Some(one)) => "1 CPU".to_owned(),
        _ => format!("{} CPUs", report.run.host.cpus),
    }
}

/// The advice if threads have no CPU.
fn fewer_threads(report: &Report, place: &str) -> String {
    format!(
        "run it with no more threads than the {}, record that, and compare the two (baton diff {} again): only that tells \
         whether there are too many threads",
        cpus(report),
        crate::format::quoted(place)
    )
}

/// The advice if threads wait for each other.
fn fewer_waits(report: &Report) -> String {
    let waits = report.critical_path.parts.iter().filter(|part| limit(&part.kind) == "waiting");
    let most = waits.max_by_key(|part| part.total_ns).and_then(|part| part.waitable);
    let object = most.and_then(|waitable| report.waitables.get(waitable as usize));
    let at = object.map_or_else(String::new, |w| format!(" at {}", crate::format::phrase(&w.kind, &w.name)));
    format!("let threads wait for each other less often{at}: hand over more at a time, or wake fewer")
}
