//! A queue that can be closed, whose users sleep until there is an item or room, or until a
//! deadline. It adds to a queue two events and a flag. A send that need not wait costs a fence and
//! two loads more than the queue's own, a receive a fence and one load.

use super::{ExactQueue, News};
use crate::event::chain::Chain;
use crate::event::{Ended, RawEvent};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait};

/// The policy with which the queue itself is called. A queue has no waits of its own here, but for
/// those of a ring's threads for their turn, for which the ring has another policy.
pub(super) const QUIET: Wait = Wait::Pause;

/// Why an item was not taken in. The item comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NotSent<T> {
    /// There is no room.
    Full(T),
    /// The channel is closed.
    Closed(T),
    /// There was no room before the deadline.
    Expired(T),
}

impl<T> NotSent<T> {
    /// Returns the item.
    pub fn into_item(self) -> T {
        match self {
            NotSent::Full(item) | NotSent::Closed(item) | NotSent::Expired(item) => item,
        }
    }
}

impl<T> core::fmt::Display for NotSent<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            NotSent::Full(_) => "the queue is full",
            NotSent::Closed(_) => "the queue is closed",
            NotSent::Expired(_) => "the queue had no room before the deadline",
        })
    }
}

/// Without the item, so that `unwrap` takes items of every type.
impl<T> core::fmt::Debug for NotSent<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            NotSent::Full(_) => "Full(..)",
            NotSent::Closed(_) => "Closed(..)",
            NotSent::Expired(_) => "Expired(..)",
        })
    }
}

impl<T> std::error::Error for NotSent<T> {}

/// Why there is no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReceived {
    /// There is none now. (In a closed channel: a sender has claimed the first place and has not put
    /// its item there yet.)
    #[error("the queue is empty")]
    Empty,
    /// The channel is closed, and all items that were sent before have been received.
    #[error("the queue is closed and empty")]
    Closed,
    /// There was none before the deadline.
    #[error("the queue had no item before the deadline")]
    Expired,
}

/// A value alone in its pair of cache lines.
#[repr(C, align(128))]
struct Alone<T>(T);

/// By what the users of a channel wait for one of its sides: threads alone ([`Chain`]), or tasks and
/// descriptors too ([`Watched`](super::watched::Watched)).
pub trait Bell<M: Machine>: Send + Sync + 'static {
    /// Creates a bell without waiters.
    fn silent() -> Self;

    /// Returns the event at which threads wait.
    fn threads(&self) -> &Chain<M>;

    /// Tells up to `most` of those that wait, of each kind.
    fn ring(&self, most: usize, wait: Wait);

    /// [`ring`](Bell::ring) after a change that was an atomic read-modify-write.
    fn ring_after_exchange(&self, most: usize, wait: Wait);
}

impl<M: Machine> Bell<M> for Chain<M> {
    fn silent() -> Self {
        Chain::new()
    }

    #[inline(always)]
    fn threads(&self) -> &Chain<M> {
        self
    }

    #[inline(always)]
    fn ring(&self, most: usize, wait: Wait) {
        self.notify(most, wait);
    }

    #[inline(always)]
    fn ring_after_exchange(&self, most: usize, wait: Wait) {
        self.notify_after_exchange(most, wait);
    }
}

/// A queue with what its users need to wait for each other.
pub struct Channel<M: Machine, Q, B = Chain<M>> {
    queue: Q,
    /// Consumers that wait for an item.
    items: Alone<B>,
    /// Producers that wait for room.
    room: Alone<B>,
    /// 1 when the channel is closed.
    closed: Alone<M::Atomic<u32>>,
}

impl<M: Machine, Q: ExactQueue<M>, B: Bell<M>> Channel<M, Q, B> {
    /// Makes an open channel of an empty queue.
    pub fn new(queue: Q) -> Self {
        let closed = Alone(M::Atomic::new(0));
        Channel { queue, items: Alone(B::silent()), room: Alone(B::silent()), closed }
    }

    /// Returns the queue.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Tells up to `most` waiters of a side that the queue has changed.
    #[inline(always)]
    fn tell(&self, side: &Alone<B>, most: usize, wait: Wait) {
        if Q::EXCHANGES {
            side.0.ring_after_exchange(most, wait);
        } else {
            side.0.ring(most, wait);
        }
    }

    /// Whether another sender that waits has something to look at: room.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.queue.capacity()
    }

    /// The bell of the receivers, and whether one of them has something to look at.
    pub(super) fn receivers(&self) -> (&B, bool) {
        (&self.items.0, self.has_news())
    }

    /// The bell of the senders, and whether one of them has something to look at.
    pub(super) fn senders(&self) -> (&B, bool) {
        (&self.room.0, self.has_room() || self.is_closed())
    }

    /// Whether the channel is closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire: items that were sent before the channel was closed are seen.
        self.closed.0.load(Acquire) != 0
    }

    /// Closes the channel: no further item is taken in. Receivers get the items that are in it, and
    /// then return, as do waiting senders. A send that is under way may still succeed; its item is
    /// received by a later call, or dropped with the queue.
    pub fn close(&self, wait: Wait) {
        self.queue.hear(News::Closes);
        // Release: pairs with the load in `is_closed`.
        self.closed.0.store(1, Release);
        self.items.0.ring(usize::MAX, wait);
        self.room.0.ring(usize::MAX, wait);
    }

    /// Sends an item if there is room.
    ///
    /// # Errors
    /// Fails if the channel is full or closed; the item comes back.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_enqueue`](super::RawQueue::try_enqueue) hold.
    #[inline]
    pub unsafe fn try_send(&self, item: Q::Item, wait: Wait) -> Result<(), NotSent<Q::Item>> {
        // Relaxed: a thread that closes the channel does not wait for sends under way.
        if self.closed.0.load(Relaxed) != 0 {
            return Err(NotSent::Closed(item));
        }
        // SAFETY: guaranteed by the caller.
        match unsafe { self.queue.try_enqueue(item, QUIET) } {
            Ok(()) => {
                self.tell(&self.items, 1, wait);
                Ok(())
            }
            Err(item) => Err(NotSent::Full(item)),
        }
    }

    /// Receives an item if there is one.
    ///
    /// # Errors
    /// Fails if the channel is empty, and says whether it is closed too.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_dequeue`](super::RawQueue::try_dequeue) hold.
    #[inline]
    pub unsafe fn try_receive(&self, wait: Wait) -> Result<Q::Item, NotReceived> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.queue.try_dequeue(QUIET) } {
            Some(item) => {
                self.tell(&self.room, 1, wait);
                Ok(item)
            }
            // SAFETY: guaranteed by the caller.
            None => unsafe { self.receive_last(wait) },
        }
    }

    /// Looks once more if the channel is closed: an item may have come before.
    ///
    /// # Safety
    /// As [`try_receive`](Channel::try_receive).
    #[cold]
    unsafe fn receive_last(&self, wait: Wait) -> Result<Q::Item, NotReceived> {
        if !self.is_closed() {
            return Err(NotReceived::Empty);
        }
        // SAFETY: guaranteed by the caller.
        let item = unsafe { self.queue.try_dequeue(QUIET) }.ok_or_else(|| self.nothing())?;
        self.tell(&self.room, 1, wait);
        Ok(item)
    }

    /// Why the closed channel has no item to give. Items that were sent before may lie behind a
    /// place that a sender has claimed and not filled yet; that sender then notifies a receiver.
    fn nothing(&self) -> NotReceived {
        if self.queue.is_empty() { NotReceived::Closed } else { NotReceived::Empty }
    }

    /// Whether another receiver that waits has something to look at: an item, or, in a closed
    /// channel, that there is none any more.
    pub(super) fn has_news(&self) -> bool {
        !self.queue.is_empty() || self.is_closed()
    }

    /// Sends an item, waiting while there is no room.
    ///
    /// # Errors
    /// Fails if the channel is closed or the deadline passes first; the item comes back.
    ///
    /// # Safety
    /// As [`try_send`](Channel::try_send).
    #[inline]
    pub unsafe fn send(&self, item: Q::Item, wait: Wait, deadline: Option<Deadline>) -> Result<(), NotSent<Q::Item>> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.try_send(item, wait) } {
            Err(NotSent::Full(item)) => {
                let mut left = Some(item);
                // SAFETY: guaranteed by the caller.
                let mut again = || match unsafe { self.try_send(left.take()?, wait) } {
                    Ok(()) => Some(Ok(())),
                    Err(NotSent::Full(item)) => {
                        left = Some(item);
                        None
                    }
                    Err(closed) => Some(Err(closed)),
                };
                let sent = self.wait_for_room(wait, deadline, &mut again);
                sent.unwrap_or_else(|| match left {
                    Some(item) => Err(NotSent::Expired(item)),
                    None => Ok(()),
                })
            }
            done => done,
        }
    }

    /// Receives an item, waiting while there is none.
    ///
    /// # Errors
    /// Fails if the channel is closed and empty, or if the deadline passes first.
    ///
    /// # Safety
    /// As [`try_receive`](Channel::try_receive).
    #[inline]
    pub unsafe fn receive(&self, wait: Wait, deadline: Option<Deadline>) -> Result<Q::Item, NotReceived> {
        // SAFETY: guaranteed by the caller.
        let mut again = || match unsafe { self.try_receive(wait) } {
            Err(NotReceived::Empty) => None,
            done => Some(done),
        };
        match again() {
            Some(done) => done,
            None => self.wait_for_item(wait, deadline, &mut again).unwrap_or(Err(NotReceived::Expired)),
        }
    }

    /// Sends the first of `items`, as many as there is room for, waiting while there is none.
    /// Returns how many; 0 if the channel is closed.
    ///
    /// # Safety
    /// As [`try_send`](Channel::try_send).
    pub unsafe fn send_some(&self, items: &[Q::Item], wait: Wait) -> usize
    where
        Q::Item: Copy,
    {
        let mut again = || {
            // Relaxed: as in `try_send`.
            if items.is_empty() || self.closed.0.load(Relaxed) != 0 {
                return Some(0);
            }
            // SAFETY: guaranteed by the caller.
            let count = unsafe { self.queue.put_some(items, QUIET) };
            self.tell(&self.items, count, wait);
            (count != 0).then_some(count)
        };
        again().or_else(|| self.wait_for_room(wait, None, &mut again)).unwrap_or(0)
    }

    /// Fills the beginning of `items` with as many items as there are, waiting while there is none.
    /// Returns how many; 0 if the channel is closed and empty.
    ///
    /// # Safety
    /// As [`try_receive`](Channel::try_receive).
    pub unsafe fn receive_some(&self, items: &mut [Q::Item], wait: Wait) -> usize
    where
        Q::Item: Copy,
    {
        let mut again = || {
            if items.is_empty() {
                return Some(0);
            }
            // Read first: items that were sent before the channel was closed are then found.
            let closed = self.is_closed();
            // SAFETY: guaranteed by the caller.
            let count = unsafe { self.queue.take_some(items, QUIET) };
            self.tell(&self.room, count, wait);
            (count != 0 || closed && self.queue.is_empty()).then_some(count)
        };
        again().or_else(|| self.wait_for_item(wait, None, &mut again)).unwrap_or(0)
    }

    /// [`until`] there is room.
    #[inline(always)]
    fn wait_for_room<R>(
        &self,
        wait: Wait,
        deadline: Option<Deadline>,
        again: &mut dyn FnMut() -> Option<R>,
    ) -> Option<R> {
        self.queue.hear(News::WaitsForRoom);
        let done = until(&self.room.0, wait, deadline, again, &|| self.has_room());
        self.queue.hear(News::GoesOn);
        done
    }

    /// [`until`] there is an item.
    #[inline(always)]
    fn wait_for_item<R>(
        &self,
        wait: Wait,
        deadline: Option<Deadline>,
        again: &mut dyn FnMut() -> Option<R>,
    ) -> Option<R> {
        self.queue.hear(News::WaitsForItem);
        let done = until(&self.items.0, wait, deadline, again, &|| self.has_news());
        self.queue.hear(News::GoesOn);
        done
    }
}

/// Calls `again` until it returns something, and sleeps in `event` in between. Then wakes another
/// waiter if there is `more` for it. Returns `None` if the deadline passed first.
///
/// A notification can come for an item (or room) that cannot be had yet, as it lies behind one that
/// another thread is about to hand over. The waiter then sleeps again, and the thread that gets the
/// one in front must pass the notification on.
#[cold]
pub(super) fn until<M: Machine, B: Bell<M>, R>(
    bell: &B,
    wait: Wait,
    deadline: Option<Deadline>,
    again: &mut dyn FnMut() -> Option<R>,
    more: &dyn Fn() -> bool,
) -> Option<R> {
    let event = bell.threads();
    loop {
        let waiter = event.prepare(wait);
        // A notification counts from here on. What came before it is found now.
        let found = again();
        let ended = if found.is_some() {
            Ended::Notified
        } else {
            // SAFETY: this thread prepared the waiter, and retires it below.
            unsafe { event.sleep(waiter, wait, deadline) }
        };
        // SAFETY: this thread prepared the waiter, and retires it once.
        let notified = unsafe { event.retire(waiter, wait) };
        // A notification that came after something was found was for something else.
        let passes_on = found.is_some() && notified;
        if let Some(done) = found.or_else(&mut *again) {
            if passes_on || more() {
                bell.ring(1, wait);
            }
            return Some(done);
        }
        if ended == Ended::Expired && !notified {
            return None;
        }
    }
}
