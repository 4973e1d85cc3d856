//! What happens to signals that reach `baton` while its program runs.
//!
//! Ctrl-C and Ctrl-\ go to the whole foreground group, so the program has them already: we only outlive them, to leave
//! a report. SIGTERM and SIGHUP may be sent to us alone and are passed on.

use std::sync::atomic::{AtomicI32, Ordering};

/// The process that signals are passed on to; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// While this lives, signals are outlived or passed on.
pub(crate) struct PassedOn {
    _handlers: [Handler; 4],
}

impl PassedOn {
    /// Installs the handlers.
    pub(crate) fn begin() -> PassedOn {
        let handlers = [
            Handler::install(libc::SIGINT, outlive),
            Handler::install(libc::SIGQUIT, outlive),
            Handler::install(libc::SIGTERM, pass_on),
            Handler::install(libc::SIGHUP, pass_on),
        ];
        PassedOn { _handlers: handlers }
    }

    /// Names the process that they go to.
    pub(crate) fn to(&self, pid: u32) {
        CHILD.store(pid as i32, Ordering::SeqCst);
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

extern "C" fn outlive(_: i32) {}

extern "C" fn pass_on(signal: i32) {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: kill may be called in a handler; a process that has ended takes the signal and does nothing.
        unsafe { libc::kill(child, signal) };
    }
}
