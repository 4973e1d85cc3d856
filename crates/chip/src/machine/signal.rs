//! Signals, as guests send and handle them.

use super::kernel::{leave_queue, system_call, system_call_to};
use super::thread::{Guest, assert_guest};
use crate::engine::current::{ended, now, own, suspend_unless};
use crate::engine::state::Engine;
use crate::engine::thread::Ended;
use crate::engine::waiting::Waited;
use crate::os::refused::Refused;
pub use crate::os::signal::{Action, Signal, SignalHandler, SignalSet};
use baton_units::Cycles;

/// Sends a signal to a thread, which may be the calling one. The signal interrupts the thread's
/// computation, sleep, wait or stall; the thread runs its application's handler, and then goes on.
/// Without a handler, most signals end the whole application. Returns false if the thread had
/// ended. Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn signal(guest: Guest, signal: Signal) -> bool {
    assert_guest("signal");
    let sent = system_call_to(|engine| engine.send_signal(guest.0, signal));
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
    Ok(system_call_to(|engine| engine.act_on_signal(signal, action)))
}

/// Sets the signals that the calling thread blocks; a blocked signal stays pending. Returns the
/// former set. Pending signals that are unblocked are handled before the function returns. Threads
/// inherit the set of their creator. Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn block_signals(signals: SignalSet) -> SignalSet {
    assert_guest("block_signals");
    let before = system_call_to(|engine| engine.block_signals(signals));
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
    own(|thread| thread.os.signals.pending)
}

/// Sleeps for `cycles`. A signal ends the sleep and is handled. Returns the time that was left when
/// the signal ended the sleep; 0 without a signal.
///
/// # Panics
/// Outside of guest code.
pub fn sleep(cycles: Cycles) -> Cycles {
    assert_guest("sleep");
    let mut until = None;
    Cycles(sleep_once(cycles, &mut until))
}

/// Sleeps for `cycles`, as in a wait for input. A signal that is handled in the meantime does not
/// prolong the sleep.
///
/// # Panics
/// Outside of guest code.
pub fn delay(cycles: Cycles) {
    assert_guest("delay");
    let mut until = None;
    while sleep_once(cycles, &mut until) != 0 {}
}

/// A system call that sleeps until `until`, or, the first time, for `cycles`. Returns what is left
/// if a signal ends the sleep.
fn sleep_once(cycles: Cycles, until: &mut Option<u64>) -> u64 {
    system_call();
    if cycles.0 == 0 {
        return 0;
    }
    Engine::shielded(leave_queue);
    let until = *until.get_or_insert_with(|| now() + cycles.0);
    let over = suspend_unless(|engine| {
        let over = engine.now >= until;
        if !over {
            engine.sleep(Waited::Time, until);
        }
        over
    });
    if over {
        return 0;
    }
    let left = match ended() {
        Ended::Interrupted => until.saturating_sub(now()),
        Ended::Woken | Ended::Expired => 0,
    };
    Engine::attend();
    left
}
