//! Values that an atomic cell can hold, and the traits of cells and slots.

use core::sync::atomic::Ordering;

/// A value of up to eight bytes that an atomic cell can hold: the unsigned integers and raw
/// pointers.
///
/// # Safety
/// `from_bits(to_bits(v)) == v`, all-zero bytes are a valid value with `to_bits` 0, and the type
/// has the size and alignment of the unsigned integer of `BYTES` bytes.
pub unsafe trait Word: Copy + PartialEq + Send + core::fmt::Debug + 'static {
    /// Size of the value in bytes: 1, 2, 4 or 8.
    const BYTES: usize;
    /// Returns the value's bits, zero-extended to 64.
    fn to_bits(self) -> u64;
    /// Returns the value whose bits are the low `BYTES` bytes of `bits`.
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

/// A raw pointer in a cell. (`*mut T` itself is not `Send`; code that dereferences the pointer must
/// make sure that it may.)
#[repr(transparent)]
pub struct Ptr<T>(pub *mut T);

impl<T> Ptr<T> {
    /// The null pointer: all-zero bits.
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
// SAFETY: an address may travel between threads; the thread that dereferences it must make sure
// that it may.
unsafe impl<T> Send for Ptr<T> {}
// SAFETY: sharing an address shares nothing of the memory behind it.
unsafe impl<T> Sync for Ptr<T> {}

// SAFETY: a pointer has the size of usize and round-trips through its exposed address; null is
// all-zero.
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

/// An atomic cell of a machine. Orderings mean what they mean in `core::sync::atomic`.
pub trait Atomic<T: Word>: Send + Sync + 'static {
    /// Creates a cell that holds `value`.
    fn new(value: T) -> Self;
    /// Reads the cell.
    fn load(&self, order: Ordering) -> T;
    /// Writes the cell.
    fn store(&self, value: T, order: Ordering);
    /// Writes the cell and returns what it held.
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Writes `new` if the cell holds `current`. Returns the value found: `Ok` if `new` was
    /// written, else `Err`. `ok` is the ordering of a success, `fail` that of a failure.
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T>;
    /// [`Atomic::compare_exchange`] that may fail although the cell holds `current`, as on LL/SC
    /// machines.
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T>;
    /// Adds `value`, wrapping at the cell's width, and returns what the cell held before. On a cell
    /// of pointers it adds addresses.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
}

/// A memory location for plain, non-atomic data that threads hand to each other under some
/// protocol.
pub trait Slot<T>: 'static {
    /// Creates a slot that holds `value`.
    fn new(value: T) -> Self;
    /// Calls `f` with a pointer for reading.
    ///
    /// # Safety
    /// No thread writes the slot meanwhile; everything before the last write happened before this
    /// call.
    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R;

    /// Copies the values of neighbouring slots, in order, to the memory at `into`. The native machine
    /// copies them as one range, so that the loads do not depend on each other; a model checker sees
    /// a read of each slot.
    ///
    /// # Safety
    /// The rules of [`Slot::read`] hold for each slot. `into` has room for `row.len()` values and
    /// does not overlap the row.
    #[inline(always)]
    unsafe fn read_row(row: &[Self], into: *mut T)
    where
        Self: Sized,
        T: Copy,
    {
        for (i, slot) in row.iter().enumerate() {
            // SAFETY: the caller promises what `read` requires for each slot of the row, and that
            // `into` has room for a value of each.
            unsafe { into.add(i).write(slot.read(|at| *at)) };
        }
    }

    /// Calls `f` with a pointer for reading and writing.
    ///
    /// # Safety
    /// No other thread accesses the slot meanwhile, and earlier accesses happened before this call.
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R;

    /// Moves the value out bit by bit; the slot is empty until it is written again. On the native
    /// machine this is a load. A model checker treats it as a write, so that the next access must
    /// be ordered after it.
    ///
    /// # Safety
    /// The rules of [`Slot::write`] hold. The caller must not drop, use or take the slot's old
    /// content again.
    #[inline(always)]
    unsafe fn take(&self) -> T {
        // SAFETY: the caller promises what `write` requires, and does not use or drop the slot's
        // old content again.
        unsafe { self.write(|at| at.read()) }
    }

    /// Moves the values of neighbouring slots, in order, to the memory at `into`. The native
    /// machine copies them as one range, so that the loads do not depend on each other; a model
    /// checker sees an access for each slot.
    ///
    /// # Safety
    /// The rules of [`Slot::take`] hold for each slot. `into` has room for `row.len()` values and
    /// does not overlap the row.
    #[inline(always)]
    unsafe fn take_row(row: &[Self], into: *mut T)
    where
        Self: Sized,
    {
        for (i, slot) in row.iter().enumerate() {
            // SAFETY: the caller promises what `take` requires for each slot of the row, and that
            // `into` has room for a value of each.
            unsafe { into.add(i).write(slot.take()) };
        }
    }

    /// Moves `row.len()` values from the memory at `from` into neighbouring slots, in order, as one
    /// range like [`Slot::take_row`].
    ///
    /// # Safety
    /// The rules of [`Slot::write`] hold for each slot. `from` points to `row.len()` values outside
    /// of the row, which belong to the slots afterwards. The old content of the slots is not
    /// dropped.
    #[inline(always)]
    unsafe fn write_row(row: &[Self], from: *const T)
    where
        Self: Sized,
    {
        for (i, slot) in row.iter().enumerate() {
            // SAFETY: the caller promises what `write` requires for each slot of the row, and that
            // `from` points to as many values.
            unsafe { slot.write(|at| at.write(from.add(i).read())) };
        }
    }
}
