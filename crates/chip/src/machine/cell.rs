//! Cells and slots of the simulated machine. They have the layout of the value itself, in guest
//! memory.

use super::access::{LOAD_LINKED, access, access_range, access_row, by_links, conditional, end_hint, far, one, place};
use crate::base::thread::OUTSIDE;
use crate::core::buffer::{Store, Write};
use crate::core::rmw::{Far, Rmw};
use crate::engine::current::{memory, operate, own, running, with};
use crate::engine::reason::Reason;
use crate::issue::drain;
use crate::issue::drain::drain;
use crate::issue::instructions::{before_access, execute};
use baton_machine::{Atomic, Ordering, Slot, Word};
use baton_memory::Access;
use core::cell::UnsafeCell;

/// An atomic cell with the size of `T`. All-zero bytes are a valid cell.
#[repr(transparent)]
pub struct SimulatedAtomic<T>(UnsafeCell<T>);

// SAFETY: an engine is current on one host thread only, that of its `Simulation`, which is not
// `Send`. `with` refuses an access where no engine is current; `offset_of` (of guests) and
// `check_outside` (of other code) refuse a cell outside of the current engine's memory. So all
// accesses to a cell come from one host thread, one after the other.
unsafe impl<T: Word> Sync for SimulatedAtomic<T> {}
// SAFETY: as for `Sync`.
unsafe impl<T: Word> Send for SimulatedAtomic<T> {}

impl<T: Word> SimulatedAtomic<T> {
    pub(crate) fn address(&self) -> usize {
        self.0.get().addr()
    }

    /// Reads without taking time: after an access that took the time, for a try that was counted
    /// and not simulated, or outside of guest code.
    #[inline(always)]
    pub(crate) fn peek(&self) -> T {
        // SAFETY: see `Sync`: no other access happens meanwhile; the cell is alive, as it is borrowed.
        unsafe { self.0.get().read() }
    }

    /// A load, served by the thread's own store buffer or by memory.
    #[inline]
    pub(crate) fn read(&self) -> T {
        // A single look at the engine is enough for most loads.
        let (outside, units, stores) = with(|engine| match engine.running {
            OUTSIDE => (true, 0, 0),
            id => (false, engine.cores.own_instructions.access, engine.threads[id as usize].pipeline.buffer.len()),
        });
        let address = self.address();
        if outside {
            memory(|memory| memory.check_outside(address));
            return self.peek();
        }
        if units != 0 {
            execute(units);
        }
        if stores != 0
            && let Some(bits) = forwarded(address, T::BYTES)
        {
            return T::from_bits(bits);
        }
        one(address, Access::Load);
        self.peek()
    }

    /// A compare-exchange by load-linked and store-conditional. A failing one only reads, and may
    /// hit.
    fn exchange_by_links(&self, current: T, new: T) -> Result<T, T> {
        drain();
        note_lock_word(self.address());
        loop {
            access(self.address(), LOAD_LINKED);
            let old = self.peek();
            if old != current {
                end_hint();
                return Err(old);
            }
            if conditional(self.address()) {
                // The link held, so no other core has written since.
                end_hint();
                self.poke(new);
                return Ok(old);
            }
        }
    }

    /// A store into the thread's store buffer.
    fn buffer(&self, value: T) {
        before_access();
        let (offset, line) = place(self.address());
        let write: Write = |at, bits| {
            // SAFETY: the caller promises that `at` is the address of a live cell of this type.
            unsafe { at.cast::<T>().write(T::from_bits(bits)) }
        };
        let (bytes, value) = (T::BYTES, value.to_bits());
        drain::store(|core| Store { offset, bytes, value, write: Some(write), line, access: Access::Store, core });
    }

    /// A locked instruction, performed in the core's cache or at the line's home. It waits until
    /// earlier stores have left their buffer. Returns the former value.
    #[inline]
    fn locked(&self, what: Rmw) -> T {
        drain();
        note_lock_word(self.address());
        if far() {
            let (offset, bytes) = (place(self.address()).0, T::BYTES);
            own(|thread| thread.pipeline.far = Some(Far { offset, bytes, what, old: None }));
            access(self.address(), Access::Atomic);
            let done = own(|thread| thread.pipeline.far.take());
            if let Some(old) = done.and_then(|far| far.old) {
                return T::from_bits(old);
            }
            // The core owned the line and performed the atomic.
        } else {
            access(self.address(), Access::Atomic);
        }
        let old = self.peek();
        if let Some(new) = what.apply(old.to_bits(), T::BYTES) {
            self.poke(T::from_bits(new));
        }
        old
    }

    /// Writes the value; the access that takes the time has been made already.
    #[inline(always)]
    fn poke(&self, value: T) {
        // SAFETY: see `Sync`: no other access happens meanwhile.
        unsafe { self.0.get().write(value) };
        with(|engine| {
            if engine.running != OUTSIDE {
                engine.wrote(engine.guest.offset_of(self.address()), engine.running);
            }
        });
    }
}

impl<T> Drop for SimulatedAtomic<T> {
    /// A cell on a stack can be dropped while a store to it is still in the buffer.
    #[inline]
    fn drop(&mut self) {
        drain::forget_own(self.0.get().addr(), size_of::<T>());
    }
}

/// What the running thread's store buffer has for a load, at the price of a hit.
#[inline(always)]
fn forwarded(address: usize, bytes: usize) -> Option<u64> {
    let bits = drain::forward(place(address).0, bytes)?;
    operate(Reason::Memory, |engine| {
        engine.threads[engine.running as usize].stats.counts.operations += 1;
        engine.now + engine.hit_here()
    });
    Some(bits)
}

/// Tells the engine that a guest is about to do an atomic on this cell.
#[inline]
fn note_lock_word(address: usize) {
    with(|engine| {
        if engine.log.watch.on && engine.running != OUTSIDE {
            engine.note_lock_word(engine.guest.offset_of(address));
        }
    });
}

impl<T: Word> Atomic<T> for SimulatedAtomic<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        SimulatedAtomic(UnsafeCell::new(value))
    }
    #[inline]
    fn load(&self, _: Ordering) -> T {
        self.read()
    }
    #[inline]
    fn store(&self, value: T, order: Ordering) {
        // A sequentially consistent store is an exchange on x86.
        if order == Ordering::SeqCst {
            self.locked(Rmw::Swap(value.to_bits()));
            return;
        }
        let (buffers, entries) = with(|engine| match engine.running {
            OUTSIDE => (false, 0),
            id => (engine.buffers(), engine.threads[id as usize].pipeline.buffer.len()),
        });
        if buffers {
            return self.buffer(value);
        }
        if entries != 0 {
            drain::before_direct_store();
        }
        access(self.address(), Access::Store);
        self.poke(value);
    }
    #[inline]
    fn swap(&self, value: T, _: Ordering) -> T {
        self.locked(Rmw::Swap(value.to_bits()))
    }
    #[inline]
    fn compare_exchange(&self, current: T, new: T, _: Ordering, _: Ordering) -> Result<T, T> {
        if by_links() {
            return self.exchange_by_links(current, new);
        }
        // A failing compare-exchange is a locked instruction as well.
        let old = self.locked(Rmw::Exchange(current.to_bits(), new.to_bits()));
        if old == current { Ok(old) } else { Err(old) }
    }
    #[inline]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, ok, fail)
    }
    #[inline]
    fn fetch_add(&self, value: T, _: Ordering) -> T {
        self.locked(Rmw::Add(value.to_bits()))
    }
}

/// A slot in guest memory. A read or write of the slot accesses each of its lines.
#[repr(transparent)]
pub struct SimulatedSlot<T>(UnsafeCell<T>);

// SAFETY: each reader or writer of a slot promises in `Slot`'s contract that accesses are ordered.
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
    unsafe fn read_row(row: &[Self], into: *mut T)
    where
        T: Copy,
    {
        access_row(row.as_ptr().addr(), size_of_val(row), row.len(), Access::Load);
        // SAFETY: by contract no thread writes the row meanwhile, whose slots have the layout of their values, and `into` lies
        // outside of it.
        unsafe { row.as_ptr().cast::<T>().copy_to_nonoverlapping(into, row.len()) };
    }
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.all_lines(Access::Store);
        f(self.0.get())
    }
    /// The data is only loaded, so its lines may stay shared.
    unsafe fn take(&self) -> T {
        self.all_lines(Access::Load);
        // SAFETY: by contract no other thread accesses the slot.
        unsafe { self.0.get().read() }
    }
    unsafe fn take_row(row: &[Self], into: *mut T) {
        access_row(row.as_ptr().addr(), size_of_val(row), row.len(), Access::Load);
        // SAFETY: by contract no other thread accesses the row, whose slots have the layout of their values, and `into` lies
        // outside of it.
        unsafe { row.as_ptr().cast::<T>().copy_to_nonoverlapping(into, row.len()) };
    }
    unsafe fn write_row(row: &[Self], from: *const T) {
        access_row(row.as_ptr().addr(), size_of_val(row), row.len(), Access::Store);
        // SAFETY: as in `take_row`; a slot may be written through a shared reference, as it is an `UnsafeCell`.
        unsafe { UnsafeCell::raw_get(row.as_ptr().cast::<UnsafeCell<T>>()).copy_from_nonoverlapping(from, row.len()) };
    }
}
