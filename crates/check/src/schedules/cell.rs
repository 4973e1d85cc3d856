//! Atomic cells and slots under shuttle.

use crate::execution;
use ::shuttle::sync::atomic::{AtomicU32, AtomicU64};
use baton_machine::Ordering::SeqCst;
use baton_machine::{Atomic, Ordering, Slot, Word};
use core::cell::UnsafeCell;
use core::marker::PhantomData;

/// An atomic cell; shuttle may run another guest before each access. Every access is sequentially
/// consistent, whatever ordering is asked for.
///
/// The value is in the high bytes of a 64-bit cell, so that an addition wraps at the value's own
/// width.
pub struct ShuttleAtomic<T> {
    bits: AtomicU64,
    value: PhantomData<fn() -> T>,
}

impl<T: Word> ShuttleAtomic<T> {
    const SHIFT: u32 = 64 - 8 * T::BYTES as u32;

    fn pack(value: T) -> u64 {
        value.to_bits() << Self::SHIFT
    }

    fn unpack(bits: u64) -> T {
        T::from_bits(bits >> Self::SHIFT)
    }

    /// Accesses the cell, after checking that its memory was not given back.
    #[track_caller]
    fn access<R>(&self, f: impl FnOnce(&AtomicU64) -> R) -> R {
        let at = core::ptr::from_ref(self).addr();
        execution::assert_alive(at);
        let result = f(&self.bits);
        // Other guests may have run just before the access.
        execution::assert_alive(at);
        result
    }
}

impl<T: Word> Atomic<T> for ShuttleAtomic<T> {
    fn new(value: T) -> Self {
        ShuttleAtomic { bits: AtomicU64::new(Self::pack(value)), value: PhantomData }
    }

    #[track_caller]
    fn load(&self, _: Ordering) -> T {
        Self::unpack(self.access(|bits| bits.load(SeqCst)))
    }

    #[track_caller]
    fn store(&self, value: T, _: Ordering) {
        self.access(|bits| bits.store(Self::pack(value), SeqCst));
    }

    #[track_caller]
    fn swap(&self, value: T, _: Ordering) -> T {
        Self::unpack(self.access(|bits| bits.swap(Self::pack(value), SeqCst)))
    }

    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, _: Ordering, _: Ordering) -> Result<T, T> {
        let result = self.access(|bits| bits.compare_exchange(Self::pack(current), Self::pack(new), SeqCst, SeqCst));
        result.map(Self::unpack).map_err(Self::unpack)
    }

    #[track_caller]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        if super::chance(8) {
            // The exchange fails without a reason, like on machines with LL/SC. It returns what the
            // cell holds, which may well be `current`.
            return Err(self.load(fail));
        }
        self.compare_exchange(current, new, ok, fail)
    }

    #[track_caller]
    fn fetch_add(&self, value: T, _: Ordering) -> T {
        Self::unpack(self.access(|bits| bits.fetch_add(Self::pack(value), SeqCst)))
    }
}

/// A slot that reports two accesses at a time if one of them is a write.
pub struct ShuttleSlot<T> {
    /// Number of readers in the low half, number of writers in the high half.
    inside: AtomicU32,
    value: UnsafeCell<T>,
}

const READER: u32 = 1;
const WRITER: u32 = 1 << 16;

impl<T> ShuttleSlot<T> {
    fn access<R>(&self, me: u32, excludes: impl Fn(u32) -> bool, f: impl FnOnce(*mut T) -> R) -> R {
        execution::assert_alive(core::ptr::from_ref(self).addr());
        let others = self.inside.fetch_add(me, SeqCst);
        assert!(!excludes(others), "a race on a slot: {} inside, {} writing", others % WRITER, others / WRITER);
        let result = f(self.value.get());
        // Another guest may run before this line. A guest that should have been excluded then finds
        // the calling guest inside.
        self.inside.fetch_sub(me, SeqCst);
        result
    }
}

impl<T: 'static> Slot<T> for ShuttleSlot<T> {
    fn new(value: T) -> Self {
        ShuttleSlot { inside: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.access(READER, |others| others >= WRITER, |at| f(at))
    }

    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.access(WRITER, |others| others != 0, f)
    }
}
