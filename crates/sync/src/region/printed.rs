//! The paper's kernel path as it prints it (section 3, listings 1 and 2), for the study of that paper, for the chip's tests and for the
//! checkers: a region that the system allocates, which programs open, map and close; a wait that is a call without an argument; a notice that
//! is a store. The room's page has its faults, `crates/check/tests/region.rs` and `crates/chip/tests/waiting/region.rs` show each.
//!
//! The machine's wait looks at the byte before it enters the kernel, where the paper's call looks in the kernel alone.

use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Wait, WaitResult};

/// What a byte holds until it is notified (`MWMON_ORIGINAL_VAL`).
pub const ORIGINAL: u8 = b'a';
/// What a notice stores (`MWMON_NOTIFIED_VAL`).
pub const NOTIFIED: u8 = b'b';
/// Bytes of a region: the smallest and the largest monitor line of the paper's processor.
pub const BYTES: usize = 64;

/// What a program sees of the region once it is mapped.
#[repr(C, align(128))]
pub struct Area<M: Machine>([M::Atomic<u8>; BYTES]);

/// The device (`kmem_mapper`) and the system call beside it: one for all programs of the machine.
pub struct Device<M: Machine> {
    area: Owned<M, Area<M>>,
    wait: Wait,
}

impl<M: Machine> Area<M> {
    /// The notifier's whole part, without a call: stores to a byte of the region. Which one is its choice, says the paper.
    pub fn notify(&self, byte: usize, device: &Device<M>) {
        // Release: who is woken sees what came before.
        self.0[byte].store(NOTIFIED, Release);
        // The monitor covers the line, so that a store to any byte ends the waiter's MWAIT.
        M::wake::<u8>(&self.0[0], u32::MAX, device.wait);
    }

    /// What a byte holds.
    pub fn byte(&self, byte: usize) -> u8 {
        self.0[byte].load(Acquire)
    }

    fn initialize(&self) {
        // Release: a program that maps the region sees them.
        self.0.iter().for_each(|byte| byte.store(ORIGINAL, Release));
    }
}

impl<M: Machine> Device<M> {
    /// Loads the module, which allocates the region; waiters will wait by that policy.
    pub fn load(wait: Wait) -> Device<M> {
        let area = Area(core::array::from_fn(|_| M::Atomic::new(ORIGINAL)));
        Device { area: Owned::new(area), wait }
    }

    /// Opens the device: sets all bytes back.
    pub fn open(&self) {
        self.area.initialize();
    }

    /// Maps the region.
    pub fn map(&self) -> &Area<M> {
        &self.area
    }

    /// Closes the device: sets all bytes back.
    pub fn close(&self) {
        self.area.initialize();
    }

    /// The system call, `mwmon_mmap_sleep`: waits until the first byte is notified, and sets it back.
    pub fn sleep(&self) {
        let first = &self.area.0[0];
        let mut seen = ORIGINAL;
        while seen != NOTIFIED {
            // MONITOR, look, MWAIT, and again while nothing has changed. Acquire: see what the notifier wrote before.
            match M::wait_while(first, seen, self.wait, None) {
                WaitResult::Changed(now) => seen = now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
        // Relaxed: what the next notifier must see first is said by the program's own synchronization.
        first.store(ORIGINAL, Relaxed);
    }
}

/// Listing 2's barrier, of any number of threads, as it is printed; it is right for two.
#[repr(C, align(128))]
pub struct Barrier<M: Machine> {
    lock: M::Atomic<u32>,
    gathered: M::Atomic<u32>,
    total: u32,
}

impl<M: Machine> Barrier<M> {
    /// For so many threads.
    pub fn new(total: u32) -> Barrier<M> {
        Barrier { lock: M::Atomic::new(0), gathered: M::Atomic::new(0), total }
    }

    fn lock(&self) {
        // Acquire: see what the holder before wrote.
        while self.lock.swap(1, Acquire) != 0 {
            let _ = M::wait_while(&self.lock, 1, Wait::Pause, None);
        }
    }

    fn unlock(&self) {
        self.lock.store(0, Release);
    }

    /// Enters it, with the device whose region is mapped.
    pub fn enter(&self, device: &Device<M>) {
        self.lock();
        // Relaxed: under the lock, or by threads that leave, of which the last one lets the lock go.
        let gathered = self.gathered.fetch_add(1, Relaxed) + 1;
        if gathered == self.total {
            device.map().notify(0, device);
        } else {
            self.unlock();
            device.sleep();
        }
        // Release: what a thread did in the barrier comes before the last one lets the lock go. Acquire: and is seen by that one.
        if self.gathered.fetch_add(u32::MAX, AcqRel) == 1 {
            self.unlock();
        }
    }
}
