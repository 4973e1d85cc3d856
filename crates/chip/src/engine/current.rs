//! The engine of the code that runs on this host thread: how guest code enters it, and how a guest
//! suspends.
//!
//! The verbs of [`Machine`](baton_machine::Machine) have no handle, so the engine is found through a
//! thread-local pointer. Guests and the run loop use the engine in turns, never at once: the side
//! that holds a `&mut Engine` gives it up before the other side runs. That is why every entry here
//! takes the pointer anew.
//!
//! Guest code enters only here. An entry names the part of the engine that it gives, or what the
//! running thread does; [`with`] gives the whole engine, for the rest.
//!
//! | entry | gives |
//! | --- | --- |
//! | [`running`], [`now`], [`ended`] | which thread runs, the time, why its last wait ended |
//! | [`own`], [`guest`] | the running thread's record |
//! | [`memory`], [`offset_of`], [`address_of`] | guest memory |
//! | [`chip`], [`reference_clock`] | the chip file |
//! | [`devices`] | the chip's devices, if it has any |
//!
//! | entry | the running thread |
//! | --- | --- |
//! | [`operate`], [`spend`] | does something that cannot be interrupted |
//! | [`suspend`], [`suspend_unless`] | gives control back until its turn comes |
//! | [`heed`], [`answer`], [`give_up_core`] | does what the kernel wants of it |
//! | [`charge`] | says what its time went to |

use crate::base::queue::Rank;
use crate::base::thread::{OUTSIDE, ThreadId};
use crate::device::attached::Devices;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, Thread};
use crate::guest::memory::GuestMemory;
use baton_chipfile::config::Chip;
use baton_units::Hertz;
use std::cell::Cell;
use std::ptr::NonNull;

thread_local! {
    static CURRENT: Cell<Option<NonNull<Engine>>> = const { Cell::new(None) };
}

/// Makes an engine the current one until this is dropped. The engine that was current before is
/// then current again.
pub(crate) struct Entered(Option<NonNull<Engine>>);

impl Entered {
    /// # Safety
    /// While this exists, the engine stays alive, and no reference to it is held across a call of
    /// guest code.
    pub(crate) unsafe fn new(engine: NonNull<Engine>) -> Entered {
        Entered(CURRENT.replace(Some(engine)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Calls `f` with the current engine. `f` must not call guest code.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&mut Engine) -> R) -> R {
    match CURRENT.get() {
        // SAFETY: `Entered` keeps the engine alive, and every reference is given up before the other side runs.
        Some(mut engine) => f(unsafe { engine.as_mut() }),
        None => none(),
    }
}

/// Whether there is a current engine.
pub(crate) fn is_any() -> bool {
    CURRENT.get().is_some()
}

#[cold]
fn none() -> ! {
    panic!("the simulated machine was used outside of a simulation: use Simulation::outside, spawn or run")
}

/// The thread that runs, or [`OUTSIDE`](crate::base::thread::OUTSIDE).
#[inline(always)]
pub(crate) fn running() -> ThreadId {
    with(|engine| engine.running)
}

/// Makes `thread`, or [`OUTSIDE`], the running thread. Returns the one that ran before.
#[inline]
pub(crate) fn run_as(thread: ThreadId) -> ThreadId {
    with(|engine| std::mem::replace(&mut engine.running, thread))
}

/// The simulated time, in cycles of the reference clock.
#[inline(always)]
pub(crate) fn now() -> u64 {
    with(|engine| engine.now)
}

/// Calls `f` with the running thread's record.
#[inline(always)]
pub(crate) fn own<R>(f: impl FnOnce(&mut Thread) -> R) -> R {
    with(|engine| f(&mut engine.threads[engine.running as usize]))
}

/// Calls `f` with the running thread's record; `None` outside of guest code.
#[inline(always)]
pub(crate) fn guest<R>(f: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    with(|engine| match engine.running {
        OUTSIDE => None,
        id => Some(f(&mut engine.threads[id as usize])),
    })
}

/// Why the running thread's last wait ended.
#[inline]
pub(crate) fn ended() -> Ended {
    own(|thread| thread.ended)
}

/// Calls `f` with guest memory.
#[inline(always)]
pub(crate) fn memory<R>(f: impl FnOnce(&mut GuestMemory) -> R) -> R {
    with(|engine| f(&mut engine.guest))
}

/// The offset of a guest address in guest memory.
///
/// # Panics
/// As [`GuestMemory::offset_of`].
#[inline(always)]
pub(crate) fn offset_of(address: usize) -> usize {
    memory(|memory| memory.offset_of(address))
}

/// The guest address of an offset in guest memory.
#[inline]
pub(crate) fn address_of(offset: usize) -> usize {
    memory(|memory| memory.base + offset)
}

/// Calls `f` with the chip file.
#[inline]
pub(crate) fn chip<R>(f: impl FnOnce(&Chip) -> R) -> R {
    with(|engine| f(&engine.chip))
}

/// The reference clock, which counts the simulated time.
pub(crate) fn reference_clock() -> Hertz {
    chip(|chip| chip.core.clock)
}

/// Calls `f` with the chip's devices; `None` on a chip without devices.
#[inline]
pub(crate) fn devices<R>(f: impl FnOnce(&mut Devices) -> R) -> Option<R> {
    with(|engine| engine.devices.as_mut().map(|devices| f(devices)))
}

/// Charges all of the running thread's time since its last charge to `reason`.
#[inline(always)]
pub(crate) fn charge(reason: Reason) {
    with(|engine| engine.charge_running(reason));
}

/// Gives control back to the run loop until the running thread's turn comes again.
#[inline]
pub(crate) fn suspend() {
    let yielder = own(|thread| thread.yielder);
    // SAFETY: the yielder lies on the running coroutine's own stack, where its first function put it.
    unsafe { (*yielder).suspend(()) };
}

/// `begin` begins something that the running thread does, and returns whether it is over at once. If
/// not, the thread suspends until its turn comes. Returns what `begin` returned.
#[inline]
pub(crate) fn suspend_unless(begin: impl FnOnce(&mut Engine) -> bool) -> bool {
    let over = with(begin);
    if !over {
        suspend();
    }
    over
}

/// The running thread does an operation that cannot be interrupted and takes until the time that
/// `f` returns; its time is charged to `reason`. `f` is called when the operation begins. If the
/// thread's core is wanted, the thread first gives it up, and begins the operation when it has a
/// core again.
#[inline]
pub(crate) fn operate(reason: Reason, f: impl FnOnce(&mut Engine) -> u64) {
    heed();
    let yielder = with(|engine| {
        let at = f(engine);
        if engine.over(at, Rank::Next) {
            engine.charge_running(reason);
            return None;
        }
        Some(engine.threads[engine.running as usize].yielder)
    });
    if let Some(yielder) = yielder {
        // SAFETY: as in `suspend`.
        unsafe { (*yielder).suspend(()) };
        charge(reason);
    }
}

/// The running thread does an operation that takes as many cycles of its core as `price` returns;
/// with a price of 0 there is no operation.
#[inline]
pub(crate) fn spend(reason: Reason, price: impl FnOnce(&mut Engine) -> u64) {
    let cycles = with(price);
    if cycles != 0 {
        operate(reason, |engine| engine.after(cycles));
    }
}

/// Before an operation: if the kernel wants something of the running thread, the thread does it.
#[inline(always)]
pub(crate) fn heed() {
    if own(|thread| thread.is_called()) {
        answer();
    }
}

/// The running thread does what the kernel wants of it before its next operation: see
/// [`Above::answer`](crate::engine::above::Above::answer).
#[cold]
pub(crate) fn answer() {
    let answer = with(|engine| engine.above.answer);
    answer();
}

/// The running thread does what the kernel wants of it, also in the middle of an operation: see
/// [`Above::give_up_core`](crate::engine::above::Above::give_up_core).
#[cold]
pub(crate) fn give_up_core() {
    let give_up_core = with(|engine| engine.above.give_up_core);
    give_up_core();
}
