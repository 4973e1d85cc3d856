//! Events of objects other than locks that threads wait for: condition variables, barriers,
//! semaphores.

use super::post::{bounded, cpu_time, post, post_ordered, switched};
use super::session::Probe;
use super::sites::{origin, site};
use super::told;
use baton_trace::{Address, Waitable, WakeReason, What, notes};

/// Records that a condition variable was initialised.
pub fn condition_init<P: Probe>(condition: usize, at: usize) {
    waitable_init::<P>(Waitable::Condition, condition, at);
}

/// Records that a condition variable is about to be destroyed.
pub fn condition_destroy<P: Probe>(condition: usize) {
    waitable_destroy::<P>(Waitable::Condition, condition);
}

/// Records that the thread begins to wait for a condition variable. The mutex's release is recorded
/// next.
#[inline(always)]
pub fn condition_wait<P: Probe>(condition: usize, mutex: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::CondWait { condition: condition as Address, site: site(thread, at) });
    post::<P>(|_| What::CondMutex { mutex: mutex as Address });
}

/// Records that the condition wait that has just begun has a deadline.
#[inline(always)]
pub fn condition_deadline<P: Probe>(condition: usize) {
    bounded::<P>(condition as Address);
}

/// Records that a condition wait has ended. The mutex's acquisition is recorded next.
#[inline(always)]
pub fn condition_wake<P: Probe>(condition: usize, reason: WakeReason) {
    post_ordered::<P>(|_| What::CondWake { condition: condition as Address, reason });
}

/// Records that the thread is about to signal a condition variable, which wakes one waiter.
#[inline(always)]
pub fn condition_signal<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondSignal { condition: condition as Address, site: site(thread, at) });
}

/// Records that the thread is about to wake all waiters of a condition variable.
#[inline(always)]
pub fn condition_broadcast<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondBroadcast { condition: condition as Address, site: site(thread, at) });
}

/// Records that the thread is about to enter a barrier. The CPU time is recorded before the wait as
/// well as after it, because the thread may spin in the barrier.
pub fn barrier_arrive<P: Probe>(barrier: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// Records that an object was initialised.
pub fn waitable_init<P: Probe>(sort: Waitable, address: usize, at: usize) {
    post_ordered::<P>(|thread| What::Init { sort, address: address as Address, site: origin(thread, at) });
}

/// Records that an object is about to be destroyed.
pub fn waitable_destroy<P: Probe>(sort: Waitable, address: usize) {
    post::<P>(|_| What::Destroy { sort, address: address as Address });
}

/// Records the number of a barrier's participants, or a semaphore's first value.
pub fn attribute<P: Probe>(address: usize, value: u32) {
    post::<P>(|_| What::Attribute { address: address as Address, value });
}

/// Notes that other processes may use the object, too: if it has just been initialised (`fresh`), else
/// once, as far as [`told`] can remember objects.
#[cold]
pub fn shared<P: Probe>(address: usize, fresh: bool) {
    let address = address as Address;
    if P::ON && (told::SHARED.is_new(address) || fresh) {
        post::<P>(|_| What::Note { address, code: notes::PROCESS_SHARED });
    }
}

/// Records, after a wait for an object that is no lock, how much of the wait the thread spent on a
/// CPU: by its CPU time, or by its context switches where the kernel reports them.
pub fn waited<P: Probe>() {
    cpu_time::<P>();
    switched::<P>();
}

/// Records that the thread took the semaphore without a wait.
pub fn sem_take<P: Probe>(semaphore: usize, at: usize) {
    post_ordered::<P>(|thread| What::SemTake { semaphore: semaphore as Address, site: site(thread, at) });
}

/// Records that the thread begins to wait for the semaphore.
pub fn sem_wait<P: Probe>(semaphore: usize, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::SemWait { semaphore: semaphore as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// Records that a try found the semaphore at zero.
pub fn sem_try_failed<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemTryFail { semaphore: semaphore as Address, site: site(thread, at) });
}

/// Records that the thread is about to raise the semaphore.
pub fn sem_post<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemPost { semaphore: semaphore as Address, site: site(thread, at) });
}
