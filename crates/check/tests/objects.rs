//! The checkers object to a hand-off that was weakened on purpose, to a wake-up that was left out,
//! to a lock that is touched too late, and to one that serves out of order. A checker that never
//! objects would prove nothing.

use baton_check::contract::{ability, lock, machine};
use baton_check::world::{Loom, Scenario, Shuttle, World};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Operand, QueueId, QueueRequest};
use baton_machine::{Atomic, Counted, Machine, Ordering, Slot, Wait, WaitResult};
use baton_sync::lock::{Fifo, LockInfo, Posix, RawLock, TryLock, Waits};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A fault that is built into the lock.
type Fault = u32;
const NOTHING: Fault = 0;
const WEAK_STORE: Fault = 1;
const WEAK_LOAD: Fault = 2;
const NO_WAKE: Fault = 3;
const WAKES_ONE: Fault = 4;
const TOUCHES_LATE: Fault = 5;
const BARGES: Fault = 6;

/// A ticket lock with the fault `F`.
struct Faulty<M: Machine, const F: Fault> {
    serving: M::Atomic<u32>,
    next: M::Atomic<u32>,
}

impl<M: Machine, const F: Fault> Faulty<M, F> {
    fn unless(fault: Fault, order: Ordering) -> Ordering {
        if F == fault { Relaxed } else { order }
    }
}

impl<M: Machine, const F: Fault> Fifo for Faulty<M, F> {
    fn is_free(&self) -> bool {
        let serving = self.serving.load(Acquire);
        self.next.load(Acquire) == serving
    }
}

// SAFETY: with most faults `F` this type is not a lock, which is what is tested; it guards no other
// data.
unsafe impl<M: Machine, const F: Fault> RawLock<M> for Faulty<M, F> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "faulty",
        what: "a ticket lock with a fault",
        source: "-",
        limits: "faulty",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::No("faulty"),
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 12.0, accesses: 4 },
        c_number: u32::MAX,
    };

    fn new() -> Self {
        Faulty { serving: M::Atomic::new(0), next: M::Atomic::new(0) }
    }

    fn lock(&self, wait: Wait) {
        if F == BARGES && self.try_lock().is_some() {
            return;
        }
        if F == BARGES {
            M::relax();
        }
        let mine = self.next.fetch_add(1, Relaxed);
        let mut serving = self.serving.load(Self::unless(WEAK_LOAD, Acquire));
        while serving != mine {
            if F == WEAK_LOAD {
                // Waits with its own loop, because `wait_while` of the machine would acquire.
                M::relax();
                serving = self.serving.load(Relaxed);
            } else if let WaitResult::Changed(now) = M::wait_while(&self.serving, serving, wait, None) {
                serving = now;
            }
        }
    }

    unsafe fn unlock(&self, (): (), wait: Wait) {
        let mine = self.serving.load(Relaxed);
        self.serving.store(mine.wrapping_add(1), Self::unless(WEAK_STORE, Release));
        if F == TOUCHES_LATE {
            self.next.load(Relaxed);
        }
        match F {
            NO_WAKE => {}
            WAKES_ONE => M::wake::<u32>(&self.serving, 1, wait),
            _ => M::wake::<u32>(&self.serving, u32::MAX, wait),
        }
    }
}

// SAFETY: with most faults `F` this type is not a lock, which is what is tested; it guards no other
// data.
unsafe impl<M: Machine, const F: Fault> TryLock<M> for Faulty<M, F> {
    fn try_lock(&self) -> Option<()> {
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).ok().map(drop)
    }
}

/// Returns the checker's objection to `test`, if it has one.
fn objection(test: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(test)).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
}

#[track_caller]
fn assert_objects(what: &str, test: impl FnOnce()) {
    let said = objection(test).expect("no objection");
    assert!(said.contains(what), "expected an objection about `{what}`, got: {said}");
}

type Of<W, const F: Fault> = Faulty<<W as World>::M, F>;

#[test]
fn the_lock_without_a_fault_passes() {
    lock::exclusion::<Loom, Of<Loom, NOTHING>>();
    lock::exclusion::<Shuttle, Of<Shuttle, NOTHING>>();
    lock::freed_by_the_last::<Shuttle, Of<Shuttle, NOTHING>>();
}

#[test]
fn loom_objects_to_a_hand_off_without_release() {
    assert_objects("Causality violation", lock::exclusion::<Loom, Of<Loom, WEAK_STORE>>);
}

#[test]
fn loom_objects_to_a_hand_off_without_acquire() {
    assert_objects("Causality violation", lock::exclusion::<Loom, Of<Loom, WEAK_LOAD>>);
}

#[test]
fn a_wait_adds_no_edge_to_a_relaxed_store() {
    assert_objects("Causality violation", || machine::deliver::<Loom>(Wait::Pause, Relaxed));
    machine::deliver::<Loom>(Wait::Pause, Release);
}

#[test]
fn a_race_on_a_row_is_found_slot_by_slot() {
    assert_objects("Causality violation", || machine::pass_row::<Loom>(Wait::Pause, Relaxed, 0));
    machine::pass_row::<Loom>(Wait::Pause, Release, 0);
    assert_objects("Causality violation", || machine::pass_row::<Loom>(Wait::Pause, Release, 2));
    assert_objects("a race on a slot", || machine::pass_row::<Shuttle>(Wait::Pause, Release, 2));
    assert_objects("a race on a slot", || machine::pass_row::<Shuttle>(Wait::Pause, Release, 3));
}

#[test]
fn loom_finds_both_loads_before_both_stores() {
    assert_objects("both loads came before", || machine::store_buffer::<Loom>(|cell| cell.store(1, Relaxed)));
}

#[test]
fn shuttle_knows_no_orderings() {
    // Shuttle does not see this weakness, as docs/reference/checking.md says. If these lines fail,
    // shuttle can do more than it could.
    machine::deliver::<Shuttle>(Wait::Pause, Relaxed);
    machine::store_buffer::<Shuttle>(|cell| cell.store(1, Relaxed));
}

#[test]
fn shuttle_objects_to_a_missing_wake_up() {
    assert_objects("deadlock", lock::exclusion::<Shuttle, Of<Shuttle, NO_WAKE>>);
}

#[test]
fn shuttle_objects_to_a_wake_up_of_the_wrong_one() {
    assert_objects("deadlock", lock::exclusion::<Shuttle, Of<Shuttle, WAKES_ONE>>);
}

#[test]
fn both_object_to_a_lock_that_is_touched_after_its_release() {
    let late = "after it had been given back";
    assert_objects(late, lock::freed_by_the_last::<Shuttle, Of<Shuttle, TOUCHES_LATE>>);
    // Loom may also see that the freeing is not ordered after the access.
    assert!(objection(lock::freed_by_the_last::<Loom, Of<Loom, TOUCHES_LATE>>).is_some());
}

#[test]
fn shuttle_objects_to_service_out_of_order() {
    use baton_check::watch::Watched;
    type M = Watched<<Shuttle as World>::M>;
    ability::order::<Shuttle, Faulty<M, NOTHING>>();
    assert_objects("out of order", ability::order::<Shuttle, Faulty<M, BARGES>>);
}

#[test]
fn both_object_to_two_guests_that_poll_a_cell_of_one() {
    assert_objects("two guests poll", || machine::poll::<Shuttle>(false));
    assert_objects("two guests poll", || machine::poll::<Loom>(false));
}

#[test]
fn loom_reports_guests_that_wait_for_ever() {
    type Cell = <<Loom as World>::M as Machine>::Atomic<u32>;
    assert_objects("stuck", || {
        Loom::run(|| {
            let cell = Arc::new(Cell::new(0));
            let all = cell.clone();
            let guest = |_| {
                let cell = cell.clone();
                move || {
                    let _ = <Loom as World>::M::wait_while(&*cell, 0, Wait::Pause, None);
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    });
}

/// What one guest hands to another.
struct Message(<LoomMachine as Machine>::Slot<u64>);
type LoomMachine = <Loom as World>::M;

// SAFETY: that one guest reads the message after the other guest's write is what is tested.
unsafe impl Send for Message {}
// SAFETY: that one guest reads the message after the other guest's write is what is tested.
unsafe impl Sync for Message {}

/// Passes a message through the queue device, with an acquire after the dequeue or without.
fn through_the_device(acquires: bool) {
    Loom::run(move || {
        let device = LoomMachine::queues(0).expect("the reference device");
        let asked = QueueRequest::Allocate { entries: 1, queues: 1, enqueue_credits: false, dequeue_credits: false };
        let queue = QueueId(device.call(asked).expect("there is room") as u32);
        let message = Arc::new(Message(Slot::new(0)));
        let (writer, reader, all) = (message.clone(), message.clone(), message);
        let scenario = Scenario::new()
            .guest(move || {
                // SAFETY: the reader waits for the item.
                unsafe { writer.0.write(|at| *at = 7) };
                // The request is posted; its answer is not awaited.
                let _ = device.request(QueueRequest::Enqueue { to: Operand::of(queue), item: 1 });
            })
            .guest(move || {
                assert_eq!(device.request(QueueRequest::Dequeue { from: Operand::of(queue) }).wait(), Ok(1));
                if acquires {
                    LoomMachine::fence(Acquire);
                }
                // SAFETY: the writer no longer accesses the message.
                assert_eq!(unsafe { reader.0.read(|at| *at) }, 7);
            });
        scenario.finally(move || {
            assert_eq!(device.call(QueueRequest::Release(queue)), Ok(0));
            drop(all);
        })
    });
}

#[test]
fn loom_objects_to_a_dequeue_without_acquire() {
    through_the_device(true);
    assert_objects("Causality violation", || through_the_device(false));
}

/// In an execution that loom is told to leave, guests stop one by one. What one guest lends to
/// another, like the thread that begins a region, stays until all have stopped.
#[test]
fn what_a_guest_lends_stays_until_all_have_stopped() {
    type M = <Loom as World>::M;
    Loom::run(|| {
        let cell = || Arc::new(<M as Machine>::Atomic::<u32>::new(0));
        let (lends, ended, between) = (cell(), cell(), cell());
        let lent = Arc::new(());
        let seen = Arc::downgrade(&lent);
        let (told, awaited) = (lends.clone(), ended.clone());
        let lender = move || {
            told.store(1, Release);
            let _ = M::wait_while(&awaited, 0, Wait::Pause, None);
            drop(lent);
        };
        // This guest and the lender only wait, so the execution is abandoned as soon as the two
        // look at their cells in turns.
        let (waiter, also) = (ended.clone(), between.clone());
        let other = move || {
            also.fetch_add(1, Relaxed);
            let _ = M::wait_while(&waiter, 0, Wait::Pause, None);
        };
        let kept = (lends.clone(), ended.clone(), between.clone());
        let borrower = move || {
            let _ = M::wait_while(&lends, 0, Wait::Pause, None);
            for _ in 0..2 {
                between.fetch_add(1, Relaxed);
                assert_ne!(seen.strong_count(), 0, "what was lent is gone");
            }
            ended.store(1, Release);
        };
        Scenario::new().guest(lender).guest(other).guest(borrower).finally(move || drop(kept))
    });
}
