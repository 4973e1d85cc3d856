//! The algorithm's own instructions are charged as the registry says, and each algorithm makes as
//! many accesses as the registry says. (`scripts/check/sync-instructions`, which `cargo test -p
//! baton-sync` runs, compares the instructions with callgrind's.)

use crate::common;
use baton_chip::{Instructions, Options, Reason, Simulated, Simulation, Spawn};
use baton_machine::units::Nanos;
use baton_machine::{
    Alone, Atomic, Clock, Counted, CountedBulk, Deadline, Machine, Ordering::*, Owned, OwnedSlice, Slot, Unwaited, Wait,
};
use baton_sync::barrier::{BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::event::{EVENTS, EventVisitor, RawEvent};
use baton_sync::lock::{self, LOCKS, LockVisitor, RawLock};
use baton_sync::queue::{QUEUES, QueueVisitor, RawQueue};

/// The accesses that a single guest makes in `operations` operations.
fn accesses(device: bool, operations: u64, body: impl FnOnce(u64) + 'static) -> u64 {
    // With a window, a store buffer or links, the same algorithm could make other accesses.
    let chip = common::cores(2, if device { &common::QUEUE_DEVICE } else { &[] });
    let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
    simulation.spawn(Spawn::default(), move || body(operations)).unwrap();
    simulation.run().unwrap().guest_operations
}

/// The accesses of one operation, averaged over 1,000 operations after the first 100.
fn each<F: FnOnce(u64) + 'static>(device: bool, body: impl Fn() -> F) -> f64 {
    (accesses(device, 1100, body()) - accesses(device, 100, body())) as f64 / 1000.0
}

struct Pairs;

/// The promise of the tests that play all threads in turn.
struct Played;
// SAFETY: one guest uses each object, and the objects guard nothing.
unsafe impl Alone for Played {}

type Counting = Unwaited<Simulated, Played>;

impl LockVisitor<Simulated> for Pairs {
    type Out = f64;
    fn visit<L: RawLock<Simulated>>(self) -> f64 {
        each(false, || {
            |pairs| {
                let lock = Owned::<Simulated, L>::new(L::new());
                // The policy with which the native pairs of lock and unlock were counted.
                let wait = L::INFO.wait(None).expect("a lock takes its own policy");
                for _ in 0..pairs {
                    let token = lock.lock(wait);
                    // SAFETY: `token` is that of the lock call above.
                    unsafe { lock.unlock(token, wait) };
                }
            }
        })
    }
}

impl QueueVisitor<Simulated> for Pairs {
    type Out = f64;
    fn visit<Q: RawQueue<Simulated, Item = u64>>(self) -> f64 {
        each(Q::INFO.device, || {
            |pairs| {
                let queue = Owned::<Simulated, Q>::new(Q::with_capacity(64).expect("a power of two"));
                for item in 0..pairs {
                    // SAFETY: this guest alone uses the queue.
                    let taken = unsafe {
                        queue.enqueue(item, Wait::Pause);
                        queue.dequeue(Wait::Pause)
                    };
                    assert_eq!(taken, item);
                }
            }
        })
    }
}

/// One guest plays all eight participants of the barrier.
impl BarrierVisitor<Counting> for Pairs {
    type Out = f64;
    fn visit<B: RawBarrier<Counting>>(self) -> f64 {
        each(false, || {
            |episodes| {
                let barrier = Owned::<Simulated, B>::new(B::new(8.try_into().expect("not zero")));
                for _ in 0..episodes {
                    let serial = (0..8).filter(|&index| barrier.wait(index, Wait::Pause)).count();
                    assert_eq!(serial, 1);
                }
            }
        })
    }
}

impl EventVisitor<Counting> for Pairs {
    type Out = f64;
    fn visit<E: RawEvent<Counting>>(self) -> f64 {
        each(false, || {
            |waits| {
                let event = Owned::<Simulated, E>::new(E::new());
                for _ in 0..waits {
                    let waiter = event.prepare(Wait::Pause);
                    event.notify_one(Wait::Pause);
                    // SAFETY: the waiter was prepared above, and is retired once.
                    let notified = unsafe {
                        let _ = event.sleep(waiter, Wait::Pause, None);
                        event.retire(waiter, Wait::Pause)
                    };
                    assert!(notified);
                }
            }
        })
    }
}

#[test]
fn the_registries_have_the_accesses_that_algorithms_make() {
    let check = |name: &str, made: f64, counted: Counted| {
        assert_eq!(made.round() as u32, counted.accesses, "`{name}`: `counted` in its file is stale");
        assert!(counted.instructions >= f64::from(counted.accesses), "{name}");
        let whole = (Instructions::of(counted).an_access() + 1.0) * f64::from(counted.accesses);
        // The charge of each access is rounded to the unit of 1/256 instruction.
        let rounding = f64::from(counted.accesses) / 512.0;
        assert!((whole - counted.instructions).abs() <= rounding, "{name}: {whole}");
    };
    for lock in LOCKS {
        check(lock.name, baton_sync::lock::visit::<Simulated, _>(lock.name, Pairs).unwrap(), lock.counted);
    }
    for queue in QUEUES {
        check(queue.name, baton_sync::queue::visit::<Simulated, _>(queue.name, Pairs).unwrap(), queue.counted);
    }
    for barrier in BARRIERS {
        check(barrier.name, baton_sync::barrier::visit(barrier.name, Pairs).unwrap(), barrier.counted);
    }
    for event in EVENTS {
        check(event.name, baton_sync::event::visit(event.name, Pairs).unwrap(), event.counted);
    }
}

/// Counts the accesses of a bulk of this many items that goes into a queue and out again.
struct Bulks(usize);

impl QueueVisitor<Simulated> for Bulks {
    type Out = f64;
    fn visit<Q: RawQueue<Simulated, Item = u64>>(self) -> f64 {
        each(Q::INFO.device, || {
            move |times| {
                let queue = Owned::<Simulated, Q>::new(Q::with_capacity(64).expect("a power of two"));
                let (items, mut taken) = (vec![7; self.0], vec![0; self.0]);
                for _ in 0..times {
                    // SAFETY: this guest alone uses the queue.
                    unsafe {
                        queue.enqueue_all(&items, Wait::Pause);
                        queue.dequeue_all(&mut taken, Wait::Pause);
                    }
                    assert_eq!(taken, items);
                }
            }
        })
    }
}

/// Besides the accesses of its calls, a bulk has one access for each line of items in each
/// direction.
#[test]
fn a_bulk_has_the_accesses_of_its_calls_and_of_its_lines() {
    for (queue, counted) in QUEUES.iter().filter_map(|queue| Some((queue.name, queue.counted_bulk?))) {
        for items in [8, 32] {
            let made = baton_sync::queue::visit::<Simulated, _>(queue, Bulks(items)).unwrap();
            let lines = (made - f64::from(counted.call.accesses)) / 2.0;
            let least = items as f64 / 8.0;
            assert!((least..=least + 2.0).contains(&lines), "`{queue}`: {made} accesses for {items} items");
        }
    }
}

/// A row is charged per slot, however many lines its slots take, but for the rounding of each
/// line's charge and the accesses themselves.
#[test]
fn a_row_takes_the_instructions_of_its_slots() {
    let counted = CountedBulk { call: Counted { instructions: 10.0, accesses: 10 }, item: 8.0 };
    for (slots, cycles) in [(8, 16 * 8 / 2), (32, 16 * 32 / 2)] {
        let chip = common::cores(1, &["core.width=1"]);
        let options = Options { instructions: Instructions::of_bulk(counted), ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let body = move || {
            let row = OwnedSlice::<Simulated, _>::new(slots, |_| <Simulated as Machine>::Slot::new(0u64));
            let mut items = vec![7; slots];
            // SAFETY: this guest alone uses the row.
            unsafe {
                Slot::write_row(&row, items.as_ptr());
                Slot::take_row(&row, items.as_mut_ptr());
            }
            assert_eq!(items, vec![7; slots]);
        };
        simulation.spawn(Spawn::default(), body).unwrap();
        let work = simulation.run().unwrap().threads[0].time(Reason::Work).0;
        // The access to a line is one of the line's instructions, and is not charged as computing.
        let lines = slots as u64 / 8 * 2;
        assert!((cycles - lines - 2..=cycles).contains(&work), "{slots} slots: {work} cycles of work");
    }
}

/// The typical charge lies in the middle of those that were counted: between the first and the
/// third quartile of all locks and queues.
#[test]
fn the_typical_charge_is_typical() {
    let counted = LOCKS.iter().map(|lock| lock.counted).chain(QUEUES.iter().map(|queue| queue.counted));
    let mut all: Vec<f64> = counted.map(|counted| Instructions::of(counted).an_access()).collect();
    all.sort_by(f64::total_cmp);
    let typical = Instructions::TYPICAL.an_access();
    assert!(all[all.len() / 4] <= typical && typical <= all[all.len() * 3 / 4], "{typical} of {all:?}");
    assert_eq!(Instructions::default(), Instructions::TYPICAL);
}

/// The instructions of a lock.
fn of_lock(name: &str) -> Instructions {
    Instructions::of(lock::info(name).expect("a lock of the registry").counted)
}

/// Runs `loads` loads that hit, on a chip of this width. Returns the thread's computing time and
/// the length of the run.
fn hits(width: u32, charge: Instructions, loads: u64) -> (u64, u64) {
    let chip = common::cores(1, &[&format!("core.width={width}")]);
    let options = Options { instructions: charge, ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).unwrap();
    let cell = common::cell(&mut simulation, 0u32);
    simulation.spawn(Spawn::default(), move || (0..loads).for_each(|_| _ = cell.0.load(Relaxed))).unwrap();
    let outcome = simulation.run().unwrap();
    (outcome.threads[0].time(Reason::Work).0, outcome.cycles.0)
}

#[test]
fn instructions_take_their_width_to_the_cycle() {
    for name in ["tas", "mcs", "cohort"] {
        let charge = of_lock(name);
        for width in [1, 2, 3, 8] {
            for loads in [1, 7, 1000] {
                let (work, _) = hits(width, charge, loads);
                // Fractions of a cycle are carried over, never dropped or rounded up.
                let exact = charge.an_access() * loads as f64 / f64::from(width);
                assert_eq!(work, exact.floor() as u64, "{name}, width {width}, {loads} loads");
            }
        }
    }
}

#[test]
fn nothing_is_charged_where_nothing_is_to_be() {
    let charge = of_lock("mcs");
    let (work, plain) = hits(0, charge, 100);
    assert_eq!(work, 0, "a chip without a width");
    assert_eq!(hits(4, Instructions::NONE, 100), (0, plain));
    assert!(hits(4, charge, 100).1 > plain);
}

/// A thread's instructions are those of its operations, the charge that comes with each of them,
/// and four for each try that spins, including the try's load. A try has a price of its own
/// (`wait.pause`) and no charge.
#[test]
fn instructions_are_counted_where_they_are_executed() {
    let of = |charge: Instructions, loads: u64, tries: u32| {
        let chip = common::cores(1, &["core.width=4"]);
        let options = Options { instructions: charge, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cell = common::cell(&mut simulation, 0u32);
        let body = move || {
            (0..loads).for_each(|_| _ = cell.0.load(Relaxed));
            if tries != 0 {
                let deadline = Deadline { at: Nanos(100_000), clock: Clock::Monotonic };
                let _ = Simulated::wait_while(&cell.0, 0, Wait::SpinPark(tries), Some(deadline));
            }
        };
        simulation.spawn(Spawn::default(), body).unwrap();
        simulation.run().unwrap().threads[0].instructions
    };
    let charge = of_lock("mcs");
    for loads in [100, 1000] {
        let exact = loads as f64 * (1.0 + charge.an_access());
        assert_eq!(of(charge, loads, 0), exact.floor() as u64);
        assert_eq!(of(Instructions::NONE, loads, 0), loads);
    }
    let without = of(Instructions::NONE, 1, 40);
    assert_eq!(of(Instructions::NONE, 1, 140) - without, 4 * 100);
}

#[test]
fn tries_are_not_charged() {
    let run = |charge| {
        let chip = common::cores(1, &["core.width=1"]);
        let options = Options { instructions: charge, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cell = common::cell(&mut simulation, 0u32);
        let body = move || {
            let deadline = Deadline { at: Nanos(100_000), clock: Clock::Monotonic };
            let _ = Simulated::wait_while(&cell.0, 0, Wait::SpinPark(40), Some(deadline));
        };
        simulation.spawn(Spawn::default(), body).unwrap();
        let outcome = simulation.run().unwrap();
        (outcome.threads[0].counts.tries, outcome.threads[0].time(Reason::Spin))
    };
    let charged = run(of_lock("cohort"));
    assert_eq!(charged, run(Instructions::NONE));
    assert_eq!(charged.0, 40);
}
