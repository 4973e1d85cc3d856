//! The machine for schedules: shuttle runs the guests one at a time and chooses at every step which
//! one goes on.
//!
//! A parking policy really blocks until it is woken, so that a lost wake-up shows as a deadlock;
//! now and then a sleeper wakes up without a reason. Spinning policies yield and load again.
//! Whether a deadline has passed is a random choice.

mod cell;
mod parking;

pub use cell::{ShuttleAtomic, ShuttleSlot};

use crate::reference::{self, Reference};
use crate::{execution, mutant};
use ::shuttle::rand::{Rng, thread_rng};
use baton_machine::units::{Cycles, Nanos};
use baton_machine::{
    Atomic, Clock, Deadline, Local, LockHint, Machine, Ordering, PushTo, Shared, Wait, WaitResult, Word,
};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use std::panic::Location;

/// The machine. Only guests of [`crate::world::Shuttle`] may call its operations.
#[derive(Clone, Copy, Debug)]
pub struct Shuttle;

/// How far the time jumps when it jumps: beyond every deadline that a test sets.
const JUMP: u64 = 1 << 40;

::shuttle::thread_local! {
    static GUEST: Cell<Option<&'static Local>> = Cell::new(None);
}

/// Whether events without a reason happen: a sleeper wakes up, an exchange fails, a deadline has
/// passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whims {
    Some,
    None,
}

thread_local! {
    /// Whether events without a reason happen in the execution that runs on this host thread.
    static WHIMS: Cell<Whims> = const { Cell::new(Whims::Some) };
}

/// Resets the state of this host thread, because a new execution begins.
pub(crate) fn begin(whims: Whims) {
    WHIMS.set(whims);
    execution::begin();
    reference::begin();
    parking::begin();
    execution::make_shared::<ShuttleAtomic<usize>>();
}

/// Runs `guest`, and then ends its storage.
pub(crate) fn as_guest(guest: impl FnOnce()) {
    guest();
    if let Some(local) = GUEST.with(Cell::get) {
        execution::retire(local);
        GUEST.with(|guest| guest.set(None));
    }
}

/// Returns true once in `n` times, by the schedule's own random generator; never without whims.
fn chance(n: u32) -> bool {
    WHIMS.get() == Whims::Some && thread_rng().gen_ratio(1, n)
}

/// Marks a point at which another guest may run.
fn point() {
    ::shuttle::thread::sleep(core::time::Duration::ZERO);
}

fn has_passed(deadline: Option<Deadline>) -> bool {
    deadline.is_some_and(|deadline| Shuttle::now(deadline.clock) >= deadline.at)
}

/// Sleeps on a cell that held the expected value a moment ago. Whatever ends the sleep, the caller
/// must read the cell again.
fn sleep(at: usize, group: u32, deadline: Option<Deadline>) {
    let bed = parking::Bed::take(at, group, WHIMS.get());
    if deadline.is_some() {
        // A sleeper whose deadline will pass is never stuck, so it need not block to show a lost
        // wake-up.
        while !bed.woken() && !has_passed(deadline) {
            ::shuttle::thread::yield_now();
        }
    } else if chance(8) {
        // This sleeper wakes up without a reason.
        ::shuttle::thread::yield_now();
    } else {
        bed.sleep();
    }
}

// SAFETY: cells are shuttle's atomics, memory is the host allocator's, and storage belongs to one
// guest at a time.
unsafe impl Machine for Shuttle {
    type Atomic<T: Word> = ShuttleAtomic<T>;
    type Slot<T: 'static> = ShuttleSlot<T>;
    type Queues = Reference<Shuttle>;
    const NAME: &'static str = "shuttle";

    fn fence(order: Ordering) {
        ::shuttle::sync::atomic::fence(order);
    }

    fn relax() {
        ::shuttle::thread::yield_now();
    }

    fn wait_while<T: Word>(cell: &ShuttleAtomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        Self::wait_while_in(cell, value, u32::MAX, wait, deadline)
    }

    fn wait_while_in<T: Word>(
        cell: &ShuttleAtomic<T>,
        value: T,
        group: u32,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> WaitResult<T> {
        let mut tries = if wait.parks() { wait.steps().tries } else { u32::MAX };
        loop {
            let seen = cell.load(Ordering::Acquire);
            if seen != value {
                return WaitResult::Changed(seen);
            }
            if has_passed(deadline) {
                return WaitResult::Expired;
            }
            if tries == 0 {
                // There was no scheduling point since the load, so comparing the value and falling
                // asleep is one step.
                sleep(core::ptr::from_ref(cell).addr(), group, deadline);
            } else {
                if wait.parks() {
                    tries -= 1;
                }
                ::shuttle::thread::yield_now();
            }
        }
    }

    #[track_caller]
    fn wake<T: Word>(cell: *const ShuttleAtomic<T>, n: u32, wait: Wait) {
        Self::wake_in::<T>(cell, n, u32::MAX, wait);
    }

    #[track_caller]
    fn wake_in<T: Word>(cell: *const ShuttleAtomic<T>, n: u32, group: u32, wait: Wait) {
        let site = Location::caller();
        mutant::note(site, "wake", &[]);
        if wait.parks() && !mutant::drops_wake(site) {
            // Other guests may run, and free the cell, between the change of the cell and the
            // wake-up.
            point();
            parking::wake(cell.addr(), n, group);
        }
    }

    fn now(_: Clock) -> Nanos {
        Nanos(execution::advance(if chance(8) { JUMP } else { 1 }))
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

    fn shared() -> &'static Shared<ShuttleAtomic<usize>> {
        execution::shared()
    }

    #[track_caller]
    fn polls_alone<T: Word>(cell: *const ShuttleAtomic<T>, polls: bool) {
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
        ::shuttle::thread::yield_now();
    }

    unsafe fn touch(_: *mut u8, _: usize, _: bool) {
        ::shuttle::thread::yield_now();
    }

    unsafe fn touch_each<T>(_: impl IntoIterator<Item = *const T>, _: u32) {
        ::shuttle::thread::yield_now();
    }

    fn prefetch(_: *const u8, _: usize, _: bool) {}

    fn prepush(_: *const u8, _: usize, _: PushTo) {}

    fn queues(number: u32) -> Option<Reference<Shuttle>> {
        Reference::of_number(number)
    }
}
