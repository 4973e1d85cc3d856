//! What guests tell the scheduling policy.

use super::kernel::system_call_to;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{operate, running, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use baton_machine::{LockNotice, Notice};
use baton_sched::ThreadId;

/// A notice as the scheduling crate defines it.
fn of(notice: Notice) -> baton_sched::Notice {
    match notice {
        Notice::Spinning => baton_sched::Notice::Spinning,
        Notice::Working => baton_sched::Notice::Working,
        Notice::Master => baton_sched::Notice::Master,
    }
}

/// The running thread tells the policy something about itself, in a system call.
pub(super) fn notify(notice: Notice) {
    if running() != OUTSIDE {
        tell(of(notice), None, None);
    }
}

/// Whether the policy listens to what the running thread does with locks.
pub(super) fn hears_locks() -> bool {
    running() != OUTSIDE && with(|engine| engine.os.policy.hears_locks || engine.os.policy.sees_futexes)
}

/// The running thread writes down what it does with a lock or barrier: a store, and a system call
/// if it is about to wait. A policy that sees futexes is told at no cost, when the kernel is entered
/// next.
pub(super) fn notify_lock(notice: LockNotice, address: usize) {
    if !hears_locks() {
        return;
    }
    let sees = with(|engine| engine.os.policy.sees_futexes);
    if !sees {
        operate(Reason::Work, |engine| engine.after(1));
    }
    let waits = with(|engine| {
        // An address below guest memory serves as its own number.
        let lock = address.checked_sub(engine.guest.base).unwrap_or(address);
        engine.os.locks.put(engine.running, notice, lock)
    });
    if waits && !sees {
        system_call_to(Engine::tell_locks);
    }
}

/// Gives the policy the running thread's notice, with the lock and its holder if they are known.
pub(super) fn tell(notice: baton_sched::Notice, lock: Option<u64>, holder: Option<ThreadId>) {
    system_call_to(|engine| {
        let thread = ThreadId(engine.running);
        engine.tell(|policy, now, out| policy.notify(now, thread, notice, lock, holder, out));
        engine.decide();
    });
}
