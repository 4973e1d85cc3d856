//! Call sites: each return address gets a number when it is first seen, and a definition in the trace. A contended one is
//! numbered by its whole stack, and one where a lock begins by its callers.
//!
//! Unwinding a stack costs some microseconds, so each thread remembers the stacks that it has seen: the return address, how deep
//! the stack was, and a hash of its callers' return addresses. Two different ways to one place at the very same depth pass for one only
//! if their first callers are the same.

use super::modules;
use super::session::SESSION;
use crate::base::unwind;
use crate::thread::Thread;
use baton_trace::writer::{SiteAnswer, SiteTable};
use baton_trace::{SiteId, What, notes};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Return addresses and stacks that a process can tell apart; later ones are unknown.
const SITES: usize = 1 << 16;
static TABLE: SiteTable<SITES> = SiteTable::new();

/// The number of the call site `at`.
#[inline(always)]
pub fn site(thread: &Thread, at: usize) -> SiteId {
    match TABLE.known(at as u64) {
        Some(id) => id,
        None => new(thread, at as u64),
    }
}

/// One that is seen for the first time in this life of its object file.
#[cold]
fn new(thread: &Thread, at: u64) -> SiteId {
    // The same file at the same place as before: its sites have their numbers.
    if let Some(id) = modules::know(at).and_then(|module| TABLE.restore(at, elsewhere(at, module))) {
        return id;
    }
    number(thread, at, &[at])
}

fn number(thread: &Thread, key: u64, stack: &[u64]) -> SiteId {
    match TABLE.number(key) {
        SiteAnswer::Known(id) => id,
        SiteAnswer::New(id) => {
            for address in stack {
                modules::know(*address);
            }
            thread.pen.define_site(&SESSION, id, stack);
            id
        }
        SiteAnswer::Full => full(thread),
    }
}

/// Under what a site stands while its object file is not loaded. Code addresses have 48 bits, numbers of modules fewer than 15.
fn elsewhere(address: u64, module: u32) -> u64 {
    address | u64::from(module + 1) << 48
}

/// An object file was unloaded: what is called from its place from now on is another one's.
pub(super) fn unloaded(place: core::ops::Range<u64>, module: u32) {
    TABLE.file_under(|address| place.contains(&address).then(|| elsewhere(address, module)));
}

#[cold]
fn full(thread: &Thread) -> SiteId {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) {
        thread.pen.post(&SESSION, What::Note { address: 0, code: notes::SITES_FULL });
    }
    SiteId::UNKNOWN
}

/// Frames of a stack, at most.
const FRAMES: usize = 32;

/// With `BATON_STACKS=off`.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// From now on a contended site, or one where a lock begins, is its return address alone.
pub(super) fn refuse_stacks() {
    REFUSED.store(true, Relaxed);
}

/// The number of the stack that ends at the contended call site `at`.
#[inline(never)]
pub fn contended(thread: &Thread, at: usize) -> SiteId {
    // For code that was registered at run time libgcc sorts tables in memory from `malloc`, whose lock this thread may hold.
    if REFUSED.load(Relaxed) || unwind::has_registered_code() && !thread.holds.is_free() {
        return site(thread, at);
    }
    let unloads = modules::unloads();
    let number = |frames: &[u64]| stack(thread, at, unloads, frames).0;
    thread.stacks.number::<FRAMES>(at, unloads, number).map_or_else(|| site(thread, at), SiteId)
}

/// The number of the place where a lock begins, with its callers: where it is initialised, or first taken. A wrapper around a
/// mutex initialises all of them at one place, so that only the callers tell them apart.
#[inline(never)]
pub fn origin(thread: &Thread, at: usize) -> SiteId {
    if REFUSED.load(Relaxed) {
        return site(thread, at);
    }
    stack(thread, at, modules::unloads(), thread.stacks.origin(at).addresses())
}

/// The number of a stack.
fn stack(thread: &Thread, at: usize, unloads: u32, frames: &[u64]) -> SiteId {
    if frames.len() < 2 {
        return site(thread, at);
    }
    by_hash(thread, frames, unloads)
}

/// The number of a stack that was found elsewhere.
pub(super) fn of_stack(thread: &Thread, frames: &[u64]) -> SiteId {
    by_hash(thread, frames, modules::unloads())
}

fn by_hash(thread: &Thread, frames: &[u64], unloads: u32) -> SiteId {
    // A bit that no address has. Where object files have gone, those that lie there now count, too.
    let hash = frames.iter().fold(unwind::SEED, |hash, ip| {
        let module = if unloads == 0 { None } else { modules::know(*ip) };
        unwind::step(hash, *ip ^ module.map_or(0, |module| u64::from(module + 1) << 48))
    });
    number(thread, hash | 1 << 63, frames)
}

/// In a fork's child, whose file has no definitions yet.
pub fn after_fork(thread: &Thread) {
    TABLE.clear();
    thread.stacks.forget();
}

/// Writes down the thread's name, as the kernel has it.
pub fn name_thread(thread: &Thread) {
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes up to 16 bytes, with a zero at the end.
    let failed = crate::base::errno::kept(|| unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) });
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    if failed == 0 && length > 0 {
        thread.pen.name_thread(&SESSION, &name[..length]);
    }
}
