//! Contracts of channels for which tasks and watchers wait. A guest that polls plays a task and its
//! executor.

use super::lock::Stage;
use crate::world::{Scenario, Shared, World, share};
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, Slot, Wait};
use baton_sync::queue::channel::{Channel, NotReceived};
use baton_sync::queue::watched::{Alarm, Ticket, Watched, Ways};
use baton_sync::queue::{ExactQueue, Side};

/// Tells a guest by a cell.
struct Bell<M: Machine> {
    rung: Shared<M, M::Atomic<u32>>,
    wait: Wait,
}

impl<M: Machine> Clone for Bell<M> {
    fn clone(&self) -> Self {
        Bell { rung: self.rung.clone(), wait: self.wait }
    }
}

impl<M: Machine> Alarm for Bell<M> {
    fn ring(&self) {
        self.rung.store(1, Ordering::Release);
        M::wake::<u32>(&**self.rung, u32::MAX, self.wait);
    }
}

impl<M: Machine> Bell<M> {
    fn new(wait: Wait) -> Self {
        Bell { rung: share(M::Atomic::new(0)), wait }
    }

    /// Sleeps until rung.
    fn hear(&self) {
        let _ = M::wait_while(&self.rung, 0, self.wait, None);
        self.rung.swap(0, Ordering::AcqRel);
    }
}

/// A channel, what its senders wrote beside it, and what was received.
struct Market<M: Machine, Q> {
    channel: Channel<M, Q, Watched<M, Bell<M>>>,
    notes: OwnedSlice<M, M::Slot<u64>>,
    received: OwnedSlice<M, M::Atomic<u64>>,
    /// Number of senders that have not ended.
    senders: M::Atomic<usize>,
    wait: Wait,
}

// SAFETY: a note is read by the guest that received its item, which is what is tested.
unsafe impl<M: Machine, Q: Sync> Sync for Market<M, Q> {}
// SAFETY: as above.
unsafe impl<M: Machine, Q: Send> Send for Market<M, Q> {}

impl<M: Machine, Q: ExactQueue<M, Item = u64>> Market<M, Q> {
    fn new(capacity: usize, senders: usize, items: usize, wait: Wait) -> Self {
        Market {
            channel: Channel::new(Q::exactly(capacity).expect("a capacity that is allowed")),
            notes: OwnedSlice::new(items, |_| M::Slot::new(0)),
            received: OwnedSlice::new(items, |_| M::Atomic::new(0)),
            senders: M::Atomic::new(senders),
            wait,
        }
    }

    /// Sends items as a task. The last sender closes the channel.
    fn send(&self, items: impl Iterator<Item = usize>) {
        let bell = Bell::new(self.wait);
        for item in items {
            // SAFETY: no guest reads the note before it has received the item.
            unsafe { self.notes[item].write(|note| *note = item as u64 + 7) };
            let (mut item, mut ticket) = (Some(item as u64), Ticket::default());
            loop {
                // SAFETY: no more guests send than the queue allows.
                match unsafe { self.channel.poll_send(&mut item, &mut ticket, || bell.clone(), self.wait) } {
                    Some(sent) => break assert_eq!(sent, Ok(()), "an open channel refuses an item"),
                    None => bell.hear(),
                }
            }
        }
        if self.senders.fetch_add(usize::MAX, Ordering::AcqRel) == 1 {
            self.channel.close(self.wait);
        }
    }

    /// Receives an item as a task, or returns why there is none.
    fn receive(&self, bell: &Bell<M>) -> Result<u64, NotReceived> {
        let mut ticket = Ticket::default();
        loop {
            // SAFETY: no more guests receive than the queue allows.
            match unsafe { self.channel.poll_receive(&mut ticket, || bell.clone(), self.wait) } {
                Some(done) => return done.inspect(|item| self.take(*item)),
                None => bell.hear(),
            }
        }
    }

    fn receive_all(&self) {
        let bell = Bell::new(self.wait);
        while self.receive(&bell).is_ok() {}
    }

    fn take(&self, item: u64) {
        // SAFETY: the item was received, so its note was written before.
        assert_eq!(unsafe { self.notes[item as usize].read(|note| *note) }, item + 7, "the item came before its note");
        self.received[item as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn assert_complete(&self) {
        assert!(self.received.iter().all(|times| times.load(Ordering::Relaxed) == 1), "items lost or doubled");
    }
}

/// Tasks send and receive: each item is received once, at a queue that is full most of the time.
pub fn tasks<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    let rounds = W::few().rounds;
    for &wait in W::WAITS {
        W::skim(move || {
            let market = share::<W::M, _>(Market::<W::M, Q>::new(1, 1, rounds, wait));
            let (sends, receives, all) = (market.clone(), market.clone(), market);
            Scenario::new()
                .guest(move || sends.send(0..rounds))
                .guest(move || receives.receive_all())
                .finally(move || all.assert_complete())
        });
    }
}

/// A task gives up, perhaps after it was told: another task, or a thread, then gets the item that is
/// sent, and waits for nothing else.
pub fn giving_up<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    if Q::INFO.consumers == Side::Single {
        return;
    }
    for &wait in W::WAITS {
        for thread in [false, true] {
            W::skim(move || {
                let market = share::<W::M, _>(Market::<W::M, Q>::new(2, 2, 1, wait));
                let (sends, leaves, stays, all) = (market.clone(), market.clone(), market.clone(), market);
                Scenario::new()
                    .guest(move || {
                        // The channel stays open: only the item ends a wait.
                        sends.send(0..1);
                    })
                    .guest(move || {
                        let (bell, mut ticket) = (Bell::new(wait), Ticket::default());
                        // SAFETY: the queue takes several receivers.
                        match unsafe { leaves.channel.poll_receive(&mut ticket, || bell.clone(), wait) } {
                            Some(found) => {
                                leaves.take(found.expect("the channel is open"));
                                leaves.channel.close(wait);
                            }
                            None => leaves.channel.leave(Ways::Receivers, &mut ticket, wait),
                        }
                    })
                    .guest(move || {
                        let found = if thread {
                            // SAFETY: as above.
                            unsafe { stays.channel.receive(wait, None) }.inspect(|item| stays.take(*item))
                        } else {
                            stays.receive(&Bell::new(wait))
                        };
                        assert!(found != Err(NotReceived::Empty), "a wait ended without a reason");
                    })
                    .finally(move || all.assert_complete())
            });
        }
    }
}

/// A watcher is told of an item and of the end of the channel, and takes neither from a receiver.
pub fn watching<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let market = share::<W::M, _>((Market::<W::M, Q>::new(1, 1, 1, wait), Stage::<W::M>::new()));
            let (sends, receives, looks, all) = (market.clone(), market.clone(), market.clone(), market);
            Scenario::new()
                .guest(move || {
                    sends.0.send(0..1);
                })
                .guest(move || {
                    receives.1.wait_for(1);
                    receives.0.receive_all();
                })
                .guest(move || {
                    let bell = Bell::new(wait);
                    let number = looks.0.channel.watch(Ways::Receivers, bell.clone(), wait);
                    while !looks.0.channel.is_ready(Ways::Receivers) {
                        bell.hear();
                    }
                    looks.0.channel.unwatch(Ways::Receivers, number, wait);
                    looks.1.step();
                })
                .finally(move || all.0.assert_complete())
        });
    }
}
