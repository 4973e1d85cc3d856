//! Threads that can never go on: turns the analysis's standstill into the report's, with names, and
//! gives the verdict.

mod cure;
mod text;

use super::figures::{nanos, pid, places};
use super::names::Names;
use crate::model::{self, NextStep, Report, Share, Verdict};
use crate::symbols::is_wrapper;
use baton_trace::analysis::{Analysis, Ending, ObjectId, Standstill, Stuck, WaitKind, Why};
use baton_trace::{ProcessIndex, SiteId, ThreadIndex, Trace};
use std::collections::BTreeMap;

/// What sentences about a standstill need: names of locks, objects, threads and places.
pub(super) struct Scene<'a, 'n> {
    names: &'a mut Names<'n>,
    locks: BTreeMap<ObjectId, u32>,
    waitables: BTreeMap<ObjectId, u32>,
    lock_names: Vec<String>,
    waitable_names: Vec<String>,
    threads: &'a [model::Thread],
    /// For each thread that stands still, the outermost function of the program in the call stack
    /// of its wait.
    entries: BTreeMap<ThreadIndex, String>,
}

impl<'a, 'n> Scene<'a, 'n> {
    pub(super) fn new(
        names: &'a mut Names<'n>,
        analysis: &Analysis,
        locks: &[model::Lock],
        waitables: &[model::Waitable],
        threads: &'a [model::Thread],
    ) -> Scene<'a, 'n> {
        Scene {
            names,
            locks: places(analysis.locks.iter().map(|lock| lock.id)),
            waitables: places(analysis.waitables.iter().map(|waitable| waitable.id)),
            lock_names: locks.iter().map(|lock| crate::format::lock_phrase(&lock.name)).collect(),
            waitable_names: waitables.iter().map(|w| crate::format::phrase(&w.kind, &w.name)).collect(),
            threads,
            entries: BTreeMap::new(),
        }
    }

    pub(super) fn trace(&self) -> &'n Trace {
        self.names.trace
    }

    pub(super) fn lock(&self, id: ObjectId) -> Option<u32> {
        self.locks.get(&id).copied()
    }

    pub(super) fn lock_name(&self, id: ObjectId) -> &str {
        self.lock(id).and_then(|lock| self.lock_names.get(lock as usize)).map_or("a lock", String::as_str)
    }

    fn waitable_name(&self, id: Option<ObjectId>) -> &str {
        let number = id.and_then(|id| self.waitables.get(&id));
        number.and_then(|n| self.waitable_names.get(*n as usize)).map_or("an object", String::as_str)
    }

    /// The function and source location of a call site; empty if they are not known.
    pub(super) fn place(&mut self, thread: ThreadIndex, site: SiteId) -> String {
        let process = self.names.trace.process_of(thread);
        if site == SiteId::UNKNOWN { String::new() } else { self.names.site_place(process, site).unwrap_or_default() }
    }

    fn enter(&mut self, thread: ThreadIndex, process: ProcessIndex, site: SiteId) {
        let trace = self.names.trace;
        let time = trace.site_time(process, site);
        let own =
            |address: &&u64| trace.module(process, **address, time).is_some_and(|module| !is_system(&module.path));
        for address in trace.site(process, site).iter().rev().filter(own) {
            let frames = self.names.symbols.code(trace, process, *address, time);
            if let Some(frame) = frames.iter().rev().find(|f| !is_wrapper(f) && f.function != "_start") {
                self.entries.insert(thread, crate::symbols::short(&frame.function));
                return;
            }
        }
    }

    /// A thread as a phrase: its number, and its name or the function that it runs.
    pub(super) fn thread(&self, thread: ThreadIndex) -> String {
        let number = thread.0;
        let Some(known) = self.threads.get(thread.index()) else { return format!("thread {number}") };
        let is_own_name = known.name != format!("thread {number}") && !known.name.ends_with(&format!(" {}", known.tid));
        match self.entries.get(&thread) {
            _ if is_own_name => format!("thread {number} `{}`", known.name),
            Some(entry) => format!("thread {number} `{entry}`"),
            None => format!("thread {number}"),
        }
    }
}

/// Whether an object file belongs to the system or to Baton, whose code starts a program's threads.
fn is_system(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    ["libc.", "libc-", "libpthread", "ld-", "ld.", "libstdc++", "libgomp", "libbaton"]
        .iter()
        .any(|own| file.starts_with(own))
}

/// Describes one process that stands still: preferably one with a deadlock, then one that is more
/// than suspected.
pub(super) fn standstill(scene: &mut Scene<'_, '_>, ending: &Ending) -> Option<model::Standstill> {
    let all = &ending.standstills;
    let sure = |still: &&Standstill| still.suspected.is_none();
    let most = all.iter().find(|still| still.deadlock.is_some()).or(all.iter().find(sure)).or(all.first())?;
    for stuck in &most.threads {
        scene.enter(stuck.wait.thread, most.process, stuck.wait.site);
    }
    let threads: Vec<_> = most.threads.iter().map(|stuck| thread(scene, most, stuck)).collect();
    let trace = scene.names.trace;
    let ns = |ticks| nanos(&trace.clock, ticks);
    Some(model::Standstill {
        kind: match (most.deadlock, most.suspected) {
            (Some(_), _) => "deadlock",
            (None, Some(_)) => "suspected",
            (None, None) => "nobody-moves",
        }
        .to_owned(),
        headline: text::headline(scene, most, &threads),
        pid: pid(trace, most.process),
        still_since_ns: most.still.map(ns),
        deadlock_since_ns: most.deadlock.map(ns),
        until_ns: most.end.map(ns),
        circles: most.circles.iter().map(|circle| circle.iter().map(|n| *n as u32).collect()).collect(),
        moving: most.moving,
        other_processes: all.len() as u32 - 1,
        cures: match most.handlers.first() {
            Some(signal) => vec![text::send(*signal)],
            None => cure::cures(scene, most),
        },
        threads,
    })
}

fn thread(scene: &mut Scene<'_, '_>, still: &Standstill, stuck: &Stuck) -> model::StandingThread {
    let wait = &stuck.wait;
    let (waits_for, why) = words(stuck);
    let is_lock = |id: &ObjectId| scene.lock(*id).is_some();
    let lock = match &stuck.why {
        Why::Held(holders) => holders.first().map(|h| h.lock),
        _ => wait.object.filter(is_lock),
    };
    let blockers: Vec<u32> = match &stuck.why {
        Why::Held(holders) => holders.iter().map(|h| h.thread.0).collect(),
        _ => wait.target.iter().map(|target| target.0).collect(),
    };
    let holds = holds(scene, still, wait.thread);
    model::StandingThread {
        thread: wait.thread.0,
        waits_for: waits_for.to_owned(),
        why: why.to_owned(),
        lock: lock.and_then(|id| scene.lock(id)),
        waitable: wait.object.and_then(|id| scene.waitables.get(&id).copied()),
        blockers,
        at: scene.place(wait.thread, wait.site),
        since_ns: nanos(&scene.names.trace.clock, wait.since),
        text: text::part(scene, still, stuck),
        holds,
    }
}

/// The locks that a thread holds and that threads of the standstill wait for.
fn holds(scene: &mut Scene<'_, '_>, still: &Standstill, thread: ThreadIndex) -> Vec<model::Held> {
    let mut holds: Vec<model::Held> = Vec::new();
    for held in text::held_by(still, thread) {
        let Some(lock) = scene.lock(held.lock) else { continue };
        let since_ns = nanos(&scene.names.trace.clock, held.since);
        holds.push(model::Held { lock, at: scene.place(thread, held.site), since_ns });
    }
    holds
}

/// The words for what a thread waits for, and why the wait does not end.
fn words(stuck: &Stuck) -> (&'static str, &'static str) {
    let what = match stuck.wait.kind {
        WaitKind::Lock => "lock",
        WaitKind::Condition => "condition",
        WaitKind::Semaphore => "semaphore",
        WaitKind::Futex => "futex",
        // No trace of a recorder ends in such a wait: `Causes::open` in baton-trace says why.
        WaitKind::LibcLock => "libc-lock",
        WaitKind::Join | WaitKind::Start => "join",
        WaitKind::Barrier if stuck.why == Why::Idle => "region",
        WaitKind::Barrier => "barrier",
        WaitKind::Idle => "region",
        WaitKind::Tasks => "tasks",
        WaitKind::Room => "queue-room",
        WaitKind::Item => "queue-item",
    };
    let why = match &stuck.why {
        Why::Held(holders) if holders.iter().any(|h| h.ended) => "held-by-ended",
        Why::Held(_) => "held",
        Why::Unheld => "not-held",
        Why::Join => "join",
        Why::Condition(signals) => match signals.last {
            None => "never-signalled",
            Some(last) if text::is_lost(signals, last) => "lost-wake-up",
            Some(_) => "not-signalled",
        },
        Why::Semaphore(posts) if posts.posts == 0 => "never-posted",
        Why::Semaphore(_) => "not-posted",
        Why::Futex => "not-woken",
        Why::Queue => "not-moved",
        Why::Barrier { .. } => "few-arrivals",
        Why::Idle => "idle",
        Why::Tasks => "tasks",
    };
    (what, why)
}

/// The verdict on a program that stands still.
pub(super) fn verdict(
    report: &Report,
    still: &model::Standstill,
    shares: Vec<Share>,
    most_by_lock: f64,
    place: &str,
) -> Verdict {
    let orders = || format!("baton report {} --lock-order", crate::format::quoted(place));
    let command = |first: bool| (first && still.kind == "deadlock" && !report.lock_orders.is_empty()).then(orders);
    let step = |(n, text): (usize, &String)| NextStep { text: text.clone(), command: command(n == 0) };
    let suspected = still.kind == "suspected";
    let stands = match still.still_since_ns {
        Some(_) => "the program stands still",
        None if suspected => "the program may stand still",
        None => "a part of it stands still",
    };
    let until = still.until_ns.filter(|_| still.still_since_ns.is_some());
    let lived = until.map_or_else(String::new, |until| format!(" It lived on to {}.", crate::format::duration(until)));
    Verdict {
        limit: if suspected { super::cannot_tell::LIMIT } else { "standstill" }.to_owned(),
        headline: format!("{}{lived}", still.headline),
        second: None,
        gains: vec![format!("nothing can be said: {stands}")],
        next: still.cures.iter().enumerate().map(step).take(3).collect(),
        doubts: Vec::new(),
        most_by_lock,
        unseen_share: 0.0,
        shares,
    }
}
