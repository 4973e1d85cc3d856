//! The policy `crit`: events in, answers out. CPU 0 is fast; threads stay where they are, whatever
//! the answers say, unless a test moves them.

mod common;

use baton_sched::placement::{Amp, Answer, Event, Placement};
use baton_sched::{
    Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, LockNotice, Nice, Notice, Params, Policy, ThreadId, crit,
};
use baton_units::{CoreId, CpuId, Cycles};
use common::{PARAMS, World};

const STAY: u64 = 70;
/// A round of swaps comes only every hundred slices, so it plays no part in most tests.
const AMP: Amp = Amp { min_stay: Some(STAY), swap_ticks: 100, ..Amp::DEFAULT };

struct Table {
    placement: Box<dyn Placement>,
    now: u64,
    threads: u32,
}

impl Table {
    fn new(amp: Amp) -> Table {
        Table::with_fast(amp, 1)
    }

    /// Creates a table in which the first `fast` CPUs are fast.
    fn with_fast(amp: Amp, fast: u32) -> Table {
        let speed = |i: u32| if i < fast { FULL_SPEED } else { FULL_SPEED / 2 };
        let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: speed(i), fast: None };
        let cpus = Cpus((0..6).map(cpu).collect());
        Table { placement: crit::placement(&cpus, &Params { amp, ..PARAMS }), now: 1, threads: 0 }
    }

    fn hears(&mut self, event: Event) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.placement.hears(Cycles(self.now), &event, &mut answers);
        answers
    }

    /// Starts `N` threads of the application on the next CPUs.
    fn run<const N: usize>(&mut self, app: u32) -> [ThreadId; N] {
        std::array::from_fn(|_| {
            let (id, cpu) = (ThreadId(self.threads), CpuId(self.threads));
            self.threads += 1;
            let affinity = Affinity::ALL;
            let born = Born { app: AppId(app), affinity, near: cpu, nice: Nice::default(), speedup: None };
            for event in [Event::Born(id, born), Event::Wake(id)] {
                self.hears(event);
            }
            self.lands(id, cpu);
            id
        })
    }

    fn lands(&mut self, id: ThreadId, cpu: CpuId) {
        self.hears(Event::Placed(id, cpu));
        self.hears(Event::Runs(id, cpu));
    }

    /// Lets the thread report that it waits.
    fn waits(&mut self, id: ThreadId, lock: Option<u64>, holder: Option<ThreadId>) -> Vec<Answer> {
        assert_eq!(self.hears(Event::Waits(id, lock, holder)), []);
        self.hears(Event::Notice(id, Notice::Spinning))
    }

    /// Lets the thread report what it does with a lock or a barrier.
    fn lock(&mut self, id: ThreadId, notice: LockNotice, lock: u64) -> Vec<Answer> {
        self.hears(Event::Lock(id, notice, lock))
    }

    fn works(&mut self, id: ThreadId) -> Vec<Answer> {
        self.hears(Event::Notice(id, Notice::Working))
    }

    fn at(&mut self, now: u64) -> Vec<Answer> {
        self.now = now;
        self.hears(Event::Period)
    }
}

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
