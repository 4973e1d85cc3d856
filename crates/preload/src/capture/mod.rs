//! Recording what the program does, as events of `baton-trace`.
//!
//! Every hook is compiled with and without it ([`Probe`]): without, nothing of this is in the code. What gives something away
//! is stamped before the act, what takes after it, so that cause never comes after effect.
//!
//! | file | holds |
//! | --- | --- |
//! | here | the session, threads, forks |
//! | [`events`] | one function for each thing that happens |
//! | [`sites`] | call sites, and the stacks of contended ones |
//! | [`markers`] | the program's own markers and regions of interest |
//! | [`affinity`] | on which CPUs threads may run |
//! | [`cost`] | what recording costs, measured |
//! | [`switches`] | when the kernel took the CPU away, and gave it back |
//! | [`modules`] | which object files are loaded where |

pub mod affinity;
mod cost;
mod events;
mod markers;
mod modules;
mod sites;
mod switches;

pub use baton_trace::WakeReason;
pub use events::*;
pub use modules::list as list_modules;
pub use sites::Stacks;
pub use switches::Ring;

use crate::config::Config;
use crate::message::{self, Subject};
use crate::thread::{self, Thread};
use baton_trace::What;
use baton_trace::sys;
use baton_trace::writer::{OpenError, Options, Session};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether hooks record.
pub trait Probe: 'static {
    /// They do.
    const ON: bool;
}

/// Hooks that record.
pub struct Recorded;
/// Hooks that do not.
pub struct Quiet;

impl Probe for Recorded {
    const ON: bool = true;
}
impl Probe for Quiet {
    const ON: bool = false;
}

/// The process's trace.
static SESSION: Session = Session::new();
/// Children are recorded too.
static FOLLOW: AtomicBool = AtomicBool::new(true);

/// Opens the trace.
///
/// # Errors
/// What could not be done.
pub fn start(config: &Config, follow: bool) -> Result<(), OpenError> {
    let Some(directory) = &config.trace else { return Ok(()) };
    FOLLOW.store(follow, Relaxed);
    // Without it sites are known by their addresses alone.
    let _ = crate::lookup::found::start();
    if !config.stacks {
        sites::refuse_stacks();
    }
    if !config.switches {
        switches::refuse();
    }
    let mut options = Options::default();
    if let Some(limit) = config.trace_max {
        options.limit = limit;
    }
    SESSION.open(directory, options)
}

/// Says that the process runs unrecorded, and why. Callable in a fork's child: without an allocation.
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

/// Begins the trace of the thread that starts the library, once the session is open and slots are set.
pub fn begin() {
    if SESSION.is_open() {
        let thread = thread::current();
        modules::list();
        cost::measure(thread);
    }
}

/// A thread got its record.
pub fn thread_begins(thread: &Thread) {
    thread.pen.forget();
    thread.stacks.forget();
    thread.switches.open();
    if SESSION.is_open() {
        thread.pen.post_ordered(&SESSION, What::ThreadStart { handle: thread.handle() as u64 });
        sites::name_thread(thread);
        affinity::write(thread, 0);
    }
}

/// A thread that has ended for us goes on for a while, with another record.
pub fn late_thread(thread: &Thread) {
    thread.pen.forget();
    thread.stacks.forget();
}

/// Such a thread is dead.
pub fn late_thread_ended(thread: &Thread) {
    thread.pen.finish();
}

/// A thread is about to lose its record.
pub fn thread_ends(thread: &Thread) {
    if SESSION.is_open() {
        crate::omp::thread_ends(thread);
        // How much of its last stretch it spent on a CPU.
        thread.pen.post(&SESSION, What::CpuTime { ns: baton_trace::sys::thread_cpu_ns() });
        thread.switches.empty(thread);
        thread.pen.post(&SESSION, What::ThreadEnd { handle: thread.handle() as u64 });
    }
    thread.switches.close();
    thread.pen.finish();
}

/// The process ends in order.
pub fn finish() {
    if SESSION.is_open() {
        crate::omp::finish();
        if !crate::fork::in_child() {
            modules::list();
        }
        if let Some(thread) = thread::existing() {
            thread.switches.empty(thread);
        }
    }
    // Also where recording stopped before: the process ended in order.
    SESSION.finish();
}

fn signals(how: libc::c_int, mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: both masks are the kernel's signal sets of 8 bytes. The raw call leaves errno alone when it succeeds, and it
    // blocks the signals that glibc uses itself too.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut before, 8) };
    before
}

/// Before a fork: no signal handler may write between the fork and the child's own file.
pub fn before_fork() {
    if SESSION.is_open() {
        let thread = thread::current();
        thread.mask.store(signals(libc::SIG_BLOCK, u64::MAX), Relaxed);
        thread.blocked.store(true, Relaxed);
    }
}

/// After a fork, in the parent, and in the child when its file is made.
pub fn after_fork_in_parent() {
    if let Some(thread) = thread::existing().filter(|thread| thread.blocked.swap(false, Relaxed)) {
        signals(libc::SIG_SETMASK, thread.mask.load(Relaxed));
    }
}

/// After a fork, in the child: a file of its own, or nothing more. A child that cannot have its file runs on unrecorded.
pub fn after_fork_in_child() {
    let reopened = SESSION.reopen_after_fork(FOLLOW.load(Relaxed));
    if let Err(error) = &reopened {
        say_unrecorded(None, *error);
    }
    markers::after_fork();
    crate::omp::after_fork();
    modules::after_fork();
    if let Some(thread) = thread::existing() {
        sites::after_fork(thread);
        // The pens of the other records are put in order when a new thread gets them.
        if reopened.is_ok() {
            // Modules are written down as call sites turn up: a thread of the parent may have held the loader's lock.
            thread_begins(thread);
        } else {
            thread.pen.forget();
        }
    }
    after_fork_in_parent();
}
