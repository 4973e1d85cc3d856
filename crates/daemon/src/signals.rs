//! Signals to the daemon, read from a descriptor instead of in handlers.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The signals that end the daemon or its programs, and those that are passed on.
const SIGNALS: [i32; 6] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) signal: i32,
    /// Whether the terminal sent it, which sends it to the programs as well.
    pub(crate) by_terminal: bool,
}

/// While this value is alive, the signals are blocked in the calling thread and in threads that begin;
/// SIGPIPE is blocked too, so that a closed standard error does not end the run. A program that is
/// started would inherit that: it must be given the mask [`Signals::before`]. Signals that are
/// ignored (`nohup`) stay ignored. SIGCHLD is blocked too, so that [`Signals::wait`] returns when a
/// child ends, and gets its default action: no exit code can be read while it is ignored.
pub(crate) struct Signals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals.
    ///
    /// # Errors
    /// If the kernel gives no descriptor.
    pub(crate) fn hold() -> Result<Signals> {
        // SAFETY: the sets are local variables, and all-zero bytes are a valid set. The default action
        // of SIGCHLD runs no code of this process.
        unsafe {
            let (mut set, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut set);
            for signal in SIGNALS.into_iter().filter(|&signal| !is_ignored(signal)) {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::sigaddset(&raw mut set, libc::SIGPIPE);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            if is_ignored(libc::SIGCHLD) {
                libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
            if descriptor < 0 {
                return Err(Error::last_os_error());
            }
            Ok(Signals { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    /// The signals that the calling thread blocked before.
    pub(crate) fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Waits for a signal or one of the other events, at most this long. Returns the signals that came.
    /// Takes events that cannot come any more out of `others`.
    pub(crate) fn wait(&self, ns: u64, others: &mut Vec<libc::pollfd>) -> Vec<Came> {
        let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        others.push(libc::pollfd { fd: self.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        // SAFETY: the kernel reads `time`, a local variable, and writes into the vector up to its length.
        let ready = unsafe {
            libc::ppoll(others.as_mut_ptr(), others.len() as libc::nfds_t, &raw const time, std::ptr::null())
        };
        let own = others.pop().map_or(0, |own| own.revents);
        let mut came = Vec::new();
        if ready <= 0 {
            return came;
        }
        others.retain(|other| other.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) == 0);
        if own == 0 {
            return came;
        }
        loop {
            // SAFETY: all-zero bytes are a valid structure, which the kernel fills up to its size.
            let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
            let size = size_of_val(&info);
            // SAFETY: as above.
            let read = unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut info).cast(), size) };
            if read != size as isize {
                return came;
            }
            let (signal, by_terminal) = (info.ssi_signo as i32, info.ssi_code == libc::SI_KERNEL);
            if signal != libc::SIGPIPE {
                came.push(Came { signal, by_terminal });
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // The run is over: reads the signals that are still held back and discards them, before the
        // calling thread lets signals in again.
        self.wait(0, &mut Vec::new());
        // SAFETY: `before` is the set that the kernel returned.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a valid structure, which the call fills; it changes nothing.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN
}
