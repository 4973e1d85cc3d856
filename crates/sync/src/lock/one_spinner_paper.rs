//! 1spinner as its paper prints it (Akkan, Lang and Ionkov, CLUSTER 2013, algorithm 2), for the
//! study of that paper and for the model checkers. It is not in the registry, because it cannot
//! pass the contract: `crates/check/tests/paper_spinner.rs` shows each of its faults.
//!
//! | what the paper does | consequence |
//! | --- | --- |
//! | a generation of 8 bits, compared even when the lock is free | once the last holder has taken 255 other locks, a newcomer waits for ever |
//! | an id for each CPU; a thread that finds its own id in front continues | two threads with one id are inside together; so is a thread that locks twice |
//! | one counter for each id, whatever its thread waits for | a signal handler that locks while its thread waits lets the thread behind in |
//!
//! [`one_spinner`](super::one_spinner) has none of these faults. `head` is read and stored with the
//! orderings that x86 gives.

use super::{Counted, LockInfo, Posix, RawLock, Waits, ZeroInit};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::shared::Use;
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use core::alloc::Layout;

/// The policy of phase 2.
const POLL: Wait = Wait::Pause;
/// Number of ids, which are bytes.
const IDS: usize = 256;

/// The paper's four bytes. Id zero means no task.
#[repr(C)]
pub struct OneSpinnerPaper<M: Machine> {
    head: M::Atomic<u16>,
    /// Id of the task in the low byte, its generation in the high one.
    tail: M::Atomic<u16>,
}

/// A counter of the array `monitors`, alone in its pair of cache lines.
#[repr(C, align(128))]
struct Monitor<M: Machine>(M::Atomic<u8>);

/// Returns the paper's array `monitors`, which the first caller creates.
fn monitors<M: Machine>() -> &'static [Monitor<M>; IDS] {
    let word = M::shared().word(Use::PaperMonitors);
    // Acquire: the counters are initialised.
    let mut at = word.load(Acquire);
    if at == 0 {
        let new = M::keep(Layout::new::<[Monitor<M>; IDS]>()).cast::<Monitor<M>>();
        for id in 0..IDS {
            // SAFETY: the memory has room for `IDS` counters, and belongs to this thread.
            unsafe { new.add(id).write(Monitor(M::Atomic::new(0))) };
        }
        let new = new.as_ptr().expose_provenance();
        // Release: the counters are initialised. Acquire: so are another thread's, if that was
        // faster; this thread's are then lost.
        at = word.compare_exchange(0, new, Release, Acquire).map_or_else(|theirs| theirs, |_| new);
    }
    // SAFETY: initialised above, by this thread or by another before its Release, and never freed.
    unsafe { &*core::ptr::with_exposed_provenance(at) }
}

impl<M: Machine> OneSpinnerPaper<M> {
    /// The paper's ACQUIRE, with the id of the caller's CPU.
    pub fn acquire(&self, id: u8, wait: Wait) {
        let monitors = monitors::<M>();
        let own = &monitors[usize::from(id)].0;
        let generation = own.load(Relaxed);
        // Acquire: see the last holder's writes, if it left `tail` behind. Release: publishes the
        // generation.
        let [front, seen] = self.tail.swap(u16::from_le_bytes([id, generation]), AcqRel).to_le_bytes();
        if front != 0 && front != id {
            let _ = M::wait_while(&monitors[usize::from(front)].0, seen, wait, None);
            let front = u16::from(front);
            // Acquire: see the last holder's writes.
            let mut head = self.head.load(Acquire);
            while head == front {
                match M::wait_while(&self.head, front, POLL, None) {
                    WaitResult::Changed(now) => head = now,
                    WaitResult::Expired => unreachable!("no deadline was given"),
                }
            }
        }
        self.head.store(id.into(), Release);
        // Release: a thread that sees the counter advance sees the head before it.
        own.store(generation.wrapping_add(1), Release);
        M::wake::<u8>(own, u32::MAX, wait);
    }

    /// The paper's RELEASE.
    pub fn release(&self) {
        // Release: the next holder sees this thread's writes.
        self.head.store(0, Release);
    }
}

// SAFETY: the lock is two words; zero means that no task is in front, so it is free.
unsafe impl<M: Machine> ZeroInit for OneSpinnerPaper<M> {}

// SAFETY: the lock excludes other threads only within the limits of the table above. Tests show
// that it does not beyond these limits; no other code relies on the lock.
unsafe impl<M: Machine> RawLock<M> for OneSpinnerPaper<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "1spinner-paper",
        what: "1spinner as its paper prints it",
        source: "Akkan, Lang and Ionkov, CLUSTER 2013, algorithm 2",
        limits: "255 threads; a free lock may be waited for; no handler may lock",
        fifo: true,
        try_lock: false,
        timed: false,
        hints: false,
        posix: Posix::No("its generations wrap after 256 acquisitions"),
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 20.0, accesses: 5 },
        c_number: u32::MAX,
    };

    fn new() -> Self {
        OneSpinnerPaper { head: M::Atomic::new(0), tail: M::Atomic::new(0) }
    }

    /// # Panics
    /// Panics if the thread's index is 255 or more, for which there is no id.
    fn lock(&self, wait: Wait) {
        let number = M::local().index();
        let id = u8::try_from(number + 1).ok();
        self.acquire(
            id.unwrap_or_else(|| panic!("lock `1spinner-paper`: thread {number} is beyond its 255 ids")),
            wait,
        );
    }

    unsafe fn unlock(&self, (): (), _: Wait) {
        self.release();
    }
}
