//! Contracts of queues that lend their places.

use super::queue::Market;
use crate::world::{Scenario, World, share};
use baton_machine::{Machine, Wait};
use baton_sync::queue::channel::{Channel, NotReceived};
use baton_sync::queue::lend::Lends;
use baton_sync::queue::{ExactQueue, RawQueue};

/// What a producer writes into a place that it then gives up.
const GIVEN_UP: u64 = 1 << 40;

/// How a guest moves its items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// By places that are lent.
    Places,
    /// By the queue's waiting calls.
    Calls,
}

/// Each item that is built in its place comes out once, in order, with what its producer wrote before.
pub fn transfer<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>() {
    pass_on::<W, Q>([By::Places; 2], 1, W::WAITS[0], Q::with_capacity);
    pass_on::<W, Q>([By::Places; 2], 2, W::WAITS[0], Q::aged);
}

/// A thread that waits for an item, or for room, is told of a commit and a release.
pub fn awaited<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>() {
    // A policy that does not sleep needs no call, but loom has no other.
    for &wait in W::WAITS.iter().filter(|wait| wait.parks() || W::WAITS.len() == 1) {
        for by in [[By::Places, By::Calls], [By::Calls, By::Places]] {
            pass_on::<W, Q>(by, 1, wait, Q::with_capacity);
        }
    }
}

/// Number of items of a plan: few, because guests that only try need a CPU each.
fn items<W: World>() -> usize {
    (2 * W::few().rounds).min(20)
}

type Make<Q> = fn(usize) -> Result<Q, baton_sync::queue::QueueError>;

fn pass_on<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>(
    by: [By; 2],
    capacity: usize,
    wait: Wait,
    new: Make<Q>,
) {
    let rounds = items::<W>();
    W::skim(move || {
        let market = share::<W::M, _>(Market::<W::M, Q>::new(capacity, 1, 1, rounds, new));
        let all = market.clone();
        let (producer, consumer) = (market.clone(), market);
        let scenario = Scenario::new()
            .guest(move || {
                let mut done = 0;
                while done < rounds {
                    // SAFETY: this is the only producer.
                    done += unsafe {
                        match by[0] {
                            By::Places => build::<W, Q>(&producer, done..rounds, wait),
                            By::Calls => {
                                producer.queue.enqueue(producer.write(0, done), wait);
                                1
                            }
                        }
                    };
                }
            })
            .guest(move || {
                let mut done = 0;
                while done < rounds {
                    // SAFETY: this is the only consumer.
                    done += unsafe {
                        match by[1] {
                            By::Places => look::<W, Q>(&consumer, done, wait),
                            By::Calls => {
                                consumer.read(0, done, consumer.queue.dequeue(wait));
                                1
                            }
                        }
                    };
                }
            });
        scenario.finally(move || all.assert_complete())
    });
}

/// Builds the first of `items` in as many places as there are. Returns how many. Gives the places up
/// once before.
///
/// # Safety
/// The calling guest is the only producer.
unsafe fn build<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>(
    market: &Market<W::M, Q>,
    items: core::ops::Range<usize>,
    wait: Wait,
) -> usize {
    // SAFETY: guaranteed by the caller. Places that were reserved are empty.
    unsafe {
        let places = market.queue.reserve(items.len().min(2));
        if places.is_empty() {
            W::M::relax();
            return 0;
        }
        (0..places.len()).for_each(|i| places.put(i, GIVEN_UP));
        let places = market.queue.reserve(places.len());
        (0..places.len()).for_each(|i| places.put(i, market.write(0, items.start + i)));
        market.queue.commit(places.len(), wait);
        places.len()
    }
}

/// Looks at up to two items twice, and then releases them. Returns how many.
///
/// # Safety
/// The calling guest is the only consumer.
unsafe fn look<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>(
    market: &Market<W::M, Q>,
    done: usize,
    wait: Wait,
) -> usize {
    // SAFETY: guaranteed by the caller. Places that were peeked at have items.
    unsafe {
        let places = market.queue.peek(2);
        if places.is_empty() {
            W::M::relax();
            return 0;
        }
        let first = places.look(0, |item| *item);
        let places = market.queue.peek(places.len());
        assert_eq!(places.look(0, |item| *item), first, "an item that was only looked at is gone");
        (0..places.len()).for_each(|i| market.read(0, done + i, places.look(i, |item| *item)));
        market.queue.release(places.len(), wait);
        places.len()
    }
}

/// A full queue lends no place and an empty one shows no item; in between both sides get what there is,
/// at each position of the ring.
pub fn places<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>() {
    let wait = W::WAITS[0];
    for new in [Q::with_capacity as Make<Q>, Q::aged] {
        W::run(move || {
            let queue = share::<W::M, _>(new(4).expect("4 is a power of two"));
            let all = queue.clone();
            // SAFETY: this guest is the only one.
            let scenario = Scenario::new().guest(move || unsafe {
                for lap in 0..3 {
                    fill_and_look::<W, Q>(&queue, 10 * lap, wait);
                }
            });
            scenario.finally(move || drop(all))
        });
    }
}

/// # Safety
/// The calling guest is alone with the queue, which has room for four items.
unsafe fn fill_and_look<W: World, Q: Lends<W::M> + RawQueue<W::M, Item = u64>>(queue: &Q, first: u64, wait: Wait) {
    // SAFETY: guaranteed by the caller, whose items are in the places.
    unsafe {
        assert!(queue.peek(4).is_empty() && queue.reserve(0).is_empty(), "an empty queue has nothing to look at");
        let mut built = 0;
        while built < 4 {
            let places = queue.reserve(4 - built as usize);
            assert!(!places.is_empty(), "there is room");
            (0..places.len()).for_each(|i| places.put(i, first + built + i as u64));
            queue.commit(places.len(), wait);
            built += places.len() as u64;
        }
        assert!(queue.reserve(1).is_empty(), "a full queue lends no place");
        let mut seen = 0;
        while seen < 3 {
            let places = queue.peek(3 - seen as usize);
            assert!(!places.is_empty(), "there are items");
            (0..places.len()).for_each(|i| assert_eq!(places.look(i, |item| *item), first + seen + i as u64));
            queue.release(places.len(), wait);
            seen += places.len() as u64;
        }
        assert_eq!(queue.try_dequeue(wait), Some(first + 3), "out of order");
        // The next lap begins at another place.
        assert_eq!(queue.try_enqueue(99, wait), Ok(()));
        let place = queue.peek(1);
        assert_eq!((place.len(), place.take(0)), (1, 99));
        queue.release(1, wait);
    }
}

/// A sender and a receiver that wait for places of a channel; each item is seen once, and the receiver
/// ends when the channel is closed.
pub fn channels<W: World, Q: Lends<W::M> + ExactQueue<W::M, Item = u64>>() {
    let rounds = items::<W>() as u64;
    for &wait in W::WAITS {
        W::glance(move || {
            let queue = Q::exactly(1).expect("a capacity that is allowed");
            let channel = share::<W::M, _>(Channel::<W::M, Q>::new(queue));
            let (receiver, all) = (channel.clone(), channel.clone());
            Scenario::new()
                // SAFETY: this is the only sender, and the places are reserved.
                .guest(move || unsafe {
                    for item in 0..rounds {
                        let places = channel.reserve(2, wait, None).unwrap_or_else(|why| panic!("{why}"));
                        places.put(0, item);
                        assert_eq!((places.len(), channel.commit(1, wait)), (1, Ok(())));
                    }
                    channel.close(wait);
                })
                // SAFETY: this is the only receiver, and the places have items.
                .guest(move || unsafe {
                    let mut seen = 0;
                    let why = loop {
                        match receiver.peek(2, wait, None) {
                            Ok(places) => assert_eq!(places.look(0, |item| *item), seen),
                            Err(why) => break why,
                        }
                        receiver.release(1, wait);
                        seen += 1;
                    };
                    assert_eq!((seen, why), (rounds, NotReceived::Closed));
                })
                .finally(move || assert!(all.queue().is_empty()))
        });
    }
}
