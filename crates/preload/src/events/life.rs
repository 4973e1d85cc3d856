//! A recording from its first event to its last, as the process, its threads and its forks begin
//! and end.

use super::session::SESSION;
use super::{affinity, cost, libc_locks, markers, modules, sites, switches, told};
use crate::base::message::{self, Subject};
use crate::config::Config;
use crate::hooks::lookup::found;
use crate::thread::callbacks::Callbacks;
use crate::thread::{self, Thread};
use baton_trace::writer::{OpenError, Options};
use baton_trace::{What, sys};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether a fork's children are recorded too.
static FOLLOW: AtomicBool = AtomicBool::new(true);

/// Opens the trace.
///
/// # Errors
/// Says which step failed if the trace cannot be opened.
pub fn start(config: &Config, follow: bool) -> Result<(), OpenError> {
    let Some(directory) = &config.trace else { return Ok(()) };
    FOLLOW.store(follow, Relaxed);
    // If this fails, the object file around an address cannot be looked up: stacks are not walked,
    // and modules are recorded only when the loader's list is read.
    let _ = found::start();
    if !config.stacks {
        sites::refuse_stacks();
    }
    if config.switches {
        libc_locks::start();
    } else {
        switches::refuse();
    }
    let mut options = Options::default();
    if let Some(limit) = config.trace_max {
        options.limit = limit;
    }
    SESSION.open(directory, options)
}

/// Says that the process runs unrecorded, and why. A fork's child may call it, because it allocates
/// nothing.
pub fn say_unrecorded(directory: Option<&CStr>, error: OpenError) {
    let text = format_args!("process {} runs unrecorded: {error}", sys::pid());
    match directory {
        Some(directory) => {
            let directory = directory.to_str().unwrap_or("?");
            message::tell(Subject::Unrecorded, format_args!("BATON_TRACE={directory}: "), text);
        }
        None => message::tell(Subject::Unrecorded, format_args!(""), text),
    }
}

/// Begins the trace of the thread that starts the library, once the session is open and the slots
/// are set.
pub fn begin() {
    if SESSION.is_open() {
        let thread = thread::current();
        modules::list();
        cost::measure(thread);
    }
}

/// What recording does as threads begin and end, and as the process forks.
pub static CALLBACKS: Callbacks = Callbacks {
    thread_begins,
    thread_ends,
    late_thread_begins,
    late_thread_ended,
    before_fork,
    after_fork_in_parent,
    after_fork_in_child,
};

/// A thread got its record: begins its part of the trace.
fn thread_begins(thread: &Thread) {
    thread.pen.forget();
    thread.stacks.forget();
    thread.switches.open();
    if SESSION.is_open() {
        thread.pen.post_ordered(&SESSION, What::ThreadStart { handle: thread.handle() as u64 });
        thread.switches.begin(thread);
        sites::name_thread(thread);
        affinity::write(thread, 0);
    }
}

/// Resets the record that a thread got after its end was recorded, when its last destructors ran on.
fn late_thread_begins(thread: &Thread) {
    thread.pen.forget();
    thread.stacks.forget();
}

/// A late thread has ended for good: closes the second record that it got.
fn late_thread_ended(thread: &Thread) {
    thread.pen.finish();
}

/// A thread is about to lose its record: ends its part of the trace.
fn thread_ends(thread: &Thread) {
    if SESSION.is_open() {
        // Shows how much of the time since the last reading of its CPU time the thread spent on a
        // CPU.
        thread.pen.post(&SESSION, What::CpuTime { ns: sys::thread_cpu_ns() });
        thread.switches.empty_last(thread);
        thread.switches.taken(thread);
        thread.pen.post(&SESSION, What::ThreadEnd { handle: thread.handle() as u64 });
    }
    thread.switches.close();
    thread.pen.finish();
}

/// Finishes the trace as the process ends by `exit` or `_exit`.
pub fn finish() {
    if SESSION.is_open() {
        if let Some(thread) = thread::existing() {
            thread.switches.empty_last(thread);
            thread.pen.post(&SESSION, What::Exit);
        }
        if !thread::fork::in_child() {
            modules::list();
        }
    }
    // Called even if recording has stopped early, so that the trace says that the process ended in
    // order.
    SESSION.finish();
}

fn signals(how: libc::c_int, mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: `mask` and `before` are signal sets of the 8 bytes that the kernel uses. The raw call
    // leaves errno alone when it succeeds, and also blocks the signals that glibc uses itself.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut before, 8) };
    before
}

/// Blocks signals before a fork, so that no signal handler writes an event between the fork and the
/// opening of the child's own file.
fn before_fork() {
    if SESSION.is_open() {
        let thread = thread::current();
        thread.mask.store(signals(libc::SIG_BLOCK, u64::MAX), Relaxed);
        thread.blocked.store(true, Relaxed);
    }
}

/// Unblocks signals after a fork: in the parent, and in the child after it has tried to open its
/// own file.
fn after_fork_in_parent() {
    if let Some(thread) = thread::existing().filter(|thread| thread.blocked.swap(false, Relaxed)) {
        signals(libc::SIG_SETMASK, thread.mask.load(Relaxed));
    }
}

/// Opens the trace file of a fork's child, if children are recorded. A child that cannot have its
/// file runs on unrecorded.
fn after_fork_in_child() {
    thread::all().for_each(|thread| thread.switches.forget());
    let reopened = SESSION.reopen_after_fork(FOLLOW.load(Relaxed));
    if let Err(error) = &reopened {
        say_unrecorded(None, *error);
    }
    markers::after_fork();
    told::after_fork();
    modules::after_fork();
    if let Some(thread) = thread::existing() {
        sites::after_fork(thread);
        // Only the forking thread's pen is reset here. The pens of other records are reset when a
        // new thread gets such a record.
        if reopened.is_ok() {
            // Modules are written down as call sites turn up, not by a walk over the loader's list:
            // a thread of the parent may have held the loader's lock during the fork.
            thread_begins(thread);
        } else {
            thread.pen.forget();
        }
    }
    after_fork_in_parent();
}
