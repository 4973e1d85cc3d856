//! What happens to signals that reach `baton` while its program runs.
//!
//! Ctrl-C and Ctrl-\ go to the whole foreground group, so the program has them already: we only outlive them, to leave
//! a report. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 may be sent to us alone and are passed on.
//!
//! An ignored signal stays ignored in a program that is executed. Rust's runtime ignores SIGPIPE in this process and gives it its
//! default action in those that it starts; [`inherit_pipe`] gives the program what `baton` was given.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// The process that signals are passed on to; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Signals, a bit each, that came before that process was named, or are about to be passed on.
static CAME: AtomicU64 = AtomicU64::new(0);

/// The user or the system has asked us to end.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// Whether SIGINT, SIGQUIT, SIGTERM or SIGHUP came while a [`PassedOn`] lived: what goes on after the program should end, too.
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Relaxed)
}

/// Whether SIGPIPE was ignored when this process began.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// The loader calls this before Rust's runtime begins.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: all-zero bytes are a valid structure, which the call fills; it changes nothing.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action);
        action
    };
    PIPE_WAS_IGNORED.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}

/// Between fork and exec: SIGPIPE is ignored if it was when this process began.
pub(super) fn inherit_pipe() {
    if PIPE_WAS_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: may be called between fork and exec.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
}

/// While this lives, signals are outlived or passed on.
pub struct PassedOn {
    _handlers: [Handler; 6],
}

impl PassedOn {
    /// Installs the handlers.
    pub fn begin() -> PassedOn {
        // What came too late for a program before this one is not for this one.
        CAME.store(0, Ordering::SeqCst);
        let handlers = [
            Handler::install(libc::SIGINT, outlive),
            Handler::install(libc::SIGQUIT, outlive),
            Handler::install(libc::SIGTERM, pass_on),
            Handler::install(libc::SIGHUP, pass_on),
            Handler::install(libc::SIGUSR1, pass_on),
            Handler::install(libc::SIGUSR2, pass_on),
        ];
        PassedOn { _handlers: handlers }
    }

    /// Names the process that they go to.
    pub fn to(&self, pid: u32) {
        CHILD.store(pid as i32, Ordering::SeqCst);
        deliver();
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
    }
}

/// A signal handler that is taken back when this goes.
struct Handler {
    signal: i32,
    before: libc::sigaction,
}

impl Handler {
    fn install(signal: i32, handler: extern "C" fn(i32)) -> Handler {
        // SAFETY: the structures are ours, all-zero bytes are a valid one, and the handlers below only do what a
        // handler may: load an atomic and call kill. (A program started by exec gets the default action back, but
        // keeps a signal that was ignored ignored: so an ignored one is left as it is.)
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            Handler { signal, before }
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: `before` is what the kernel gave us.
        unsafe { libc::sigaction(self.signal, &self.before, std::ptr::null_mut()) };
    }
}

extern "C" fn outlive(_: i32) {
    ASKED_TO_END.store(true, Ordering::Relaxed);
}

extern "C" fn pass_on(signal: i32) {
    if signal == libc::SIGTERM || signal == libc::SIGHUP {
        ASKED_TO_END.store(true, Ordering::Relaxed);
    }
    // Noted before the process is looked up: if it has no name yet, `PassedOn::to` finds the note.
    CAME.fetch_or(1 << signal, Ordering::SeqCst);
    deliver();
}

/// Passes on what came, once there is a process to pass it to.
fn deliver() {
    let child = CHILD.load(Ordering::SeqCst);
    if child <= 0 {
        return;
    }
    let came = CAME.swap(0, Ordering::SeqCst);
    for signal in (1..64).filter(|signal| came & (1 << signal) != 0) {
        // SAFETY: kill may be called in a handler; a process that has ended takes the signal and does nothing.
        unsafe { libc::kill(child, signal) };
    }
}
