//! When threads come to fast CPUs and leave them.

use crate::common::{PARAMS, World};
use crate::table::{AMP, Table};
use baton_sched::placement::{Amp, Answer, Event};
use baton_sched::{Affinity, AppId, FULL_SPEED, LockNotice, Notice, Params, Policy, ThreadId, crit};
use baton_units::{CpuId, Cycles};

/// In a round of swaps, a thread that waits on a fast CPU makes room for a thread that works, even
/// if no thread waits for the latter.
#[test]
fn who_waits_on_a_fast_cpu_makes_room_in_a_round() {
    for spins in [false, true] {
        let mut table = Table::new(AMP);
        let ([fast], [holder], [works]) = (table.run(0), table.run(1), table.run(2));
        table.hears(Event::Affinity(holder, Affinity::to([CpuId(1)])));
        if spins {
            table.hears(Event::Notice(fast, Notice::Spinning));
        } else {
            table.lock(holder, LockNotice::Taken, 1);
            table.lock(fast, LockNotice::Wanted, 1);
        }
        // An event at the time of the round, but before the round, does not postpone it.
        table.now = 10_000;
        assert_eq!(table.hears(Event::Idle(CpuId(5))), []);
        assert_eq!(table.at(10_000)[0], Answer::Swap(works, fast), "spins: {spins}");
    }
}

#[test]
fn of_two_that_are_urgent_the_heavier_comes() {
    let mut table = Table::new(AMP);
    let ([fast], [first], [waiter], [light], [heavy], [other]) =
        (table.run(0), table.run(1), table.run(2), table.run(3), table.run(4), table.run(5));
    table.now = 1_000;
    assert_eq!(table.waits(waiter, Some(1), Some(first)), [Answer::Swap(first, fast)]);
    table.lands(first, CpuId(0));
    table.lands(fast, CpuId(1));
    table.now = 1_010;
    table.works(waiter);
    assert_eq!(table.waits(waiter, Some(2), Some(light)), [Answer::Period(Cycles(1_070))]);
    assert_eq!(table.waits(other, Some(3), Some(heavy)), []);
    assert_eq!(table.waits(fast, Some(3), None), []);
    assert_eq!(table.at(1_070)[0], Answer::Swap(heavy, first));
}

/// A thread that is on its way to a CPU is not sent elsewhere, and no other thread takes its place
/// before it has left.
#[test]
fn who_is_on_its_way_is_moved_once() {
    let mut table = Table::with_fast(Amp { min_stay: Some(0), ..AMP }, 2);
    let ([b, a], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.waits(waiter, Some(1), Some(holder)), [Answer::Swap(holder, a)]);
    assert_eq!(table.hears(Event::Idle(CpuId(5))), []);
    // CPU 1, to which the holder is on its way, is switched off, so the holder goes to the other
    // fast CPU.
    assert!(table.hears(Event::Online(CpuId(1), false)).contains(&Answer::Swap(holder, b)));
    let mut table = Table::new(Amp { min_stay: Some(0), ..AMP });
    let ([fast], [first], [second], [w1, w2]) = (table.run(0), table.run(1), table.run(2), table.run(3));
    assert_eq!(table.waits(w1, Some(1), Some(first)), [Answer::Swap(first, fast)]);
    assert_eq!(table.waits(w2, Some(2), Some(second)), []);
}

/// Two fast CPUs have threads that must stay for a while. The next try to bring an urgent thread
/// comes at the end of the first of these stays.
#[test]
fn the_first_stay_to_end_is_waited_for() {
    let mut table = Table::with_fast(AMP, 2);
    let ([b, a], [h1], [h2], [w1], [w2]) = (table.run(0), table.run(1), table.run(2), table.run(3), table.run(4));
    table.now = 1_000;
    assert_eq!(table.waits(w1, Some(1), Some(h1)), [Answer::Swap(h1, a)]);
    table.lands(h1, CpuId(1));
    table.lands(a, CpuId(2));
    table.now = 1_030;
    assert_eq!(table.waits(w2, Some(2), Some(h2)), [Answer::Swap(h2, b)]);
    table.lands(h2, CpuId(0));
    table.lands(b, CpuId(3));
    table.now = 1_040;
    table.works(w1);
    assert_eq!(table.waits(w1, Some(3), Some(a)), [Answer::Period(Cycles(1_070))]);
}

/// A thread does not come to a fast CPU for which another thread waits, because it would wait
/// behind that thread.
#[test]
fn a_fast_cpu_with_a_queue_is_left_alone() {
    let mut table = Table::new(AMP);
    let ([fast], [holder], [waiter], [queued]) = (table.run(0), table.run(1), table.run(2), table.run(3));
    table.hears(Event::Yields(queued));
    table.hears(Event::Placed(queued, CpuId(0)));
    assert_eq!(table.waits(waiter, Some(1), Some(holder)), []);
    table.hears(Event::Block(queued));
    assert_eq!(table.hears(Event::Affinity(waiter, Affinity::ALL)), [Answer::Swap(holder, fast)]);
}

/// With `holder_keeps`, a holder is not swapped for a thread of more weight, nor in a round.
#[test]
fn a_holder_keeps_its_fast_cpu() {
    for keeps in [false, true] {
        let mut table = Table::new(Amp { holder_keeps: keeps, ..AMP });
        let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
        table.lock(fast, LockNotice::Taken, 1);
        table.lock(holder, LockNotice::Taken, 2);
        let swap = [Answer::Swap(holder, fast)];
        assert_eq!(table.lock(waiter, LockNotice::Wanted, 2), if keeps { &[][..] } else { &swap });
        if keeps {
            assert!(!table.at(10_000).contains(&swap[0]));
            assert_eq!(table.lock(fast, LockNotice::Left, 1), swap);
        }
    }
}

/// A holder has up to one more time slice; the next thread comes after that, or when the holder has
/// released the lock.
#[test]
fn a_holder_has_up_to_a_time_slice_more() {
    const POLICY: Policy = crit::POLICY;
    for (keeps, leaves_at, ends) in [(false, 900, 100), (true, 900, 200), (true, 150, 160), (true, 105, 110)] {
        let mut world = World::new(&POLICY, 1, Params { amp: Amp { holder_keeps: keeps, ..AMP }, ..PARAMS });
        let first = world.born_of(AppId(0), Affinity::ALL, 0);
        let second = world.born_of(AppId(0), Affinity::ALL, 0);
        world.told(|policy, now, out| policy.notify_lock(now, first, LockNotice::Taken, 1, out));
        let mut changed = None;
        for now in 1..250 {
            world.pass(now);
            if now == leaves_at {
                world.told(|policy, now, out| policy.notify_lock(now, first, LockNotice::Left, 1, out));
            }
            if world.current == [Some(second)] && changed.is_none() {
                changed = Some(now);
            }
        }
        assert_eq!(changed, Some(ends), "keeps {keeps}, leaves at {leaves_at}");
    }
}

/// Others wait for two threads in turns of 10 cycles; the fast CPU changes hands only once per
/// stay.
#[test]
fn turns_of_holders_do_not_thrash() {
    const POLICY: Policy = crit::POLICY;
    for (stay, most) in [(0, 999), (500, 20), (5_000, 2)] {
        let mut world = World::new(&POLICY, 4, Params { amp: Amp { min_stay: Some(stay), ..AMP }, ..PARAMS });
        for cpu in 1..4 {
            world.told(|policy, now, out| policy.set_speed(now, CpuId(cpu), FULL_SPEED / 2, out));
        }
        for app in 0..4 {
            world.born_of(AppId(app), Affinity::ALL, 0);
        }
        for turn in 0..1_000 {
            let (holder, waiter) = (ThreadId(turn % 2), ThreadId(3));
            world.told(|policy, now, out| {
                policy.notify(now, waiter, Notice::Spinning, Some(1), Some(holder), out);
            });
            world.pass(world.now + 10);
        }
        let of = |app| world.policy.app_use(Cycles(10_000), AppId(app)).unwrap().swaps;
        assert_eq!((0..4).map(of).sum::<u64>() / 2, most, "stay {stay}");
    }
}

/// Without `min_stay` the policy decides by lock. A hold is usually 400 or 40 cycles of the slow CPU,
/// of which the fast one saves half; a swap costs 50.
#[test]
fn a_long_hold_comes_into_a_stay_and_a_short_one_does_not() {
    for (hold, comes) in [(400, true), (40, false)] {
        let mut table = Table::new(Amp { min_stay: None, swap_price: Some(50), ..AMP });
        let ([fast], [holder], [waiter], [third]) = (table.run(0), table.run(1), table.run(2), table.run(3));
        // The policy learns how long a hold lasts from one for which no thread waits.
        table.lock(holder, LockNotice::Taken, 7);
        table.now += hold;
        table.lock(holder, LockNotice::Left, 7);
        // A thread comes whose holds are not known. It stays for a time slice of 100 cycles.
        table.lock(third, LockNotice::Taken, 8);
        assert_eq!(table.lock(waiter, LockNotice::Wanted, 8), [Answer::Swap(third, fast)]);
        table.lands(third, CpuId(0));
        table.lands(fast, CpuId(3));
        table.lock(third, LockNotice::Left, 8);
        table.lock(waiter, LockNotice::Left, 8);
        table.lock(holder, LockNotice::Taken, 7);
        let answers = table.lock(waiter, LockNotice::Wanted, 7);
        let stay_ends = table.now + PARAMS.time_slice.0;
        let expected = if comes { Answer::Swap(holder, third) } else { Answer::Period(Cycles(stay_ends)) };
        assert_eq!(answers, [expected], "{hold}");
    }
}

/// What is left of a hold counts, not the whole of it, and only while the holder runs.
#[test]
fn a_hold_that_is_nearly_over_does_not_come_into_a_stay() {
    for (done, comes) in [(100, true), (350, false)] {
        let mut table = Table::new(Amp { min_stay: None, swap_price: Some(50), ..AMP });
        let ([fast], [holder], [waiter]) = (table.run(0), table.run(1), table.run(2));
        table.lock(holder, LockNotice::Taken, 7);
        table.now += 400;
        table.lock(holder, LockNotice::Left, 7);
        table.lock(fast, LockNotice::Taken, 8);
        table.lock(waiter, LockNotice::Wanted, 8);
        table.lock(waiter, LockNotice::Left, 8);
        table.lock(holder, LockNotice::Taken, 7);
        table.hears(Event::Yields(holder));
        table.now += 1_000;
        table.lands(holder, CpuId(1));
        table.now += done;
        // The fast CPU's thread came at this moment, for another lock.
        let [newest] = table.run(3);
        table.lock(newest, LockNotice::Taken, 9);
        assert_eq!(table.lock(waiter, LockNotice::Wanted, 9), [Answer::Swap(newest, fast)]);
        table.lands(newest, CpuId(0));
        table.lands(fast, CpuId(3));
        table.lock(waiter, LockNotice::Left, 9);
        table.lock(newest, LockNotice::Left, 9);
        let answers = table.lock(waiter, LockNotice::Wanted, 7);
        assert_eq!(answers.contains(&Answer::Swap(holder, newest)), comes, "{done}: {answers:?}");
    }
}

/// What is expected of a lock falls to a shorter hold at once and rises slowly: one short hold
/// between long ones that were told late keeps the next holder away.
#[test]
fn a_short_hold_counts_more_than_long_ones() {
    for (newest, comes) in [(400, true), (40, false)] {
        let mut table = Table::new(Amp { min_stay: None, swap_price: Some(50), ..AMP });
        let ([fast], [holder], [waiter], [third]) = (table.run(0), table.run(1), table.run(2), table.run(3));
        for hold in [400, 400, newest, 400] {
            table.lock(holder, LockNotice::Taken, 7);
            table.now += hold;
            table.lock(holder, LockNotice::Left, 7);
        }
        table.lock(third, LockNotice::Taken, 8);
        assert_eq!(table.lock(waiter, LockNotice::Wanted, 8), [Answer::Swap(third, fast)]);
        table.lands(third, CpuId(0));
        table.lands(fast, CpuId(3));
        table.lock(third, LockNotice::Left, 8);
        table.lock(waiter, LockNotice::Left, 8);
        table.lock(holder, LockNotice::Taken, 7);
        let answers = table.lock(waiter, LockNotice::Wanted, 7);
        assert_eq!(answers.contains(&Answer::Swap(holder, third)), comes, "{newest}: {answers:?}");
    }
}
