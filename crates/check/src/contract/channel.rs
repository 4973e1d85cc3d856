//! Contracts of channels: queues that can be closed and whose waits can give up.

use super::lock::Stage;
use crate::world::{Crowd, Scenario, Shared, World, share};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, OwnedSlice, Slot, Wait};
use baton_sync::queue::channel::{Channel, NotReceived, NotSent};
use baton_sync::queue::{BadBound, ExactQueue, Side};

/// A channel, what its senders wrote beside it, and what was received.
struct Market<M: Machine, Q> {
    channel: Channel<M, Q>,
    /// By item: what its sender writes before it sends the item.
    notes: OwnedSlice<M, M::Slot<u64>>,
    /// By item: how often it was received.
    received: OwnedSlice<M, M::Atomic<u64>>,
    /// Number of senders that have not ended.
    senders: M::Atomic<usize>,
}

// SAFETY: a note is read by the guest that received its item, which is what is tested.
unsafe impl<M: Machine, Q: Sync> Sync for Market<M, Q> {}
// SAFETY: as above.
unsafe impl<M: Machine, Q: Send> Send for Market<M, Q> {}

impl<M: Machine, Q: ExactQueue<M, Item = u64>> Market<M, Q> {
    fn new(capacity: usize, senders: usize, items: usize) -> Self {
        Market {
            channel: Channel::new(Q::exactly(capacity).expect("a capacity that is allowed")),
            notes: OwnedSlice::new(items, |_| M::Slot::new(0)),
            received: OwnedSlice::new(items, |_| M::Atomic::new(0)),
            senders: M::Atomic::new(senders),
        }
    }

    /// Sends items. The last sender closes the channel.
    fn send(&self, items: impl Iterator<Item = usize>, wait: Wait) {
        for item in items {
            // SAFETY: no guest reads the note before it has received the item. No more guests send
            // than the queue allows.
            unsafe {
                self.notes[item].write(|note| *note = item as u64 + 7);
                assert_eq!(self.channel.send(item as u64, wait, None), Ok(()), "an open channel refuses an item");
            }
        }
        if self.senders.fetch_add(usize::MAX, Ordering::AcqRel) == 1 {
            self.channel.close(wait);
        }
    }

    /// Receives until the channel is closed and empty.
    fn receive(&self, wait: Wait) {
        loop {
            // SAFETY: no more guests receive than the queue allows.
            match unsafe { self.channel.receive(wait, None) } {
                Ok(item) => self.take(item),
                Err(why) => return assert_eq!(why, NotReceived::Closed),
            }
        }
    }

    fn take(&self, item: u64) {
        // SAFETY: the item was received, so its note was written before.
        assert_eq!(unsafe { self.notes[item as usize].read(|note| *note) }, item + 7, "the item came before its note");
        self.received[item as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn assert_complete(&self) {
        assert!(self.received.iter().all(|times| times.load(Ordering::Relaxed) == 1), "items lost or doubled");
        assert_eq!(self.channel.queue().len(), 0);
    }
}

fn side(side: Side, wanted: usize) -> usize {
    if side == Side::Single { 1 } else { wanted.max(1) }
}

/// Each item is received once, and receivers end when the channel is closed and empty.
pub fn transfer<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            W::glance(move || pass_on::<W, Q>(crowd, 1 + crowd.guests % 3, wait));
        }
    }
}

fn pass_on<W: World, Q: ExactQueue<W::M, Item = u64>>(crowd: Crowd, capacity: usize, wait: Wait) -> Scenario {
    let (senders, receivers) =
        (side(Q::INFO.producers, crowd.guests.div_ceil(2)), side(Q::INFO.consumers, crowd.guests / 2));
    let items = senders * crowd.rounds;
    let market: Shared<W::M, _> = share(Market::<W::M, Q>::new(capacity, senders, items));
    let all = market.clone();
    let sender = |i| {
        let market = market.clone();
        move || market.send((0..items).skip(i).step_by(senders), wait)
    };
    let receiver = |_| {
        let market = market.clone();
        move || market.receive(wait)
    };
    Scenario::new().guests(senders, sender).guests(receivers, receiver).finally(move || all.assert_complete())
}

/// Closing ends the wait of a receiver at an empty channel and of a sender at a full one, whose item
/// comes back. The items that are in are received.
pub fn closing<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>([(); 2].map(|()| Market::<W::M, Q>::new(1, 1, 1)));
            // SAFETY: no guest runs yet.
            assert_eq!(unsafe { shared[1].channel.try_send(0, wait) }, Ok(()));
            let (receives, sends, closes, all) = (shared.clone(), shared.clone(), shared.clone(), shared);
            Scenario::new()
                // SAFETY: this is the only receiver of its channel.
                .guest(move || assert_eq!(unsafe { receives[0].channel.receive(wait, None) }, Err(NotReceived::Closed)))
                .guest(move || {
                    // SAFETY: this is the only sender of its channel.
                    assert_eq!(unsafe { sends[1].channel.send(5, wait, None) }, Err(NotSent::Closed(5)));
                })
                .guest(move || closes.iter().for_each(|market| market.channel.close(wait)))
                .finally(move || {
                    // SAFETY: the guests have ended.
                    let receive = || unsafe { all[1].channel.try_receive(wait) };
                    assert_eq!([receive(), receive()], [Ok(0), Err(NotReceived::Closed)]);
                })
        });
    }
}

/// A guest that knows of a send closes the channel: the item is received.
pub fn closed_by_another<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let market = share::<W::M, _>((Market::<W::M, Q>::new(2, 2, 1), Stage::<W::M>::new()));
            let (sends, closes, receives, all) = (market.clone(), market.clone(), market.clone(), market);
            Scenario::new()
                .guest(move || {
                    sends.0.send(0..1, wait);
                    sends.1.step();
                })
                .guest(move || {
                    closes.1.wait_for(1);
                    closes.0.channel.close(wait);
                })
                .guest(move || receives.0.receive(wait))
                .finally(move || all.0.assert_complete())
        });
    }
}

/// An item whose send was over before the channel was closed is received, even if it lies behind the
/// place of a sender that is slow; and each receiver ends.
pub fn closed_behind_another<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    if Q::INFO.producers == Side::Single {
        return;
    }
    for &wait in W::WAITS {
        W::glance(move || {
            let market = share::<W::M, _>(Market::<W::M, Q>::new(2, 2, 2));
            let (slow, closes, all) = (market.clone(), market.clone(), market.clone());
            let receiver = |_| {
                let market = market.clone();
                move || market.receive(wait)
            };
            Scenario::new()
                // SAFETY: the note is written before its item is sent, and the queue takes several senders.
                .guest(move || unsafe {
                    slow.notes[0].write(|note| *note = 7);
                    // The channel may be closed before this send.
                    _ = slow.channel.send(0, wait, None);
                })
                // SAFETY: as above.
                .guest(move || unsafe {
                    closes.notes[1].write(|note| *note = 8);
                    assert_eq!(closes.channel.send(1, wait, None), Ok(()));
                    closes.channel.close(wait);
                })
                .guests(side(Q::INFO.consumers, 2), receiver)
                .finally(move || {
                    assert_eq!(all.received[1].load(Ordering::Relaxed), 1, "an item that was sent before is lost");
                })
        });
    }
}

/// A wait gives up at its deadline; the item comes back, and no notification is lost.
pub fn expiry<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    const PAST: Option<Deadline> = Some(Deadline { at: Nanos(1), clock: Clock::Monotonic });
    for &wait in W::WAITS {
        W::glance(move || {
            let market = share::<W::M, _>(Market::<W::M, Q>::new(1, 1, 2));
            let (sends, receives, all) = (market.clone(), market.clone(), market);
            Scenario::new()
                .with_deadlines()
                // SAFETY: this is the only sender, and writes the notes before it sends the items.
                .guest(move || unsafe {
                    for item in 0..2 {
                        sends.notes[item as usize].write(|note| *note = item + 7);
                        if sends.channel.send(item, wait, PAST).is_err_and(|back| back != NotSent::Expired(item)) {
                            panic!("an item that expired does not come back");
                        }
                    }
                    sends.channel.close(wait);
                })
                .guest(move || {
                    // SAFETY: this is the only receiver.
                    match unsafe { receives.channel.receive(wait, PAST) } {
                        Ok(item) => receives.take(item),
                        Err(why) => assert!(why != NotReceived::Empty, "a wait ended without a reason"),
                    }
                    receives.receive(wait);
                })
                .finally(move || assert_eq!(all.received[0].load(Ordering::Relaxed), 1, "the first item was lost"))
        });
    }
}

/// A queue has exactly the capacity asked for, and its length is never more than what is in it.
pub fn capacity<W: World, Q: ExactQueue<W::M, Item = u64>>() {
    let wait = W::WAITS[0];
    W::skim(move || {
        let market = share::<W::M, _>(Market::<W::M, Q>::new(3, 1, 1));
        // SAFETY: no guest runs yet.
        unsafe {
            for lap in 0..3 {
                for item in 0..3 {
                    assert_eq!(market.channel.try_send(lap + item, wait), Ok(()));
                }
                assert_eq!(
                    (market.channel.try_send(9, wait), market.channel.queue().len()),
                    (Err(NotSent::Full(9)), 3)
                );
                for item in 0..3 {
                    assert_eq!(market.channel.try_receive(wait), Ok(lap + item));
                }
                assert_eq!(market.channel.try_receive(wait), Err(NotReceived::Empty));
            }
        }
        let (sends, receives, looks, all) = (market.clone(), market.clone(), market.clone(), market);
        Scenario::new()
            .guest(move || sends.send(0..1, wait))
            .guest(move || receives.receive(wait))
            .guest(move || assert!(looks.channel.queue().len() <= 1, "more items than were sent"))
            .finally(move || all.assert_complete())
    });
    for bad in [0, (1 << 30) + 1] {
        assert!(Q::exactly(bad).is_err_and(|error| error == BadBound(bad)), "a capacity of {bad}");
    }
}
