//! What the compiler says about a thread's next region or league, by calls before the one that
//! begins it.

use crate::kmp::ident::Ident;
use crate::process::runtime;
use crate::teams;
use core::cell::Cell;

/// The numbers that a thread's next construct asks for; 0: not said.
struct Pushed {
    threads: Cell<u32>,
    teams: Cell<u32>,
    limit: Cell<u32>,
}

thread_local! {
    static PUSHED: Pushed = const { Pushed { threads: Cell::new(0), teams: Cell::new(0), limit: Cell::new(0) } };
}

fn positive(n: i32) -> u32 {
    n.max(0) as u32
}

/// Takes the number of threads that the next region asks for.
pub(crate) fn threads() -> u32 {
    PUSHED.with(|pushed| pushed.threads.take())
}

/// Takes the number of teams that the next league asks for, and the most threads of each.
pub(crate) fn league() -> (u32, u32) {
    PUSHED.with(|pushed| (pushed.teams.take(), pushed.limit.take()))
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_at: *const Ident, _thread: i32, threads: i32) {
    PUSHED.with(|pushed| pushed.threads.set(positive(threads)));
}

/// Asks for exactly `threads` threads. If there are fewer, the runtime says so once, whatever
/// severity the program names.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads_strict(
    at: *const Ident,
    thread: i32,
    threads: i32,
    _severity: i32,
    _message: *const core::ffi::c_char,
) {
    __kmpc_push_num_threads(at, thread, threads);
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
