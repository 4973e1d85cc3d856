//! Call sites: each return address gets a number when it is first seen, and a definition in the
//! trace. A call that waits for a lock or a futex, or does input, output or sleep, is numbered by
//! its stack of up to [`FRAMES`] frames. A call that creates a thread, initialises an object, or
//! takes a lock for the first time is numbered by its stack of a few frames.
//!
//! Unwinding a stack costs some microseconds, so each thread remembers stacks that it has unwound:
//! the call site, the depth of the stack, and a hash of the return addresses of the nearest
//! callers. Two stacks with the same call site and depth are taken for the same stack only if these
//! callers are the same; callers further out may differ.

use super::modules;
use super::session::SESSION;
use crate::base::unwind;
use crate::thread::Thread;
use baton_trace::writer::{SiteAnswer, SiteTable};
use baton_trace::{SiteId, What, notes};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How many return addresses and stacks a process can give numbers to, at most; any further one is
/// an unknown site.
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

/// Gives a number to a call site that is seen for the first time since its object file was loaded.
/// If the same file was loaded at the same place before, the site gets its old number.
#[cold]
fn new(thread: &Thread, at: u64) -> SiteId {
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

/// Returns the key under which the table keeps a call site while its object file is not loaded. A
/// code address has 48 bits, and a module's number plus one fits in 15 bits.
fn elsewhere(address: u64, module: u32) -> u64 {
    address | u64::from(module + 1) << 48
}

/// Moves the call sites of an unloaded object file to keys of their own, because another file may
/// be loaded at the same addresses later.
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

/// Most frames of a recorded stack.
const FRAMES: usize = 32;

/// Whether the user refused call stacks (`BATON_STACKS=off`).
static REFUSED: AtomicBool = AtomicBool::new(false);

/// From now on, every call site is recorded by its return address alone, without callers.
pub(super) fn refuse_stacks() {
    REFUSED.store(true, Relaxed);
}

/// The number of the stack that ends at the contended call site `at`.
#[inline(never)]
pub fn contended(thread: &Thread, at: usize) -> SiteId {
    // To walk through code that was registered at run time, libgcc sorts tables in memory from
    // `malloc`, whose lock this thread may hold.
    if REFUSED.load(Relaxed) || unwind::has_registered_code() && !thread.holds.is_free() {
        return site(thread, at);
    }
    let unloads = modules::unloads();
    let number = |frames: &[u64]| stack(thread, at, unloads, frames).0;
    thread.stacks.number::<FRAMES>(at, unloads, number).map_or_else(|| site(thread, at), SiteId)
}

/// The number of the place where a lock or another object is initialised, a lock is first taken, or
/// a thread is created, together with that place's callers. A wrapper initialises all of its
/// mutexes at one place, so only the callers tell these mutexes apart.
#[inline(never)]
pub fn origin(thread: &Thread, at: usize) -> SiteId {
    if REFUSED.load(Relaxed) {
        return site(thread, at);
    }
    stack(thread, at, modules::unloads(), thread.stacks.origin(at).addresses())
}

/// The number of the stack `frames`. A stack of a single frame has the number of the call site
/// `at`.
fn stack(thread: &Thread, at: usize, unloads: u32, frames: &[u64]) -> SiteId {
    if frames.len() < 2 {
        return site(thread, at);
    }
    by_hash(thread, frames, unloads)
}

/// The number of the stack `frames`, which the kernel's record of the stack has shown.
pub(super) fn of_stack(thread: &Thread, frames: &[u64]) -> SiteId {
    by_hash(thread, frames, modules::unloads())
}

fn by_hash(thread: &Thread, frames: &[u64], unloads: u32) -> SiteId {
    // The highest bit marks a stack's key, as no address has it. Once a module was unloaded, the
    // modules that now lie at the addresses enter the hash too.
    let hash = frames.iter().fold(unwind::SEED, |hash, ip| {
        let module = if unloads == 0 { None } else { modules::know(*ip) };
        unwind::step(hash, *ip ^ module.map_or(0, |module| u64::from(module + 1) << 48))
    });
    number(thread, hash | 1 << 63, frames)
}

/// Forgets all sites in a fork's child, whose trace has no definitions yet.
pub fn after_fork(thread: &Thread) {
    TABLE.clear();
    thread.stacks.forget();
}

/// Writes the thread's name, as the kernel has it, into the trace.
pub fn name_thread(thread: &Thread) {
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes at most 16 bytes, a string, into `name`.
    let failed = crate::base::errno::kept(|| unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) });
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    if failed == 0 && length > 0 {
        thread.pen.name_thread(&SESSION, &name[..length]);
    }
}
