//! The futex protocol under shuttle: the source that runs on the simulated chip, explored over
//! schedules. A wake-up that is lost is a guest that sleeps for ever, which shuttle reports.

use baton_check::schedules::Shuttle as M;
use baton_check::world::{Scenario, Shared, Shuttle, World, share};
use baton_chip::futex::{self, Bucket, Counter, Kernel, Node, OUT, Path, QUEUED, Slept};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering::*, Wait, WaitResult, Word};

type Cell = <M as Machine>::Atomic<u32>;

/// Two cells with one counter, and two buckets; both cells may use the same bucket. A second
/// counter serves the fault `blind`. Threads block by shuttle's own wait on a node's state.
struct Model {
    counters: [Counter<M>; 2],
    buckets: [Bucket<M>; 2],
    nodes: [Node<M>; 8],
    cells: [Cell; 2],
    /// Whether both cells use the same bucket.
    shares: bool,
    /// Whether wakers look at a counter in which no sleeper counts: a fault that the tests must
    /// find.
    blind: bool,
}

impl Model {
    fn new(shares: bool, blind: bool) -> Shared<M, Model> {
        share::<M, _>(Model {
            counters: [Counter::new(), Counter::new()],
            buckets: [Bucket::new(), Bucket::new()],
            nodes: core::array::from_fn(|_| Node::new()),
            cells: [Cell::new(0), Cell::new(0)],
            shares,
            blind,
        })
    }
}

/// The kernel as waiters see it (`false`), or as wakers do (`true`).
struct As<'a>(&'a Model, bool);

impl Kernel for As<'_> {
    type M = M;
    fn key<T: Word>(&self, cell: *const <M as Machine>::Atomic<T>) -> u64 {
        cell.addr() as u64
    }
    fn counter(&self, _: u64) -> &Counter<M> {
        &self.0.counters[usize::from(self.0.blind && self.1)]
    }
    fn bucket_of(&self, key: u64) -> u32 {
        u32::from(!self.0.shares && key == core::ptr::from_ref(&self.0.cells[1]).addr() as u64)
    }
    fn bucket(&self, number: u32) -> &Bucket<M> {
        &self.0.buckets[number as usize]
    }
    fn node(&self, number: u32) -> &Node<M> {
        &self.0.nodes[number as usize]
    }
    fn me(&self) -> u32 {
        M::local().index()
    }
    fn path(&self, _: Path) {}
    fn hold(&self, _: bool) {}
    fn block(&self, _: u64, state: &Cell, deadline: Option<Deadline>) -> bool {
        M::wait_while(state, QUEUED, Wait::Futex, deadline) == WaitResult::Expired
    }
    fn unblock(&self, number: u32, _: u32) {
        M::wake(self.node(number).state(), 1, Wait::Futex);
    }
}

impl Model {
    /// Waits until the cell is not 0.
    fn await_change(&self, at: usize) {
        while self.cells[at].load(Acquire) == 0 {
            let slept = futex::wait(&As(self, false), &self.cells[at], 0, None);
            assert_ne!(slept, Slept::Expired, "without a deadline");
        }
    }

    fn change(&self, at: usize, n: u32) {
        self.cells[at].store(1, Release);
        let _ = futex::wake::<_, u32>(&As(self, true), &raw const self.cells[at], n);
    }

    /// Takes a token from the cell, if one comes before the deadline.
    fn take(&self, deadline: Option<Deadline>) -> bool {
        loop {
            let tokens = self.cells[0].load(Acquire);
            if tokens != 0 {
                if self.cells[0].compare_exchange(tokens, tokens - 1, AcqRel, Relaxed).is_ok() {
                    return true;
                }
            } else if futex::wait(&As(self, false), &self.cells[0], 0, deadline) == Slept::Expired {
                return false;
            }
        }
    }

    fn put(&self) {
        self.cells[0].fetch_add(1, Release);
        let _ = futex::wake::<_, u32>(&As(self, true), &raw const self.cells[0], 1);
    }

    fn nobody_is_left(&self) {
        assert!(self.nodes.iter().all(|node| node.state().load(Relaxed) == OUT));
        assert_eq!(self.counters[0].sleepers.load(Relaxed), 0);
        for cell in &self.cells {
            assert_eq!(futex::wake_moved::<_, u32>(&As(self, true), cell, u32::MAX), 0, "in a queue still");
        }
    }
}

fn soon() -> Option<Deadline> {
    let clock = Clock::default();
    Some(Deadline { at: M::now(clock) + Nanos(1_000), clock })
}

#[test]
fn a_change_wakes_all_who_wait() {
    for shares in [true, false] {
        Shuttle::run(move || {
            let model = Model::new(shares, false);
            let (one, two, end) = (model.clone(), model.clone(), model.clone());
            let waiters = model.clone();
            Scenario::new()
                .guests(3, move |i| {
                    let model = waiters.clone();
                    move || model.await_change(i % 2)
                })
                .guest(move || one.change(0, u32::MAX))
                .guest(move || two.change(1, u32::MAX))
                .finally(move || end.nobody_is_left())
        });
    }
}

#[test]
#[should_panic]
fn a_waker_that_looks_at_the_wrong_counter_is_found() {
    Shuttle::run(|| {
        let model = Model::new(true, true);
        let (waiter, waker) = (model.clone(), model);
        Scenario::new().guest(move || waiter.await_change(0)).guest(move || waker.change(0, 1))
    });
}

#[test]
fn a_sleeper_whose_time_is_up_takes_no_wake_up_with_it() {
    Shuttle::run(|| {
        let model = Model::new(true, false);
        let (patient, hasty, putter, end) = (model.clone(), model.clone(), model.clone(), model);
        Scenario::new()
            .with_deadlines()
            .guest(move || assert!(patient.take(None)))
            .guest(move || {
                // The hasty thread gives back what it takes, so that the patient one always gets a
                // token.
                if hasty.take(soon()) {
                    hasty.put();
                }
            })
            .guest(move || putter.put())
            .finally(move || {
                end.nobody_is_left();
                assert_eq!(end.cells[0].load(Relaxed), 0);
            })
    });
}

#[test]
fn moved_sleepers_are_woken_where_they_are() {
    for shares in [true, false] {
        Shuttle::run(move || {
            let model = Model::new(shares, false);
            let (mover, there, end) = (model.clone(), model.clone(), model.clone());
            Scenario::new()
                .guests(2, move |_| {
                    let model = model.clone();
                    // The value of the sleeper's cell never changes: only a wake-up ends the sleep.
                    move || _ = futex::wait(&As(&model, false), &model.cells[0], 0, None)
                })
                // A third thread sleeps on the cell to which the two sleepers are moved.
                .guest(move || _ = futex::wait(&As(&there, false), &there.cells[1], 0, None))
                .guest(move || {
                    let mut gone = 0;
                    while gone < 3 {
                        let kernel = As(&mover, true);
                        let [from, to] = &mover.cells;
                        let (woken, _) = futex::requeue(&kernel, from, 0, to, 0, u32::MAX).expect("nobody changes it");
                        gone += woken + futex::wake_moved::<_, u32>(&kernel, to, 1);
                        M::relax();
                    }
                })
                .finally(move || end.nobody_is_left())
        });
    }
}

#[test]
fn a_moved_sleeper_can_still_give_up() {
    Shuttle::run(|| {
        let model = Model::new(false, false);
        let (sleeper, mover, end) = (model.clone(), model.clone(), model);
        Scenario::new()
            .with_deadlines()
            .guest(move || {
                let slept = futex::wait(&As(&sleeper, false), &sleeper.cells[0], 0, soon());
                assert_eq!(slept, Slept::Expired, "nobody wakes it");
            })
            .guest(move || {
                let [from, to] = &mover.cells;
                futex::requeue(&As(&mover, true), from, 0, to, 0, 1);
                futex::requeue(&As(&mover, true), to, 0, from, 0, 1);
            })
            .finally(move || end.nobody_is_left())
    });
}

/// The sleeper's wait ends with `Woken` exactly if the waker took the sleeper out of the queue,
/// also if the deadline passes at the same time.
#[test]
fn a_wake_up_and_a_sleeper_agree() {
    Shuttle::run(|| {
        let model = Model::new(true, false);
        let (sleeper, waker, end) = (model.clone(), model.clone(), model);
        Scenario::new()
            .with_deadlines()
            .guest(move || {
                let slept = futex::wait(&As(&sleeper, false), &sleeper.cells[0], 0, soon());
                sleeper.cells[1].fetch_add(u32::from(slept == Slept::Woken), Relaxed);
            })
            .guest(move || {
                let woken = futex::wake_moved::<_, u32>(&As(&waker, true), &raw const waker.cells[0], 1);
                waker.cells[1].fetch_add(woken.wrapping_neg(), Relaxed);
            })
            .finally(move || assert_eq!(end.cells[1].load(Relaxed), 0))
    });
}

/// Two threads move sleepers in opposite directions between two buckets, each with the locks of
/// both buckets: neither waits for the other for ever.
#[test]
fn movers_do_not_wait_for_each_other() {
    Shuttle::run(|| {
        let model = Model::new(false, false);
        let mover = model.clone();
        Scenario::new().guests(2, move |i| {
            let model = mover.clone();
            move || {
                let (from, to) = (&model.cells[i % 2], &model.cells[1 - i % 2]);
                assert_eq!(futex::requeue(&As(&model, true), from, 0, to, 1, 1), Some((0, 0)));
            }
        })
    });
}
