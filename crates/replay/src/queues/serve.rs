//! The library's queues on the simulated chip, with the source code that programs use: the queue
//! itself, and the channel at whose ends threads sleep. Items have no content.

use super::{QueueKind, Service};
use baton_chip::Simulated;
use baton_machine::{Owned, Wait};
use baton_sync::queue::channel::Channel;
use baton_sync::queue::mpmc::ExactMpmc;
use baton_sync::queue::qmd::Qmd;
use baton_sync::queue::ring::ExactRing;
use baton_sync::queue::ring_single::ExactRingSingle;
use baton_sync::queue::segments::Segments;
use baton_sync::queue::spsc::ExactSpsc;
use baton_sync::queue::{ExactQueue, QueueError, RawQueue};

/// A queue of any kind.
pub(crate) trait Serves {
    /// Puts items in, waiting while there is no room.
    ///
    /// # Safety
    /// If the kind is for one producer, all calls come from one guest.
    unsafe fn put(&self, items: u32, wait: Wait);
    /// Takes items out, waiting while there are none.
    ///
    /// # Safety
    /// If the kind is for one consumer, all calls come from one guest.
    unsafe fn take(&self, items: u32, wait: Wait);
}

/// Most items that a call moves at once.
const AT_ONCE: usize = 256;

/// Splits a number of items into calls.
fn calls(items: u32, mut call: impl FnMut(usize) -> usize) {
    let mut left = items as usize;
    while left > 0 {
        left -= call(left.min(AT_ONCE));
    }
}

impl<Q: ExactQueue<Simulated, Item = u64>> Serves for Owned<Simulated, Channel<Simulated, Q>> {
    unsafe fn put(&self, items: u32, wait: Wait) {
        if items == 1 {
            // SAFETY: guaranteed by the caller.
            let sent = unsafe { self.send(0, wait, None) };
            return assert!(sent.is_ok(), "no call closes a queue of a replay");
        }
        // SAFETY: guaranteed by the caller.
        calls(items, |count| unsafe { self.send_some(&[0; AT_ONCE][..count], wait) });
    }

    unsafe fn take(&self, items: u32, wait: Wait) {
        if items == 1 {
            // SAFETY: guaranteed by the caller.
            let received = unsafe { self.receive(wait, None) };
            return assert!(received.is_ok(), "no call closes a queue of a replay");
        }
        // SAFETY: guaranteed by the caller.
        calls(items, |count| unsafe { self.receive_some(&mut [0; AT_ONCE][..count], wait) });
    }
}

/// A queue in the device, whose waits are the device's own.
struct InDevice(Qmd<Simulated, u64>);

impl Serves for InDevice {
    unsafe fn put(&self, items: u32, wait: Wait) {
        calls(items, |count| {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.enqueue_all(&[0; AT_ONCE][..count], wait) };
            count
        });
    }

    unsafe fn take(&self, items: u32, wait: Wait) {
        calls(items, |count| {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.dequeue_all(&mut [0; AT_ONCE][..count], wait) };
            count
        });
    }
}

fn channel<Q: ExactQueue<Simulated, Item = u64>>(capacity: u32) -> Result<Box<dyn Serves>, QueueError> {
    let queue = Q::exactly(capacity as usize).map_err(|_| QueueError::Capacity(capacity as usize))?;
    Ok(over(queue))
}

fn over<Q: ExactQueue<Simulated, Item = u64>>(queue: Q) -> Box<dyn Serves> {
    Box::new(Owned::<Simulated, _>::new(Channel::<Simulated, Q>::new(queue)))
}

/// Makes the queue of a kind. Without a capacity it has no bound, for which only segments will do.
///
/// # Errors
/// Fails if the kind cannot have the capacity, or if the device has no room.
pub(crate) fn make(kind: QueueKind, capacity: Option<u32>) -> Result<Box<dyn Serves>, QueueError> {
    let bound = capacity.unwrap_or(0);
    match (kind, capacity) {
        (QueueKind::Segments, None) => Ok(over(Segments::<Simulated, u64, 32>::unbounded())),
        (QueueKind::Segments, _) => channel::<Segments<Simulated, u64, 32>>(bound),
        (QueueKind::Spsc, _) => channel::<ExactSpsc<Simulated, u64>>(bound),
        (QueueKind::Ring, _) => channel::<ExactRing<Simulated, u64>>(bound),
        (QueueKind::RingSingle, _) => channel::<ExactRingSingle<Simulated, u64>>(bound),
        (QueueKind::Mpmc, _) => channel::<ExactMpmc<Simulated, u64>>(bound),
        (QueueKind::Qmd, _) => Ok(Box::new(InDevice(Qmd::with_capacity(bound as usize)?))),
    }
}

impl Service {
    /// Returns how many items fit into the queue that stands in the place of one for `recorded` items.
    /// The device takes powers of two: the next larger one.
    pub(crate) fn bound(&self, recorded: Option<u32>) -> Option<u32> {
        let bound = self.capacity.or(recorded);
        if self.kind == QueueKind::Qmd { bound.map(u32::next_power_of_two) } else { bound }
    }
}
