//! Cells over `core::sync::atomic`, without cost over bare atomics and with the layout of the value
//! itself.

use crate::{Atomic, Slot, Word};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An atomic cell of the real machine, with the size of `T`. All-zero bytes are a valid cell.
#[repr(transparent)]
pub struct NativeAtomic<T>(UnsafeCell<T>);

impl<T: Word> NativeAtomic<T> {
    /// Creates a cell that holds `value`; usable in statics.
    pub const fn new(value: T) -> Self {
        NativeAtomic(UnsafeCell::new(value))
    }

    /// Returns the address of the value.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// Views the cell as the core atomic of the same width.
    #[inline(always)]
    fn view<A>(&self) -> &A {
        const { assert!(size_of::<A>() == size_of::<T>() || size_of::<A>() != T::BYTES) };
        // SAFETY: `by_width` asks only for the core atomic that is T::BYTES wide: the cell is
        // alive, aligned for it (a `Word` has the alignment of the integer of its width) and only
        // ever accessed atomically.
        unsafe { &*self.0.get().cast::<A>() }
    }
}

// SAFETY: every access goes through core's atomics, and a `Word` may travel between threads.
unsafe impl<T: Word> Sync for NativeAtomic<T> {}
// SAFETY: every access goes through core's atomics, and a `Word` is `Send`.
unsafe impl<T: Word> Send for NativeAtomic<T> {}

/// Evaluates `$e` with the core atomic that is as wide as `T`. The branch is on a constant.
macro_rules! by_width {
    ($self:ident, $a:ident => $e:expr) => {
        match T::BYTES {
            1 => {
                let $a: &AtomicU8 = $self.view();
                $e
            }
            2 => {
                let $a: &AtomicU16 = $self.view();
                $e
            }
            4 => {
                let $a: &AtomicU32 = $self.view();
                $e
            }
            _ => {
                let $a: &AtomicU64 = $self.view();
                $e
            }
        }
    };
}

/// Conversion of a `u64` to the atomic's integer type; lossless, because the widths match.
trait Narrow {
    fn narrow(bits: u64) -> Self;
}
macro_rules! narrow { ($($t:ty),*) => {$( impl Narrow for $t {
    #[inline(always)]
    fn narrow(bits: u64) -> Self { bits as $t }
} )*} }
narrow!(u8, u16, u32, u64);

#[allow(clippy::unnecessary_cast, reason = "the cast widens in three of the four arms")]
impl<T: Word> Atomic<T> for NativeAtomic<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        NativeAtomic::new(value)
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> T {
        T::from_bits(by_width!(self, a => a.load(order) as u64))
    }
    #[inline(always)]
    fn store(&self, value: T, order: Ordering) {
        by_width!(self, a => a.store(Narrow::narrow(value.to_bits()), order))
    }
    #[inline(always)]
    fn swap(&self, value: T, order: Ordering) -> T {
        T::from_bits(by_width!(self, a => a.swap(Narrow::narrow(value.to_bits()), order) as u64))
    }
    #[inline(always)]
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        let (current, new) = (current.to_bits(), new.to_bits());
        by_width!(self, a => a
            .compare_exchange(Narrow::narrow(current), Narrow::narrow(new), ok, fail)
            .map(|v| T::from_bits(v as u64))
            .map_err(|v| T::from_bits(v as u64)))
    }
    #[inline(always)]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        let (current, new) = (current.to_bits(), new.to_bits());
        by_width!(self, a => a
            .compare_exchange_weak(Narrow::narrow(current), Narrow::narrow(new), ok, fail)
            .map(|v| T::from_bits(v as u64))
            .map_err(|v| T::from_bits(v as u64)))
    }
    #[inline(always)]
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        T::from_bits(by_width!(self, a => a.fetch_add(Narrow::narrow(value.to_bits()), order) as u64))
    }
}

/// A slot of the real machine: plain memory.
#[repr(transparent)]
pub struct NativeSlot<T>(UnsafeCell<T>);

// SAFETY: the unsafe methods of `Slot` require that accesses from different threads are ordered.
unsafe impl<T: Send> Sync for NativeSlot<T> {}

impl<T: 'static> Slot<T> for NativeSlot<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        NativeSlot(UnsafeCell::new(value))
    }
    #[inline(always)]
    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    unsafe fn read_row(row: &[Self], into: *mut T)
    where
        T: Copy,
    {
        // SAFETY: by contract no thread writes the row meanwhile, whose slots have the layout of
        // their values, and `into` does not overlap it.
        unsafe { row.as_ptr().cast::<T>().copy_to_nonoverlapping(into, row.len()) };
    }
    #[inline(always)]
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    unsafe fn take_row(row: &[Self], into: *mut T) {
        // SAFETY: by contract no other thread accesses the row, whose slots have the layout of
        // their values, and `into` does not overlap it.
        unsafe { row.as_ptr().cast::<T>().copy_to_nonoverlapping(into, row.len()) };
    }
    #[inline(always)]
    unsafe fn write_row(row: &[Self], from: *const T) {
        // SAFETY: as in `take_row`; a slot may be written through a shared reference, as it is an
        // `UnsafeCell`.
        unsafe { UnsafeCell::raw_get(row.as_ptr().cast::<UnsafeCell<T>>()).copy_from_nonoverlapping(from, row.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Ptr;
    use Ordering::SeqCst;

    fn exercise<T: Word>(a: T, b: T) {
        let cell = NativeAtomic::new(a);
        assert_eq!(cell.load(SeqCst), a);
        cell.store(b, SeqCst);
        assert_eq!(cell.swap(a, SeqCst), b);
        assert_eq!(cell.compare_exchange(b, b, SeqCst, SeqCst), Err(a));
        assert_eq!(cell.compare_exchange(a, b, SeqCst, SeqCst), Ok(a));
        assert_eq!(cell.load(SeqCst), b);
        assert_eq!(size_of::<NativeAtomic<T>>(), size_of::<T>());
    }

    #[test]
    fn every_word_is_atomic_at_its_own_width() {
        exercise(1u8, 0xfe);
        exercise(1u16, 0xfffe);
        exercise(1u32, 0xffff_fffe);
        exercise(1u64, u64::MAX - 1);
        exercise(1usize, usize::MAX - 1);
        let mut x = 0;
        exercise(Ptr::NULL, Ptr(&raw mut x));
    }

    #[test]
    fn an_addition_wraps_inside_its_cell() {
        let pair = [NativeAtomic::new(u16::MAX), NativeAtomic::new(7u16)];
        assert_eq!(pair[0].fetch_add(2, SeqCst), u16::MAX);
        assert_eq!((pair[0].load(SeqCst), pair[1].load(SeqCst)), (1, 7));
    }
}
