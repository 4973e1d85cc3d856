//! Finds processes that may stand still although some of their threads go on.

use super::graph::Graph;
use super::stuck::{OpenWait, Standstill, Why};
use super::walk::Walk;
use super::{LEAST_REST, stuck_of};
use crate::analysis::causes::WaitKind;
use crate::clock::Ticks;
use crate::process::ProcessIndex;
use crate::trace::Trace;

/// Suspects a process if its first thread waits, by joins, for a thread that waits for a signal or
/// a post, and has done so for half of the process's life and for [`LEAST_REST`] at least, while
/// other threads live that are not in this chain of waits.
pub(super) fn standstill(
    trace: &Trace,
    walk: &Walk<'_>,
    graph: &Graph<'_>,
    process: ProcessIndex,
) -> Option<Standstill> {
    let end = trace.process(process)?.end?;
    let chain = chain(graph)?;
    let since = chain.last()?.since;
    let begin = trace.threads.iter().filter(|thread| thread.process == process).map(|thread| thread.first).min()?;
    let least = Ticks(trace.clock.ticks(LEAST_REST).max(end.since(begin).0 / 2));
    (end.since(since) >= least && chain.len() < graph.living().len()).then(|| Standstill {
        process,
        deadlock: None,
        still: None,
        suspected: Some(since),
        handlers: Vec::new(),
        end: Some(end),
        circles: Vec::new(),
        moving: (graph.living().len() - chain.len()) as u32,
        threads: chain.into_iter().map(|wait| stuck_of(walk, graph, wait)).collect(),
    })
}

/// Returns the waits from the first thread's join, over the joins of the joined threads, to the
/// wait that is no join; `None` if that is no wait for a signal or a post.
fn chain(graph: &Graph<'_>) -> Option<Vec<OpenWait>> {
    let mut chain: Vec<OpenWait> = Vec::new();
    let mut thread = *graph.living().first()?;
    loop {
        let wait = *graph.wait(thread).filter(|wait| !wait.bounded && !wait.signalled)?;
        chain.push(wait);
        match (wait.kind, wait.target) {
            (WaitKind::Join, Some(target)) if chain.len() <= graph.living().len() => thread = target,
            (WaitKind::Condition | WaitKind::Semaphore, _) if chain.len() > 1 => return Some(chain),
            _ => return None,
        }
    }
}

/// Whether a signal or post of the object came after the wait had begun: then the object is still
/// in use, and the program goes on.
pub(super) fn is_refuted(still: &Standstill) -> bool {
    let Some(since) = still.suspected.filter(|_| still.handlers.is_empty()) else { return false };
    still.threads.iter().any(|stuck| match &stuck.why {
        Why::Condition(signals) => signals.last.is_some_and(|last| last.time >= since),
        Why::Semaphore(posts) => posts.last.is_some_and(|(time, ..)| time >= since),
        _ => false,
    })
}
