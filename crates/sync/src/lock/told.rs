//! Any lock, with what hardware under study wants to be told of it: the request for it, that it is held, and its release.
//!
//! `spin-park` tells by itself, try by try. Other locks are written for machines that nobody tells anything; this puts the same
//! words around them, so that a study can ask whether such hardware helps them, too. Their waiting is their own: only what a
//! thread does first is a try, with none behind it.

use super::{LockInfo, RawLock, ZeroInit};
use baton_machine::local::Use;
use baton_machine::{LockHint, Machine, Section, Wait};
use core::marker::PhantomData;

/// The lock `L`, told of. Not in the registry: it is no lock of its own.
#[repr(transparent)]
pub struct Told<M, L>(L, PhantomData<M>);

// SAFETY: nothing but `L`.
unsafe impl<M: Machine, L: ZeroInit> ZeroInit for Told<M, L> {}

/// Hints at what the thread does next: a request, with that many tries, or a release, with none.
fn hint<M: Machine>(retries_left: u32) {
    if M::HINTS {
        M::hint(LockHint { retries_left, progress: M::local().get(Use::Progress) as u32 });
    }
}

// SAFETY: `L`'s own lock and unlock; what is told changes no memory of theirs.
unsafe impl<M: Machine, L: RawLock<M>> RawLock<M> for Told<M, L> {
    type Token = L::Token;
    const INFO: LockInfo = L::INFO;

    fn new() -> Self {
        Told(L::new(), PhantomData)
    }

    fn lock(&self, wait: Wait) -> L::Token {
        hint::<M>(1);
        let token = self.0.lock(wait);
        if M::HINTS {
            M::section(Section::Entered);
        }
        token
    }

    unsafe fn unlock(&self, token: L::Token, wait: Wait) {
        hint::<M>(0);
        // SAFETY: what the caller promises.
        unsafe { self.0.unlock(token, wait) };
        if M::HINTS {
            let local = M::local();
            local.set(Use::Progress, local.get(Use::Progress).wrapping_add(1));
            M::section(Section::Left);
        }
    }
}
