//! Call sites: each return address gets a number when it is first seen, and a definition in the trace. A contended one is
//! numbered by its whole stack.
//!
//! Unwinding a stack costs some microseconds, so each thread remembers the stacks that it has seen by two words: the
//! return address, and how deep the stack was. Two different ways to one place at the very same depth pass for one; that is rare,
//! and the place itself is right.

use super::modules;
use super::session::SESSION;
use crate::thread::{REMEMBERED, Thread};
use baton_trace::writer::{SiteAnswer, SiteTable};
use baton_trace::{SiteId, What, notes};
use core::ffi::{c_int, c_void};
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

/// From now on a contended site is its return address alone.
pub(super) fn refuse_stacks() {
    REFUSED.store(true, Relaxed);
}

/// The number of the stack that ends at the contended call site `at`.
#[inline(never)]
pub fn contended(thread: &Thread, at: usize) -> SiteId {
    if REFUSED.load(Relaxed) {
        return site(thread, at);
    }
    let unloads = modules::unloads();
    if thread.stacks.unloads.load(Relaxed) != unloads {
        thread.stacks.forget_stacks();
        thread.stacks.unloads.store(unloads, Relaxed);
    }
    let here = 0u8;
    let depth = (&raw const here).addr();
    let hash = (at ^ depth >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let (known_at, known_depth, known_id) = &thread.stacks.known[hash % REMEMBERED];
    if known_at.load(Relaxed) == at && known_depth.load(Relaxed) == depth {
        return SiteId(known_id.load(Relaxed));
    }
    if thread.stacks.busy.swap(true, Relaxed) {
        return site(thread, at);
    }
    let id = stack(thread, at, unloads);
    known_at.store(at, Relaxed);
    known_depth.store(depth, Relaxed);
    known_id.store(id.0, Relaxed);
    thread.stacks.busy.store(false, Relaxed);
    id
}

/// What the unwinder has walked over.
struct Walk {
    /// The call site: frames before it are our own.
    at: u64,
    frames: [u64; FRAMES],
    count: usize,
}

/// Unwinds the stack.
#[cold]
fn stack(thread: &Thread, at: usize, unloads: u32) -> SiteId {
    let mut walk = Walk { at: at as u64, frames: [0; FRAMES], count: 0 };
    // SAFETY: the unwinder reads tables and the stack; it allocates nothing. The callback gets our `walk`.
    crate::base::errno::kept(|| unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) });
    let frames = &walk.frames[..walk.count];
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
    // FNV-1a over the addresses, and a bit that no address has. Where object files have gone, those that lie there now count, too.
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    let hash = frames.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, ip| {
        let module = if unloads == 0 { None } else { modules::know(*ip) };
        step(hash, *ip ^ module.map_or(0, |module| u64::from(module + 1) << 48))
    });
    number(thread, hash | 1 << 63, frames)
}

/// The unwinder's context.
#[repr(C)]
struct Context {
    private: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(each: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int, walk: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

/// libgcc's "go on" and an answer that ends the walk.
const GO_ON: c_int = 0;
const ENOUGH: c_int = 4;

unsafe extern "C" fn frame(context: *mut Context, walk: *mut c_void) -> c_int {
    // SAFETY: the unwinder hands us a frame, and what `stack` gave it.
    let (ip, walk) = unsafe { (_Unwind_GetIP(context) as u64, &mut *walk.cast::<Walk>()) };
    if ip == 0 {
        return ENOUGH;
    }
    if walk.count > 0 || ip == walk.at {
        walk.frames[walk.count] = ip;
        walk.count += 1;
    }
    if walk.count == FRAMES { ENOUGH } else { GO_ON }
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
