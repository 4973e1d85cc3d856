//! Futex calls of the program's own.

use super::post::tidy_up;
use super::session::{SESSION, is_recording};
use super::sites::{contended, site};
use crate::base::errno;
use crate::thread::{self, Thread};
use baton_trace::{Address, FutexEnd, What, clock};

/// The calling thread, if its futex calls are recorded. A thread that is not known yet is not.
pub fn recorded_thread() -> Option<&'static Thread> {
    thread::existing().filter(|_| is_recording())
}

/// The thread is about to wait. What recording has to do now and then is done before, as the thread may hold a lock that it
/// makes of futex afterwards.
pub fn futex_wait(thread: &Thread, futex: usize, at: usize, bounded: bool) {
    let futex = futex as Address;
    errno::kept(|| {
        tidy(thread);
        thread.pen.post(&SESSION, What::FutexWait { futex, site: contended(thread, at) });
        if bounded {
            thread.pen.post(&SESSION, What::Bounded { object: futex });
        }
    });
}

/// The call has returned.
pub fn futex_wait_ended(thread: &Thread, futex: usize, end: FutexEnd) {
    errno::kept(|| thread.pen.post_ordered(&SESSION, What::FutexWaitEnd { futex: futex as Address, end }));
}

/// The moment before a wake.
pub fn before_wake() -> u64 {
    clock::now(SESSION.source())
}

/// A wake at that moment asked for waiters, and woke some.
pub fn futex_woke(thread: &Thread, futex: usize, at: usize, moment: u64, [asked, woken]: [u32; 2]) {
    let futex = futex as Address;
    errno::kept(|| {
        thread.pen.post_at(&SESSION, moment, What::FutexWake { futex, site: site(thread, at) });
        thread.pen.post_at(&SESSION, moment, What::FutexWoke { futex, asked, woken });
        tidy(thread);
    });
}

fn tidy(thread: &Thread) {
    if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
        tidy_up(thread);
    }
}
