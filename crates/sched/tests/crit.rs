//! The policy `crit`: events in, answers out. CPU 0 is fast; threads stay where they are, whatever is answered, unless a test moves them.

mod common;

use baton_sched::placement::{Amp, Answer, Event, Placement};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, Nice, Notice, Params, Policy, ThreadId, crit};
use baton_units::{CoreId, CpuId, Cycles};
use common::{PARAMS, World};

const STAY: u64 = 70;
/// A round of swaps in a hundred slices: it has no part in most tests.
const AMP: Amp = Amp { min_stay: Some(STAY), swap_ticks: 100, ..Amp::DEFAULT };

struct Table {
    placement: Box<dyn Placement>,
    now: u64,
    threads: u32,
}

impl Table {
    fn new(amp: Amp) -> Table {
        let speed = |i: u32| if i == 0 { FULL_SPEED } else { FULL_SPEED / 2 };
        let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: speed(i), fast: None };
        let cpus = Cpus((0..6).map(cpu).collect());
        Table { placement: crit::placement(&cpus, &Params { amp, ..PARAMS }), now: 1, threads: 0 }
    }

    fn hears(&mut self, event: Event) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.placement.hears(Cycles(self.now), &event, &mut answers);
        answers
    }

    /// So many threads of that application, on the next CPUs.
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

    /// It says that it waits.
    fn waits(&mut self, id: ThreadId, lock: Option<u64>, holder: Option<ThreadId>) -> Vec<Answer> {
        assert_eq!(self.hears(Event::Waits(id, lock, holder)), []);
        self.hears(Event::Notice(id, Notice::Spinning))
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
    // Each of its own application, so that nothing is deduced.
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
    // One thread waits for each.
    let [c] = table.run(3);
    table.now = 1_010;
    assert_eq!(table.waits(b, Some(2), Some(second)), []);
    // Two wait for the second one: it comes when the fast CPU has had the first one for 70 cycles.
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
    // A thread that waits for itself has named no other: its application's first thread, which has the fast CPU, has the weight.
    assert_eq!(alone.waits(a, Some(1), Some(a)), []);
}

/// The thread whose wait is over has taken the lock; the others wait for it, although they have named another one.
#[test]
fn a_lock_that_is_handed_over_has_a_new_holder() {
    let mut table = Table::new(AMP);
    let ([old], [next], [last]) = (table.run(0), table.run(1), table.run(2));
    assert_eq!(table.waits(next, Some(1), Some(old)), []);
    assert_eq!(table.waits(last, Some(1), Some(old)), []);
    assert_eq!(table.works(next), [Answer::Swap(next, old)]);
    // No thread waits any more: the lock is forgotten, and who waits for it next knows no holder.
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
    // Two wait for two others: one each.
    assert_eq!(table.hears(Event::Notice(second, Notice::Spinning)), []);
    assert_eq!(table.hears(Event::Notice(third, Notice::Spinning)), [Answer::Swap(last, first)]);
    let mut table = Table::new(Amp { crit_waiters: 2, ..AMP });
    let [first, second, third, last] = table.run(0);
    for id in [second, third] {
        table.hears(Event::Notice(id, Notice::Spinning));
        table.hears(Event::Block(id));
    }
    // Those two sleep in their waits, and wait all the same. The first one sleeps for another reason: both wait for the last one alone.
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
    // It ends, or sleeps and is woken: a thread for which none waits does not come.
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
    // It still waits: the new mask lets its holder come.
    assert_eq!(table.hears(Event::Affinity(holder, Affinity::ALL)), [Answer::Swap(holder, fast)]);
    // A holder that has ended is none.
    let mut table = Table::new(AMP);
    let ([_], [holder], [waiter]) = (table.run::<1>(0), table.run(1), table.run(2));
    table.hears(Event::Exit(holder));
    assert_eq!(table.waits(waiter, Some(1), Some(holder)), []);
}

/// Two threads for which others wait by turns, every 10 cycles: the fast CPU changes hands once in a stay.
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
