//! Queues with a sender's and a receiver's end.

use super::policy::{Adaptive, WaitPolicy, after};
use super::tasks::News;
use crate::event::chain::Chain;
use crate::queue::channel::{Bell, Channel, NotReceived, NotSent};
use crate::queue::{
    BadBound, ExactQueue, News as Told, RawQueue, mpmc::ExactMpmc, segments::Segments, spsc::ExactSpsc, watched,
};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Deadline, Native, Wait};
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

/// The queue, which the profiler sees with the feature `record`.
#[cfg(not(feature = "record"))]
pub(super) type Seen<Q> = Q;
#[cfg(feature = "record")]
pub(super) type Seen<Q> = super::record::Recorded<Q>;

#[cfg(not(feature = "record"))]
pub(super) fn seen<Q>(queue: Q) -> Seen<Q> {
    queue
}
#[cfg(feature = "record")]
pub(super) fn seen<Q>(queue: Q) -> Seen<Q> {
    Seen::by(queue)
}

/// How many senders and receivers a queue has, and so which algorithm it is. Only this module has
/// kinds, because an algorithm for one sender is unsound with several.
pub trait Kind: sealed::Sealed + 'static {
    /// The queue for items of type `T`.
    type Queue<T: Send + 'static>: ExactQueue<Native, Item = T>;
    /// By what the users of the queue are told that it has changed.
    type Bell: Bell<Native>;
    /// Whether the queue keeps its high-water mark.
    const MARKED: bool = false;

    /// Creates an empty queue for exactly `capacity` items.
    #[doc(hidden)]
    fn make<T: Send + 'static>(capacity: usize) -> Result<Self::Queue<T>, BadBound> {
        Self::Queue::exactly(capacity)
    }
}

/// A kind of queue whose sender can be cloned.
pub trait ManySenders: Kind {}
/// A kind of queue whose receiver can be cloned.
pub trait ManyReceivers: Kind {}
/// A kind of queue whose only sender can build items in their places.
pub trait OneSender: Kind {}
/// A kind of queue whose only receiver can look at items in their places.
pub trait OneReceiver: Kind {}
/// A kind of queue that needs no bound.
pub trait Boundless: Kind {
    /// Creates an empty queue without a bound.
    #[doc(hidden)]
    fn boundless<T: Send + 'static>() -> Self::Queue<T>;
}

/// A queue of kind `K` for which tasks can wait ([`Receiver::receive_async`]), threads that wait for
/// several queues ([`wait_any`](super::wait_any)), and epoll ([`Receiver::descriptor`]); it keeps its
/// high-water mark. Each send and receive then costs a load more.
#[derive(Clone, Copy, Debug)]
pub struct Watched<K>(PhantomData<K>);
impl<K: Kind> sealed::Sealed for Watched<K> {}
impl<K: Kind> Kind for Watched<K> {
    type Queue<T: Send + 'static> = K::Queue<T>;
    type Bell = watched::Watched<Native, News>;
    const MARKED: bool = true;

    fn make<T: Send + 'static>(capacity: usize) -> Result<K::Queue<T>, BadBound> {
        K::make(capacity)
    }
}
impl<K: ManySenders> ManySenders for Watched<K> {}
impl<K: ManyReceivers> ManyReceivers for Watched<K> {}
impl<K: OneSender> OneSender for Watched<K> {}
impl<K: OneReceiver> OneReceiver for Watched<K> {}
impl<K: Boundless> Boundless for Watched<K> {
    fn boundless<T: Send + 'static>() -> K::Queue<T> {
        K::boundless()
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $queue:ident: $($may:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}
        impl sealed::Sealed for $kind {}
        impl Kind for $kind {
            type Queue<T: Send + 'static> = Seen<$queue<Native, T>>;
            type Bell = Chain<Native>;
        }
        $(impl $may for $kind {})*
    )*};
}

kinds! {
    /// One sender and one receiver, by [`spsc`](crate::queue::spsc).
    OneToOne ExactSpsc: OneSender OneReceiver;
    /// One sender and any number of receivers, by [`mpmc`](crate::queue::mpmc).
    OneToMany ExactMpmc: OneSender ManyReceivers;
    /// Any number of senders and one receiver, by [`mpmc`](crate::queue::mpmc).
    ManyToOne ExactMpmc: ManySenders OneReceiver;
    /// Any number of senders and receivers, by [`mpmc`](crate::queue::mpmc).
    ManyToMany ExactMpmc: ManySenders ManyReceivers;
}

/// Any number of senders and receivers, by [`segments`](crate::queue::segments) of 32 places: the memory
/// follows the number of items, and the queue needs no bound.
#[derive(Clone, Copy, Debug)]
pub enum Segmented {}
impl sealed::Sealed for Segmented {}
impl Kind for Segmented {
    type Queue<T: Send + 'static> = Seen<Segments<Native, T, 32>>;
    type Bell = Chain<Native>;
}
impl ManySenders for Segmented {}
impl ManyReceivers for Segmented {}
impl Boundless for Segmented {
    fn boundless<T: Send + 'static>() -> Self::Queue<T> {
        seen(Segments::unbounded())
    }
}

pub(super) struct Shared<T: Send + 'static, K: Kind> {
    pub(super) channel: Channel<Native, K::Queue<T>, K::Bell>,
    /// Highest length that a sender saw after its send, if the kind keeps it.
    pub(super) most: NativeAtomic<usize>,
    senders: NativeAtomic<usize>,
    receivers: NativeAtomic<usize>,
    /// Whether a thread drops the items that no receiver can get any more: [`NOBODY`], [`ONE`] or [`AGAIN`].
    discards: NativeAtomic<u32>,
}

/// No thread drops items.
const NOBODY: u32 = 0;
/// A thread drops items.
const ONE: u32 = 1;
/// A thread drops items, and has to look once more.
const AGAIN: u32 = 2;

impl<T: Send + 'static, K: Kind> Shared<T, K> {
    /// Drops the items of a queue without receivers, as an item may be what another thread waits
    /// for: the sender of an answer, say. A sender whose item went in after the last receiver had
    /// gone calls this too.
    #[cold]
    fn discard(&self) {
        // AcqRel, and so the exchanges below: the thread that drops items sees the item that this
        // thread has sent, or this thread drops it itself.
        if self.discards.swap(AGAIN, AcqRel) != NOBODY {
            return;
        }
        loop {
            self.discards.swap(ONE, AcqRel);
            // SAFETY: there is no receiver, and only one thread at a time comes here.
            while let Some(item) = unsafe { self.channel.queue().try_dequeue(Wait::Pause) } {
                drop(item);
            }
            if self.discards.compare_exchange(ONE, NOBODY, AcqRel, Acquire).is_ok() {
                return;
            }
        }
    }

    /// Raises the high-water mark to the length that the queue has now.
    fn mark(&self) {
        let length = self.channel.queue().len();
        // Relaxed for both: the mark orders nothing.
        let mut most = self.most.load(Relaxed);
        while length > most
            && let Err(now) = self.most.compare_exchange(most, length, Relaxed, Relaxed)
        {
            most = now;
        }
    }

    /// Drops the items if no receiver is left; for a thread that has sent one.
    #[inline]
    pub(super) fn sent(&self) {
        if K::MARKED {
            self.mark();
        }
        if self.channel.is_closed() && self.receivers.load(Acquire) == 0 {
            self.discard();
        }
    }
}

/// The end of a queue into which items go. When the last sender is dropped, the queue is closed.
///
/// A sender's calls take `&mut self`, so that one thread at a time uses it. Threads that share a
/// queue have a clone each, which only a kind with [`ManySenders`] has:
///
/// ```compile_fail,E0599
/// let (sender, receiver) = baton_sync::queue_of::<u32, baton_sync::OneToOne>(4).unwrap();
/// let another = sender.clone();
/// ```
pub struct Sender<T: Send + 'static, K: Kind = ManyToMany, W: WaitPolicy = Adaptive> {
    pub(super) shared: Arc<Shared<T, K>>,
    wait: PhantomData<fn() -> W>,
}

/// The end of a queue from which items come, in the order in which they went in. When the last
/// receiver is dropped, the queue is closed, the items in it are dropped, and later sends return their
/// items.
pub struct Receiver<T: Send + 'static, K: Kind = ManyToMany, W: WaitPolicy = Adaptive> {
    pub(super) shared: Arc<Shared<T, K>>,
    wait: PhantomData<fn() -> W>,
}

/// Both ends of a queue.
pub type Ends<T, K = ManyToMany, W = Adaptive> = (Sender<T, K, W>, Receiver<T, K, W>);

/// Makes a queue for exactly `capacity` items, whose threads wait by [`Adaptive`].
///
/// ```
/// use baton_sync::{ManyToOne, queue_of};
///
/// let (mut results, mut all) = queue_of::<u64, ManyToOne>(100).unwrap();
/// std::thread::scope(|s| {
///     for n in 1..=4 {
///         let mut results = results.clone();
///         s.spawn(move || results.send(n * n).unwrap());
///     }
///     drop(results);
///     assert_eq!(all.by_ref().sum::<u64>(), 30);
/// });
/// ```
///
/// # Errors
/// Fails if the capacity is 0 or more than 2^30.
pub fn queue_of<T: Send + 'static, K: Kind>(capacity: usize) -> Result<Ends<T, K>, BadBound> {
    queue_with(capacity)
}

/// [`queue_of`] with another wait policy.
///
/// # Errors
/// Fails if the capacity is 0 or more than 2^30.
pub fn queue_with<T: Send + 'static, K: Kind, W: WaitPolicy>(capacity: usize) -> Result<Ends<T, K, W>, BadBound> {
    Ok(ends_of(K::make(capacity)?))
}

/// Makes a queue for any number of items, whose threads wait by [`Adaptive`]. A send fails only if the
/// queue is closed. A drained queue keeps the memory of 32 places.
///
/// ```
/// let (mut jobs, done) = baton_sync::unbounded::<u64>();
/// (0..100_000).for_each(|n| jobs.try_send(n).unwrap());
/// drop(jobs);
/// assert_eq!(done.count(), 100_000);
/// ```
pub fn unbounded<T: Send + 'static>() -> Ends<T, Segmented> {
    unbounded_with()
}

/// [`unbounded`] with another kind of queue or another wait policy.
pub fn unbounded_with<T: Send + 'static, K: Boundless, W: WaitPolicy>() -> Ends<T, K, W> {
    ends_of(K::boundless())
}

fn ends_of<T: Send + 'static, K: Kind, W: WaitPolicy>(queue: K::Queue<T>) -> Ends<T, K, W> {
    let shared = Arc::new(Shared {
        channel: Channel::new(queue),
        most: NativeAtomic::new(0),
        senders: NativeAtomic::new(1),
        receivers: NativeAtomic::new(1),
        discards: NativeAtomic::new(NOBODY),
    });
    ExactQueue::<Native>::hear(shared.channel.queue(), Told::Made);
    (Sender { shared: shared.clone(), wait: PhantomData }, Receiver { shared, wait: PhantomData })
}

macro_rules! ends {
    ($end:ident $count:ident $many:ident |$shared:pat_param| $last:expr) => {
        impl<T: Send + 'static, K: Kind, W: WaitPolicy> $end<T, K, W> {
            /// Closes the queue: no further item goes in. Receivers still get the items in it.
            /// Waiting senders and receivers return. A send that is under way in another thread may
            /// still succeed; its item is received by a later call, or dropped with the queue.
            pub fn close(&self) {
                self.shared.channel.close(W::WAIT);
            }

            /// Whether the queue is closed.
            pub fn is_closed(&self) -> bool {
                self.shared.channel.is_closed()
            }

            /// Returns the number of items in the queue. The number may be stale at once.
            pub fn len(&self) -> usize {
                self.shared.channel.queue().len()
            }

            /// Whether the queue has no item. The answer may be stale at once.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the number of items that the queue can hold; `usize::MAX` for a queue without a
            /// bound.
            pub fn capacity(&self) -> usize {
                self.shared.channel.queue().capacity()
            }
        }

        impl<T: Send + 'static, K: $many, W: WaitPolicy> Clone for $end<T, K, W> {
            fn clone(&self) -> Self {
                // Relaxed: the clone is made of an end that is counted.
                self.shared.$count.fetch_add(1, Relaxed);
                $end { shared: self.shared.clone(), wait: PhantomData }
            }
        }

        impl<T: Send + 'static, K: Kind, W: WaitPolicy> Drop for $end<T, K, W> {
            fn drop(&mut self) {
                // AcqRel: what all ends of this side did comes before the queue is closed.
                if self.shared.$count.fetch_add(usize::MAX, AcqRel) == 1 {
                    self.close();
                    let $shared = &*self.shared;
                    $last;
                }
            }
        }

        impl<T: Send + 'static, K: Kind, W: WaitPolicy> core::fmt::Debug for $end<T, K, W> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let (items, capacity) = (self.len(), self.capacity());
                f.debug_struct(stringify!($end)).field("items", &items).field("capacity", &capacity).finish()
            }
        }
    };
}

ends! { Sender senders ManySenders |_| {} }
ends! { Receiver receivers ManyReceivers |shared| shared.discard() }

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Sender<T, K, W> {
    /// Sends an item if there is room.
    ///
    /// # Errors
    /// Fails if the queue is full or closed; the item comes back.
    #[inline]
    pub fn try_send(&mut self, item: T) -> Result<(), NotSent<T>> {
        // SAFETY: a kind without `ManySenders` has one sender, which the caller has to itself.
        unsafe { self.shared.channel.try_send(item, W::WAIT) }?;
        self.shared.sent();
        Ok(())
    }

    /// Sends an item, waiting while the queue is full.
    ///
    /// # Errors
    /// Fails if the queue is closed; the item comes back.
    #[inline]
    pub fn send(&mut self, item: T) -> Result<(), NotSent<T>> {
        // SAFETY: as in `try_send`.
        unsafe { self.shared.channel.send(item, W::WAIT, None) }?;
        self.shared.sent();
        Ok(())
    }

    /// [`Sender::send`] until `deadline` at the latest.
    ///
    /// # Errors
    /// Fails if the queue is closed, or full until the deadline; the item comes back.
    pub fn send_until(&mut self, item: T, deadline: Deadline) -> Result<(), NotSent<T>> {
        // SAFETY: as in `try_send`.
        unsafe { self.shared.channel.send(item, W::WAIT, Some(deadline)) }?;
        self.shared.sent();
        Ok(())
    }

    /// [`Sender::send_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// As [`Sender::send_until`].
    pub fn send_for(&mut self, item: T, timeout: Duration) -> Result<(), NotSent<T>> {
        self.send_until(item, after(timeout))
    }

    /// Sends all items in order, as many at once as there is room for, and waits while there is
    /// none. Returns how many it sent: fewer than all only if the queue is closed.
    pub fn send_all(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut sent = 0;
        while sent < items.len() {
            // SAFETY: as in `try_send`.
            match unsafe { self.shared.channel.send_some(&items[sent..], W::WAIT) } {
                0 => break,
                some => sent += some,
            }
            self.shared.sent();
        }
        sent
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Receiver<T, K, W> {
    /// Receives an item if there is one.
    ///
    /// # Errors
    /// Fails if the queue is empty, and says whether it is closed too.
    #[inline]
    pub fn try_receive(&mut self) -> Result<T, NotReceived> {
        // SAFETY: a kind without `ManyReceivers` has one receiver, which the caller has to itself.
        unsafe { self.shared.channel.try_receive(W::WAIT) }
    }

    /// Receives an item, waiting while there is none.
    ///
    /// # Errors
    /// Fails if the queue is closed and empty.
    #[inline]
    pub fn receive(&mut self) -> Result<T, NotReceived> {
        // SAFETY: as in `try_receive`.
        unsafe { self.shared.channel.receive(W::WAIT, None) }
    }

    /// [`Receiver::receive`] until `deadline` at the latest.
    ///
    /// # Errors
    /// Fails if the queue is closed and empty, or empty until the deadline.
    pub fn receive_until(&mut self, deadline: Deadline) -> Result<T, NotReceived> {
        // SAFETY: as in `try_receive`.
        unsafe { self.shared.channel.receive(W::WAIT, Some(deadline)) }
    }

    /// [`Receiver::receive_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// As [`Receiver::receive_until`].
    pub fn receive_for(&mut self, timeout: Duration) -> Result<T, NotReceived> {
        self.receive_until(after(timeout))
    }

    /// Fills the beginning of `items` with as many items as there are, waiting while there is none.
    /// Returns how many; 0 only if the queue is closed and empty, or `items` is empty.
    pub fn receive_some(&mut self, items: &mut [T]) -> usize
    where
        T: Copy,
    {
        // SAFETY: as in `try_receive`.
        unsafe { self.shared.channel.receive_some(items, W::WAIT) }
    }
}

/// The items, until the queue is closed and empty.
impl<T: Send + 'static, K: Kind, W: WaitPolicy> Iterator for Receiver<T, K, W> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receive().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Park;
    use super::*;

    fn passes_on<K: Kind>(capacity: usize, senders: Vec<Sender<u64, K, Park>>, receivers: Vec<Receiver<u64, K, Park>>) {
        const EACH: u64 = 2_000;
        let count = senders.len() as u64;
        let sum: u64 = std::thread::scope(|s| {
            for (from, mut sender) in (0..).zip(senders) {
                s.spawn(move || (0..EACH).for_each(|n| sender.send(from * EACH + n).unwrap()));
            }
            let receive = |receiver: Receiver<u64, K, Park>| {
                assert_eq!(receiver.capacity(), capacity);
                s.spawn(move || receiver.inspect(|n| assert!(*n < count * EACH)).sum::<u64>())
            };
            let receivers: Vec<_> = receivers.into_iter().map(receive).collect();
            receivers.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sum, (count * EACH) * (count * EACH - 1) / 2);
    }

    #[test]
    fn items_pass_between_any_ends_and_the_last_sender_closes() {
        for capacity in [1, 3, 64] {
            let (sender, receiver) = queue_with::<u64, OneToOne, Park>(capacity).unwrap();
            passes_on(capacity, vec![sender], vec![receiver]);
            let (sender, receiver) = queue_with::<u64, ManyToOne, Park>(capacity).unwrap();
            passes_on(capacity, vec![sender.clone(), sender], vec![receiver]);
            let (sender, receiver) = queue_with::<u64, ManyToMany, Park>(capacity).unwrap();
            passes_on(capacity, vec![sender.clone(), sender], vec![receiver.clone(), receiver]);
        }
    }

    #[test]
    fn an_item_that_is_not_sent_comes_back_and_each_is_dropped_once() {
        let item = Arc::new(());
        let (mut sender, mut receiver) = queue_of::<Arc<()>, OneToOne>(3).unwrap();
        (0..3).for_each(|_| sender.try_send(item.clone()).unwrap());
        let back = sender.try_send(item.clone()).unwrap_err();
        assert_eq!(back, NotSent::Full(item.clone()));
        drop(back);
        let soon = Duration::from_millis(1);
        assert_eq!(sender.send_for(item.clone(), soon), Err(NotSent::Expired(item.clone())));
        assert!(receiver.receive().is_ok() && sender.len() == 2);
        receiver.close();
        assert_eq!(sender.send(item.clone()).unwrap_err().to_string(), "the queue is closed");
        assert!(receiver.try_receive().is_ok());
        assert_eq!(Arc::strong_count(&item), 2);
        drop(receiver);
        drop(sender);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    /// The item is the sender of an answer: its receiver must not wait for ever.
    #[test]
    fn what_nobody_can_receive_any_more_is_dropped() {
        type Asks = Sender<u32, OneToOne>;
        let (mut asks, asked) = queue_of::<Asks, OneToOne>(4).unwrap();
        let (answers, mut answer) = queue_of::<u32, OneToOne>(1).unwrap();
        asks.send(answers).unwrap();
        drop(asked);
        assert_eq!(answer.receive_for(Duration::from_secs(60)), Err(NotReceived::Closed));
    }

    /// The same where receiver and senders end at the same time.
    #[test]
    fn no_item_outlives_the_last_receiver() {
        let item = Arc::new(());
        for lap in 0..200 {
            let (sender, receiver) = queue_of::<Arc<()>, ManyToOne>(2).unwrap();
            let kept = sender.clone();
            std::thread::scope(|s| {
                for mut sender in [sender.clone(), sender] {
                    let item = item.clone();
                    s.spawn(move || while sender.try_send(item.clone()).is_ok() {});
                }
                (0..lap).for_each(|_| <Native as baton_machine::Machine>::relax());
                drop(receiver);
            });
            assert_eq!((Arc::strong_count(&item), kept.len()), (1, 0), "lap {lap}");
        }
    }

    #[test]
    fn slices_pass_in_parts() {
        let (mut sender, mut receiver) = queue_of::<u8, OneToOne>(5).unwrap();
        let items: Vec<u8> = (0..200).collect();
        let mut all = Vec::new();
        std::thread::scope(|s| {
            s.spawn(|| {
                assert_eq!(sender.send_all(&items), 200);
                sender.close();
                assert_eq!(sender.send_all(&items), 0);
            });
            let mut some = [0; 7];
            loop {
                match receiver.receive_some(&mut some) {
                    0 => break,
                    count => all.extend_from_slice(&some[..count]),
                }
            }
        });
        assert_eq!(all, items);
        let ended = receiver.receive_for(Duration::from_millis(1));
        assert_eq!(ended.unwrap_err(), NotReceived::Closed);
        assert_eq!(queue_of::<u8, OneToOne>(0).err(), Some(BadBound(0)));
    }
}
