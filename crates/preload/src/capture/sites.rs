//! Call sites: each return address gets a number when it is first seen, and a definition in the trace.

use super::SESSION;
use crate::thread::Thread;
use baton_trace::SiteId;
use baton_trace::writer::{SiteAnswer, SiteTable};

/// Return addresses and stacks that a process can tell apart; later ones are unknown.
const SITES: usize = 1 << 16;
static TABLE: SiteTable<SITES> = SiteTable::new();

/// The number of the call site `at`.
#[inline(always)]
pub fn site(thread: &Thread, at: usize) -> SiteId {
    match TABLE.number(at as u64) {
        SiteAnswer::Known(id) => id,
        SiteAnswer::New(id) => define(thread, id, &[at as u64]),
        SiteAnswer::Full => SiteId::UNKNOWN,
    }
}

#[cold]
fn define(thread: &Thread, id: SiteId, stack: &[u64]) -> SiteId {
    thread.pen.define_site(&SESSION, id, stack);
    id
}

/// The number of a contended call site.
pub fn contended(thread: &Thread, at: usize) -> SiteId {
    site(thread, at)
}

/// In a fork's child, whose file has no definitions yet.
pub fn after_fork() {
    TABLE.clear();
}

/// Writes down the thread's name, as the kernel has it.
pub fn name_thread(thread: &Thread) {
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes up to 16 bytes, with a zero at the end.
    let failed = crate::errno::kept(|| unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) });
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    if failed == 0 && length > 0 {
        thread.pen.name_thread(&SESSION, &name[..length]);
    }
}
