//! What a replacement of locks leaves as it is, beside semaphores: reader-writer locks, spin locks, and the tokens that stand
//! for condition waits. Tokens sleep in the kernel, as glibc's condition variables do.

use baton_chip::Simulated;
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_sync::rwlock::RawRwLock;
use baton_sync::rwlock::readers_first::ReadersFirst;
use std::cell::Cell as HostCell;

type Cell = <Simulated as Machine>::Atomic<u32>;
/// How a thread waits for what is not replaced.
pub(crate) const WAIT: Wait = Wait::Futex;

/// A reader-writer lock and its holds. A recording may lack the events of its beginning: a release without a hold is none.
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
        // SAFETY: there was a hold of this mode, which is counted off.
        unsafe {
            match exclusive {
                true => self.lock.unlock_exclusive(WAIT),
                false => self.lock.unlock_shared(WAIT),
            }
        }
    }
}

/// glibc's `pthread_spinlock_t`: an exchange, and loads with PAUSE between them while it is taken.
#[repr(C, align(128))]
pub(crate) struct SpinLock(Cell);

impl SpinLock {
    pub(crate) fn new() -> SpinLock {
        SpinLock(Atomic::new(0))
    }

    pub(crate) fn lock(&self) {
        // Acquire: what the last holder wrote.
        while self.0.swap(1, Acquire) != 0 {
            // Taken: woken by the change, or free again at once.
            let _ = Simulated::wait_while(&self.0, 1, Wait::Pause, None);
        }
    }

    pub(crate) fn try_lock(&self) -> Option<()> {
        // Acquire: what the last holder wrote.
        (self.0.swap(1, Acquire) == 0).then_some(())
    }

    pub(crate) fn unlock(&self) {
        self.0.store(0, Release);
    }
}

/// Tokens: one word each, 1 when it lies there.
pub(crate) fn token_wait(token: &Cell) {
    if token.load(Acquire) == 0 {
        // No deadline: it ends when the token is there.
        let _ = Simulated::wait_while(token, 0, WAIT, None);
    }
}

/// Puts a token down.
pub(crate) fn token_post(token: &Cell) {
    token.store(1, Release);
    Simulated::wake::<u32>(token, 1, WAIT);
}
