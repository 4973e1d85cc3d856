//! The engine of the code that runs on this host thread, and how guest code enters it and suspends.
//!
//! The verbs of [`Machine`](baton_machine::Machine) have no handle, so the engine is found through a thread-local
//! pointer. Guests and the run loop use it in turns, never at once: the one that holds a `&mut Engine` gives it up before
//! the other side runs. That is why everything here takes the pointer anew.

use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use std::cell::Cell;
use std::ptr::NonNull;

thread_local! {
    static CURRENT: Cell<Option<NonNull<Engine>>> = const { Cell::new(None) };
}

/// Makes an engine the current one until it is dropped; the one before is then current again.
pub(crate) struct Entered(Option<NonNull<Engine>>);

impl Entered {
    /// # Safety
    /// The engine stays alive, and no other reference to it exists, while this exists.
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

/// Gives control back to the run loop until the running thread's turn comes again.
#[inline]
pub(crate) fn suspend() {
    let yielder = with(|engine| engine.threads[engine.running as usize].yielder);
    // SAFETY: the yielder lies on the running coroutine's own stack, where its first function put it.
    unsafe { (*yielder).suspend(()) };
}

/// An operation that takes until the moment that `f` says and cannot be interrupted. `f` is called when the operation
/// begins; if the core was asked for, that is after the thread has given it up and got one again.
#[inline]
pub(crate) fn operate(reason: Reason, f: impl FnOnce(&mut Engine) -> u64) {
    if with(|engine| engine.threads[engine.running as usize].is_called()) {
        answer();
    }
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
        with(|engine| engine.charge_running(reason));
    }
}

/// What the kernel wants of the running thread before its next operation: see
/// [`Above::answer`](crate::engine::above::Above::answer).
#[cold]
pub(crate) fn answer() {
    let answer = with(|engine| engine.above.answer);
    answer();
}

/// What the kernel wants of the running thread wherever it stands: see
/// [`Above::give_up_core`](crate::engine::above::Above::give_up_core).
#[cold]
pub(crate) fn give_up_core() {
    let give_up_core = with(|engine| engine.above.give_up_core);
    give_up_core();
}
