//! How a trace ends: the waits that have begun and not ended, and whether the program stands still.
//!
//! At the end of a process each living thread is in a wait that the trace shows, or not. A thread in
//! such a wait needs others to go on: the holders of its lock, the thread that it joins, or any
//! thread that signals, posts or arrives.
//!
//! - Threads are in a **deadlock** if each waits for a lock that the next one holds, or for the end
//!   of the next one, in a circle. A thread that waits for a lock whose holder has ended is in a
//!   deadlock, too. Nothing that other threads do can end such a wait, so it is a deadlock however
//!   short a time it lasted. One exception: a runtime that leaves the process may let a thread end with a
//!   lock, so that others wait there for the process's end. If no threads wait in a circle, and another
//!   thread leaves the process within [`LEAST_REST`], nothing is said.
//! - The process **stands still** if all living threads wait, and none can be let go by another. A
//!   signal handler, another process or a thread that the trace does not know could still let one
//!   go. So the process must have lived on for [`LEAST_REST`], and twice as long as all its threads
//!   ever waited together before: a common wait that ended shows how long such an unseen cause may
//!   take.
//! - A process is **suspected** to stand still if its first thread waits, by joins, for a thread at
//!   a condition variable or semaphore that no thread has signalled for half of the process's life,
//!   and for [`LEAST_REST`] at least, while other threads go on, such as a monitor. One of those
//!   could still signal the object.
//! - A process that stands still is only **suspected** to do so if a thread of it waits for a semaphore
//!   or a futex, and the launcher saw that it has a handler for a signal: the handler may post or wake.
//!   That does not hold for a semaphore or futex that threads posted or woke themselves, outside of their
//!   waits, nor for a semaphore that began above zero, as one does that serves as a lock.
//! - Objects that are shared with other processes need none of this process's threads: their waits are
//!   not judged.
//! - Waits with a deadline end by themselves, and count as threads that can go on.
//!
//! Nothing is claimed of a trace in which events are missing.

mod graph;
mod history;
mod stuck;
mod suspected;
mod walk;

use super::causes::WaitKind;
use super::exits::exits;
use crate::clock::Ticks;
use crate::event::ThreadIndex;
use crate::last_look::LastLook;
use crate::process::ProcessIndex;
use crate::reader::LossKind;
use crate::trace::Trace;
use baton_units::Nanos;
use graph::Graph;
use std::collections::BTreeSet;
pub use stuck::{Holding, OpenWait, Posts, Signal, Signals, Standstill, Stuck, Why};
use walk::Walk;

/// The least time for which all threads must have waited before a process is said to stand still:
/// ten times the longest time slice of a busy Linux system. Hand-offs and wake-ups between threads
/// take less.
pub const LEAST_REST: Nanos = Nanos(100_000_000);

/// How a trace ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// When the last process ended that had threads waiting at its end; `None` if there is no such
    /// process, its end is not known, or its end does not lie after the last event.
    pub until: Option<Ticks>,
    /// The living threads that the trace shows in no wait.
    pub free: Vec<ThreadIndex>,
    /// The processes that stand still as a whole, or have threads that do.
    pub standstills: Vec<Standstill>,
}

impl Ending {
    /// Finds out how the trace ends, in one or two walks over its events.
    pub fn of(trace: &Trace) -> Ending {
        let walk = Walk::over(trace);
        let free = (0..).zip(&walk.lives).filter(|(_, life)| life.lives() && life.waits().is_none());
        let free = free.map(|(n, _)| ThreadIndex(n)).collect();
        let mut ending = Ending { until: until(trace, &walk), free, standstills: Vec::new() };
        if is_whole(trace) {
            let processes = (0..trace.processes.len()).map(|n| ProcessIndex(n as u32));
            ending.standstills = processes.filter_map(|process| standstill(trace, &walk, process)).collect();
        }
        history::add(trace, &mut ending.standstills);
        ending.standstills.retain(|still| !suspected::is_refuted(still));
        ending
    }
}

/// Whether no event is missing that could have ended a wait.
fn is_whole(trace: &Trace) -> bool {
    use LossKind::{Meta, NewerMeta, NoFile, UnknownThread};
    let harmless = |kind| matches!(kind, Meta | NewerMeta(_) | NoFile | UnknownThread);
    trace.losses.iter().all(|loss| harmless(loss.kind)) && trace.processes.iter().all(|p| p.dropped == 0)
}

/// Returns the latest end of a process in which threads wait, if it lies after the last event.
fn until(trace: &Trace, walk: &Walk<'_>) -> Option<Ticks> {
    if trace.complete_until().is_some() {
        return None;
    }
    let waits = |n: usize| walk.lives[n].waits().is_some_and(|wait| !wait.passed && wait.kind != WaitKind::Idle);
    let waiting = trace.threads.iter().enumerate().filter(|(n, _)| walk.lives[*n].lives() && waits(*n));
    let ends = waiting.filter_map(|(_, thread)| trace.process(thread.process)?.end);
    ends.max().filter(|end| *end > trace.span().1)
}

/// What the launcher saw of this process, if it looked.
fn look(trace: &Trace, process: ProcessIndex) -> Option<LastLook> {
    let look = trace.meta.as_ref().and_then(LastLook::of)?;
    trace.process(process).is_some_and(|p| p.pid == look.pid).then_some(look)
}

/// Whether the launcher saw threads of this process that the trace does not know.
fn has_strangers(trace: &Trace, process: ProcessIndex) -> bool {
    let Some(look) = look(trace, process) else { return false };
    let known: BTreeSet<u32> = trace.threads.iter().filter(|t| t.process == process).map(|t| t.tid).collect();
    look.threads.iter().any(|tid| !known.contains(tid))
}

fn standstill(trace: &Trace, walk: &Walk<'_>, process: ProcessIndex) -> Option<Standstill> {
    let graph = Graph::of(trace, walk, process, has_strangers(trace, process));
    let sure = graph.stuck(true);
    let all = graph.stuck(false);
    let crowd = walk.crowds.get(&process)?;
    let end = trace.process(process)?.end;
    let nobody = !all.is_empty() && all.len() == graph.living().len() && !graph.strangers;
    let lasted = end.map(|end| end.since(crowd.last));
    let least = Ticks(trace.clock.ticks(LEAST_REST).max(2 * crowd.longest_rest.0));
    // A process that the program started, and that ran, may yet act on this one.
    let helped =
        look(trace, process).is_some_and(|look| look.children && Nanos(look.still_ns) < trace.clock.nanos(least.0));
    let still = nobody && !helped && lasted.is_some_and(|lasted| lasted >= least);
    let handlers = if still { handlers(trace, walk, &graph, process) } else { Vec::new() };
    let stuck = if still { all } else { sure };
    if stuck.is_empty() {
        return suspected::standstill(trace, walk, &graph, process);
    }
    let circles = graph.circles(&stuck);
    let order = in_order(&circles, &stuck);
    let place = |thread: &ThreadIndex| order.iter().position(|t| t == thread).unwrap_or(0);
    let threads: Vec<Stuck> = order.iter().filter_map(|t| Some(stuck_of(walk, &graph, *graph.wait(*t)?))).collect();
    let (closed, orphaned) = (closed(&circles, &threads, &order), orphaned(walk, &threads));
    if !still && closed.is_none() && orphaned.is_some_and(|since| left_soon(trace, process, since)) {
        return None;
    }
    let deadlock = closed.into_iter().chain(orphaned).min();
    let doubtful = !handlers.is_empty() && deadlock.is_none();
    Some(Standstill {
        process,
        deadlock,
        still: (still && !doubtful).then_some(crowd.last),
        suspected: doubtful.then_some(crowd.last),
        handlers,
        end,
        circles: circles.iter().map(|circle| circle.iter().map(place).collect()).collect(),
        moving: (graph.living().len() - order.len()) as u32,
        threads,
    })
}

/// Returns the signals whose handlers could let a thread of a process go on in which all wait. A handler
/// may post a semaphore and wake a futex, but neither signal a condition variable nor release a lock.
fn handlers(trace: &Trace, walk: &Walk<'_>, graph: &Graph<'_>, process: ProcessIndex) -> Vec<u32> {
    let served = |wait: &OpenWait| wait.object.is_some_and(|id| walk.served.contains(&id));
    let can = |wait: &OpenWait| matches!(wait.kind, WaitKind::Semaphore | WaitKind::Futex) && !served(wait);
    if !graph.living().iter().any(|thread| graph.wait(*thread).is_some_and(can)) {
        return Vec::new();
    }
    look(trace, process).map_or_else(Vec::new, |look| look.handled().collect())
}

/// Returns the stuck threads: those of the circles first, in the circles' order, then the others.
fn in_order(circles: &[Vec<ThreadIndex>], stuck: &BTreeSet<ThreadIndex>) -> Vec<ThreadIndex> {
    let mut order: Vec<ThreadIndex> = Vec::new();
    for thread in circles.iter().flatten().chain(stuck) {
        if !order.contains(thread) {
            order.push(*thread);
        }
    }
    order
}

/// Returns when the first circle closed: when the last of its threads began to wait.
fn closed(circles: &[Vec<ThreadIndex>], threads: &[Stuck], order: &[ThreadIndex]) -> Option<Ticks> {
    let since = |thread: &ThreadIndex| Some(threads.get(order.iter().position(|t| t == thread)?)?.wait.since);
    circles.iter().filter_map(|circle| circle.iter().filter_map(since).max()).min()
}

/// Returns since when a thread has waited for a lock whose holder had ended; `None` if none does.
fn orphaned(walk: &Walk<'_>, threads: &[Stuck]) -> Option<Ticks> {
    let since = |stuck: &Stuck| {
        let Why::Held(holders) = &stuck.why else { return None };
        let ended = holders.iter().filter(|h| h.ended).filter_map(|h| walk.lives[h.thread.index()].ended);
        ended.min().map(|ended| ended.max(stuck.wait.since))
    };
    threads.iter().filter_map(since).min()
}

/// Whether a thread left the process before [`LEAST_REST`] had passed since then. A runtime may let threads wait for
/// a lock in the end, so that they do nothing any more until it leaves the process.
fn left_soon(trace: &Trace, process: ProcessIndex, since: Ticks) -> bool {
    let least = Ticks(trace.clock.ticks(LEAST_REST));
    exits(trace).get(&process).is_some_and(|exit| exit.time.since(since) < least)
}

fn stuck_of(walk: &Walk<'_>, graph: &Graph<'_>, wait: OpenWait) -> Stuck {
    let holders = graph.holders(&wait);
    let why = match wait.kind {
        WaitKind::Lock | WaitKind::Condition if !holders.is_empty() => Why::Held(holders),
        WaitKind::Lock => Why::Unheld,
        WaitKind::Condition => Why::Condition(Signals::default()),
        WaitKind::Semaphore => Why::Semaphore(Posts::default()),
        WaitKind::Futex | WaitKind::LibcLock => Why::Futex,
        WaitKind::Room | WaitKind::Item => Why::Queue,
        WaitKind::Join | WaitKind::Start => Why::Join,
        WaitKind::Barrier if wait.passed => Why::Idle,
        WaitKind::Barrier => {
            let book = walk.barrier(wait.object);
            let arrived = book.map_or(0, |book| book.arrived.len() as u32);
            Why::Barrier { arrived, expected: book.and_then(|book| book.expected) }
        }
        WaitKind::Idle => Why::Idle,
        WaitKind::Tasks => Why::Tasks,
    };
    Stuck { wait, why }
}
