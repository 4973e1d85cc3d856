//! A lock, added to Baton: a flag, which the waiters watch.

use baton_cli::machine::Ordering::{Acquire, Release};
use baton_cli::machine::{Atomic, Counted, Machine, Wait};
use baton_cli::sync::lock::{LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};

/// The lock: 0 free, 1 held.
#[repr(transparent)]
pub struct Flag<M: Machine>(M::Atomic<u32>);

// SAFETY: a `Flag` is one atomic word, and a word of 0 is a valid, free lock.
unsafe impl<M: Machine> ZeroInit for Flag<M> {}

// SAFETY: only the thread whose swap found 0 holds the lock. The swap's Acquire pairs with the Release store in `unlock`.
unsafe impl<M: Machine> RawLock<M> for Flag<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "my-flag",
        what: "swap the flag; wait while it is set",
        source: "-",
        limits: "no order among waiters",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        // What a simulated chip charges for an uncontended lock and unlock, besides their memory accesses.
        counted: Counted { instructions: 10.0, accesses: 2 },
        // The lock has no number, because no C program selects it at compile time.
        c_number: u32::MAX,
    };

    fn new() -> Self {
        Flag(M::Atomic::new(0))
    }

    fn lock(&self, wait: Wait) {
        while self.0.swap(1, Acquire) != 0 {
            let _ = M::wait_while(&self.0, 1, wait, None);
        }
    }

    unsafe fn unlock(&self, (): (), wait: Wait) {
        let flag: *const M::Atomic<u32> = &self.0;
        self.0.store(0, Release);
        M::wake::<u32>(flag, 1, wait);
    }
}

// SAFETY: as in `lock`, the holder is the thread whose swap found 0; a swap that finds 1 leaves the flag at 1.
unsafe impl<M: Machine> TryLock<M> for Flag<M> {
    fn try_lock(&self) -> Option<()> {
        (self.0.swap(1, Acquire) == 0).then_some(())
    }
}
