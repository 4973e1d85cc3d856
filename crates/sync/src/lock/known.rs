//! Wraps a lock and says to the scheduler who wants, has and leaves it, for a policy that goes by who waits for whom.
//!
//! Where no scheduler listens ([`Machine::hears_locks`]) the wrapped lock is left as it is: on the real machine nothing is compiled.
//! [`Instrumented`](super::instrumented::Instrumented) speaks to the network interface instead.

use super::{LockInfo, RawLock, ZeroInit};
use baton_machine::{LockNotice, Machine, Wait};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::from_ref;

/// The lock `L`, with holder and waiters known. It stands in no registry, as it is no algorithm of its own.
#[repr(transparent)]
pub struct Known<M, L>(L, PhantomData<M>);

// SAFETY: the layout is that of `L`.
unsafe impl<M: Machine, L: ZeroInit> ZeroInit for Known<M, L> {}

// SAFETY: `L`'s own lock and unlock; what is said changes no memory of theirs.
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
        // The address only: another thread may free the lock as soon as it is released.
        let address = from_ref(self).addr();
        // SAFETY: what the caller promises.
        unsafe { self.0.unlock(token, wait) };
        if M::hears_locks() {
            M::notify_lock(LockNotice::Left, address);
        }
    }
}
