//! The threads that serve requests, and the lock that they wait for and that is in use longest.

use super::figures::{nanos, places};
use crate::model::{BusiestLock, Lock, RequestPart, Serving, ratio};
use baton_trace::analysis::requests::{InUse, Requests as Found, in_use};
use baton_trace::analysis::{Analysis, Known, ObjectId, ThreadOffCpu, Window, ran};
use baton_trace::{ThreadIndex, Ticks, Trace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A thread that runs for at least this share of the time can hardly serve more.
const BUSY: f64 = 0.9;
/// A lock may limit requests if at least this share of their time goes to waits for it.
const WAITED_FOR: f64 = 0.05;
/// A lock for which requests wait less than this share of their time is not told.
const HARDLY: f64 = 0.01;

/// The time that all threads ran inside the window, and the threads that read or answered requests. A
/// thread counts as busy only if it had a request in hand for half of the window: others may poll for
/// requests without a pause.
pub(super) fn serving(trace: &Trace, off_cpu: &[ThreadOffCpu], found: &Found, window: &Window) -> (Ticks, Serving) {
    let ran = ran(trace, off_cpu, window);
    let share = |thread: &ThreadIndex| ratio(ran.get(thread.index()).map_or(0, |time| time.0), window.length().0);
    let is_known = |thread: &ThreadIndex| off_cpu.get(thread.index()).is_some_and(|off| off.known == Known::All);
    let threads: BTreeSet<ThreadIndex> =
        found.all.iter().flat_map(|request| [request.thread, request.answered_by]).collect();
    let has_work = |thread: &ThreadIndex| in_hand(trace, found, *thread).0 * 2 >= window.length().0;
    let busy: BTreeSet<ThreadIndex> = threads
        .iter()
        .copied()
        .filter(|thread| is_known(thread) && share(thread) >= BUSY && has_work(thread))
        .collect();
    let by_busy = found.all.iter().filter(|one| busy.contains(&one.thread) || busy.contains(&one.answered_by));
    let serving = Serving {
        threads: threads.len() as u32,
        busy: busy.len() as u32,
        busy_share: busy.iter().map(share).fold(0.0, |all, one| all + one) / busy.len().max(1) as f64,
        of_busy: ratio(by_busy.count() as u64, found.all.len() as u64),
    };
    (ran.into_iter().sum(), serving)
}

/// The time in which a thread had a request that it had read, or was to answer.
fn in_hand(trace: &Trace, found: &Found, thread: ThreadIndex) -> Ticks {
    let own = found.all.iter().filter(|one| one.thread == thread || one.answered_by == thread);
    let spans: Vec<(Ticks, Ticks)> = own.map(|one| (one.begin, one.end)).collect();
    Window::between(trace, &spans).length()
}

/// The lock that is in use longest among those that `count` requests, which consist of `parts`, wait
/// for. A lock may limit the requests if enough of their time goes to waits for it; or, since other
/// threads may do the work of requests, if one of them waits for it in half of the window, at least
/// once for every twenty requests. A futex counts only if it serves as a lock and requests wait for it
/// themselves.
pub(super) fn busiest(
    trace: &Trace,
    analysis: &Analysis,
    locks: &[Lock],
    parts: &[RequestPart],
    count: u64,
    window: &Window,
) -> Option<BusiestLock> {
    let (lock_numbers, waitables) =
        (places(analysis.locks.iter().map(|one| one.id)), places(analysis.waitables.iter().map(|one| one.id)));
    let share = |of: &dyn Fn(&RequestPart) -> bool| parts.iter().find(|part| of(part)).map_or(0.0, |part| part.share);
    let half = window.length().0 / 2;
    let limits = |(id, used): (&ObjectId, &InUse)| {
        let in_use_ns = nanos(&trace.clock, used.time);
        if let Some(&number) = lock_numbers.get(id) {
            let class = locks.get(number as usize)?.class;
            let shared_out = used.awaited.0 >= half && used.waits.saturating_mul(20) >= count;
            let share = share(&|part| part.class == Some(class));
            let limits = share >= WAITED_FOR || shared_out;
            return (used.waits > 0 && (limits || share >= HARDLY)).then_some(BusiestLock {
                lock: Some(number),
                waitable: None,
                in_use_ns,
                limits,
            });
        }
        let number = *waitables.get(id)?;
        let share = share(&|part| {
            part.waitable == Some(number) && (part.kind == "libc-lock" || part.kind == "futex" && used.is_lock())
        });
        let limits = share >= WAITED_FOR;
        (share >= HARDLY).then_some(BusiestLock { lock: None, waitable: Some(number), in_use_ns, limits })
    };
    let used: BTreeMap<ObjectId, InUse> = in_use(trace, window);
    let told = used.iter().filter_map(limits);
    told.max_by_key(|one| (one.limits, one.in_use_ns, Reverse((one.lock, one.waitable))))
}
