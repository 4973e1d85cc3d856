//! Signals to the daemon, read from a descriptor instead of in handlers.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The signals: those that end the daemon or its programs, and those that are passed on.
const SIGNALS: [i32; 6] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// The signals are held back from all threads that begin while this value is alive, and from the
/// calling thread. Programs that are started do not hold them back.
pub(crate) struct Signals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Holds the signals back.
    ///
    /// # Errors
    /// If the kernel gives no descriptor.
    pub(crate) fn hold() -> Result<Signals> {
        // SAFETY: the sets are local variables, and all-zero bytes are a valid set.
        unsafe {
            let (mut set, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut set);
            for signal in SIGNALS {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
            if descriptor < 0 {
                return Err(Error::last_os_error());
            }
            Ok(Signals { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    /// Waits for a signal, at most this long. Returns the signals that came.
    pub(crate) fn wait(&self, ns: u64) -> Vec<i32> {
        let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let mut poll = libc::pollfd { fd: self.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the kernel reads `time` and writes into `poll`, local variables.
        let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
        let mut came = Vec::new();
        if ready <= 0 {
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
            came.push(info.ssi_signo as i32);
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // The run is over: reads the signals that are still held back and discards them, before the
        // calling thread lets signals in again.
        self.wait(0);
        // SAFETY: `before` is the set that the kernel returned.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}
