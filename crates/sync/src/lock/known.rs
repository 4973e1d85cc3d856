//! Wraps a lock and tells the scheduler which thread wants, takes and releases it, for scheduling
//! policies that consider which thread waits for which.
//!
//! Where the scheduler does not listen ([`Machine::hears_locks`]) the wrapper only calls the lock. On
//! the real machine it then costs a load and a branch in `lock` and in `unlock`.
//! [`Instrumented`](super::instrumented::Instrumented) reports to the network interface instead.

use super::{LockInfo, RawLock, ZeroInit};
use baton_machine::{LockNotice, Machine, Wait};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::from_ref;

/// The lock `L`, whose holder and waiters the scheduler knows. It is not in the registry, because
/// it is no algorithm of its own.
#[repr(transparent)]
pub struct Known<M, L>(L, PhantomData<M>);

// SAFETY: the layout is that of `L`.
unsafe impl<M: Machine, L: ZeroInit> ZeroInit for Known<M, L> {}

// SAFETY: lock and unlock are those of `L`; notices change none of its memory.
unsafe impl<M: Machine, L: RawLock<M>> RawLock<M> for Known<M, L> {
    type Token = L::Token;
    const INFO: LockInfo = L::INFO;
    const ENROLS: bool = L::ENROLS;

    fn new() -> Self {
        Known(L::new(), PhantomData)
    }

    fn aged() -> Self {
        Known(L::aged(), PhantomData)
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        L::provide(memory)
    }

    fn lock(&self, wait: Wait) -> L::Token {
        if !M::hears_locks() {
            return self.0.lock(wait);
        }
        let address = from_ref(self).addr();
        M::notify_lock(LockNotice::Wanted, address);
        let token = self.0.lock(wait);
        M::notify_lock(LockNotice::Taken, address);
        token
    }

    unsafe fn unlock(&self, token: L::Token, wait: Wait) {
        // Uses only the address afterwards: another thread may free the lock as soon as it is
        // released.
        let address = from_ref(self).addr();
        // SAFETY: the caller upholds the contract.
        unsafe { self.0.unlock(token, wait) };
        if M::hears_locks() {
            M::notify_lock(LockNotice::Left, address);
        }
    }
}
