//! Every entry of a registry is in the contract suite, with every ability that it claims.

use baton_check::catalogue::{self, Entry};
use baton_sync::barrier::BARRIERS;
use baton_sync::event::EVENTS;
use baton_sync::lock::LOCKS;
use baton_sync::queue::{QUEUES, Side};
use baton_sync::rwlock::RWLOCKS;
use baton_sync::semaphore::SEMAPHORES;

fn entry<'a>(catalogue: &'a [Entry], name: &str) -> &'a Entry {
    let room = catalogue::room(name);
    catalogue.iter().find(|entry| entry.room == room).unwrap_or_else(|| {
        panic!("`{name}` is in no contract suite: its module must have its name, with _ for - and a number in letters")
    })
}

#[test]
fn every_lock_is_in_the_suite() {
    for lock in LOCKS {
        let entry = entry(catalogue::LOCKS, lock.name);
        let claims = [("tries", lock.try_lock), ("gives_up", lock.timed), ("in_order", lock.fifo)];
        for (ability, claimed) in claims {
            let tested = entry.abilities.contains(&ability);
            assert_eq!(tested, claimed, "`{}`: the registry and the suite differ on `{ability}`", lock.name);
        }
    }
    assert_eq!(catalogue::LOCKS.len(), LOCKS.len(), "a lock is in the suite that is not in the registry");
}

#[test]
fn every_barrier_is_in_the_suite() {
    for barrier in BARRIERS {
        entry(catalogue::BARRIERS, barrier.name);
    }
    assert_eq!(catalogue::BARRIERS.len(), BARRIERS.len(), "a barrier is in the suite that is not in the registry");
}

#[test]
fn every_event_is_in_the_suite() {
    for event in EVENTS {
        let tested = entry(catalogue::EVENTS, event.name).abilities.contains(&"oldest_first");
        assert_eq!(tested, event.fifo, "`{}`: the registry and the suite differ on `oldest_first`", event.name);
    }
    assert_eq!(catalogue::EVENTS.len(), EVENTS.len(), "an event is in the suite that is not in the registry");
}

#[test]
fn every_queue_is_in_the_suite() {
    for queue in QUEUES {
        let entry = entry(catalogue::QUEUES, queue.name);
        let shared = (queue.producers, queue.consumers) == (Side::Multi, Side::Multi);
        for (ability, claimed) in [("shared", shared), ("in_bulk", queue.bulk), ("in_device", queue.device)] {
            let tested = entry.abilities.contains(&ability);
            assert_eq!(tested, claimed, "`{}`: the registry and the suite differ on `{ability}`", queue.name);
        }
    }
    assert_eq!(catalogue::QUEUES.len(), QUEUES.len(), "a queue is in the suite that is not in the registry");
}

#[test]
fn every_rwlock_is_in_the_suite() {
    for lock in RWLOCKS {
        let tested = entry(catalogue::RWLOCKS, lock.name).abilities.contains(&"turns");
        assert_eq!(tested, lock.turns, "`{}`: the registry and the suite differ on `turns`", lock.name);
    }
    assert_eq!(catalogue::RWLOCKS.len(), RWLOCKS.len(), "a lock is in the suite that is not in the registry");
}

#[test]
fn every_semaphore_is_in_the_suite() {
    for semaphore in SEMAPHORES {
        entry(catalogue::SEMAPHORES, semaphore.name);
    }
    assert_eq!(
        catalogue::SEMAPHORES.len(),
        SEMAPHORES.len(),
        "a semaphore is in the suite that is not in the registry"
    );
}
