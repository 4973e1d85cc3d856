//! What a thread does for others, and what others tell it.

use crate::event::{FutexEnd, WakeReason, What};
use crate::stream::Stream;

/// Whether the event moves items of a queue of the library. What goes through a pipe or an eventfd may be a word
/// or a tick, and says nothing about the thread's end.
pub(super) fn moves_items(what: &What) -> bool {
    matches!(*what, What::Put { queue, .. } | What::Take { queue, .. } if !Stream::is_kernels(queue))
}

/// Whether a thread does something for others with this act, or gets something from them, other than
/// by locks.
pub(super) fn serves(what: &What) -> bool {
    match what {
        What::CondSignal { .. }
        | What::CondBroadcast { .. }
        | What::CondWake { reason: WakeReason::Woken, .. }
        | What::BarrierArrive { .. }
        | What::SemPost { .. }
        | What::SemTake { .. }
        | What::SemTaken { .. }
        | What::Put { .. }
        | What::Take { .. }
        | What::QueueClose { .. }
        | What::FutexWake { .. }
        | What::FutexWaitEnd { end: FutexEnd::Woken, .. }
        | What::Fork { .. }
        | What::TaskCreate { .. }
        | What::Create { .. } => true,
        What::Called { call, .. } => call.file.is_some(),
        _ => false,
    }
}

/// The object at which a thread ends other threads' waits with this act.
pub(super) fn tells(what: &What) -> Option<u64> {
    match *what {
        What::CondSignal { condition, .. } | What::CondBroadcast { condition, .. } => Some(condition),
        What::SemPost { semaphore, .. } => Some(semaphore),
        What::FutexWake { futex, .. } => Some(futex),
        _ => None,
    }
}

/// The object at which a thread tells others something with this act, whether they wait there or not.
pub(super) fn says(what: &What) -> Option<u64> {
    match *what {
        What::BarrierArrive { barrier, .. } => Some(barrier),
        What::Put { queue, .. } => Some(queue),
        _ => tells(what),
    }
}

/// The object at which the thread hears with this act what another one said there.
pub(super) fn hears(what: &What) -> Option<u64> {
    match *what {
        What::BarrierLeave { barrier, .. } => Some(barrier),
        What::Take { queue, .. } => Some(queue),
        What::SemTake { semaphore, .. } => Some(semaphore),
        _ => is_told(what),
    }
}

/// The object at which the thread's wait has ended because another thread told it so.
pub(super) fn is_told(what: &What) -> Option<u64> {
    match *what {
        What::CondWake { condition, reason: WakeReason::Woken } => Some(condition),
        What::SemTaken { semaphore, .. } => Some(semaphore),
        What::FutexWaitEnd { futex, end: FutexEnd::Woken } => Some(futex),
        _ => None,
    }
}
