//! Contracts of queues that move items in bulk.

use super::queue::Market;
use crate::world::{Scenario, World, share};
use baton_machine::{Machine, Wait};
use baton_sync::queue::{BulkQueue, RawQueue};

/// A bulk moves all items or none; a burst moves as many as there are room or items for.
pub fn bulk_and_burst<W: World, Q: BulkQueue<W::M> + RawQueue<W::M, Item = u64>>() {
    for &wait in W::WAITS {
        for new in [Q::with_capacity, Q::aged] {
            W::run(move || {
                let queue = share::<W::M, _>(new(4).expect("4 is a power of two"));
                let all = queue.clone();
                let scenario = Scenario::new().guest(move || {
                    let mut out = [0; 5];
                    assert!(queue.enqueue_bulk(&[1, 2, 3], wait));
                    assert!(!queue.enqueue_bulk(&[4, 5], wait), "no room for both, so for none");
                    assert!(!queue.dequeue_bulk(&mut out[..4], wait), "not so many there, so none");
                    assert_eq!(queue.enqueue_burst(&[4, 5], wait), 1, "room for one");
                    assert!(queue.dequeue_bulk(&mut out[..2], wait));
                    assert_eq!(out[..2], [1, 2]);
                    assert_eq!(queue.dequeue_burst(&mut out, wait), 2);
                    assert_eq!(out[..2], [3, 4]);
                    assert_eq!(queue.dequeue_burst(&mut out, wait), 0);
                    assert!(queue.enqueue_bulk(&[], wait) && queue.dequeue_bulk(&mut [], wait), "none are always had");
                });
                scenario.finally(move || drop(all))
            });
        }
    }
}

/// Two producers put in pairs and one consumer takes pairs: pairs stay together, and nothing is
/// lost.
pub fn together<W: World, Q: BulkQueue<W::M> + RawQueue<W::M, Item = u64>>() {
    let rounds = W::few().rounds;
    for &wait in W::WAITS {
        W::skim(move || {
            let market = share::<W::M, _>(Market::<W::M, Q>::new(4, 2, 1, 4 * rounds, Q::with_capacity));
            let all = market.clone();
            let consumer = market.clone();
            let producer = |p| {
                let market = market.clone();
                move || (0..rounds).for_each(|i| put_pair::<W, Q>(&market, p, i, wait))
            };
            let scenario = Scenario::new().guests(2, producer).guest(move || {
                let mut got = 0;
                while got < 4 * rounds {
                    let mut items = [0; 2];
                    if consumer.queue.dequeue_bulk(&mut items, wait) {
                        assert_eq!(items[0] + 1, items[1], "a pair was torn apart");
                        items.iter().enumerate().for_each(|(i, &item)| consumer.read(0, got + i, item));
                        got += 2;
                    } else {
                        W::M::relax();
                    }
                }
            });
            scenario.finally(move || all.assert_complete())
        });
    }
}

fn put_pair<W: World, Q>(market: &Market<W::M, Q>, producer: usize, i: usize, wait: Wait)
where
    Q: BulkQueue<W::M> + RawQueue<W::M, Item = u64>,
{
    let pair = [market.write(producer, 2 * i), market.write(producer, 2 * i + 1)];
    while !market.queue.enqueue_bulk(&pair, wait) {
        W::M::relax();
    }
}
