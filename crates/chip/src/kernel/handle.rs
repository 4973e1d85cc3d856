//! Handlers of signals: guest code that runs on its thread's own coroutine, within whatever that did.

use crate::engine::current::{operate, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::os::signal::{Fate, Signal, SignalHandler, SignalSet};

impl Engine {
    /// The running thread, which is outside of a sleep or a computation now, ends if it was killed, and runs the handlers of its signals.
    #[inline]
    pub(crate) fn attend() {
        if with(|engine| engine.threads[engine.running as usize].os.signalled) {
            Engine::end_if_killed();
            Engine::look_at_signals();
        }
    }

    /// The handlers of the running thread's signals run, one after another. Not while it does the kernel's work, or waits in a system
    /// call.
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

    /// The next signal that the running thread is to look at, and what comes of it.
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

/// The running thread runs the handler of a signal; one that has come meanwhile and is not blocked interrupts it at its first operation.
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
        // Whatever was quiet before, the handler may have stored something.
        engine.os.quiet = None;
        engine.look_again();
    });
}

/// The kernel's way into a handler, or out of it: no other handler comes between.
fn stretch(cycles: u64) {
    if cycles != 0 {
        with(|engine| engine.threads[engine.running as usize].os.shields += 1);
        operate(Reason::Kernel, |engine| engine.after(cycles));
        with(|engine| engine.threads[engine.running as usize].os.shields -= 1);
    }
}
