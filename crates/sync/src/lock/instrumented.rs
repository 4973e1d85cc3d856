//! Wraps a lock and reports acquire, hold and release to the machine, for studies of hardware that
//! uses these reports.
//!
//! `spin-park` with its variants, and `adaptive`, report each of their tries. Other locks report
//! nothing; this wrapper reports for them, so that a study can ask whether such hardware helps them
//! too. The wrapped lock waits as always: the machine hears of one try before the lock is taken,
//! and of no further ones.

use super::instrumented_word::announce;
use super::{LockInfo, RawLock, ZeroInit};
use baton_machine::local::Use;
use baton_machine::{Machine, Section, Wait};
use core::alloc::Layout;
use core::marker::PhantomData;

/// The lock `L` with reports. It is not in the registry, because it is no algorithm of its own.
#[repr(transparent)]
pub struct Instrumented<M, L>(L, PhantomData<M>);

// SAFETY: the layout is that of `L`.
unsafe impl<M: Machine, L: ZeroInit> ZeroInit for Instrumented<M, L> {}

// SAFETY: lock and unlock are those of `L`; reports change none of its memory.
unsafe impl<M: Machine, L: RawLock<M>> RawLock<M> for Instrumented<M, L> {
    type Token = L::Token;
    const INFO: LockInfo = L::INFO;
    const ENROLS: bool = L::ENROLS;

    fn new() -> Self {
        Instrumented(L::new(), PhantomData)
    }

    fn aged() -> Self {
        Instrumented(L::aged(), PhantomData)
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        L::provide(memory)
    }

    fn lock(&self, wait: Wait) -> L::Token {
        announce::<M>(1);
        let token = self.0.lock(wait);
        if M::HINTS {
            M::section(Section::Entered);
        }
        token
    }

    unsafe fn unlock(&self, token: L::Token, wait: Wait) {
        announce::<M>(0);
        // SAFETY: the caller upholds the contract.
        unsafe { self.0.unlock(token, wait) };
        if M::HINTS {
            let local = M::local();
            local.set(Use::Progress, local.get(Use::Progress).wrapping_add(1));
            M::section(Section::Left);
        }
    }
}
