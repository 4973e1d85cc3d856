//! What threads wait for that is no lock: condition variables, barriers, semaphores.

use super::post::{bounded, cpu_time, post, post_ordered, switched};
use super::session::Probe;
use super::sites::{origin, site};
use baton_trace::{Address, Waitable, WakeReason, What};

/// It was initialised.
pub fn condition_init<P: Probe>(condition: usize, at: usize) {
    waitable_init::<P>(Waitable::Condition, condition, at);
}

/// It is destroyed.
pub fn condition_destroy<P: Probe>(condition: usize) {
    waitable_destroy::<P>(Waitable::Condition, condition);
}

/// A wait begins. The mutex's release follows.
#[inline(always)]
pub fn condition_wait<P: Probe>(condition: usize, mutex: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::CondWait { condition: condition as Address, site: site(thread, at) });
    post::<P>(|_| What::CondMutex { mutex: mutex as Address });
}

/// The wait that has just begun has a deadline.
#[inline(always)]
pub fn condition_deadline<P: Probe>(condition: usize) {
    bounded::<P>(condition as Address);
}

/// A wait ended. The mutex's acquisition follows.
#[inline(always)]
pub fn condition_wake<P: Probe>(condition: usize, reason: WakeReason) {
    post_ordered::<P>(|_| What::CondWake { condition: condition as Address, reason });
}

/// One waiter is about to be woken.
#[inline(always)]
pub fn condition_signal<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondSignal { condition: condition as Address, site: site(thread, at) });
}

/// All are.
#[inline(always)]
pub fn condition_broadcast<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondBroadcast { condition: condition as Address, site: site(thread, at) });
}

/// A thread is about to enter a barrier. It may spin there, so its CPU time is taken before, too.
pub fn barrier_arrive<P: Probe>(barrier: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// An object was initialised.
pub fn waitable_init<P: Probe>(sort: Waitable, address: usize, at: usize) {
    post_ordered::<P>(|thread| What::Init { sort, address: address as Address, site: origin(thread, at) });
}

/// An object is destroyed.
pub fn waitable_destroy<P: Probe>(sort: Waitable, address: usize) {
    post::<P>(|_| What::Destroy { sort, address: address as Address });
}

/// How many take part in a barrier, or a semaphore's first value.
pub fn attribute<P: Probe>(address: usize, value: u32) {
    post::<P>(|_| What::Attribute { address: address as Address, value });
}

/// The CPU time after a wait on something that is no lock: how much of the time since the last one was spent on a CPU.
pub fn waited<P: Probe>() {
    cpu_time::<P>();
    switched::<P>();
}

/// A semaphore was taken without a wait.
pub fn sem_take<P: Probe>(semaphore: usize, at: usize) {
    post_ordered::<P>(|thread| What::SemTake { semaphore: semaphore as Address, site: site(thread, at) });
}

/// A wait for a semaphore begins.
pub fn sem_wait<P: Probe>(semaphore: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::SemWait { semaphore: semaphore as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// A try found the semaphore at zero.
pub fn sem_try_failed<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemTryFail { semaphore: semaphore as Address, site: site(thread, at) });
}

/// The semaphore is about to be raised.
pub fn sem_post<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemPost { semaphore: semaphore as Address, site: site(thread, at) });
}
