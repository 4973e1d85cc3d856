//! The part of the critical path that the trace does not explain. A large part forbids a verdict.

use super::kinds::{SECTION, SHARED};
use super::own_locks;
use super::spins::PAUSE;
use crate::format::{lock_phrase, percent, phrase, quoted};
use crate::model::{NextStep, PathPart, Report, Share, WORTH_A_LOCK, ratio};
use baton_trace::analysis::UNEXPLAINED_DECIDES;
use baton_units::Nanos;

/// The limit of a verdict that says that the limit is not known.
pub(super) const LIMIT: &str = "cannot-tell";

/// The kind of time that a holder is blocked in a call.
const SECTION_CALL: &str = "critical-section-call";

/// Limits whose shares tell what could be won. The program's own work (`running`) is not among
/// them: a lock that the trace does not show may make it wait.
const EXPLAINED: [&str; 9] =
    ["sections", "competition", "ready", "bound", "calls", "futex", "libc-lock", own_locks::AWAITED, "waiting"];

/// The shares of the critical path that the trace leaves open.
pub(super) struct Unseen<'a> {
    report: &'a Report,
    /// The share of the path in which a thread was blocked or off its CPU for an unknown reason.
    pub(super) share: f64,
    /// The greatest share of a limit in [`EXPLAINED`].
    explained: f64,
    /// The share of the path at futexes of the program's own, at locks inside of the C library, and in work
    /// that others wait for at semaphores and condition variables.
    own_locks: f64,
    /// Whether most of `share` is time off the CPU of threads whose context switches were not
    /// recorded. Without them, blocked and ready time cannot be told apart.
    mostly_off: bool,
    /// The part of `share` in which the thread was blocked in calls while other threads were at work, or
    /// waited in a loop.
    beside: f64,
    /// The part of `share` in which the thread waited at an object that other processes use, too, or
    /// held such a lock while no thread of its own process waited for it.
    shared: f64,
}

impl<'a> Unseen<'a> {
    pub(super) fn of(report: &'a Report, shares: &[Share]) -> Unseen<'a> {
        let of = |limit: &str| shares.iter().find(|share| share.limit == limit).map_or(0.0, |share| share.share);
        let (parts, length) = (&report.critical_path.parts, report.critical_path.length_ns.0);
        let shared: u64 = parts.iter().filter(|part| part.kind == SHARED).map(|part| part.total_ns.0).sum();
        let held = |part: &&PathPart| part.lock.is_some_and(|lock| report.locks[lock as usize].process_shared);
        // Threads of other processes may have waited during these sections.
        let unwanted = |of: fn(&str) -> bool| -> f64 {
            let parts = parts.iter().filter(|part| of(&part.kind) && shared > 0).filter(held);
            ratio(parts.map(|part| part.total_ns.0 - part.waited_for_ns.0).sum(), length)
        };
        let (sections, calls) = (unwanted(|kind| kind.starts_with(SECTION)), unwanted(|kind| kind == SECTION_CALL));
        let explained = |limit: &&str| of(limit) - if *limit == "calls" { calls } else { 0.0 };
        Unseen {
            report,
            share: (of("blocked") + of("off-cpu") + sections).min(1.0),
            explained: EXPLAINED.iter().map(explained).fold(0.0, f64::max),
            own_locks: of("futex") + of("libc-lock") + of(own_locks::AWAITED),
            mostly_off: of("off-cpu") > of("blocked"),
            beside: ratio(report.critical_path.beside.iter().map(|one| one.total_ns.0).sum(), length),
            shared: ratio(shared, length) + sections,
        }
    }

    /// Whether most of the unexplained time lies in calls or loops in which the thread may have waited
    /// for other threads or processes of the program.
    pub(super) fn may_wait_for_threads(&self) -> bool {
        self.beside > self.share / 2.0
    }

    /// Whether most of the unexplained time are waits for locks that other processes may hold.
    fn may_wait_for_processes(&self) -> bool {
        self.shared > self.share / 2.0
    }

    /// The headline if the unexplained share is at least [`UNEXPLAINED_DECIDES`] and greater than the share of
    /// each limit in [`EXPLAINED`]; `None` otherwise.
    pub(super) fn headline(&self) -> Option<String> {
        (self.share >= UNEXPLAINED_DECIDES && self.share > self.explained).then(|| {
            if self.may_wait_for_threads() {
                return self.beside_work();
            }
            if self.may_wait_for_processes() {
                return self.of_other_processes();
            }
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

    /// The headline if the thread was blocked while other threads were at work, or waited in a loop.
    fn beside_work(&self) -> String {
        let share = percent(self.share);
        let Some(most) = self.report.critical_path.beside.first() else { return String::new() };
        let at = most.at.as_ref().map_or_else(String::new, |at| format!(" in {at}"));
        if let Some(instructions) = most.instructions {
            return format!(
                "Cannot tell: for {share} of its critical path a thread stays in a loop of {instructions} instructions{at} that goes \
                 round until another thread writes to a variable. Baton does not see which thread that is: the variable is a \
                 lock or a flag of the program's own."
            );
        }
        if let (Some(runtime), Some(waits_for)) = (&most.runtime, &most.waits_for) {
            return format!(
                "Cannot tell: for {share} of its critical path a thread spins{at}, where {runtime} looks again and again for \
                 {waits_for} before the thread sleeps. For which one, and which thread has it, Baton does not see."
            );
        }
        match most.call.as_str() {
            call if most.again => format!(
                "Cannot tell: for {share} of its critical path a thread {}{at} (`{call}`) again and again. It seems to wait there \
                 for something that Baton does not see, such as a lock or a flag of the program's own.",
                match call {
                    PAUSE => "spins",
                    _ if is_sleep(call) => "sleeps briefly",
                    _ => "yields its CPU",
                }
            ),
            "waitpid" if self.report.run.processes.len() < 2 => format!(
                "Cannot tell: for {share} of its critical path the program waits for a child process{at}, and child processes \
                 were not recorded."
            ),
            call if is_sleep(call) => format!(
                "Cannot tell: for {share} of its critical path a thread sleeps{at} (`{call}`) while other threads are at work. It may \
                 wait for them by looking again and again, or give them a fixed time to run; no event shows which."
            ),
            call => format!(
                "Cannot tell: for {share} of its critical path a thread is blocked in `{call}`{at} while other threads are at work. \
                 It may wait for one of them (through a pipe, an eventfd or a socket); the trace does not show that."
            ),
        }
    }

    /// The headline if the thread waited at an object that other processes use, too.
    fn of_other_processes(&self) -> String {
        let (report, share) = (self.report, percent(self.share));
        let parts = report.critical_path.parts.iter().filter(|part| part.kind == SHARED);
        let most = parts.max_by_key(|part| part.total_ns);
        let lock = most.and_then(|part| report.locks.get(part.lock? as usize));
        let other = most.and_then(|part| report.waitables.get(part.waitable? as usize));
        match (lock, other) {
            (None, Some(other)) => format!(
                "Cannot tell: for {share} of its critical path a thread waits for {}, which other processes use, too. What they \
                 do there, the trace does not show.",
                phrase(&other.kind, &other.name)
            ),
            (lock, _) => format!(
                "Cannot tell: for {share} of its critical path a thread holds {} or waits for it, and other processes use that lock, \
                 too. When they hold it or wait for it, the trace does not show.",
                lock.map_or_else(|| "a lock".to_owned(), |lock| lock_phrase(&lock.name))
            ),
        }
    }

    /// The advice if the thread may have waited for other threads or processes of the program.
    pub(super) fn next(&self, place: &str) -> Vec<NextStep> {
        let report = self.report;
        let with = |tool: &str| report.with(tool);
        let step = |text: &str, command| NextStep { text: text.to_owned(), command };
        if self.share < UNEXPLAINED_DECIDES {
            return Vec::new();
        }
        if self.may_wait_for_processes() {
            let text = "record all processes, and see how long each of them holds what they share";
            return vec![step(text, with("baton profile --follow-children -o again --"))];
        }
        let Some(most) = report.critical_path.beside.first().filter(|_| self.may_wait_for_threads()) else {
            return Vec::new();
        };
        if most.call == "waitpid" && report.run.processes.len() < 2 {
            let text = "record the child processes, too";
            return vec![step(text, with("baton profile --follow-children -o again --"))];
        }
        if let (Some(at), Some(runtime)) = (&most.at, &most.runtime) {
            let text = format!(
                "see what calls {at}, by a profiler that knows the frames of {runtime}; let fewer threads share what they wait \
                 for there, or hold it for less time"
            );
            return vec![step(&text, None)];
        }
        if most.again {
            let at = most.at.as_ref().map_or_else(String::new, |at| format!(" in {at}"));
            let text = format!(
                "see in the code what the loop{at} waits for; with a mutex, a condition variable or a futex in its place, Baton \
                 tells what the threads wait for"
            );
            return vec![step(&text, None)];
        }
        let tried = format!("baton try {}", quoted(place));
        let text = "if the thread waits for others, measure whether another lock makes the program faster";
        let mut steps = vec![step(text, Some(tried))];
        if is_sleep(&most.call) {
            let text =
                "if it gives them a fixed time to run, measure their progress by a point (a lock, function or call)";
            steps.push(step(text, with("baton try --for 5s --progress POINT --")));
        }
        steps
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
            _ if lost_switches(self.report) => {
                "the kernel keeps some 680 context switches of a thread, and more were lost while a thread did nothing that Baton \
                 records"
                    .to_owned()
            }
            0 => "no context switches were recorded".to_owned(),
            some => format!("context switches were recorded for only {some} of {} threads", threads.len()),
        }
    }
}

/// Whether context switches were recorded, and some were lost.
pub(super) fn lost_switches(report: &Report) -> bool {
    let lost = baton_trace::notes::text(baton_trace::notes::RING_FULL);
    report.limits.notes.iter().any(|note| note.text == lost)
}

/// Whether a thread sleeps in this call until a time has passed.
fn is_sleep(call: &str) -> bool {
    matches!(call, "sleep" | "usleep" | "nanosleep" | "clock_nanosleep" | "pthread_cond_timedwait")
}

/// The place that has most of the time off the CPU on the critical path, as `, most of it between a
/// and b`.
pub(super) fn most_outside(report: &Report) -> String {
    let most = report.outside.iter().max_by_key(|place| place.path_ns).filter(|place| place.path_ns > Nanos(0));
    most.map_or_else(String::new, |place| format!(", most of it {}", place.place()))
}
