//! Cells and slots of the simulated machine: the layout of the value itself, in guest memory.

use super::{access, access_range, by_links, conditional};
use crate::engine::current::{running, with};
use crate::engine::thread::OUTSIDE;
use crate::memory::Access;
use baton_machine::{Atomic, Ordering, Slot, Word};
use core::cell::UnsafeCell;

/// An atomic cell with the size of `T`. All-zero bytes are a valid cell.
#[repr(transparent)]
pub struct SimulatedAtomic<T>(UnsafeCell<T>);

// SAFETY: guests of an engine run one at a time on one host thread, and `check` refuses every other access.
unsafe impl<T: Word> Sync for SimulatedAtomic<T> {}
// SAFETY: as above.
unsafe impl<T: Word> Send for SimulatedAtomic<T> {}

impl<T: Word> SimulatedAtomic<T> {
    pub(crate) fn address(&self) -> usize {
        self.0.get().addr()
    }

    /// Reads without time: for values that a counted but unsimulated try has read.
    #[inline(always)]
    pub(crate) fn peek(&self) -> T {
        // SAFETY: see `Sync`: nobody writes meanwhile; the cell is alive, as it is borrowed.
        unsafe { self.0.get().read() }
    }

    /// A failing one only reads, which may hit.
    fn exchange_by_links(&self, current: T, new: T) -> Result<T, T> {
        loop {
            access(self.address(), Access::LoadLinked);
            let old = self.peek();
            if old != current {
                return Err(old);
            }
            if conditional(self.address()) {
                // The link stood, so nobody has written since.
                self.poke(new);
                return Ok(old);
            }
        }
    }

    /// Writes; time has passed already.
    #[inline(always)]
    fn poke(&self, value: T) {
        // SAFETY: see `Sync`: nobody else accesses the cell meanwhile.
        unsafe { self.0.get().write(value) };
        with(|engine| {
            if engine.running != OUTSIDE {
                engine.wrote(engine.offset_of(self.address()));
            }
        });
    }
}

impl<T: Word> Atomic<T> for SimulatedAtomic<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        SimulatedAtomic(UnsafeCell::new(value))
    }
    #[inline]
    fn load(&self, _: Ordering) -> T {
        access(self.address(), Access::Load);
        self.peek()
    }
    #[inline]
    fn store(&self, value: T, order: Ordering) {
        // A sequentially consistent store is an exchange on x86.
        access(self.address(), if order == Ordering::SeqCst { Access::Atomic } else { Access::Store });
        self.poke(value);
    }
    #[inline]
    fn swap(&self, value: T, _: Ordering) -> T {
        access(self.address(), Access::Atomic);
        let old = self.peek();
        self.poke(value);
        old
    }
    #[inline]
    fn compare_exchange(&self, current: T, new: T, _: Ordering, _: Ordering) -> Result<T, T> {
        if by_links() {
            return self.exchange_by_links(current, new);
        }
        // A failing one takes the line as well.
        access(self.address(), Access::Atomic);
        let old = self.peek();
        if old != current {
            return Err(old);
        }
        self.poke(new);
        Ok(old)
    }
    #[inline]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, ok, fail)
    }
    #[inline]
    fn fetch_add(&self, value: T, _: Ordering) -> T {
        access(self.address(), Access::Atomic);
        let old = self.peek();
        let mask = if T::BYTES == 8 { u64::MAX } else { (1 << (8 * T::BYTES)) - 1 };
        self.poke(T::from_bits(old.to_bits().wrapping_add(value.to_bits()) & mask));
        old
    }
}

/// A slot in guest memory: reading or writing it accesses each of its lines.
#[repr(transparent)]
pub struct SimulatedSlot<T>(UnsafeCell<T>);

// SAFETY: whoever reads or writes a slot promises in `Slot`'s contract that accesses are ordered.
unsafe impl<T: Send> Sync for SimulatedSlot<T> {}

impl<T> SimulatedSlot<T> {
    fn all_lines(&self, kind: Access) {
        if running() != OUTSIDE {
            access_range(self.0.get().addr(), size_of::<T>(), kind);
        }
    }
}

impl<T: 'static> Slot<T> for SimulatedSlot<T> {
    fn new(value: T) -> Self {
        SimulatedSlot(UnsafeCell::new(value))
    }
    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.all_lines(Access::Load);
        f(self.0.get())
    }
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.all_lines(Access::Store);
        f(self.0.get())
    }
}
