//! The queue for a program that does not know its machine: uses a queue device that has room, and
//! the ring otherwise.

use super::qmd::Qmd;
use super::ring::{Many, Ring, Threads};
use super::{Counted, QueueError, QueueInfo, RawQueue, Side};
use baton_machine::{Machine, Wait, Word};

/// A queue that was chosen when it was created.
pub enum Auto<M: Machine, T: Word> {
    /// A queue in a device.
    Qmd(Qmd<M, T>),
    /// A queue in memory.
    Ring(Ring<M, T>),
}

/// Calls a method of the chosen queue.
macro_rules! taken {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Auto::Qmd($queue) => $call,
            Auto::Ring($queue) => $call,
        }
    };
}

// SAFETY: either variant is a queue for any number of threads.
unsafe impl<M: Machine, T: Word> RawQueue<M> for Auto<M, T> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "auto",
        what: "`qmd` where the machine has a queue device with room when the queue is made, else `ring`; says which it took",
        source: "-",
        limits: "as the queue that it took; items of up to eight bytes",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: false,
        device: false,
        // On the native machine `auto` is the ring, and costs the instructions of two more calls:
        // the ring's own functions are inlined into their callers.
        counted: Counted { instructions: 103.0, ..Many::INFO.counted },
        counted_bulk: Many::INFO.counted_bulk,
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        match Qmd::with_capacity(capacity) {
            Ok(queue) => Ok(Auto::Qmd(queue)),
            Err(QueueError::NoDevice | QueueError::NoRoom(_)) => Ring::with_capacity(capacity).map(Auto::Ring),
            Err(bad) => Err(bad),
        }
    }

    fn aged(capacity: usize) -> Result<Self, QueueError> {
        match Self::with_capacity(capacity)? {
            Auto::Ring(_) => Ring::aged(capacity).map(Auto::Ring),
            in_device => Ok(in_device),
        }
    }

    fn took(&self) -> &'static str {
        taken!(self, queue => queue.took())
    }

    fn capacity(&self) -> usize {
        taken!(self, queue => queue.capacity())
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        // SAFETY: guaranteed by the caller, here and in the methods below.
        taken!(self, queue => unsafe { queue.try_enqueue(item, wait) })
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        // SAFETY: see above.
        taken!(self, queue => unsafe { queue.try_dequeue(wait) })
    }

    unsafe fn enqueue(&self, item: T, wait: Wait) {
        // SAFETY: see above.
        taken!(self, queue => unsafe { queue.enqueue(item, wait) });
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        // SAFETY: see above.
        taken!(self, queue => unsafe { queue.dequeue(wait) })
    }

    unsafe fn enqueue_all(&self, items: &[T], wait: Wait) {
        // SAFETY: see above.
        taken!(self, queue => unsafe { queue.enqueue_all(items, wait) });
    }

    unsafe fn dequeue_all(&self, items: &mut [T], wait: Wait) {
        // SAFETY: see above.
        taken!(self, queue => unsafe { queue.dequeue_all(items, wait) });
    }
}
