//! Sentences about a standstill.

use super::Scene;
use crate::build::figures::nanos;
use crate::format::duration;
use crate::model::StandingThread;
use baton_trace::analysis::{Holding, Posts, Signal, Signals, Standstill, Stuck, WaitKind, Why};
use baton_trace::{SiteId, ThreadIndex, Ticks};

/// The most threads that the headline names.
const NAMED: usize = 4;

/// The standstill as one sentence or two.
pub(super) fn headline(scene: &Scene<'_, '_>, still: &Standstill, threads: &[StandingThread]) -> String {
    let time = |ticks| duration(nanos(&scene.names.trace.clock, ticks));
    let (article, who) = match scene.names.trace.processes.len() {
        1 => (("The ", "the "), "program".to_owned()),
        _ => (("Process ", "process "), super::pid(scene.names.trace, still.process).to_string()),
    };
    if let (Some(since), false) = (still.suspected, still.handlers.is_empty()) {
        let signals: Vec<String> = still.handlers.iter().take(NAMED).map(|signal| signal_name(*signal)).collect();
        let handler = if still.handlers.len() == 1 { "a handler" } else { "handlers" };
        return format!(
            "Cannot tell whether {}{who} stands still since {}: {}. It has {handler} for {}, which may post a semaphore or \
             wake a futex.",
            article.1,
            time(since),
            parts(scene, still, threads),
            crate::format::list(&signals.iter().map(String::as_str).collect::<Vec<_>>()),
        );
    }
    if let Some(since) = still.suspected {
        return format!(
            "Cannot tell whether {}{who} stands still since {}: {}. {} {} on, and none has signalled that since.",
            article.1,
            time(since),
            parts(scene, still, threads),
            threads_phrase(still.moving as usize, "other "),
            if still.moving == 1 { "goes" } else { "go" },
        );
    }
    let who = format!("{}{who}", article.0);
    let begin = match (still.still, still.deadlock) {
        (Some(all), Some(part)) if time(all) != time(part) => {
            format!("{who} stands still since {}: deadlock since {}", time(all), time(part))
        }
        (Some(all), Some(_)) => format!("{who} stands still since {}: deadlock", time(all)),
        (Some(all), None) => format!("{who} stands still since {}: nobody moves", time(all)),
        (None, Some(part)) => format!("{} threads stand still: deadlock since {}", threads.len(), time(part)),
        (None, None) => format!("{} threads stand still", threads.len()),
    };
    let mut out = format!("{begin}: {}", parts(scene, still, threads));
    if still.moving > 0 {
        out += &format!(". {} could still go on", threads_phrase(still.moving as usize, "other "));
    }
    out + "."
}

/// The advice to send a signal that may end a standstill.
pub(super) fn send(signal: u32) -> String {
    format!(
        "send it {} while it waits (`kill -{signal} PID`): if it goes on, it does not stand still",
        signal_name(signal)
    )
}

/// The name of a signal, for those that programs handle most.
fn signal_name(signal: u32) -> String {
    let names = [(1, "SIGHUP"), (2, "SIGINT"), (3, "SIGQUIT"), (10, "SIGUSR1"), (12, "SIGUSR2"), (14, "SIGALRM")];
    let more = [(15, "SIGTERM"), (17, "SIGCHLD"), (29, "SIGIO")];
    let name = names.iter().chain(&more).find(|(number, _)| *number == signal);
    name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

/// What the first threads hold and wait for, joined, and the number of threads that are not shown.
/// Causes come before the threads that wait for them. At most [`NAMED`] threads are shown; if
/// threads deadlock in circles, only threads of circles.
fn parts(scene: &Scene<'_, '_>, still: &Standstill, threads: &[StandingThread]) -> String {
    let mut order: Vec<(&Stuck, &StandingThread)> = still.threads.iter().zip(threads).collect();
    let in_circle = |n: usize| still.circles.iter().any(|circle| circle.contains(&n));
    let circled = (0..still.threads.len()).filter(|n| in_circle(*n)).count();
    // Threads of circles already come first. Threads that wait for a thread's end, for a region,
    // for tasks or for a lock without a known holder come last.
    order[circled..].sort_by_key(|(stuck, _)| matches!(stuck.why, Why::Join | Why::Idle | Why::Tasks | Why::Unheld));
    let shown = if still.deadlock.is_some() && circled > 0 { circled.min(NAMED) } else { NAMED.min(order.len()) };
    let named =
        order[..shown].iter().map(|(stuck, thread)| format!("{} {}", scene.thread(stuck.wait.thread), thread.text));
    let mut out = named.collect::<Vec<_>>().join("; ");
    if order.len() > shown {
        out += &format!("; {} too", waits(order.len() - shown));
    }
    out
}

fn threads_phrase(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}thread") } else { format!("{n} {word}threads") }
}

fn waits(n: usize) -> String {
    format!("{} {}", threads_phrase(n, "other "), if n == 1 { "waits" } else { "wait" })
}

/// The locks that a thread holds and that threads of the standstill wait for, each once.
pub(super) fn held_by(still: &Standstill, thread: ThreadIndex) -> Vec<Holding> {
    let mut held: Vec<Holding> = Vec::new();
    for stuck in &still.threads {
        let Why::Held(holders) = &stuck.why else { continue };
        for holding in holders.iter().filter(|h| h.thread == thread) {
            if held.iter().all(|other| other.lock != holding.lock) {
                held.push(*holding);
            }
        }
    }
    held
}

/// `(word place)` after a blank; empty if the place is not known.
fn at(place: &str, word: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" ({word} {place})") }
}

/// What one thread holds and waits for.
pub(super) fn part(scene: &mut Scene<'_, '_>, still: &Standstill, stuck: &Stuck) -> String {
    let thread = stuck.wait.thread;
    let own =
        |holding: &Holding| matches!(&stuck.why, Why::Held(holders) if holders.iter().any(|h| h.lock == holding.lock));
    let mut holds = Vec::new();
    for holding in held_by(still, thread).iter().filter(|holding| !own(holding)) {
        let taken = at(&scene.place(thread, holding.site), "taken at");
        holds.push(format!("{}{taken}", scene.lock_name(holding.lock)));
    }
    let waits = wait(scene, still, stuck);
    if holds.is_empty() { waits } else { format!("holds {} and {waits}", holds.join(" and ")) }
}

fn wait(scene: &mut Scene<'_, '_>, still: &Standstill, stuck: &Stuck) -> String {
    let wait = &stuck.wait;
    let here = at(&scene.place(wait.thread, wait.site), "at");
    let object = scene.waitable_name(wait.object).to_owned();
    match &stuck.why {
        Why::Held(holders) => held(scene, still, stuck, holders, &here),
        Why::Unheld => {
            let lock = wait.object.map_or("a lock", |id| scene.lock_name(id));
            format!("waits for {lock}{here}, which no recorded thread holds")
        }
        Why::Join => match wait.target {
            Some(target) => format!("waits for the end of {}{here}", scene.thread(target)),
            None => format!("waits for the end of a thread{here}"),
        },
        Why::Condition(signals) => {
            format!("waits at the condition variable {object}{here}: {}", signalled(scene, wait.since, signals))
        }
        Why::Futex => format!("waits in {object}{here}, and no thread wakes it"),
        Why::Queue if wait.kind == WaitKind::Room => {
            format!("waits for room in the queue {object}{here}, and no thread takes an item")
        }
        Why::Queue => format!("waits for an item of the queue {object}{here}, and no thread puts one in"),
        Why::Semaphore(posts) => format!("waits for the semaphore {object}{here}: {}", posted(scene, posts)),
        Why::Barrier { arrived, expected: Some(expected) } => {
            format!("waits at the barrier {object}{here}: {arrived} of {expected} threads have arrived")
        }
        Why::Barrier { arrived, expected: None } => {
            format!("waits at the barrier {object}{here}, with {arrived} threads in all")
        }
        Why::Idle => "waits for its team's next region".to_owned(),
        Why::Tasks => format!("waits for tasks{here}"),
    }
}

fn held(scene: &mut Scene<'_, '_>, still: &Standstill, stuck: &Stuck, holders: &[Holding], here: &str) -> String {
    let thread = stuck.wait.thread;
    let Some(first) = holders.first() else { return format!("waits{here}") };
    let holder = holders.iter().find(|h| h.ended).or(holders.iter().find(|h| h.thread == thread)).unwrap_or(first);
    let lock = scene.lock_name(holder.lock).to_owned();
    let wants = match stuck.wait.kind {
        WaitKind::Condition => {
            let condition = scene.waitable_name(stuck.wait.object);
            format!("was signalled at the condition variable {condition}{here} and waits for its mutex {lock}")
        }
        _ => format!("waits for {lock}{here}"),
    };
    let taken = at(&scene.place(holder.thread, holder.site), "taken at");
    if holder.thread == thread {
        format!("{wants}, which it holds itself{taken}")
    } else if holder.ended {
        format!("{wants}, which {} held when it ended{taken}", scene.thread(holder.thread))
    } else if still.threads.iter().any(|other| other.wait.thread == holder.thread) {
        wants
    } else {
        format!("{wants}, which {} holds{taken}", scene.thread(holder.thread))
    }
}

/// Whether the last signal was lost: it found no waiter, and the waiting thread cannot have seen
/// under the mutex what the signal told.
pub(super) fn is_lost(signals: &Signals, last: Signal) -> bool {
    last.waiters == 0 && signals.looked < 2
}

fn when(scene: &mut Scene<'_, '_>, time: Ticks, thread: ThreadIndex, site: SiteId) -> String {
    let place = at(&scene.place(thread, site), "at");
    format!("at {} by {}{place}", duration(nanos(&scene.names.trace.clock, time)), scene.thread(thread))
}

fn signalled(scene: &mut Scene<'_, '_>, since: Ticks, signals: &Signals) -> String {
    let Some(last) = signals.last else { return "no thread ever signalled it".to_owned() };
    let kind = if last.broadcast { "broadcast" } else { "signal" };
    let when = when(scene, last.time, last.thread, last.site);
    if last.waiters == 0 {
        return match signals.looked {
            0 => format!(
                "lost wake-up: its last {kind}, {when}, found no waiter; it came between the thread's look under the mutex and \
                 its wait"
            ),
            1 => format!("lost wake-up: its last {kind}, {when}, found no waiter"),
            _ => format!("its last {kind}, {when}, found no waiter; the thread has looked under the mutex since"),
        };
    }
    match last.woke {
        Some(woke) if last.time < since => {
            format!("its last {kind}, {when}, woke {} and came before", scene.thread(woke))
        }
        Some(woke) => format!("its last {kind}, {when}, woke {}", scene.thread(woke)),
        None => format!("its last {kind}, {when}, woke no thread: it may have come before the waiter slept"),
    }
}

fn posted(scene: &mut Scene<'_, '_>, posts: &Posts) -> String {
    let taken = format!("taken {}", times(posts.takes));
    match posts.last {
        None => format!("no thread posts it; {taken}"),
        Some((time, thread, site)) => {
            let when = when(scene, time, thread, site);
            format!("posted {} and {taken}, last posted {when}", times(posts.posts))
        }
    }
}

fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}
