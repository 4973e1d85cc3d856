//! The paper's kernel path as printed (section 3, listings 1 and 2), for the study of that paper,
//! the chip's tests and the model checkers: a region that the system allocates and that programs
//! open, map and close, a wait that is a system call without an argument, and a notice that is a
//! store. [`super`] lists its faults; `crates/check/tests/region.rs` and
//! `crates/chip/tests/waiting/region.rs` show the first three.
//!
//! The machine's wait reads the byte before it enters the kernel, whereas the paper's call reads it
//! only in the kernel.

use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Wait, WaitResult};

/// Value of a byte until it is notified (`MWMON_ORIGINAL_VAL`).
pub const ORIGINAL: u8 = b'a';
/// Value that a notice stores (`MWMON_NOTIFIED_VAL`).
pub const NOTIFIED: u8 = b'b';
/// Bytes of a region: both the smallest and the largest monitor line of the paper's processor.
pub const BYTES: usize = 64;

/// The region as a program sees it once it is mapped.
#[repr(C, align(128))]
pub struct Area<M: Machine>([M::Atomic<u8>; BYTES]);

/// The device (`kmem_mapper`) and the system call: one for all programs of the machine.
pub struct Device<M: Machine> {
    area: Owned<M, Area<M>>,
    wait: Wait,
}

impl<M: Machine> Area<M> {
    /// Notifies waiters without a system call, by a store to a byte of the region. The paper lets
    /// the notifier choose the byte.
    pub fn notify(&self, byte: usize, device: &Device<M>) {
        // Release: a woken thread sees what came before.
        self.0[byte].store(NOTIFIED, Release);
        // The monitor covers the line, so a store to any byte ends the waiter's MWAIT.
        M::wake::<u8>(&self.0[0], u32::MAX, device.wait);
    }

    /// Returns the value of a byte.
    pub fn byte(&self, byte: usize) -> u8 {
        self.0[byte].load(Acquire)
    }

    fn initialize(&self) {
        // Release: a program that maps the region sees the bytes.
        self.0.iter().for_each(|byte| byte.store(ORIGINAL, Release));
    }
}

impl<M: Machine> Device<M> {
    /// Loads the module, which allocates the region; waiters will wait by policy `wait`.
    pub fn load(wait: Wait) -> Device<M> {
        let area = Area(core::array::from_fn(|_| M::Atomic::new(ORIGINAL)));
        Device { area: Owned::new(area), wait }
    }

    /// Opens the device: resets all bytes.
    pub fn open(&self) {
        self.area.initialize();
    }

    /// Maps the region.
    pub fn map(&self) -> &Area<M> {
        &self.area
    }

    /// Closes the device: resets all bytes.
    pub fn close(&self) {
        self.area.initialize();
    }

    /// The system call `mwmon_mmap_sleep`: waits until the first byte is notified, and resets it.
    pub fn sleep(&self) {
        let first = &self.area.0[0];
        let mut seen = ORIGINAL;
        while seen != NOTIFIED {
            // MONITOR, read, MWAIT, and again while the byte has not changed. Acquire: see what the
            // notifier wrote before.
            match M::wait_while(first, seen, self.wait, None) {
                WaitResult::Changed(now) => seen = now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
        // Relaxed: the program's own synchronization says what the next notifier must see first.
        first.store(ORIGINAL, Relaxed);
    }
}

/// The barrier of listing 2 as printed, for any number of threads; it is correct only for two.
#[repr(C, align(128))]
pub struct Barrier<M: Machine> {
    lock: M::Atomic<u32>,
    gathered: M::Atomic<u32>,
    total: u32,
}

impl<M: Machine> Barrier<M> {
    /// Creates a barrier for `total` threads.
    pub fn new(total: u32) -> Barrier<M> {
        Barrier { lock: M::Atomic::new(0), gathered: M::Atomic::new(0), total }
    }

    fn lock(&self) {
        // Acquire: see what the last holder wrote.
        while self.lock.swap(1, Acquire) != 0 {
            let _ = M::wait_while(&self.lock, 1, Wait::Pause, None);
        }
    }

    fn unlock(&self) {
        self.lock.store(0, Release);
    }

    /// Enters the barrier, with the device whose region is mapped.
    pub fn enter(&self, device: &Device<M>) {
        self.lock();
        // Relaxed: threads add to the count under the lock; leaving threads subtract from it, and
        // the last of them releases the lock.
        let gathered = self.gathered.fetch_add(1, Relaxed) + 1;
        if gathered == self.total {
            device.map().notify(0, device);
        } else {
            self.unlock();
            device.sleep();
        }
        // Release: what a thread did in the barrier comes before the last thread releases the lock.
        // Acquire: the last thread sees it.
        if self.gathered.fetch_add(u32::MAX, AcqRel) == 1 {
            self.unlock();
        }
    }
}
