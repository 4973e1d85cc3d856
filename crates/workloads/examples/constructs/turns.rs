//! The real machine with one host thread, on which guest threads take turns: where one waits, the
//! next goes on. So the instructions of each guest thread can be counted without those of its
//! waits, and are the same in each run.

use baton_machine::native::cell::{NativeAtomic, NativeSlot};
use baton_machine::units::{Cycles, Nanos};
use baton_machine::{
    Atomic, Clock, Deadline, Local, LockHint, Machine, Native, Ordering, PushTo, Shared, Slot, Wait, WaitResult, Word,
    device,
};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

/// The machine. With `COUNT` its cells and slots count their accesses; without it they execute what
/// those of the real machine do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns<const COUNT: bool>;

#[derive(Default)]
struct State {
    /// Storage of the guest threads.
    locals: RefCell<Vec<&'static Local>>,
    /// The number of the guest thread that runs; `yielder` is the object by which that thread gives
    /// its turn back.
    running: Cell<usize>,
    yielder: Cell<Option<NonNull<Yielder<(), ()>>>>,
    turns: Cell<u64>,
    accesses: Cell<u64>,
}

thread_local! {
    static STATE: State = State::default();
}

/// The counts of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// How often a guest thread gave its turn back.
    pub(crate) turns: u64,
    pub(crate) accesses: u64,
}

/// Suspends the guest thread that runs, so that the next one has its turn.
#[inline(never)]
pub(crate) fn turn() {
    let yielder = STATE.with(|state| {
        state.turns.set(state.turns.get() + 1);
        state.yielder.get().expect("a guest thread waits")
    });
    // SAFETY: the yielder is that of the running coroutine, and lives on the coroutine's stack.
    unsafe { yielder.as_ref() }.suspend(());
}

/// Runs guest threads by turns until all have ended.
pub(crate) fn run(bodies: Vec<Box<dyn FnOnce()>>) -> Run {
    let all = bodies.len();
    let mut threads: Vec<_> = bodies
        .into_iter()
        .enumerate()
        .map(|(number, body)| {
            let local: &'static Local = Box::leak(Box::new(Local::new(number as u32)));
            STATE.with(|state| state.locals.borrow_mut().push(local));
            let mine = Cell::new(None);
            let thread = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
                STATE.with(|state| state.yielder.set(Some(NonNull::from(yielder))));
                body();
                local.finish();
            });
            (mine, Some(thread))
        })
        .collect();
    let mut left = all;
    while left != 0 {
        for (number, (mine, thread)) in threads.iter_mut().enumerate() {
            let Some(coroutine) = thread else { continue };
            STATE.with(|state| {
                state.running.set(number);
                state.yielder.set(mine.get());
            });
            let ended = matches!(coroutine.resume(()), CoroutineResult::Return(()));
            mine.set(STATE.with(|state| state.yielder.get()));
            if ended {
                *thread = None;
                left -= 1;
            }
        }
    }
    STATE.with(|state| Run { turns: state.turns.get(), accesses: state.accesses.get() })
}

#[inline(always)]
fn access<const COUNT: bool>(lines: u64) {
    if COUNT {
        STATE.with(|state| state.accesses.set(state.accesses.get() + lines));
    }
}

/// A cell or a slot of the real machine.
#[repr(transparent)]
pub(crate) struct Counted<const COUNT: bool, C>(C);

impl<const COUNT: bool, T: Word> Atomic<T> for Counted<COUNT, NativeAtomic<T>> {
    fn new(value: T) -> Self {
        Counted(NativeAtomic::new(value))
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> T {
        access::<COUNT>(1);
        self.0.load(order)
    }
    #[inline(always)]
    fn store(&self, value: T, order: Ordering) {
        access::<COUNT>(1);
        self.0.store(value, order);
    }
    #[inline(always)]
    fn swap(&self, value: T, order: Ordering) -> T {
        access::<COUNT>(1);
        self.0.swap(value, order)
    }
    #[inline(always)]
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        access::<COUNT>(1);
        self.0.compare_exchange(current, new, ok, fail)
    }
    #[inline(always)]
    fn compare_exchange_weak(&self, current: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        access::<COUNT>(1);
        self.0.compare_exchange_weak(current, new, ok, fail)
    }
    #[inline(always)]
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        access::<COUNT>(1);
        self.0.fetch_add(value, order)
    }
}

impl<const COUNT: bool, T: 'static> Slot<T> for Counted<COUNT, NativeSlot<T>> {
    fn new(value: T) -> Self {
        Counted(NativeSlot::new(value))
    }
    #[inline(always)]
    unsafe fn read<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        access::<COUNT>(lines::<T>());
        // SAFETY: the caller's.
        unsafe { self.0.read(f) }
    }
    #[inline(always)]
    unsafe fn write<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        access::<COUNT>(lines::<T>());
        // SAFETY: the caller's.
        unsafe { self.0.write(f) }
    }
}

/// Lines of a value, each of which is an access.
const fn lines<T>() -> u64 {
    size_of::<T>().div_ceil(64) as u64
}

// SAFETY: cells and memory are the real machine's; each guest thread has storage of its own.
unsafe impl<const COUNT: bool> Machine for Turns<COUNT> {
    type Atomic<T: Word> = Counted<COUNT, NativeAtomic<T>>;
    type Slot<T: 'static> = Counted<COUNT, NativeSlot<T>>;
    type Queues = device::NoDevice;
    const NAME: &'static str = "turns";
    const HINTS: bool = false;

    #[inline(always)]
    fn fence(order: Ordering) {
        Native::fence(order);
    }

    fn relax() {
        turn();
    }

    #[inline(always)]
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, _: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        assert!(deadline.is_none(), "nothing that is counted waits with a deadline");
        access::<COUNT>(1);
        loop {
            let seen = cell.0.load(Ordering::Acquire);
            if seen != value {
                return WaitResult::Changed(seen);
            }
            turn();
        }
    }

    #[inline(always)]
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait) {
        Native::wake::<T>(cell.cast(), n, wait);
    }

    fn now(_: Clock) -> Nanos {
        Nanos(0)
    }

    fn hint(_: LockHint) {}

    #[inline(always)]
    fn local() -> &'static Local {
        STATE.with(|state| state.locals.borrow()[state.running.get()])
    }

    fn shared() -> &'static Shared<Self::Atomic<usize>> {
        unreachable!("the locks and barriers that are counted share nothing")
    }

    fn node() -> u32 {
        0
    }

    fn nodes() -> u32 {
        1
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        Native::alloc(layout)
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { Native::dealloc(memory, layout) };
    }

    fn work(_: Cycles) {}

    unsafe fn touch(start: *mut u8, bytes: usize, write: bool) {
        // SAFETY: the caller's.
        unsafe { Native::touch(start, bytes, write) };
    }

    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32) {
        // SAFETY: the caller's.
        unsafe { Native::touch_each(places, instructions) };
    }

    fn prefetch(_: *const u8, _: usize, _: bool) {}

    fn prepush(_: *const u8, _: usize, _: PushTo) {}

    fn queues(_: u32) -> Option<Self::Queues> {
        None
    }
}
