//! What is told of a background thread, and what the user says of threads in `meta.json`.

use crate::clock::Ticks;
use crate::event::{SiteId, ThreadIndex};
use crate::trace::Trace;

/// A background thread, and the join or the end of the process that it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// The background thread.
    pub thread: ThreadIndex,
    /// The thread that waited for its end, or that ended the process.
    pub joiner: ThreadIndex,
    /// When the joiner began to wait, or told the thread to end, by a signal, a wake or a post that ended
    /// the thread's last wait; if it joined several peers one after the other, when it began to wait for
    /// the first of them. If the thread had ended by then, the joiner's last act before that end, or the
    /// begin of a join of another background thread. If the thread lived until the process ended, the
    /// time of that.
    pub came: Ticks,
    /// When the background thread ended.
    pub ended: Ticks,
    /// Whether a thread waited for its end.
    pub joined: bool,
    /// The place to which the background thread comes once in each turn of its loop; `None` if no
    /// place is known.
    pub turns_at: Option<LoopPoint>,
}

/// A place in the code to which a thread's loop comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopPoint {
    /// A release of the only lock that the thread held.
    Release(SiteId),
    /// A call for input, output or sleep, with no lock held.
    Blocked(SiteId),
    /// A wait at a condition variable, a futex or a semaphore that its deadline ended, with no other lock
    /// held. The place is that of the wait.
    TimedOut(SiteId),
}

/// The names in `meta.json`'s `ends` that no thread of the trace has.
pub fn unknown_names(trace: &Trace) -> Vec<String> {
    let Some(ends) = trace.meta.as_ref().map(|meta| &meta.ends) else { return Vec::new() };
    let threads = || (0..trace.threads.len() as u32).map(ThreadIndex);
    let known = |said: &&String| threads().any(|thread| is_named(std::slice::from_ref(*said), trace, thread));
    ends.background.iter().chain(&ends.until).filter(|said| !known(said)).cloned().collect()
}

/// Whether a list has the thread's name or number.
pub(super) fn is_named(list: &[String], trace: &Trace, thread: ThreadIndex) -> bool {
    let name = trace.thread(thread).and_then(|thread| thread.name.as_deref());
    list.iter().any(|said| Some(said.as_str()) == name || said.parse() == Ok(thread.0))
}

/// Whether a thread is among the background threads, which are in the order of their numbers.
pub fn is_background(background: &[Background], thread: ThreadIndex) -> bool {
    background.binary_search_by_key(&thread, |one| one.thread).is_ok()
}
