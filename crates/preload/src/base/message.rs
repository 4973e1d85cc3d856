//! Messages to the user: to the `baton` process that listens, else straight to descriptor 2,
//! without locks or allocation.

use core::fmt::Write;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A line of at most 511 bytes, and room for a newline.
struct Line {
    bytes: [u8; 512],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // One byte stays for the newline at the end of the line.
        let room = self.bytes.len() - 1 - self.length;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }
}

/// What a message is about. A `baton` that listens prints the first message of each subject,
/// whichever process it comes from, and counts the processes.
#[derive(Clone, Copy)]
pub enum Subject {
    /// The process runs without being recorded.
    Unrecorded,
    /// A condition wait was refused.
    Condition,
    /// The spare lock serves a thread in place of the named lock.
    Spare,
    /// The counters cannot be written to their file.
    Counters,
    /// The program stood still while its waiters only spun.
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

/// The abstract socket address at which `baton` listens for messages. Null if no `baton` listens.
static LISTENER: AtomicPtr<libc::sockaddr_un> = AtomicPtr::new(core::ptr::null_mut());

/// Notes the name of the socket at which `baton` listens. A name that is too long is ignored:
/// `baton` never makes one.
pub fn listens(name: &str) {
    // SAFETY: all-zero bytes are a valid `sockaddr_un`, an address without a name.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if name.len() < address.sun_path.len() {
        // In an abstract socket address the name stands behind a zero byte. The length that `send`
        // passes says where the name ends.
        for (place, byte) in address.sun_path[1..].iter_mut().zip(name.as_bytes()) {
            *place = *byte as libc::c_char;
        }
        LISTENER.store(Box::leak(Box::new(address)), Relaxed);
    }
}

/// Whether [`listens`] has noted a socket at which `baton` listens.
pub fn is_heard() -> bool {
    !LISTENER.load(Relaxed).is_null()
}

/// Sends `text` to `baton`. If no `baton` listens, or the message cannot be sent, writes `variable`
/// and `text` to descriptor 2; but drops a message of [`Subject::Unrecorded`] if the `baton` that
/// listened has ended. `variable` names the environment variable whose demand cannot be met.
pub fn tell(subject: Subject, variable: core::fmt::Arguments, text: core::fmt::Arguments) {
    // SAFETY: `listens` sets `LISTENER` once, to a leaked box.
    let heard = unsafe { LISTENER.load(Relaxed).as_ref() }.map(|address| send(address, subject, text));
    match heard {
        Some(Ok(())) => {}
        // `baton` has ended, and its report is written: this message has no reader any more.
        Some(Err(libc::ECONNREFUSED)) if matches!(subject, Subject::Unrecorded) => {}
        _ => say(format_args!("{variable}{text}")),
    }
}

fn send(address: &libc::sockaddr_un, subject: Subject, text: core::fmt::Arguments) -> Result<(), i32> {
    let mut line = Line { bytes: [0; 512], length: 0 };
    // SAFETY: `getpid` takes no argument and may be called at any time.
    let process = unsafe { libc::getpid() };
    let _ = write!(line, "{} {process}\n{text}", subject.name());
    let length = 1 + address.sun_path[1..].iter().take_while(|byte| **byte != 0).count();
    crate::base::errno::kept(|| {
        // Waits at most a second for a `baton` that does not read, for instance because it is
        // stopped.
        let patience = libc::timeval { tv_sec: 1, tv_usec: 0 };
        // SAFETY: the address, the timeout and the bytes are valid during the calls. Raw system
        // calls are no cancellation points.
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

/// Writes one line that begins with `baton:` to descriptor 2.
pub fn say(text: core::fmt::Arguments) {
    let mut line = Line { bytes: [0; 512], length: 0 };
    let _ = write!(line, "baton: {text}");
    line.bytes[line.length] = b'\n';
    crate::base::errno::kept(|| {
        // SAFETY: the bytes lie in `line`. A failed write has no place to be reported. The raw
        // system call is no cancellation point.
        unsafe { libc::syscall(libc::SYS_write, 2, line.bytes.as_ptr(), line.length + 1) };
    });
}

/// Ends the process with status 2, before the program has begun, because the settings cannot be
/// met.
pub fn refuse(text: core::fmt::Arguments) -> ! {
    say(text);
    // SAFETY: ends the process; nothing of the program has run yet that would need an orderly end.
    unsafe { libc::syscall(libc::SYS_exit_group, 2) };
    unreachable!("exit_group returned")
}

/// Writes `text` and aborts the process, because the library cannot go on and must not unwind into
/// the program.
pub fn die(text: &str) -> ! {
    say(format_args!("{text}"));
    // SAFETY: `abort` takes no argument and may be called at any time.
    unsafe { libc::abort() }
}

/// Makes a panic of the library, which is a bug, a message and an abort from now on.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        say(format_args!("internal error, please report it: {info}"));
        // SAFETY: `abort` takes no argument and may be called at any time.
        unsafe { libc::abort() }
    }));
}
