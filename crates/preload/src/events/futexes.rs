//! Events of the futex calls that the program makes itself.

use super::post::tidy_up;
use super::session::{SESSION, is_recording};
use super::sites::{contended, site};
use crate::base::errno;
use crate::thread::{self, Thread};
use baton_trace::{Address, FutexEnd, What, clock};

/// The calling thread's record, if the thread's futex calls are recorded. A thread without a record
/// is not recorded.
pub fn recorded_thread() -> Option<&'static Thread> {
    thread::existing().filter(|_| is_recording())
}

/// Records that the thread is about to wait in a futex call. The upkeep of the recording is done
/// before, because after the wait the thread may hold a lock that it makes from the futex.
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

/// Records that the thread's futex wait has returned.
pub fn futex_wait_ended(thread: &Thread, futex: usize, end: FutexEnd) {
    errno::kept(|| thread.pen.post_ordered(&SESSION, What::FutexWaitEnd { futex: futex as Address, end }));
}

/// The time before a wake call, for [`futex_woke`].
pub fn before_wake() -> u64 {
    clock::now(SESSION.source())
}

/// Records a wake call made at `moment`, which asked to wake `asked` waiters and woke `woken`.
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
