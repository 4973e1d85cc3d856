//! Condition variables, semaphores and barriers of `baton-sync`, which find the function here by its name
//! while the program is recorded (the feature `record` of that crate). The library's own futex calls
//! inside of a wait are not recorded: the wait is.

use super::futexes::recorded_thread;
use super::objects::{
    barrier_arrive, condition_broadcast, condition_signal, condition_wait, condition_wake, sem_post, sem_take,
    sem_try_failed, sem_wait, waited,
};
use super::post::post_ordered;
use super::session::Recorded;
use crate::base::errno;
use baton_trace::{Address, How, WakeReason, What};
use core::sync::atomic::Ordering::Relaxed;

/// What a program says of an object. `baton-sync` (`api::record`) has the same numbers.
pub mod act {
    /// The thread is about to wait for a condition variable; the number is the mutex's address.
    pub const CONDITION_WAITS: u32 = 0;
    /// The thread's wait for a condition variable ended with a notification.
    pub const CONDITION_WOKEN: u32 = 1;
    /// The thread's wait for a condition variable ended at its deadline.
    pub const CONDITION_EXPIRED: u32 = 2;
    /// The thread is about to notify one waiter.
    pub const NOTIFIES: u32 = 3;
    /// The thread is about to notify all waiters.
    pub const NOTIFIES_ALL: u32 = 4;
    /// The thread took a permit without a wait.
    pub const PERMIT_TAKEN: u32 = 5;
    /// The thread is about to wait for a permit.
    pub const PERMIT_WAITS: u32 = 6;
    /// The wait ended with a permit.
    pub const PERMIT_GOT: u32 = 7;
    /// The wait ended without a permit.
    pub const PERMIT_GAVE_UP: u32 = 8;
    /// A try found no permit.
    pub const PERMIT_TRIED: u32 = 9;
    /// The thread is about to give a permit.
    pub const PERMIT_GIVEN: u32 = 10;
    /// The thread is about to wait at a barrier.
    pub const ARRIVES: u32 = 11;
    /// The thread leaves a barrier; the number is 1 for the thread that was chosen.
    pub const LEAVES: u32 = 12;
    /// The thread has given a permit, and woken a thread that waited for one.
    pub const PERMIT_WAS_GIVEN: u32 = 13;
}

/// Records an act at an object. The call site is the return address.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub unsafe extern "C" fn baton_preload_object(_act: u32, _object: usize, _number: u64) {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {tell}", tell = sym tell);
}

/// Records an act at the object at address `object`, of the call site `at`.
pub extern "C" fn tell(act: u32, object: usize, number: u64, at: usize) {
    let Some(thread) = recorded_thread() else { return };
    let address = object as Address;
    let inside = |begins: bool| thread.library.inside.store(if begins { object } else { 0 }, Relaxed);
    let ended = |what| {
        inside(false);
        post_ordered::<Recorded>(|_| what);
        waited::<Recorded>();
    };
    let woken = |reason| {
        inside(false);
        condition_wake::<Recorded>(object, reason);
    };
    errno::kept(|| match act {
        act::CONDITION_WAITS => {
            condition_wait::<Recorded>(object, number as usize, at);
            inside(true);
        }
        act::CONDITION_WOKEN => woken(WakeReason::Woken),
        act::CONDITION_EXPIRED => woken(WakeReason::TimedOut),
        act::NOTIFIES => condition_signal::<Recorded>(object, at),
        act::NOTIFIES_ALL => condition_broadcast::<Recorded>(object, at),
        act::PERMIT_TAKEN => sem_take::<Recorded>(object, at),
        act::PERMIT_WAITS => {
            sem_wait::<Recorded>(object, at);
            inside(true);
        }
        act::PERMIT_GOT => ended(What::SemTaken { semaphore: address, how: How::OPAQUE }),
        act::PERMIT_GAVE_UP => ended(What::SemTimeout { semaphore: address }),
        act::PERMIT_TRIED => sem_try_failed::<Recorded>(object, at),
        // The semaphore is the word of the futex call that wakes its waiter: the call would look like
        // another object in the semaphore's place.
        act::PERMIT_GIVEN => {
            sem_post::<Recorded>(object, at);
            inside(true);
        }
        act::PERMIT_WAS_GIVEN => inside(false),
        act::ARRIVES => {
            barrier_arrive::<Recorded>(object, at);
            inside(true);
        }
        act::LEAVES => ended(What::BarrierLeave { barrier: address, serial: number != 0 }),
        _ => {}
    });
}
