//! What a kernel sees of locks: which holders come to a fast CPU under `lavd`, and which do not.

use crate::table::{AMP, Table};
use baton_sched::placement::{Answer, Event};
use baton_sched::{LockNotice, lavd};
use baton_units::CpuId;

/// A thread that slept while it waited for a lock comes to the fast CPU as soon as it has the lock.
/// A holder that never slept for its lock does not come, even if a thread waits for the lock.
#[test]
fn who_slept_for_a_lock_comes_when_it_has_it() {
    let mut table = Table::of(lavd::placement, AMP, 1);
    let ([fast], [holder], [sleeper]) = (table.run(0), table.run(1), table.run(2));
    table.lock(holder, LockNotice::Taken, 7);
    assert_eq!(table.lock(fast, LockNotice::Wanted, 7), [], "the holder never slept");
    assert_eq!(table.lock(fast, LockNotice::Left, 7), []);
    table.lock(sleeper, LockNotice::Wanted, 7);
    table.hears(Event::Block(sleeper));
    table.lock(holder, LockNotice::Left, 7);
    table.hears(Event::Wake(sleeper));
    table.lands(sleeper, CpuId(2));
    assert_eq!(table.lock(sleeper, LockNotice::Taken, 7), [Answer::Swap(sleeper, fast)]);
}

/// A wait at a barrier brings no thread to a fast CPU, and a thread that has released its lock
/// stays where it is.
#[test]
fn barriers_and_former_holders_count_for_nothing() {
    let mut table = Table::of(lavd::placement, AMP, 1);
    let [_, first, last] = table.run(0);
    table.lock(first, LockNotice::Arrived, 1);
    table.hears(Event::Block(first));
    assert_eq!(table.hears(Event::Idle(CpuId(5))), []);
    table.lock(last, LockNotice::Wanted, 7);
    table.hears(Event::Block(last));
    table.hears(Event::Wake(last));
    table.lock(last, LockNotice::Taken, 7);
    table.lock(last, LockNotice::Left, 7);
    table.lands(last, CpuId(2));
    assert_eq!(table.hears(Event::Idle(CpuId(5))), []);
}
