//! A machine that never waits: one thread plays all participants of an episode in turn, so that the
//! episode's instructions can be counted. It synchronizes nothing.

use crate::{Clock, Deadline, Local, LockHint, Machine, PushTo, Shared, Site, Wait, WaitResult, Word};
use baton_units::{Cycles, Nanos};
use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// A promise about the objects that a program makes on [`Unwaited`], under a type of the program's own.
///
/// # Safety
/// One thread uses each object on the machine `Unwaited<_, Self>`, and no memory is accessed because
/// such an object allowed it: a lock guards nothing, and a queue has no items that own something.
#[doc(hidden)]
pub unsafe trait Alone: Send + Sync + 'static {}

/// The machine `M` without waiting, for counting. A wait reads its cell once and pretends that it
/// has changed. The thread seems to alternate between two NUMA nodes, so that barriers that count
/// by node do so.
///
/// What a wait pretends is not so, so a program must promise by `A` that it relies on none of it:
///
/// ```compile_fail,E0277
/// struct Nothing;
/// fn counts<M: baton_machine::Machine>() {}
/// counts::<baton_machine::Unwaited<baton_machine::Native, Nothing>>();
/// ```
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Unwaited<M, A>(PhantomData<(M, A)>);

std::thread_local! {
    static NODE: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: cells, memory and storage are those of `M`, which fulfils the contract of a machine. A wait
// may say that a cell has changed although it has not; `A` promises that nothing relies on that.
unsafe impl<M: Machine, A: Alone> Machine for Unwaited<M, A> {
    type Atomic<T: Word> = M::Atomic<T>;
    type Slot<T: 'static> = M::Slot<T>;
    type Queues = M::Queues;
    const NAME: &'static str = "unwaited";
    const HINTS: bool = M::HINTS;

    #[inline(always)]
    fn fence(order: Ordering) {
        M::fence(order);
    }

    #[inline(always)]
    fn fence_after_exchange() {
        M::fence_after_exchange();
    }

    #[inline(always)]
    fn relax() {
        M::relax();
    }

    #[inline(always)]
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, _: Wait, _: Option<Deadline>) -> WaitResult<T> {
        use crate::Atomic;
        let seen = cell.load(Ordering::Acquire);
        WaitResult::Changed(if seen == value { T::from_bits(value.to_bits().wrapping_add(1)) } else { seen })
    }

    #[inline(always)]
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait) {
        M::wake::<T>(cell, n, wait);
    }

    fn now(clock: Clock) -> Nanos {
        M::now(clock)
    }

    #[inline(always)]
    fn hint(hint: LockHint) {
        M::hint(hint);
    }

    fn local() -> &'static Local {
        M::local()
    }

    fn shared() -> &'static Shared<Self::Atomic<usize>> {
        M::shared()
    }

    fn node() -> u32 {
        NODE.with(|node| node.replace(1 - node.get()))
    }

    fn nodes() -> u32 {
        2
    }

    fn site() -> Site {
        let node = Self::node();
        Site { node, cluster: node, core: node }
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        M::alloc(layout)
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller promises what `dealloc` requires; `memory` came from `M`.
        unsafe { M::dealloc(memory, layout) };
    }

    fn work(cycles: Cycles) {
        M::work(cycles);
    }

    unsafe fn touch(start: *mut u8, bytes: usize, write: bool) {
        // SAFETY: the caller promises what `touch` requires, for the same memory.
        unsafe { M::touch(start, bytes, write) };
    }

    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32) {
        // SAFETY: the caller promises what `touch_each` requires, for the same places.
        unsafe { M::touch_each(places, instructions) };
    }

    fn prefetch(start: *const u8, bytes: usize, write: bool) {
        M::prefetch(start, bytes, write);
    }

    fn prepush(start: *const u8, bytes: usize, to: PushTo) {
        M::prepush(start, bytes, to);
    }

    fn queues(number: u32) -> Option<Self::Queues> {
        M::queues(number)
    }
}
