//! Every entry of a registry is in the contract suite, with every ability that it claims.

use baton_check::catalogue::{self, Entry};
use baton_sync::lock::LOCKS;

fn entry<'a>(catalogue: &'a [Entry], name: &str) -> &'a Entry {
    let room = name.replace('-', "_");
    catalogue
        .iter()
        .find(|entry| entry.room == room)
        .unwrap_or_else(|| panic!("`{name}` is in no contract suite: give it a line in crates/check/src/catalogue.rs"))
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
