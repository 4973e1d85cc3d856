//! The machine for memory orderings: loom explores every execution of two or three threads that C11
//! allows (with the gaps that `docs/reference/checking.md` names), and reports races on slots.
//!
//! Every wait is a loop of yield and load. It adds no happens-before edge except the acquire of the
//! read that ends it, and a wake-up does nothing. So a hand-off that is too weak is detected even
//! where a real machine would sleep in between.

mod cell;
mod fairness;

pub use cell::{LoomAtomic, LoomSlot};
pub(crate) use fairness::{abandoned, announce};

use crate::reference::{self, Reference};
use crate::{execution, mutant};
use ::loom::sync::atomic::AtomicU32;
use baton_machine::units::{Cycles, Nanos};
use baton_machine::{Clock, Deadline, Local, LockHint, Machine, Ordering, PushTo, Shared, Wait, WaitResult, Word};
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;

/// The machine. Only guests of [`crate::world::Loom`] may call its operations.
#[derive(Clone, Copy, Debug)]
pub struct Loom;

/// How far the time jumps at each look once deadlines pass: beyond every deadline that a test sets.
const JUMP: u64 = 1 << 40;

::loom::thread_local! {
    static GUEST: Cell<Option<&'static Local>> = Cell::new(None);
}

thread_local! {
    /// Whether the deadlines of this execution have passed (0 or 1); made anew for each execution.
    static PASSED: RefCell<Option<Rc<AtomicU32>>> = const { RefCell::new(None) };
}

/// Resets the state of this host thread, because a new execution begins.
pub(crate) fn begin() {
    execution::begin();
    reference::begin();
    fairness::begin();
    PASSED.with(|passed| *passed.borrow_mut() = Some(Rc::new(AtomicU32::new(0))));
    execution::make_shared::<LoomAtomic<usize>>();
}

/// Lets each later look at the clock find that the deadlines have passed, or not; once a guest
/// found that they have, it always does. The store is ordered with nothing, so loom lets every read
/// return the old value or the new one.
pub(crate) fn let_deadlines_pass() {
    passed().store(1, Ordering::Relaxed);
    fairness::written();
}

/// Drops the state of the execution that has ended.
pub(crate) fn end() {
    PASSED.with(|passed| passed.borrow_mut().take());
}

fn passed() -> Rc<AtomicU32> {
    PASSED.with(|passed| passed.borrow().clone()).expect("guests run between the begin and the end of an execution")
}

/// Runs `guest` under the number with which it was announced, and then ends its storage.
pub(crate) fn as_guest(number: usize, guest: impl FnOnce()) {
    fairness::start(number);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        guest();
        if let Some(local) = GUEST.with(Cell::get) {
            execution::retire(local);
            GUEST.with(|guest| guest.set(None));
        }
    }));
    match ended {
        Err(panic) if !panic.is::<fairness::Abandoned>() => resume_unwind(panic),
        _ => fairness::end(number),
    }
}

// SAFETY: cells are loom's atomics, memory is the host allocator's, and storage belongs to one
// guest at a time.
unsafe impl Machine for Loom {
    type Atomic<T: Word> = LoomAtomic<T>;
    type Slot<T: 'static> = LoomSlot<T>;
    type Queues = Reference<Loom>;
    const NAME: &'static str = "loom";

    #[track_caller]
    fn fence(order: Ordering) {
        let site = Location::caller();
        mutant::note(site, "fence", &[("fence", order)]);
        if let Some(order) = mutant::fence(site, order) {
            ::loom::sync::atomic::fence(order);
        }
    }

    fn relax() {
        let before = fairness::writes();
        fairness::yield_until(|| fairness::writes() != before, true);
    }

    fn wait_while<T: Word>(cell: &LoomAtomic<T>, value: T, _: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        let mut looks = 0;
        loop {
            let (here, anywhere) = (cell.writes(), fairness::writes());
            // Acquire, because `wait_while` promises acquire ordering for the read that ends the
            // wait.
            let seen = cell.read(Ordering::Acquire);
            if seen != value {
                return WaitResult::Changed(seen);
            }
            // Other guests may have run during the read, and abandoned the execution.
            fairness::leave_if_abandoned();
            if abandoned() {
                // This guest unwinds, and no other guest will end its wait.
                return WaitResult::Expired;
            }
            if let Some(deadline) = deadline
                && Self::now(deadline.clock) >= deadline.at
            {
                return WaitResult::Expired;
            }
            looks += 1;
            if looks == 1 || cell.newest() != value {
                // The value that was read may be old; after a yield it is not read again.
                fairness::yield_once();
            } else if deadline.is_some() {
                fairness::yield_until(|| fairness::writes() != anywhere, true);
            } else {
                fairness::yield_until(|| cell.writes() != here, false);
            }
        }
    }

    #[track_caller]
    fn wake<T: Word>(_: *const LoomAtomic<T>, _: u32, _: Wait) {
        mutant::note(Location::caller(), "wake", &[]);
    }

    #[track_caller]
    fn wake_in<T: Word>(_: *const LoomAtomic<T>, _: u32, _: u32, _: Wait) {
        mutant::note(Location::caller(), "wake", &[]);
    }

    fn now(_: Clock) -> Nanos {
        let passed = passed().load(Ordering::Relaxed) != 0;
        Nanos(execution::advance(if passed { JUMP } else { 0 }))
    }

    fn hint(_: LockHint) {}

    fn local() -> &'static Local {
        GUEST.with(|guest| {
            guest.get().unwrap_or_else(|| {
                let local = execution::enrol();
                guest.set(Some(local));
                local
            })
        })
    }

    fn shared() -> &'static Shared<LoomAtomic<usize>> {
        execution::shared()
    }

    #[track_caller]
    fn polls_alone<T: Word>(cell: *const LoomAtomic<T>, polls: bool) {
        execution::polls_alone(cell.addr(), polls);
    }

    fn node() -> u32 {
        Self::local().index() % Self::nodes()
    }

    fn nodes() -> u32 {
        2
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        execution::alloc(layout)
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        execution::dealloc(memory, layout);
    }

    fn work(_: Cycles) {
        let before = fairness::writes();
        fairness::yield_until(|| fairness::writes() != before, true);
    }

    unsafe fn touch(_: *mut u8, _: usize, _: bool) {
        Self::work(Cycles(0));
    }

    unsafe fn touch_each<T>(_: impl IntoIterator<Item = *const T>, _: u32) {
        Self::work(Cycles(0));
    }

    fn prefetch(_: *const u8, _: usize, _: bool) {}

    fn prepush(_: *const u8, _: usize, _: PushTo) {}

    fn queues(number: u32) -> Option<Reference<Loom>> {
        Reference::of_number(number)
    }
}
