//! Signals, as guests send and handle them.

use super::guest::{Guest, assert_guest};
use super::kernel::{leave_queue, system_call};
use crate::engine::current::{suspend, with};
use crate::engine::state::Engine;
use crate::engine::thread::Ended;
use crate::engine::waiting::Waited;
use crate::os::refused::Refused;
pub use crate::os::signal::{Action, Signal, SignalHandler, SignalSet};
use baton_units::Cycles;

/// Sends a signal to a thread, which may be the calling one. Whatever it sleeps, waits or stalls
/// for is interrupted, its application's handler runs on it, and then it goes on. Without a
/// handler, most signals end the whole application. Returns whether there is such a thread that has
/// not ended. Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn signal(guest: Guest, signal: Signal) -> bool {
    assert_guest("signal");
    system_call();
    let sent = with(|engine| engine.send_signal(guest.0, signal));
    // The signal may be for the calling thread.
    Engine::attend();
    sent
}

/// Sets the action of the calling thread's application for a signal. Returns the former action.
/// Costs `os.syscall`.
///
/// # Errors
/// [`Refused::Kill`] for [`Signal::KILL`].
///
/// # Panics
/// Outside of guest code.
pub fn on_signal(signal: Signal, action: Action) -> Result<Action, Refused> {
    assert_guest("on_signal");
    if signal == Signal::KILL {
        return Err(Refused::Kill);
    }
    system_call();
    Ok(with(|engine| engine.act_on_signal(signal, action)))
}

/// Sets the signals that the calling thread blocks; a blocked signal stays pending. Returns the
/// former set. Pending signals that are unblocked are handled before the function returns. Threads
/// inherit the set of their creator. Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn block_signals(signals: SignalSet) -> SignalSet {
    assert_guest("block_signals");
    system_call();
    let before = with(|engine| engine.block_signals(signals));
    Engine::attend();
    before
}

/// The pending signals that the calling thread blocks. Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn pending_signals() -> SignalSet {
    assert_guest("pending_signals");
    system_call();
    with(|engine| engine.threads[engine.running as usize].os.signals.pending)
}

/// Leaves the core for so long, or until a signal is handled: what was left then.
///
/// # Panics
/// Outside of guest code.
pub fn sleep(cycles: Cycles) -> Cycles {
    assert_guest("sleep");
    let mut until = None;
    Cycles(sleep_once(cycles, &mut until))
}

/// Leaves the core for so long: a sleep, or a wait for input. A signal that is handled meanwhile takes its time from it.
///
/// # Panics
/// Outside of guest code.
pub fn delay(cycles: Cycles) {
    assert_guest("delay");
    let mut until = None;
    while sleep_once(cycles, &mut until) != 0 {}
}

/// A system call that sleeps until then, or for so long; what is left, if a signal ends it.
fn sleep_once(cycles: Cycles, until: &mut Option<u64>) -> u64 {
    system_call();
    if cycles.0 == 0 {
        return 0;
    }
    Engine::shielded(leave_queue);
    let until = *until.get_or_insert_with(|| with(|engine| engine.now + cycles.0));
    let sleeps = with(|engine| {
        let sleeps = engine.now < until;
        if sleeps {
            engine.sleep(Waited::Time, until);
        }
        sleeps
    });
    if !sleeps {
        return 0;
    }
    suspend();
    let left = with(|engine| match engine.threads[engine.running as usize].ended {
        Ended::Interrupted => until.saturating_sub(engine.now),
        Ended::Woken | Ended::Expired => 0,
    });
    Engine::attend();
    left
}
