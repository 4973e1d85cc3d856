//! What can stand in an atomic cell, and the contracts of cells and slots.

use core::sync::atomic::Ordering;

/// A value of up to eight bytes that an atomic cell can hold: the unsigned integers and raw pointers.
///
/// # Safety
/// `from_bits(to_bits(v)) == v`, all-zero bytes are a valid value with `to_bits` 0, and the type has the size
/// and alignment of the integer `BYTES` wide.
pub unsafe trait Word: Copy + PartialEq + Send + core::fmt::Debug + 'static {
    /// The size: 1, 2, 4 or 8.
    const BYTES: usize;
    /// The value, widened with zeroes.
    fn to_bits(self) -> u64;
    /// The value from its low `BYTES` bytes.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! words {
    ($($t:ty),*) => {$(
        // SAFETY: an unsigned integer round-trips through u64 and is zero for zero bits.
        unsafe impl Word for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn to_bits(self) -> u64 { self as u64 }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self { bits as $t }
        }
    )*};
}
words!(u8, u16, u32, u64, usize);

/// A raw pointer in a cell. (`*mut T` itself is not `Send`; the pointer's user answers for what it points to.)
#[repr(transparent)]
pub struct Ptr<T>(pub *mut T);

impl<T> Ptr<T> {
    /// No pointer: all-zero bits.
    pub const NULL: Ptr<T> = Ptr(core::ptr::null_mut());

    /// Whether this is [`Ptr::NULL`].
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T> Clone for Ptr<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ptr<T> {}
impl<T> PartialEq for Ptr<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Ptr<T> {}
impl<T> core::fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}
// SAFETY: an address may travel between threads; the thread that dereferences it answers for what it points to.
unsafe impl<T> Send for Ptr<T> {}
// SAFETY: as above, sharing the address shares nothing of what it points to.
unsafe impl<T> Sync for Ptr<T> {}

// SAFETY: a pointer has the size of usize and round-trips through its exposed address; null is all-zero.
unsafe impl<T: 'static> Word for Ptr<T> {
    const BYTES: usize = size_of::<usize>();
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.expose_provenance() as u64
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Ptr(core::ptr::with_exposed_provenance_mut(bits as usize))
    }
}

/// An atomic cell of some machine. Orderings mean what they mean in `core::sync::atomic`.
pub trait Atomic<T: Word>: Send + Sync + 'static {
    /// A cell that holds `value`.
    fn new(value: T) -> Self;
    /// Reads the cell.
    fn load(&self, order: Ordering) -> T;
    /// Writes the cell.
    fn store(&self, value: T, order: Ordering);
    /// Writes the cell and returns what it held.
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Writes `new` if the cell holds `current`; returns what it held, as `Ok` if it was written.
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T>;
    /// As [`Atomic::compare_exchange`], but may fail without a reason (LL/SC machines).
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T>;
    /// Adds `value` (wrapping) and returns what the cell held. Integers only: a pointer cell panics.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
}

/// A place for plain, non-atomic data that threads hand to each other under some protocol.
pub trait Slot<T>: 'static {
    /// A slot that holds `value`.
    fn new(value: T) -> Self;
    /// Calls `f` with a pointer for reading.
    ///
    /// # Safety
    /// No thread writes the slot meanwhile; everything before the last write happened before this call.
    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R;
    /// Calls `f` with a pointer for reading and writing.
    ///
    /// # Safety
    /// No other thread accesses the slot meanwhile, and earlier accesses happened before this call.
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R;

    /// Moves the value out, bit by bit: the slot is empty until it is written again. The machine loads it; for a checker it is a
    /// write, so that the next access must come after it.
    ///
    /// # Safety
    /// As [`Slot::write`]; what the slot held is not dropped, used or taken again from there.
    #[inline(always)]
    unsafe fn take(&self) -> T {
        // SAFETY: by contract.
        unsafe { self.write(|at| at.read()) }
    }

    /// Takes what neighbouring slots hold, in their order, to `into`. The machine copies a range, whose loads do not depend on each
    /// other; a checker sees each slot by itself.
    ///
    /// # Safety
    /// As [`Slot::take`] for each slot; from `into` on there is room for as many values, outside of the row.
    #[inline(always)]
    unsafe fn take_row(row: &[Self], into: *mut T)
    where
        Self: Sized,
    {
        for (i, slot) in row.iter().enumerate() {
            // SAFETY: by contract.
            unsafe { into.add(i).write(slot.take()) };
        }
    }

    /// Writes neighbouring slots, in their order, from `from` on: a range, as in [`Slot::take_row`].
    ///
    /// # Safety
    /// As [`Slot::write`] for each slot; from `from` on there are as many values, outside of the row, which are the slots' from now on.
    /// What the slots held is not dropped.
    #[inline(always)]
    unsafe fn write_row(row: &[Self], from: *const T)
    where
        Self: Sized,
    {
        for (i, slot) in row.iter().enumerate() {
            // SAFETY: by contract.
            unsafe { slot.write(|at| at.write(from.add(i).read())) };
        }
    }
}
