//! Calls that may wait for something outside of locks: input, output, sleep.

use super::session::SESSION;
use super::sites;
use crate::base::errno;
use crate::thread;
use baton_trace::{What, clock};

/// Before such a call: what the kernel has told of the thread's switches, and when that was.
#[derive(Clone, Copy)]
pub struct OnCpu(Option<(u64, u64)>);

/// The thread is about to make such a call. A thread that is not known yet does nothing that is recorded.
pub fn on_cpu() -> OnCpu {
    let told = thread::existing().and_then(|thread| thread.switches.told());
    OnCpu(told.map(|told| (told, clock::now(SESSION.source()))))
}

/// It has returned: an event, if the thread was off its CPU meanwhile.
pub fn called(before: OnCpu, at: usize) {
    let OnCpu(Some((told, began))) = before else { return };
    let Some(thread) = thread::existing().filter(|thread| thread.switches.told().is_some_and(|now| now != told)) else {
        return;
    };
    errno::kept(|| {
        let site = sites::contended(thread, at);
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        thread.pen.post_ordered(&SESSION, What::Blocked { site, ticks });
    });
}
