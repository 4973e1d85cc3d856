//! Signal handlers: guest code that runs on its thread's own coroutine, in the middle of whatever
//! the thread did.

use crate::engine::current::{operate, own, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::os::signal::{Fate, Signal, SignalHandler, SignalSet};

impl Engine {
    /// The running thread, which is not sleeping or computing now, ends if it was killed, and runs
    /// the handlers of its signals.
    #[inline]
    pub(crate) fn attend() {
        if own(|thread| thread.os.signalled) {
            Engine::end_if_killed();
            Engine::look_at_signals();
        }
    }

    /// Runs the handlers of the running thread's signals one after another, unless the thread does
    /// kernel work or waits in a system call.
    #[cold]
    fn look_at_signals() {
        while let Some((signal, fate)) = with(Engine::next_signal) {
            match fate {
                Fate::Ignored => {}
                Fate::Ends => {
                    with(|engine| {
                        let app = engine.threads[engine.running as usize].os.app;
                        engine.end_app(app, signal);
                    });
                    Engine::end_if_killed();
                }
                Fate::Handled(handler, blocks) => handle(signal, &handler, blocks),
            }
        }
    }

    /// The next signal that the running thread must look at, and its effect.
    fn next_signal(&mut self) -> Option<(Signal, Fate)> {
        let task = &mut self.threads[self.running as usize].os;
        if task.dying || !task.attends() {
            return None;
        }
        let Some(signal) = task.signals.pending.first_beside(task.signals.blocked) else {
            task.signalled = task.killed;
            return None;
        };
        task.signals.pending = task.signals.pending.without(signal);
        Some((signal, self.os.apps[task.app.0 as usize].actions.fate(signal)))
    }
}

/// The running thread runs a signal's handler. A signal that arrives in the meantime and is not
/// blocked interrupts the handler before the handler's next operation.
fn handle(signal: Signal, handler: &SignalHandler, blocks: SignalSet) {
    let (saved, prices) = with(|engine| {
        let blocked = engine.threads[engine.running as usize].os.signals.blocked;
        let saved = engine.save(blocked.and(blocks).with(signal).without(Signal::KILL));
        (saved, engine.chip.os.signal)
    });
    stretch(prices.deliver.0);
    with(Engine::look_again);
    handler(signal);
    stretch(prices.back.0);
    with(|engine| {
        engine.restore(saved);
        // The handler may have stored something that other threads wait for, so the check for hangs
        // starts anew.
        engine.os.quiet = None;
        engine.look_again();
    });
}

/// The time that the kernel takes to enter a signal handler or to leave it. No other handler can
/// run meanwhile.
fn stretch(cycles: u64) {
    if cycles != 0 {
        own(|thread| thread.os.shields += 1);
        operate(Reason::Kernel, |engine| engine.after(cycles));
        own(|thread| thread.os.shields -= 1);
    }
}
