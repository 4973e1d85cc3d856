//! A machine that reports when a guest has begun to wait. The test of "first come, first served"
//! needs this to know which guest has come.

use baton_machine::units::{Cycles, Nanos};
use baton_machine::{
    Clock, Deadline, Local, LockHint, LockNotice, Machine, Notice, Ordering, PushTo, Section, Shared, Site, Wait,
    WaitResult, Word,
};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::cell::RefCell;

/// The machine `M`, which also reports when a guest begins to wait.
pub struct Watched<M>(PhantomData<fn() -> M>);

/// A guest's number, and what to call when the guest begins to wait.
type Watcher = (u32, Box<dyn FnOnce()>);

thread_local! {
    /// The guests that are watched on this host thread. On the real machine there is at most one.
    /// On other machines many guests share a host thread, so they are distinguished by their
    /// numbers.
    static WATCHERS: RefCell<Vec<Watcher>> = const { RefCell::new(Vec::new()) };
}

/// When dropped, stops watching a guest that has not begun to wait.
struct Done(u32);

impl Drop for Done {
    fn drop(&mut self) {
        WATCHERS.with(|watchers| watchers.borrow_mut().retain(|(guest, _)| *guest != self.0));
    }
}

impl<M: Machine> Watched<M> {
    /// Runs `f`. The first time that the calling guest waits, relaxes or works in `f`, calls
    /// `begins`.
    pub fn watching<R>(begins: impl FnOnce() + 'static, f: impl FnOnce() -> R) -> R {
        let me = M::local().index();
        WATCHERS.with(|watchers| watchers.borrow_mut().push((me, Box::new(begins))));
        let _done = Done(me);
        f()
    }

    fn waits() {
        let watcher = WATCHERS.with(|watchers| {
            let mut watchers = watchers.borrow_mut();
            if watchers.is_empty() {
                return None;
            }
            let me = M::local().index();
            let mine = watchers.iter().position(|(guest, _)| *guest == me)?;
            Some(watchers.swap_remove(mine).1)
        });
        if let Some(begins) = watcher {
            begins();
        }
    }
}

// SAFETY: every operation is that of `M`, which fulfils the contract of a machine.
unsafe impl<M: Machine> Machine for Watched<M> {
    type Atomic<T: Word> = M::Atomic<T>;
    type Slot<T: 'static> = M::Slot<T>;
    type Queues = M::Queues;
    const NAME: &'static str = M::NAME;

    #[track_caller]
    fn fence(order: Ordering) {
        M::fence(order);
    }

    #[track_caller]
    fn fence_after_exchange() {
        M::fence_after_exchange();
    }

    fn relax() {
        Self::waits();
        M::relax();
    }

    fn give_way(lost: u32) {
        M::give_way(lost);
    }

    fn wait_while<T: Word>(cell: &M::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        Self::waits();
        M::wait_while(cell, value, wait, deadline)
    }

    #[track_caller]
    fn wake<T: Word>(cell: *const M::Atomic<T>, n: u32, wait: Wait) {
        M::wake::<T>(cell, n, wait);
    }

    fn wait_while_in<T: Word>(
        cell: &M::Atomic<T>,
        value: T,
        group: u32,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> WaitResult<T> {
        Self::waits();
        M::wait_while_in(cell, value, group, wait, deadline)
    }

    #[track_caller]
    fn wake_in<T: Word>(cell: *const M::Atomic<T>, n: u32, group: u32, wait: Wait) {
        M::wake_in::<T>(cell, n, group, wait);
    }

    fn now(clock: Clock) -> Nanos {
        M::now(clock)
    }

    fn hint(hint: LockHint) {
        M::hint(hint);
    }

    fn section(section: Section) {
        M::section(section);
    }

    fn notify(notice: Notice) {
        M::notify(notice);
    }

    fn hears_locks() -> bool {
        M::hears_locks()
    }

    fn notify_lock(notice: LockNotice, address: usize) {
        M::notify_lock(notice, address);
    }

    fn local() -> &'static Local {
        M::local()
    }

    fn shared() -> &'static Shared<M::Atomic<usize>> {
        M::shared()
    }

    fn keep(layout: Layout) -> NonNull<u8> {
        M::keep(layout)
    }

    fn polls_alone<T: Word>(cell: *const M::Atomic<T>, polls: bool) {
        M::polls_alone::<T>(cell, polls);
    }

    fn node() -> u32 {
        M::node()
    }

    fn nodes() -> u32 {
        M::nodes()
    }

    fn site() -> Site {
        M::site()
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        M::alloc(layout)
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller promises what `dealloc` requires; `memory` came from `M`.
        unsafe { M::dealloc(memory, layout) };
    }

    fn work(cycles: Cycles) {
        Self::waits();
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

    fn queues(number: u32) -> Option<M::Queues> {
        M::queues(number)
    }
}
