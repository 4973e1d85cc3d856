//! Words to the person at the terminal: straight to descriptor 2, without locks or allocation.

use core::fmt::Write;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A line of up to 500 bytes.
struct Line {
    bytes: [u8; 512],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // One byte stays for the line's end.
        let room = self.bytes.len() - 1 - self.length;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }
}

/// What a message is about. Under `baton`, the first of a subject is said, whichever process it comes from, and the others
/// are counted.
#[derive(Clone, Copy)]
pub enum Subject {
    /// The process is not recorded.
    Unrecorded,
    /// A condition wait was refused.
    Condition,
    /// The spare lock serves a thread.
    Spare,
    /// The counters cannot be written.
    Counters,
    /// The program stood still while waiters spun.
    Stalled,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Subject::Unrecorded => "unrecorded",
            Subject::Condition => "condition",
            Subject::Spare => "spare",
            Subject::Counters => "counters",
            Subject::Stalled => "stalled",
        }
    }
}

/// Where `baton` listens: an address outside of the file system. Null without `baton`.
static LISTENER: AtomicPtr<libc::sockaddr_un> = AtomicPtr::new(core::ptr::null_mut());

/// Names the socket that `baton` listens at. A name that is too long is no name of `baton`'s.
pub fn listens(name: &str) {
    // SAFETY: all-zero bytes are an address without a name.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if name.len() < address.sun_path.len() {
        // The name is behind a zero byte, and its length in the address's.
        for (place, byte) in address.sun_path[1..].iter_mut().zip(name.as_bytes()) {
            *place = *byte as libc::c_char;
        }
        LISTENER.store(Box::leak(Box::new(address)), Relaxed);
    }
}

/// Whether `baton` listens.
pub fn is_heard() -> bool {
    !LISTENER.load(Relaxed).is_null()
}

/// Tells `baton`, or writes a line if there is none. `variable` is what to name where there is none: the variable that asked
/// for what cannot be done.
pub fn tell(subject: Subject, variable: core::fmt::Arguments, text: core::fmt::Arguments) {
    // SAFETY: set once, to a leaked box.
    let heard = unsafe { LISTENER.load(Relaxed).as_ref() }.map(|address| send(address, subject, text));
    match heard {
        Some(Ok(())) => {}
        // Baton has ended, and its report is written.
        Some(Err(libc::ECONNREFUSED)) if matches!(subject, Subject::Unrecorded) => {}
        _ => say(format_args!("{variable}{text}")),
    }
}

fn send(address: &libc::sockaddr_un, subject: Subject, text: core::fmt::Arguments) -> Result<(), i32> {
    let mut line = Line { bytes: [0; 512], length: 0 };
    let _ = write!(line, "{}\n{text}", subject.name());
    let length = 1 + address.sun_path[1..].iter().take_while(|byte| **byte != 0).count();
    crate::base::errno::kept(|| {
        // A listener that does not read (it is stopped) is waited for, but not for ever.
        let patience = libc::timeval { tv_sec: 1, tv_usec: 0 };
        // SAFETY: raw calls, which are no cancellation points, with an address, a time and bytes of ours.
        unsafe {
            let fd = libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return Err(crate::base::errno::get());
            }
            let size = size_of::<libc::timeval>();
            libc::syscall(libc::SYS_setsockopt, fd, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &raw const patience, size);
            let size = core::mem::offset_of!(libc::sockaddr_un, sun_path) + length;
            let (bytes, flags) = (line.bytes.as_ptr(), libc::MSG_NOSIGNAL);
            let sent = libc::syscall(libc::SYS_sendto, fd, bytes, line.length, flags, &raw const *address, size);
            let error = crate::base::errno::get();
            libc::syscall(libc::SYS_close, fd);
            if sent < 0 { Err(error) } else { Ok(()) }
        }
    })
}

/// Writes one line, which begins with the library's name.
pub fn say(text: core::fmt::Arguments) {
    let mut line = Line { bytes: [0; 512], length: 0 };
    let _ = write!(line, "baton: {text}");
    line.bytes[line.length] = b'\n';
    crate::base::errno::kept(|| {
        // SAFETY: the bytes are ours. A failed write has nobody to be told to. The raw call is no cancellation point.
        unsafe { libc::syscall(libc::SYS_write, 2, line.bytes.as_ptr(), line.length + 1) };
    });
}

/// Ends the process before it did any harm: the settings cannot be met.
pub fn refuse(text: core::fmt::Arguments) -> ! {
    say(text);
    // SAFETY: ends the process; nothing of it has run yet that would need an orderly end.
    unsafe { libc::syscall(libc::SYS_exit_group, 2) };
    unreachable!("exit_group returned")
}

/// Ends the process: the library cannot go on, and must not unwind into the program.
pub fn die(text: &str) -> ! {
    say(format_args!("{text}"));
    // SAFETY: takes no argument.
    unsafe { libc::abort() }
}

/// From now on a panic of ours, a bug, is a message and an abort.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        say(format_args!("internal error, please report it: {info}"));
        // SAFETY: takes no argument.
        unsafe { libc::abort() }
    }));
}
