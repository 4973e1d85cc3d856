//! For which threads others wait, and what weight that gives them.

use crate::table::{AMP, Table};
use baton_sched::placement::{Amp, Answer, Event};
use baton_sched::{Affinity, LockNotice, Notice, ThreadId};
use baton_units::{CpuId, Cycles};

#[test]
fn the_holder_of_a_lock_comes_at_once() {
    let mut table = Table::new(AMP);
    // Each thread is in its own application, so that no thread gets weight because it shares an
    // application with a waiter.
    let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.waits(waiter, Some(7), Some(holder)), [Answer::Swap(holder, fast)]);
}

#[test]
fn a_heavier_thread_waits_for_the_end_of_the_stay_and_an_equal_one_does_not_come() {
    let mut table = Table::new(AMP);
    let ([fast], [first, second]) = (table.run(0), table.run(1));
    let [a, b] = table.run(2);
    table.now = 1_000;
    assert_eq!(table.waits(a, Some(1), Some(first)), [Answer::Swap(first, fast)]);
    table.hears(Event::Yields(fast));
    table.hears(Event::Yields(first));
    table.lands(first, CpuId(0));
    table.lands(fast, CpuId(1));
    // One thread waits for each of `first` and `second`, so `second` does not take the place of
    // `first`.
    let [c] = table.run(3);
    table.now = 1_010;
    assert_eq!(table.waits(b, Some(2), Some(second)), []);
    // Two threads wait for `second` now. It comes when `first` has had the fast CPU for 70 cycles,
    // the shortest stay.
    table.now = 1_020;
    assert_eq!(table.waits(c, Some(2), None), [Answer::Period(Cycles(1_070))]);
    assert_eq!(table.at(1_070), [Answer::Swap(second, first), Answer::Period(Cycles(10_000))]);
}

#[test]
fn the_end_of_a_chain_of_holders_has_the_weight_of_all() {
    let mut table = Table::new(Amp { crit_waiters: 3, ..AMP });
    let ([fast], [end, second, first, waiter]) = (table.run(0), table.run(1));
    assert_eq!(table.waits(waiter, Some(1), Some(first)), []);
    assert_eq!(table.waits(first, Some(2), Some(second)), []);
    assert_eq!(table.waits(second, Some(3), Some(end)), [Answer::Swap(end, fast)]);
}

#[test]
fn a_ring_of_holders_is_no_chain() {
    let mut table = Table::new(AMP);
    let ([_], [a, b]) = (table.run::<1>(0), table.run(1));
    assert_eq!(table.waits(a, Some(1), Some(b)), [Answer::Swap(b, ThreadId(0))]);
    assert_eq!(table.waits(b, Some(2), Some(a)), []);
    let mut alone = Table::new(AMP);
    let [_, a] = alone.run(0);
    // A thread that waits for itself has named no other. So its application's first thread, which
    // has the fast CPU, gets the weight.
    assert_eq!(alone.waits(a, Some(1), Some(a)), []);
}

/// A thread whose wait is over has taken the lock. The other waiters then wait for this thread,
/// although they have named another holder.
#[test]
fn a_lock_that_is_handed_over_has_a_new_holder() {
    let mut table = Table::new(AMP);
    let ([old], [next], [last]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.waits(next, Some(1), Some(old)), []);
    assert_eq!(table.waits(last, Some(1), Some(old)), []);
    assert_eq!(table.works(next), [Answer::Swap(next, old)]);
    // No thread waits any more, so the lock is forgotten, and the next thread that waits for it
    // knows no holder.
    let mut table = Table::new(AMP);
    let ([_], [next], [last]) = (table.run::<1>(0), table.run(1), table.run(2));
    table.waits(next, Some(1), Some(ThreadId(0)));
    assert_eq!(table.works(next), []);
    assert_eq!(table.waits(last, Some(1), None), []);
}

#[test]
fn the_last_thread_to_a_barrier_comes_and_one_of_two_has_half_of_the_weight() {
    let mut table = Table::new(Amp { crit_waiters: 2, ..AMP });
    let [first, second, third, last] = table.run(0);
    assert_eq!(table.hears(Event::Notice(first, Notice::Spinning)), []);
    // Two threads wait for two others, so each of these has the weight of one.
    assert_eq!(table.hears(Event::Notice(second, Notice::Spinning)), []);
    assert_eq!(table.hears(Event::Notice(third, Notice::Spinning)), [Answer::Swap(last, first)]);
    let mut table = Table::new(Amp { crit_waiters: 2, ..AMP });
    let [first, second, third, last] = table.run(0);
    for id in [second, third] {
        table.hears(Event::Notice(id, Notice::Spinning));
        table.hears(Event::Block(id));
    }
    // The threads `second` and `third` sleep during their waits, and still wait. `first` sleeps for
    // another reason, so both wait only for `last`.
    table.hears(Event::Block(first));
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [Answer::Move(last, CpuId(0))]);
}

#[test]
fn below_the_threshold_the_next_round_brings_it() {
    let mut table = Table::new(Amp { crit_waiters: 2, ..AMP });
    let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.waits(waiter, None, Some(holder)), []);
    assert_eq!(table.at(10_000)[0], Answer::Swap(holder, fast));
}

#[test]
fn masks_hold_and_threads_that_end_or_wake_wait_no_more() {
    let mut table = Table::new(AMP);
    let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
    table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
    assert_eq!(table.waits(waiter, Some(1), Some(holder)), []);
    // Once the waiter has ended, or was woken after a sleep, no thread waits for the holder, so the
    // holder does not come when its mask allows it.
    for ends in [false, true] {
        let mut table = Table::new(AMP);
        let ([_], [holder], [waiter]) = (table.run::<1>(0), table.run(1), table.run(2));
        table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
        table.waits(waiter, Some(1), Some(holder));
        if ends {
            table.hears(Event::Exit(waiter));
        } else {
            table.hears(Event::Block(waiter));
            table.hears(Event::Wake(waiter));
        }
        assert_eq!(table.hears(Event::Affinity(holder, Affinity::ALL)), [], "ends: {ends}");
    }
    // In the first table the waiter still waits, and the new mask lets its holder come to the fast
    // CPU.
    assert_eq!(table.hears(Event::Affinity(holder, Affinity::ALL)), [Answer::Swap(holder, fast)]);
    // A holder that has ended does not come to a fast CPU.
    let mut table = Table::new(AMP);
    let ([_], [holder], [waiter]) = (table.run::<1>(0), table.run(1), table.run(2));
    table.hears(Event::Exit(holder));
    assert_eq!(table.waits(waiter, Some(1), Some(holder)), []);
}

/// A holder that reports that it has the lock is known without a waiter's report, whether the
/// waiter spins or sleeps; a waiter that is woken still waits.
#[test]
fn the_holder_that_says_so_comes_for_a_sleeper_and_goes_when_it_leaves() {
    let mut table = Table::new(AMP);
    let ([fast], [holder], [waiter, other]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.lock(holder, LockNotice::Wanted, 7), []);
    assert_eq!(table.lock(holder, LockNotice::Taken, 7), []);
    assert_eq!(table.lock(waiter, LockNotice::Wanted, 7), [Answer::Swap(holder, fast)]);
    table.hears(Event::Block(waiter));
    table.lands(holder, CpuId(0));
    table.lands(fast, CpuId(1));
    // The waiter wakes up and looks at the lock again. The holder still has the waiter's weight, so
    // `second`, for which one thread waits as well, does not come.
    table.hears(Event::Wake(waiter));
    table.lands(waiter, CpuId(2));
    table.now = 500;
    let [second] = table.run(3);
    assert_eq!(table.lock(second, LockNotice::Taken, 8), []);
    assert_eq!(table.lock(other, LockNotice::Wanted, 8), []);
    // The holder releases lock 7, and the waiter does not have it yet: no thread waits for the
    // holder on the fast CPU now, so `second` comes.
    assert_eq!(table.lock(holder, LockNotice::Left, 7), [Answer::Swap(second, holder)]);
}

/// While a lock changes hands, and while its holder sleeps, no other thread has the weight of its
/// waiters.
#[test]
fn a_lock_without_a_holder_that_can_run_makes_no_thread_urgent() {
    let mut table = Table::new(AMP);
    let ([_], [_, waiter, next, _], [old]) = (table.run::<1>(0), table.run(1), table.run(2));
    table.lock(old, LockNotice::Taken, 1);
    table.hears(Event::Affinity(old, Affinity::to([CpuId(5)])));
    assert_eq!(table.lock(waiter, LockNotice::Wanted, 1), []);
    assert_eq!(table.lock(next, LockNotice::Wanted, 1), []);
    assert_eq!(table.lock(old, LockNotice::Left, 1), []);
    assert_eq!(table.lock(next, LockNotice::Taken, 1), [Answer::Swap(next, ThreadId(0))]);
    let mut asleep = Table::new(AMP);
    let ([_], [sleeper, waiter, _]) = (asleep.run::<1>(0), asleep.run(1));
    asleep.lock(sleeper, LockNotice::Taken, 1);
    asleep.hears(Event::Block(sleeper));
    assert_eq!(asleep.lock(waiter, LockNotice::Wanted, 1), []);
    // The sleeper, which holds the lock, can run again and comes to the fast CPU.
    asleep.hears(Event::Wake(sleeper));
    asleep.hears(Event::Placed(sleeper, CpuId(1)));
    assert_eq!(asleep.hears(Event::Runs(sleeper, CpuId(1))), [Answer::Swap(sleeper, ThreadId(0))]);
    // A thread that has ended holds no lock.
    let mut ended = Table::new(AMP);
    let ([_], [gone, waiter]) = (ended.run::<1>(0), ended.run(1));
    ended.lock(gone, LockNotice::Taken, 1);
    ended.hears(Event::Exit(gone));
    assert_eq!(ended.lock(waiter, LockNotice::Wanted, 1), []);
}

/// A chain through a lock and a barrier: threads that wait for a thread at a barrier wait for all
/// that have not come there.
#[test]
fn who_has_come_to_a_barrier_waits_for_the_others_asleep_or_not() {
    let mut table = Table::new(Amp { crit_waiters: 3, ..AMP });
    let [first, second, third, last] = table.run(0);
    assert_eq!(table.lock(second, LockNotice::Arrived, 1), []);
    table.hears(Event::Block(second));
    assert_eq!(table.lock(first, LockNotice::Taken, 9), []);
    assert_eq!(table.lock(first, LockNotice::Arrived, 1), []);
    // Thread `third` waits for the lock of `first`, which is at the barrier. So all three wait for
    // `last`.
    assert_eq!(table.lock(third, LockNotice::Wanted, 9), [Answer::Swap(last, first)]);
    table.lands(last, CpuId(0));
    table.lands(first, CpuId(3));
    // The wait at the barrier ends for one thread after the other; then no thread waits there any
    // more.
    table.hears(Event::Wake(second));
    table.lock(last, LockNotice::Arrived, 1);
    for id in [last, second, first] {
        assert_eq!(table.lock(id, LockNotice::Left, 1), [], "{id:?}");
    }
    assert_eq!(table.lock(first, LockNotice::Left, 9), []);
    assert_eq!(table.lock(third, LockNotice::Taken, 9), []);
}

/// The last thread to arrive wakes the others, and keeps the fast CPU. It waits after all if it
/// sleeps, or if a thread arrives after it.
#[test]
fn the_last_to_arrive_at_a_barrier_is_no_waiter() {
    let mut table = Table::new(AMP);
    let [last, first, second] = table.run(0);
    let [other, waiter] = table.run(1);
    table.lock(first, LockNotice::Arrived, 1);
    table.lock(second, LockNotice::Arrived, 1);
    assert_eq!(table.lock(last, LockNotice::Arrived, 1), []);
    // The two others still wait for the last one, so a thread for which only one waits does not
    // take its place.
    table.lock(other, LockNotice::Taken, 9);
    assert_eq!(table.lock(waiter, LockNotice::Wanted, 9), []);
    table.hears(Event::Block(last));
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [Answer::Move(other, CpuId(0))]);
    // A thread of the application that slept elsewhere arrives after the one that seemed to be the
    // last.
    let mut table = Table::new(AMP);
    let [seems, first, late] = table.run(0);
    table.hears(Event::Block(late));
    table.lock(first, LockNotice::Arrived, 1);
    assert_eq!(table.lock(seems, LockNotice::Arrived, 1), []);
    table.hears(Event::Wake(late));
    table.lands(late, CpuId(2));
    let answers = table.lock(late, LockNotice::Arrived, 1);
    assert_eq!(answers, [Answer::Swap(late, seems)]);
}

/// Reports of a wait policy during a wait for a lock neither end nor change that wait.
#[test]
fn notices_within_a_wait_for_a_lock_change_nothing() {
    let mut table = Table::new(AMP);
    let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
    table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
    table.lock(holder, LockNotice::Taken, 7);
    table.lock(waiter, LockNotice::Wanted, 7);
    assert_eq!(table.hears(Event::Notice(waiter, Notice::Spinning)), []);
    assert_eq!(table.works(waiter), []);
    assert_eq!(table.hears(Event::Affinity(holder, Affinity::ALL)), [Answer::Swap(holder, fast)]);
}

/// What was reported of one wait concerns only that wait.
#[test]
fn a_wait_begins_anew_with_what_is_said_then() {
    // The spinner reports no lock, just after another thread has reported one. That report does not
    // count for the spinner, so its mate comes.
    let mut table = Table::new(AMP);
    let ([fast], [holder], [knows], [mate, spinner]) = (table.run(0), table.run(1), table.run(2), table.run(3));
    table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
    assert_eq!(table.waits(knows, Some(1), Some(holder)), []);
    assert_eq!(table.hears(Event::Notice(spinner, Notice::Spinning)), [Answer::Swap(mate, fast)]);
    // The lock's holder is forgotten with its last waiter, whether the waiter works again or waits
    // for another lock.
    for again in [false, true] {
        let mut table = Table::new(AMP);
        let ([_], [holder], [first], [last]) = (table.run::<1>(0), table.run(1), table.run(2), table.run(3));
        table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
        assert_eq!(table.waits(first, Some(1), Some(holder)), []);
        assert_eq!(if again { table.waits(first, Some(2), None) } else { table.works(first) }, []);
        assert_eq!(table.hears(Event::Affinity(holder, Affinity::ALL)), []);
        assert_eq!(table.waits(last, Some(1), None), [], "again: {again}");
    }
}

/// A thread that sleeps for another reason than a wait is no longer waited for. The other threads
/// of its application get its part of the spinners' weight at once.
#[test]
fn a_sleep_shares_the_weight_out_anew() {
    let mut table = Table::new(AMP);
    let ([busy], [holder, waiter], [other, w1, w2]) = (table.run(2), table.run(1), table.run(2));
    for id in [w1, w2] {
        assert_eq!(table.hears(Event::Notice(id, Notice::Spinning)), []);
    }
    assert_eq!(table.waits(waiter, Some(9), Some(holder)), []);
    table.hears(Event::Block(busy));
    // Two threads wait for `other` now, and one for the holder.
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [Answer::Move(other, CpuId(0))]);
}

#[test]
fn a_lock_is_its_owners_until_that_leaves_it() {
    let mut table = Table::new(Amp { holder_keeps: true, ..AMP });
    let ([fast], [holder], [waiter], [other]) = (table.run(0), table.run(1), table.run(2), table.run(3));
    // Thread `fast` holds two locks and releases one, so it still holds a lock and keeps its CPU.
    table.lock(fast, LockNotice::Taken, 1);
    table.lock(fast, LockNotice::Taken, 2);
    table.lock(fast, LockNotice::Left, 1);
    // Thread `other` does not hold lock 7, so its release of it does not count.
    table.lock(holder, LockNotice::Taken, 7);
    table.lock(other, LockNotice::Left, 7);
    assert_eq!(table.lock(waiter, LockNotice::Wanted, 7), []);
    // The waiter reports the release of lock 8; that does not end its wait for lock 7.
    table.lock(waiter, LockNotice::Left, 8);
    assert_eq!(table.lock(fast, LockNotice::Left, 2), [Answer::Swap(holder, fast)]);
    // The owner's report takes precedence over a waiter's; when the owner has ended, the waiter's
    // report counts.
    for ends in [false, true] {
        let mut table = Table::new(AMP);
        let ([fast], [owner], [named], [waiter]) = (table.run(0), table.run(1), table.run(2), table.run(3));
        table.lock(owner, LockNotice::Taken, 1);
        if ends {
            table.hears(Event::Exit(owner));
        }
        let expected = if ends { named } else { owner };
        assert_eq!(table.waits(waiter, Some(1), Some(named)), [Answer::Swap(expected, fast)]);
    }
}

#[test]
fn who_spins_is_waited_for_by_none_and_shares_within_its_application() {
    let mut table = Table::new(AMP);
    let ([fast, _], [works, spinner]) = (table.run(0), table.run(1));
    assert_eq!(table.hears(Event::Notice(spinner, Notice::Spinning)), [Answer::Swap(works, fast)]);
    // Three spinners wait for two threads, so each of the two has a weight of one and a half. That
    // is less than two, so none comes at once.
    let mut table = Table::new(Amp { crit_waiters: 2, ..AMP });
    let ([_], [_, _, w1, w2, w3]) = (table.run::<1>(0), table.run::<5>(1));
    for id in [w1, w2, w3] {
        assert_eq!(table.hears(Event::Notice(id, Notice::Spinning)), []);
    }
}
