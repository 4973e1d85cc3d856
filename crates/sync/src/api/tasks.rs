//! Sends and receives of tasks, for any executor.

use super::policy::WaitPolicy;
use super::queue::{Kind, Receiver, Sender, Watched};
use super::ready::{Eventfd, Parked};
use crate::queue::channel::{NotReceived, NotSent};
use crate::queue::watched::{Alarm, Ticket, Ways};
use baton_machine::Atomic;
use baton_machine::Ordering::Relaxed;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

/// A task, thread or descriptor that is told when a queue has changed.
#[derive(Clone)]
pub enum News {
    /// A task.
    #[doc(hidden)]
    Task(Waker),
    /// A thread that waits for several queues.
    #[doc(hidden)]
    Thread(Arc<Parked>),
    /// A descriptor.
    #[doc(hidden)]
    Descriptor(Arc<Eventfd>),
}

impl Alarm for News {
    // See `Parked::wake`.
    #[inline]
    fn ring(&self) {
        match self {
            News::Task(waker) => waker.wake_by_ref(),
            News::Thread(parked) => parked.wake(),
            News::Descriptor(descriptor) => descriptor.ring(),
        }
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Sender<T, Watched<K>, W> {
    /// Sends an item from a task, which waits while the queue is full.
    ///
    /// A future that is dropped before it is done has sent nothing, drops its item, and loses no
    /// notification. [`Sending::into_item`] returns the item instead.
    pub fn send_async(&mut self, item: T) -> Sending<'_, T, K, W> {
        Sending { sender: self, item: Some(item), ticket: Ticket::default() }
    }

    /// Returns the greatest number of items that a sender has found in the queue after its send.
    pub fn high_water(&self) -> usize {
        self.shared.most.load(Relaxed)
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Receiver<T, Watched<K>, W> {
    /// Receives an item in a task, which waits while the queue is empty. A future that is dropped has
    /// taken no item, and loses no notification.
    ///
    /// ```
    /// use baton_sync::{OneToOne, Watched, queue_of};
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake}, thread::Thread};
    /// # struct Unpark(Thread);
    /// # impl Wake for Unpark {
    /// #     fn wake(self: Arc<Self>) { self.0.unpark() }
    /// # }
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let (mut future, waker) = (pin!(future), Arc::new(Unpark(std::thread::current())).into());
    /// #     loop {
    /// #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    /// #             Poll::Ready(done) => return done,
    /// #             Poll::Pending => std::thread::park(),
    /// #         }
    /// #     }
    /// # }
    ///
    /// let (mut sender, mut receiver) = queue_of::<u32, Watched<OneToOne>>(1).unwrap();
    /// let thread = std::thread::spawn(move || (0..10).for_each(|n| sender.send(n).unwrap()));
    /// let sum = block_on(async {
    ///     let mut sum = 0;
    ///     while let Ok(n) = receiver.receive_async().await {
    ///         sum += n;
    ///     }
    ///     sum
    /// });
    /// thread.join().unwrap();
    /// assert_eq!(sum, 45);
    /// ```
    pub fn receive_async(&mut self) -> Receiving<'_, T, K, W> {
        Receiving { receiver: self, ticket: Ticket::default() }
    }

    /// Returns the greatest number of items that a sender has found in the queue after its send.
    pub fn high_water(&self) -> usize {
        self.shared.most.load(Relaxed)
    }
}

/// The future of [`Sender::send_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct Sending<'a, T: Send + 'static, K: Kind, W: WaitPolicy> {
    sender: &'a mut Sender<T, Watched<K>, W>,
    item: Option<T>,
    ticket: Ticket,
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Sending<'_, T, K, W> {
    /// Gives up the send. Returns the item if it was not sent.
    pub fn into_item(mut self) -> Option<T> {
        self.item.take()
    }
}

// Nothing in the future is pinned: the item only passes through.
impl<T: Send + 'static, K: Kind, W: WaitPolicy> Unpin for Sending<'_, T, K, W> {}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Future for Sending<'_, T, K, W> {
    type Output = Result<(), NotSent<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Sending { sender, item, ticket } = self.get_mut();
        let alarm = || News::Task(context.waker().clone());
        // SAFETY: a kind without `ManySenders` has one sender, which the future has to itself.
        match unsafe { sender.shared.channel.poll_send(item, ticket, alarm, W::WAIT) } {
            Some(Ok(())) => {
                sender.shared.sent();
                Poll::Ready(Ok(()))
            }
            Some(failed) => Poll::Ready(failed),
            None => Poll::Pending,
        }
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Drop for Sending<'_, T, K, W> {
    fn drop(&mut self) {
        self.sender.shared.channel.leave(Ways::Senders, &mut self.ticket, W::WAIT);
    }
}

/// The future of [`Receiver::receive_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct Receiving<'a, T: Send + 'static, K: Kind, W: WaitPolicy> {
    receiver: &'a mut Receiver<T, Watched<K>, W>,
    ticket: Ticket,
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Future for Receiving<'_, T, K, W> {
    type Output = Result<T, NotReceived>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Receiving { receiver, ticket } = self.get_mut();
        let alarm = || News::Task(context.waker().clone());
        // SAFETY: a kind without `ManyReceivers` has one receiver, which the future has to itself.
        match unsafe { receiver.shared.channel.poll_receive(ticket, alarm, W::WAIT) } {
            Some(done) => Poll::Ready(done),
            None => Poll::Pending,
        }
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Drop for Receiving<'_, T, K, W> {
    fn drop(&mut self) {
        self.receiver.shared.channel.leave(Ways::Receivers, &mut self.ticket, W::WAIT);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_types, reason = "the tests stand outside of the algorithms")]

    use super::super::policy::Park;
    use super::super::queue::{
        Ends, ManyReceivers, ManySenders, ManyToMany, OneToOne, Segmented, queue_of, queue_with, unbounded_with,
    };
    use super::*;
    use core::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread::Thread;

    /// Counts its wake-ups.
    #[derive(Default)]
    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Counts {
        fn poll<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
            Pin::new(future).poll(&mut Context::from_waker(&self.clone().into()))
        }

        fn woken(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        let (mut future, waker) = (pin!(future), Arc::new(Unpark(std::thread::current())).into());
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(done) => return done,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn a_dropped_receive_passes_its_notification_on_and_takes_no_item() {
        let (mut sender, mut first) = queue_of::<u32, Watched<ManyToMany>>(4).unwrap();
        let mut second = first.clone();
        let counts = [(); 2].map(|()| Arc::new(Counts::default()));
        let (mut leaves, mut stays) = (first.receive_async(), second.receive_async());
        assert!(counts[0].poll(&mut leaves).is_pending() && counts[1].poll(&mut stays).is_pending());
        sender.send(7).unwrap();
        assert_eq!((counts[0].woken(), counts[1].woken()), (1, 0), "the task that has waited longest is told");
        drop(leaves);
        assert_eq!((counts[0].woken(), counts[1].woken()), (1, 1), "its notification goes to the other task");
        assert_eq!(counts[1].poll(&mut stays), Poll::Ready(Ok(7)));
        drop(stays);
        // Nothing is left that could be told.
        sender.send(8).unwrap();
        assert_eq!((counts[0].woken(), counts[1].woken(), first.try_receive()), (1, 1, Ok(8)));
    }

    #[test]
    fn a_dropped_send_keeps_the_queue_as_it_is_and_passes_its_notification_on() {
        let (mut first, mut receiver) = queue_of::<Arc<()>, Watched<ManyToMany>>(1).unwrap();
        let (mut second, item) = (first.clone(), Arc::new(()));
        first.try_send(item.clone()).unwrap();
        let counts = [(); 2].map(|()| Arc::new(Counts::default()));
        let (mut leaves, mut stays) = (first.send_async(item.clone()), second.send_async(item.clone()));
        assert!(counts[0].poll(&mut leaves).is_pending() && counts[1].poll(&mut stays).is_pending());
        assert!(receiver.try_receive().is_ok());
        assert_eq!((counts[0].woken(), counts[1].woken()), (1, 0));
        assert!(leaves.into_item().is_some_and(|back| Arc::ptr_eq(&back, &item)));
        assert_eq!(counts[1].woken(), 1);
        assert_eq!(counts[1].poll(&mut stays), Poll::Ready(Ok(())));
        drop(stays);
        assert_eq!((receiver.len(), receiver.high_water(), Arc::strong_count(&item)), (1, 1, 2));
    }

    #[test]
    fn closing_ends_the_waits_of_tasks() {
        let (mut sender, mut receiver) = queue_of::<u32, Watched<OneToOne>>(1).unwrap();
        let counts = Arc::new(Counts::default());
        let mut receive = receiver.receive_async();
        assert!(counts.poll(&mut receive).is_pending());
        sender.send(1).unwrap();
        let mut send = sender.send_async(2);
        assert!(counts.poll(&mut send).is_pending());
        assert_eq!(counts.poll(&mut receive), Poll::Ready(Ok(1)));
        drop(receive);
        receiver.close();
        assert_eq!(counts.poll(&mut send), Poll::Ready(Err(NotSent::Closed(2))));
        drop(send);
        assert_eq!(block_on(receiver.receive_async()), Err(NotReceived::Closed));
    }

    /// Tasks and threads on both sides of one queue.
    fn mixed<K: ManySenders + ManyReceivers>((sender, receiver): Ends<u64, Watched<K>, Park>) -> (u64, usize) {
        const EACH: u64 = 1_000;
        let look = receiver.clone();
        let sum = std::thread::scope(|s| {
            let (mut first, mut second) = (sender.clone(), sender);
            let senders = [
                s.spawn(move || (0..EACH).for_each(|n| first.send(n).unwrap())),
                s.spawn(move || {
                    block_on(async {
                        for n in 0..EACH {
                            second.send_async(n).await.unwrap();
                        }
                    });
                }),
            ];
            let (mut task, thread) = (receiver.clone(), receiver);
            let task = s.spawn(move || {
                block_on(async {
                    let mut sum = 0;
                    while let Ok(n) = task.receive_async().await {
                        sum += n;
                    }
                    sum
                })
            });
            let thread = s.spawn(move || thread.sum::<u64>());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            look.close();
            task.join().unwrap() + thread.join().unwrap()
        });
        assert_eq!(sum, EACH * (EACH - 1));
        (sum, look.high_water())
    }

    #[test]
    fn tasks_and_threads_share_a_queue() {
        assert_eq!(mixed(queue_with::<u64, Watched<ManyToMany>, Park>(1).unwrap()).1, 1);
        assert!((1..=3).contains(&mixed(queue_with::<u64, Watched<Segmented>, Park>(3).unwrap()).1));
        mixed(unbounded_with::<u64, Watched<Segmented>, Park>());
    }
}
