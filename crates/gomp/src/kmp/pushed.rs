//! What the compiler says about a thread's next region or league, by calls before the one that
//! begins it.

use crate::kmp::ident::Ident;
use crate::process::runtime;
use crate::teams;
use baton_omp::team::Levels;
use core::cell::Cell;
use core::ffi::c_char;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The bit of a number of threads that says that the region must have exactly that number.
const STRICT: u32 = 1 << 31;

/// The numbers that a thread's next construct asks for; 0: not said.
struct Pushed {
    threads: Cell<u32>,
    teams: Cell<u32>,
    limit: Cell<u32>,
    strict: Cell<Option<Strict>>,
}

/// What a region says that must have exactly the threads that it asks for.
#[derive(Clone, Copy)]
pub(crate) struct Strict {
    /// Whether it is an error that the region has fewer, by LLVM's number, or a warning.
    pub(crate) severity: i32,
    /// The program's message, or null.
    pub(crate) message: *const c_char,
}

thread_local! {
    static PUSHED: Pushed = const {
        Pushed { threads: Cell::new(0), teams: Cell::new(0), limit: Cell::new(0), strict: Cell::new(None) }
    };
}

fn positive(n: i32) -> u32 {
    n.max(0) as u32
}

/// Takes the number of threads that the next region asks for, and what it says if it must have
/// exactly these.
#[inline]
pub(crate) fn threads() -> (u32, Option<Strict>) {
    let threads = PUSHED.with(|pushed| pushed.threads.take());
    if threads & STRICT == 0 { (threads, None) } else { (threads & !STRICT, strict()) }
}

#[cold]
#[inline(never)]
fn strict() -> Option<Strict> {
    PUSHED.with(|pushed| pushed.strict.take())
}

/// Takes the number of teams that the next league asks for, and the most threads of each.
pub(crate) fn league() -> (u32, u32) {
    PUSHED.with(|pushed| (pushed.teams.take(), pushed.limit.take()))
}

/// Says that the next region must have exactly the threads that it asks for, if it names a number.
fn be_strict(strict: Strict) {
    PUSHED.with(|pushed| {
        let threads = pushed.threads.get();
        if threads != 0 {
            pushed.threads.set(threads | STRICT);
            pushed.strict.set(Some(strict));
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_at: *const Ident, _thread: i32, threads: i32) {
    PUSHED.with(|pushed| pushed.threads.set(positive(threads)));
}

/// Asks for exactly `threads` threads. If there are fewer, the program's message is printed, and the
/// severity says whether the program ends.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads_strict(
    at: *const Ident,
    thread: i32,
    threads: i32,
    severity: i32,
    message: *const c_char,
) {
    __kmpc_push_num_threads(at, thread, threads);
    be_strict(Strict { severity, message });
}

/// The list of these numbers that stays for ever. There is one for each list that differs, as many as
/// the program's source has if its lists do not depend on its input.
fn kept(list: &[u32]) -> Option<&'static Levels> {
    static KNOWN: Mutex<BTreeMap<Vec<u32>, &'static Levels>> = Mutex::new(BTreeMap::new());
    let (threads, further) = list.split_first()?;
    let inner = kept(further);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || -> &'static Levels { Box::leak(Box::new(Levels { threads: *threads, inner })) };
    Some(known.entry(list.to_vec()).or_insert_with(new))
}

/// Asks for the numbers of threads of the next region and of the regions within it: the list's first
/// number is the next region's, and its last one that of all further levels.
///
/// # Safety
/// The compiler passes the address of `length` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_push_num_threads_list(at: *const Ident, thread: i32, length: u32, list: *const i32) {
    // SAFETY: by contract.
    let list: Vec<u32> = (0..length as usize).map(|n| positive(unsafe { list.add(n).read() }).max(1)).collect();
    let Some(levels) = kept(&list) else { return };
    __kmpc_push_num_threads(at, thread, levels.threads as i32);
    runtime().inner_threads(levels);
}

/// Does what [`__kmpc_push_num_threads_list`] does. The next region must have exactly the threads that
/// it asks for; those within it need not.
///
/// # Safety
/// `list` has `length` numbers, and `message` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_push_num_threads_list_strict(
    at: *const Ident,
    thread: i32,
    length: u32,
    list: *const i32,
    severity: i32,
    message: *const c_char,
) {
    // SAFETY: by contract.
    unsafe { __kmpc_push_num_threads_list(at, thread, length, list) };
    be_strict(Strict { severity, message });
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_pop_num_threads(_at: *const Ident, _thread: i32) {}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_proc_bind(_at: *const Ident, _thread: i32, bind: i32) {
    // OpenMP 5.1's `primary` has a number of its own, and is what `master` was.
    let bind = if bind == 5 { 2 } else { bind };
    runtime().proc_bind(positive(bind));
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams(_at: *const Ident, _thread: i32, teams: i32, limit: i32) {
    PUSHED.with(|pushed| {
        pushed.teams.set(positive(teams));
        pushed.limit.set(positive(limit));
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams_51(at: *const Ident, thread: i32, least: i32, most: i32, limit: i32) {
    __kmpc_push_num_teams(at, thread, most.max(least), limit);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_set_thread_limit(_at: *const Ident, _thread: i32, limit: i32) {
    teams::set_limit(positive(limit));
}
