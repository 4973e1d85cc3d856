//! Handles the signals that reach `baton` while its program runs.
//!
//! Ctrl-C and Ctrl-\ go to the whole foreground process group, so the program receives them too.
//! Baton survives them in order to write a report. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 may be sent
//! to `baton` alone, so Baton passes them on.
//!
//! A signal that is ignored stays ignored in an executed program. Rust's runtime ignores SIGPIPE in
//! this process and restores its default action in programs that it starts. [`inherit_pipe`] gives
//! the program the setting that `baton` itself was started with.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// The process that signals are passed on to; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// One bit for each signal that came before `CHILD` was set, or that is about to be passed on.
static CAME: AtomicU64 = AtomicU64::new(0);

/// Whether the user or the system has asked Baton to end.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// Whether SIGINT, SIGQUIT, SIGTERM or SIGHUP came while a [`PassedOn`] was alive. Work that
/// follows the program should then end, too.
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Relaxed)
}

/// Whether SIGPIPE was ignored when this process began.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// The loader calls this function before Rust's runtime changes SIGPIPE.
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

/// Restores SIGPIPE between fork and exec: the signal is ignored if it was ignored when this
/// process began.
pub(super) fn inherit_pipe() {
    if PIPE_WAS_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: `signal` may be called between fork and exec.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
}

/// While a value of this type is alive, this process survives SIGINT and SIGQUIT, and passes
/// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 on to the program.
pub struct PassedOn {
    _handlers: [Handler; 6],
}

impl PassedOn {
    /// Installs the handlers.
    pub fn begin() -> PassedOn {
        // Signals that came too late for the previous program are not for this one.
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

    /// Sets the process that signals are passed on to.
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

/// A signal handler; dropping it restores the previous handler.
pub(super) struct Handler {
    signal: i32,
    before: libc::sigaction,
}

impl Handler {
    pub(super) fn install(signal: i32, handler: extern "C" fn(i32)) -> Handler {
        // SAFETY: the structures are local, and all-zero bytes are a valid value of them. The
        // handlers of this folder only do what a handler may do: use atomics, and call kill, write,
        // signal and raise. (An executed program gets the default action for a handled signal, but
        // keeps an ignored signal ignored; so a signal that is ignored is left as it is.)
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
        // SAFETY: `before` is the action that the kernel returned when the handler was installed.
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
    // The signal is noted before the process is looked up. If no process is set yet, `PassedOn::to`
    // finds the note.
    CAME.fetch_or(1 << signal, Ordering::SeqCst);
    deliver();
}

/// Passes on the signals that were noted, once there is a process to receive them.
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
