//! Objects that a replay keeps when it replaces locks: reader-writer locks (which may also stand
//! for a changed lock), spin locks, and the tokens that stand for waits for one step of another
//! thread, such as a signal. Threads that wait for a token sleep in the kernel, as at glibc's
//! condition variables.

use baton_chip::Simulated;
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_sync::rwlock::RawRwLock;
use baton_sync::rwlock::readers_first::ReadersFirst;
use std::cell::Cell as HostCell;

type Cell = <Simulated as Machine>::Atomic<u32>;
/// The wait policy for objects that are not replaced.
pub(crate) const WAIT: Wait = Wait::Futex;

/// A reader-writer lock, and how many holds it has. A recording may lack its first events, so a
/// release without a hold is ignored.
pub(crate) struct RwLock {
    lock: Owned<Simulated, ReadersFirst<Simulated>>,
    readers: HostCell<u32>,
    writers: HostCell<u32>,
}

impl RwLock {
    pub(crate) fn new() -> RwLock {
        RwLock { lock: Owned::new(ReadersFirst::new()), readers: HostCell::new(0), writers: HostCell::new(0) }
    }

    fn holds(&self, exclusive: bool) -> &HostCell<u32> {
        if exclusive { &self.writers } else { &self.readers }
    }

    pub(crate) fn lock(&self, exclusive: bool) {
        match exclusive {
            true => self.lock.lock_exclusive(WAIT),
            false => self.lock.lock_shared(WAIT),
        }
        self.holds(exclusive).update(|holds| holds + 1);
    }

    pub(crate) fn unlock(&self, exclusive: bool) {
        let holds = self.holds(exclusive);
        let Some(left) = holds.get().checked_sub(1) else { return };
        holds.set(left);
        // SAFETY: the lock has a hold of this mode, which the count above has just given up, and
        // the hold was taken with the same wait policy.
        unsafe {
            match exclusive {
                true => self.lock.unlock_exclusive(WAIT),
                false => self.lock.unlock_shared(WAIT),
            }
        }
    }
}

/// glibc's `pthread_spinlock_t`: an exchange, and loads with PAUSE between them while the lock is
/// held.
#[repr(C, align(128))]
pub(crate) struct SpinLock(Cell);

impl SpinLock {
    pub(crate) fn new() -> SpinLock {
        SpinLock(Atomic::new(0))
    }

    pub(crate) fn lock(&self) {
        // The Acquire pairs with the Release in `unlock`: it makes the previous holder's writes
        // visible.
        while self.0.swap(1, Acquire) != 0 {
            // The lock was taken. Tries again when the word has changed, or at once if the lock is
            // free by now.
            let _ = Simulated::wait_while(&self.0, 1, Wait::Pause, None);
        }
    }

    pub(crate) fn try_lock(&self) -> Option<()> {
        // The Acquire pairs with the Release in `unlock`: it makes the previous holder's writes
        // visible.
        (self.0.swap(1, Acquire) == 0).then_some(())
    }

    pub(crate) fn unlock(&self) {
        self.0.store(0, Release);
    }
}

/// Waits until a token has been put down. A token is a word, which is 1 once the token has been put
/// down.
pub(crate) fn token_wait(token: &Cell) {
    if token.load(Acquire) == 0 {
        // The wait has no deadline, so it ends only when the token has been put down.
        let _ = Simulated::wait_while(token, 0, WAIT, None);
    }
}

/// Puts a token down.
pub(crate) fn token_post(token: &Cell) {
    token.store(1, Release);
    Simulated::wake::<u32>(token, 1, WAIT);
}
