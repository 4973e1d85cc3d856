//! The queues from the threads of one stage to those of the next stage: one queue that all threads
//! share or, with a kind of queue that allows one thread on a side, one queue for each pair of
//! threads. The items are words.

use baton_machine::{Machine, Wait};
use baton_sync::queue::{QueueInfo, RawQueue, Side};
use baton_workloads::requests::unmade;
use baton_workloads::{Refused, Shared, share};
use std::sync::Arc;

/// The number of threads on each side of a link, and how items are dealt to the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) senders: u32,
    pub(crate) receivers: u32,
    /// Number of items that a sender gives to a queue before it goes on to the next queue.
    pub(crate) bulk: usize,
}

impl Shape {
    /// Whether each pair of threads has a queue of its own.
    pub(crate) fn apart(self, queue: &QueueInfo) -> bool {
        (queue.producers == Side::Single && self.senders > 1) || (queue.consumers == Side::Single && self.receivers > 1)
    }

    /// Number of items that each receiver gets of the items that the senders send.
    pub(crate) fn shares(self, queue: &QueueInfo, sent: &[u64]) -> Vec<u64> {
        let receivers = u64::from(self.receivers);
        if !self.apart(queue) {
            return even(sent.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)), self.receivers);
        }
        let (bulk, mut shares) = (self.bulk as u64, vec![0u64; self.receivers as usize]);
        for (sender, items) in (0..).zip(sent) {
            let (rounds, rest) = (items / (bulk * receivers), items % (bulk * receivers));
            for turn in 0..receivers {
                let more = rest.saturating_sub(turn * bulk).min(bulk);
                let share = &mut shares[((sender + turn) % receivers) as usize];
                *share = share.saturating_add(rounds * bulk + more);
            }
        }
        shares
    }
}

/// Shares `items` out among `threads`: the first threads get one more.
pub(crate) fn even(items: u64, threads: u32) -> Vec<u64> {
    let threads = u64::from(threads);
    (0..threads).map(|thread| items / threads + u64::from(thread < items % threads)).collect()
}

/// The queues of a link.
pub(crate) struct Link<M: Machine, Q: RawQueue<M, Item = u64>> {
    queues: Vec<Shared<M, Q>>,
    shape: Shape,
    apart: bool,
    wait: Wait,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Link<M, Q> {
    /// Empty queues with room for `capacity` items each.
    pub(crate) fn new(shape: Shape, capacity: usize, wait: Wait) -> Result<Arc<Self>, Refused> {
        let apart = shape.apart(&Q::INFO);
        let count = if apart { shape.senders * shape.receivers } else { 1 };
        let queue = |_| Q::with_capacity(capacity).map(share::<M, Q>);
        let queues = (0..count).map(queue).collect::<Result<_, _>>().map_err(|error| unmade(Q::INFO.name, error))?;
        Ok(Arc::new(Link { queues, shape, apart, wait }))
    }

    /// The end of sender `me`.
    pub(crate) fn sender(self: &Arc<Self>, me: u32) -> Sender<M, Q> {
        Sender { link: self.clone(), me, turn: me % self.shape.receivers, given: 0 }
    }

    /// The end of receiver `me`.
    pub(crate) fn receiver(self: &Arc<Self>, me: u32) -> Receiver<M, Q> {
        Receiver { link: self.clone(), me, turn: 0 }
    }

    /// Number of threads that receive.
    pub(crate) fn receivers(&self) -> u32 {
        self.shape.receivers
    }

    fn queue(&self, sender: u32, receiver: u32) -> &Q {
        let at = if self.apart { sender * self.shape.receivers + receiver } else { 0 };
        &self.queues[at as usize]
    }
}

/// The end of a sender.
pub(crate) struct Sender<M: Machine, Q: RawQueue<M, Item = u64>> {
    link: Arc<Link<M, Q>>,
    me: u32,
    /// The receiver whose turn it is, and how many items it was given in this turn.
    turn: u32,
    given: usize,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Sender<M, Q> {
    /// Sends all items; waits while there is no room.
    pub(crate) fn send(&mut self, mut items: &[u64]) {
        while !items.is_empty() {
            let (count, queue) = match self.link.apart {
                true => (items.len().min(self.link.shape.bulk - self.given), self.link.queue(self.me, self.turn)),
                false => (items.len(), self.link.queue(0, 0)),
            };
            let (now, later) = items.split_at(count);
            // SAFETY: where a queue allows one producer, this thread is the only one that enqueues.
            unsafe {
                match now {
                    [one] => queue.enqueue(*one, self.link.wait),
                    all => queue.enqueue_all(all, self.link.wait),
                }
            }
            items = later;
            self.given += count;
            if self.given >= self.link.shape.bulk {
                (self.turn, self.given) = ((self.turn + 1) % self.link.shape.receivers, 0);
            }
        }
    }
}

/// The end of a receiver.
pub(crate) struct Receiver<M: Machine, Q: RawQueue<M, Item = u64>> {
    link: Arc<Link<M, Q>>,
    me: u32,
    /// The sender whose queue the receiver looks at next.
    turn: u32,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Receiver<M, Q> {
    /// Fills `into` from the front; waits while there is no item. Returns the number of items that
    /// came. From a single queue, `into` is filled as a whole.
    pub(crate) fn receive(&mut self, into: &mut [u64]) -> usize {
        let wait = self.link.wait;
        if !self.link.apart || self.link.shape.senders == 1 {
            let queue = self.link.queue(0, self.me);
            // SAFETY: where a queue allows one consumer, this thread is the only one that dequeues.
            unsafe {
                match into {
                    [one] => *one = queue.dequeue(wait),
                    _ => queue.dequeue_all(into, wait),
                }
            }
            return into.len();
        }
        loop {
            for _ in 0..self.link.shape.senders {
                let queue = self.link.queue(self.turn, self.me);
                self.turn = (self.turn + 1) % self.link.shape.senders;
                let mut got = 0;
                while got < into.len() {
                    // SAFETY: as above.
                    let Some(item) = (unsafe { queue.try_dequeue(wait) }) else { break };
                    into[got] = item;
                    got += 1;
                }
                if got != 0 {
                    return got;
                }
            }
            M::relax();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;
    use baton_sync::queue::mpmc::Mpmc;
    use baton_sync::queue::spsc::Spsc;

    /// Sends `sent[i]` items from each sender `i` and returns what each receiver gets, one sender
    /// after the other.
    fn through<Q: RawQueue<Native, Item = u64>>(shape: Shape, sent: &[u64]) -> Vec<Vec<u64>> {
        let link = Link::<Native, Q>::new(shape, 64, Wait::Pause).unwrap();
        for (me, items) in (0..).zip(sent) {
            let all: Vec<u64> = (0..*items).map(|item| u64::from(me) << 32 | item).collect();
            let mut sender = link.sender(me);
            all.chunks(2).for_each(|some| sender.send(some));
        }
        let receive = |(me, share): (u32, u64)| {
            let (mut receiver, mut out) = (link.receiver(me), Vec::new());
            while (out.len() as u64) < share {
                let mut some = vec![0; shape.bulk.min((share - out.len() as u64) as usize)];
                let got = receiver.receive(&mut some);
                out.extend_from_slice(&some[..got]);
            }
            out
        };
        (0..).zip(shape.shares(&Q::INFO, sent)).map(receive).collect()
    }

    #[test]
    fn shares_are_what_comes_on_any_kind_of_link() {
        for (senders, receivers, bulk) in [(1, 1, 1), (1, 3, 4), (3, 1, 4), (2, 3, 5), (3, 2, 1)] {
            let shape = Shape { senders, receivers, bulk };
            for items in [[0, 7, 3], [16, 1, 0], [11, 13, 20]] {
                let sent = &items[..senders as usize];
                for got in [through::<Mpmc<Native, u64>>(shape, sent), through::<Spsc<Native, u64>>(shape, sent)] {
                    let mut all: Vec<u64> = got.into_iter().flatten().collect();
                    all.sort_unstable();
                    let expected = (0..).zip(sent).flat_map(|(me, items)| (0..*items).map(move |item| me << 32 | item));
                    assert_eq!(all, expected.collect::<Vec<u64>>(), "{shape:?} {sent:?}");
                }
            }
        }
    }

    #[test]
    fn a_link_of_queues_for_one_thread_a_side_has_one_for_each_pair() {
        let shape = |senders, receivers| Shape { senders, receivers, bulk: 1 };
        let (single, multi) =
            (&<Spsc<Native, u64> as RawQueue<Native>>::INFO, &<Mpmc<Native, u64> as RawQueue<Native>>::INFO);
        assert!(!shape(1, 1).apart(single) && shape(2, 1).apart(single) && shape(1, 2).apart(single));
        assert!(!shape(4, 4).apart(multi));
        assert_eq!(even(7, 3), [3, 2, 2]);
    }
}
