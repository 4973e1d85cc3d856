//! Atomic cells and slots under loom.

use super::fairness;
use crate::{execution, mutant};
use ::loom::cell::UnsafeCell;
use ::loom::sync::atomic::AtomicU64;
use baton_machine::{Atomic, Ordering, Slot, Word};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64 as Plain, AtomicUsize};
use std::panic::Location;

/// An atomic cell whose every read may return any value that its ordering allows.
///
/// The value is in the high bytes of a 64-bit cell, so that an addition wraps at the value's own
/// width.
pub struct LoomAtomic<T> {
    bits: AtomicU64,
    /// Number of writes so far, in the order in which loom runs the guests. No guest sees this
    /// count; it tells a waiter when another read can return something new (see
    /// [`super::fairness`]).
    writes: AtomicUsize,
    /// The value that the last write wrote.
    newest: Plain,
    value: PhantomData<fn() -> T>,
}

impl<T: Word> LoomAtomic<T> {
    const SHIFT: u32 = 64 - 8 * T::BYTES as u32;

    fn pack(value: T) -> u64 {
        value.to_bits() << Self::SHIFT
    }

    fn unpack(bits: u64) -> T {
        T::from_bits(bits >> Self::SHIFT)
    }

    /// Returns the cell, after checking that its memory was not given back.
    #[track_caller]
    fn bits(&self) -> &AtomicU64 {
        fairness::access();
        execution::assert_alive(core::ptr::from_ref(self).addr());
        &self.bits
    }

    /// Reads the cell for the machine itself; this read is no site of the mutation check.
    pub(super) fn read(&self, order: Ordering) -> T {
        Self::unpack(self.bits().load(order))
    }

    /// Number of writes so far.
    pub(super) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// The value that was written last.
    pub(super) fn newest(&self) -> T {
        Self::unpack(self.newest.load(Ordering::Relaxed))
    }

    fn written(&self, bits: u64) {
        self.newest.store(bits, Ordering::Relaxed);
        self.writes.fetch_add(1, Ordering::Relaxed);
        fairness::written();
    }

    /// Swaps in `value`, but leaves the cell alone if it already holds `value`.
    ///
    /// Loom may let a spinning test-and-set read its own last write for ever, because it does not
    /// order another guest's store and that write. A swap without a release half may be left out,
    /// because no thread can tell: a later read of the value that is there anyway synchronizes with
    /// the same write as a read of the swap's own write would.
    fn swap_unless_equal(&self, value: u64, order: Ordering) -> u64 {
        let mut guess = if value == 0 { 1 << Self::SHIFT } else { 0 };
        loop {
            match self.bits().compare_exchange(guess, value, order, order) {
                Ok(before) => {
                    self.written(value);
                    return before;
                }
                Err(there) if there == value => return there,
                Err(there) => guess = there,
            }
        }
    }
}

#[track_caller]
fn changed(kind: &str, argument: &str, order: Ordering) -> Ordering {
    let site = Location::caller();
    mutant::note(site, kind, &[(argument, order)]);
    mutant::order(site, argument, order)
}

impl<T: Word> Atomic<T> for LoomAtomic<T> {
    fn new(value: T) -> Self {
        LoomAtomic {
            bits: AtomicU64::new(Self::pack(value)),
            writes: AtomicUsize::new(0),
            newest: Plain::new(Self::pack(value)),
            value: PhantomData,
        }
    }

    #[track_caller]
    fn load(&self, order: Ordering) -> T {
        Self::unpack(self.bits().load(changed("load", "order", order)))
    }

    #[track_caller]
    fn store(&self, value: T, order: Ordering) {
        self.bits().store(Self::pack(value), changed("store", "order", order));
        self.written(Self::pack(value));
    }

    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T {
        let order = changed("rmw", "order", order);
        if matches!(order, Ordering::Relaxed | Ordering::Acquire) {
            return Self::unpack(self.swap_unless_equal(Self::pack(value), order));
        }
        let before = self.bits().swap(Self::pack(value), order);
        self.written(Self::pack(value));
        Self::unpack(before)
    }

    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        let site = Location::caller();
        mutant::note(site, "cas", &[("ok", ok), ("fail", fail)]);
        let (ok, fail) = (mutant::order(site, "ok", ok), mutant::order(site, "fail", fail));
        let result = self.bits().compare_exchange(Self::pack(current), Self::pack(new), ok, fail);
        if result.is_ok() {
            self.written(Self::pack(new));
        }
        result.map(Self::unpack).map_err(Self::unpack)
    }

    #[track_caller]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, ok, fail)
    }

    #[track_caller]
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        let before = self.bits().fetch_add(Self::pack(value), changed("rmw", "order", order));
        self.written(before.wrapping_add(Self::pack(value)));
        Self::unpack(before)
    }
}

/// A cell may be dropped only after every access to it has happened; otherwise its memory was given
/// back too early.
impl<T> Drop for LoomAtomic<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.bits.with_mut(|_| ());
        }
    }
}

/// A slot on which loom reports races.
pub struct LoomSlot<T> {
    cell: UnsafeCell<T>,
}

impl<T: 'static> Slot<T> for LoomSlot<T> {
    fn new(value: T) -> Self {
        LoomSlot { cell: UnsafeCell::new(value) }
    }

    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        execution::assert_alive(core::ptr::from_ref(self).addr());
        self.cell.with(f)
    }

    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        execution::assert_alive(core::ptr::from_ref(self).addr());
        self.cell.with_mut(f)
    }
}
