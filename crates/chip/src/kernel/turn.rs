//! What the kernel wants of the running thread, and what the thread does about it before its next
//! operation: it runs interrupt handlers and signal handlers, gives up its CPU, and waits for
//! changes of its core's mode.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::engine::current::{charge, own, suspend_unless, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Resume, ThreadState};

/// The running thread gives up its core if the core is wanted, and stands still while the core
/// changes its mode.
#[cold]
pub(super) fn answer() {
    if own(|thread| thread.os.preempt) {
        give_up_core();
    }
    while !suspend_unless(|engine| {
        let owed = std::mem::take(&mut engine.threads[engine.running as usize].pace.owed);
        if owed != 0 {
            engine.queue.put(Event::thread(engine.running), engine.now + owed, Rank::Next);
        }
        owed == 0
    }) {
        charge(Reason::Mode);
    }
}

/// The running thread does what it has been asked for: it pays for interrupt handlers, goes back
/// into its CPU's queue if the CPU is wanted, and runs the handlers of its signals.
#[cold]
pub(super) fn give_up_core() {
    Engine::end_if_killed();
    let (due, handlers) = with(|engine| {
        // A monitor is disarmed by the instructions of another thread or of the kernel, which run
        // now.
        engine.unwatch(engine.running);
        let thread = &mut engine.threads[engine.running as usize];
        thread.os.preempt = false;
        (std::mem::take(&mut thread.os.due), std::mem::take(&mut thread.os.handlers))
    });
    if handlers != 0 {
        suspend_unless(|engine| {
            engine.begin_handlers(engine.running, handlers, due);
            false
        });
    } else if due != 0 {
        suspend_unless(|engine| {
            let over = engine.over(engine.now + due, Rank::Next);
            if !over {
                engine.threads[engine.running as usize].state = ThreadState::Interrupted;
            }
            over
        });
        charge(Reason::Kernel);
    }
    suspend_unless(|engine| {
        let id = engine.running;
        let leaves = std::mem::take(&mut engine.threads[id as usize].os.leaves);
        if leaves {
            engine.unlink();
            let thread = &mut engine.threads[id as usize];
            thread.os.preempt = thread.os.is_due();
            engine.step_aside(id, Resume::Guest, Reason::Work);
        }
        !leaves
    });
    Engine::attend();
}
