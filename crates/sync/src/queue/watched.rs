//! What tasks, descriptors and threads that wait for several queues are told by: a list of alarms
//! beside the event at which threads sleep.
//!
//! A **task** (a future) leaves an alarm that rings once. It is a waiter like a thread: each
//! notification rings one task, and a task that was rung for an item and does not take it must pass the
//! notification on ([`Ticket`]). A **watcher** (a descriptor, a thread that waits for several queues)
//! leaves an alarm that each notification rings. It takes no notification away from the waiters.
//!
//! A notification tells a thread and a task, if both wait: the one that finds nothing waits again.

use super::ExactQueue;
use super::channel::{Bell, Channel, NotReceived, NotSent};
use crate::event::RawEvent;
use crate::event::chain::Chain;
use crate::lock::RawLock;
use crate::lock::plain::Plain;
use baton_machine::Ordering::{Relaxed, SeqCst};
use baton_machine::{Atomic, Machine, Slot, Wait};
use std::collections::VecDeque;

/// What to do when a queue has news. It may be rung although there is none.
pub trait Alarm: Clone + Send + 'static {
    /// Tells the task or the watcher. The call must not wait, and may use the queue.
    fn ring(&self);
}

/// The number of an alarm in its list.
type Number = u64;

/// Alarms, by the order in which they came.
struct List<A> {
    next: Number,
    tasks: VecDeque<(Number, A)>,
    watchers: Vec<(Number, A)>,
}

/// A list of alarms.
pub struct Alarms<M: Machine, A: 'static> {
    /// Number of alarms in the list: a notification looks at the list only if it is not 0.
    count: M::Atomic<u32>,
    lock: Plain<M>,
    list: M::Slot<List<A>>,
}

// SAFETY: the list is accessed only under the lock, and hands alarms from thread to thread, which are
// `Send`.
unsafe impl<M: Machine, A: Send + 'static> Sync for Alarms<M, A> {}
// SAFETY: as above.
unsafe impl<M: Machine, A: Send + 'static> Send for Alarms<M, A> {}

impl<M: Machine, A: Alarm> Alarms<M, A> {
    fn new() -> Self {
        let list = List { next: 0, tasks: VecDeque::new(), watchers: Vec::new() };
        Alarms { count: M::Atomic::new(0), lock: Plain::new(), list: M::Slot::new(list) }
    }

    /// Calls `f` with the list, and notes how many alarms it then has. `f` must not run code of an alarm:
    /// that may use the list.
    fn with<R>(&self, wait: Wait, f: impl FnOnce(&mut List<A>) -> R) -> R {
        self.lock.lock(wait);
        // SAFETY: the lock excludes other threads.
        let result = unsafe {
            self.list.write(|list| {
                let list = &mut *list;
                let result = f(list);
                // Relaxed: fences order it.
                self.count.store((list.tasks.len() + list.watchers.len()) as u32, Relaxed);
                result
            })
        };
        // SAFETY: the lock was taken above.
        unsafe { self.lock.unlock((), wait) };
        result
    }

    /// Adds an alarm. What the queue has when this returns, and got before, is not rung for.
    fn add(&self, alarm: A, task: bool, wait: Wait) -> Number {
        let number = self.with(wait, |list| {
            let number = list.next;
            list.next += 1;
            if task {
                list.tasks.push_back((number, alarm));
            } else {
                list.watchers.push((number, alarm));
            }
            number
        });
        // SeqCst: pairs with the fence before `ring`.
        M::fence(SeqCst);
        number
    }

    /// Removes an alarm. Returns false if it is a task's that was rung.
    fn remove(&self, number: Number, wait: Wait) -> bool {
        let removed = self.with(wait, |list| {
            if let Some(at) = list.tasks.iter().position(|(other, _)| *other == number) {
                return list.tasks.remove(at);
            }
            let at = list.watchers.iter().position(|(other, _)| *other == number)?;
            Some(list.watchers.remove(at))
        });
        // The alarm is dropped here, not under the lock.
        removed.is_some()
    }

    /// Rings up to `most` tasks, oldest first, and all watchers. The caller has notified the threads.
    #[inline]
    fn ring(&self, most: usize, wait: Wait) {
        // Relaxed: the notification of the threads, which came before, begins with a SeqCst fence. So either
        // this thread sees the alarm, or the one that has added it sees, after its own fence, the change
        // that came before the notification.
        if self.count.load(Relaxed) != 0 {
            self.ring_some(most, wait);
        }
    }

    #[cold]
    fn ring_some(&self, most: usize, wait: Wait) {
        let alarms = self.with(wait, |list| {
            let tasks = most.min(list.tasks.len());
            let mut alarms: Vec<A> = list.tasks.drain(..tasks).map(|(_, alarm)| alarm).collect();
            alarms.extend(list.watchers.iter().map(|(_, alarm)| alarm.clone()));
            alarms
        });
        alarms.iter().for_each(Alarm::ring);
    }
}

/// A bell for threads, tasks and watchers.
pub struct Watched<M: Machine, A: 'static> {
    threads: Chain<M>,
    alarms: Alarms<M, A>,
}

impl<M: Machine, A: Alarm> Bell<M> for Watched<M, A> {
    fn silent() -> Self {
        Watched { threads: Chain::new(), alarms: Alarms::new() }
    }

    fn threads(&self) -> &Chain<M> {
        &self.threads
    }

    #[inline]
    fn ring(&self, most: usize, wait: Wait) {
        self.threads.notify(most, wait);
        self.alarms.ring(most, wait);
    }

    #[inline]
    fn ring_after_exchange(&self, most: usize, wait: Wait) {
        self.threads.notify_after_exchange(most, wait);
        self.alarms.ring(most, wait);
    }
}

/// A task's place among the waiters, which it keeps from poll to poll. A task that is dropped calls
/// [`Channel::leave`] with it.
#[derive(Debug, Default)]
pub struct Ticket(Option<Number>);

/// One of the two sides of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// The side that waits for an item.
    Receivers,
    /// The side that waits for room.
    Senders,
}

impl<M: Machine, A: Alarm, Q: ExactQueue<M>> Channel<M, Q, Watched<M, A>> {
    fn way(&self, way: Ways) -> (&Watched<M, A>, bool) {
        match way {
            Ways::Receivers => self.receivers(),
            Ways::Senders => self.senders(),
        }
    }

    /// Whether a waiter of a side has something to look at: an item or room, or a closed channel.
    pub fn is_ready(&self, way: Ways) -> bool {
        self.way(way).1
    }

    /// Adds a watcher, which is rung whenever the side may have become ready, from now on.
    pub fn watch(&self, way: Ways, alarm: A, wait: Wait) -> u64 {
        self.way(way).0.alarms.add(alarm, false, wait)
    }

    /// Removes a watcher. It may be rung for a last time while this call runs.
    pub fn unwatch(&self, way: Ways, number: u64, wait: Wait) {
        self.way(way).0.alarms.remove(number, wait);
    }

    /// A poll of a task: calls `again` until it returns something, or until `alarm` is in the list.
    fn poll<R>(
        &self,
        way: Ways,
        ticket: &mut Ticket,
        alarm: impl FnOnce() -> A,
        wait: Wait,
        mut again: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let alarms = &self.way(way).0.alarms;
        let waited = match ticket.0.take() {
            // An alarm that was rung has done its work: this call looks at the queue.
            Some(number) => {
                alarms.remove(number, wait);
                true
            }
            None => false,
        };
        if let Some(done) = again() {
            // There may be more than this task was told of; a thread that has waited looks as well.
            if waited {
                self.pass_on(way, false, wait);
            }
            return Some(done);
        }
        let number = alarms.add(alarm(), true, wait);
        // A notification counts from here on. What came before it is found now.
        match again() {
            Some(done) => {
                // A notification that came after something was found was for something else.
                let rung = !alarms.remove(number, wait);
                self.pass_on(way, rung, wait);
                Some(done)
            }
            None => {
                ticket.0 = Some(number);
                None
            }
        }
    }

    /// Tells another waiter, if this one was told of something that it leaves, or if there is more.
    fn pass_on(&self, way: Ways, told: bool, wait: Wait) {
        let (bell, more) = self.way(way);
        if told || more {
            bell.ring(1, wait);
        }
    }

    /// Gives up a ticket. A notification that its task got and did not use goes to another waiter.
    pub fn leave(&self, way: Ways, ticket: &mut Ticket, wait: Wait) {
        if let Some(number) = ticket.0.take()
            && !self.way(way).0.alarms.remove(number, wait)
        {
            self.way(way).0.ring(1, wait);
        }
    }

    /// Receives an item for a task. Returns `None` if there is none yet: then the alarm, of which
    /// `ticket` is kept, rings when the task should poll again.
    ///
    /// # Safety
    /// As [`Channel::try_receive`].
    pub unsafe fn poll_receive(
        &self,
        ticket: &mut Ticket,
        alarm: impl FnOnce() -> A,
        wait: Wait,
    ) -> Option<Result<Q::Item, NotReceived>> {
        // SAFETY: guaranteed by the caller.
        self.poll(Ways::Receivers, ticket, alarm, wait, || match unsafe { self.try_receive(wait) } {
            Err(NotReceived::Empty) => None,
            done => Some(done),
        })
    }

    /// Sends the item in `item` for a task, and leaves `None` there. Returns `None` if there is no room
    /// yet, as [`poll_receive`](Channel::poll_receive) does.
    ///
    /// # Safety
    /// As [`Channel::try_send`].
    pub unsafe fn poll_send(
        &self,
        item: &mut Option<Q::Item>,
        ticket: &mut Ticket,
        alarm: impl FnOnce() -> A,
        wait: Wait,
    ) -> Option<Result<(), NotSent<Q::Item>>> {
        self.poll(Ways::Senders, ticket, alarm, wait, || {
            let Some(taken) = item.take() else { return Some(Ok(())) };
            // SAFETY: guaranteed by the caller.
            match unsafe { self.try_send(taken, wait) } {
                Err(NotSent::Full(back)) => {
                    *item = Some(back);
                    None
                }
                done => Some(done),
            }
        })
    }
}
