//! What guests tell the policy that schedules them.

use super::kernel::system_call;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{running, with};
use baton_machine::Notice;
use baton_sched::ThreadId;

/// The same, in the words of the policies.
fn of(notice: Notice) -> baton_sched::Notice {
    match notice {
        Notice::Spinning => baton_sched::Notice::Spinning,
        Notice::Working => baton_sched::Notice::Working,
        Notice::Master => baton_sched::Notice::Master,
    }
}

/// The running thread says something of itself, in a system call.
pub(super) fn notify(notice: Notice) {
    if running() != OUTSIDE {
        tell(of(notice), None, None);
    }
}

/// The same, with the lock and its holder where they are known.
pub(super) fn tell(notice: baton_sched::Notice, lock: Option<u64>, holder: Option<ThreadId>) {
    system_call();
    with(|engine| {
        let thread = ThreadId(engine.running);
        engine.tell(|policy, now, out| policy.notify(now, thread, notice, lock, holder, out));
        engine.decide();
    });
}
