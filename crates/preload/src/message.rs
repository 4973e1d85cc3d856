//! Words to the person at the terminal: straight to descriptor 2, without locks or allocation.

use core::fmt::Write;

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

/// Writes one line, which begins with the library's name.
pub fn say(text: core::fmt::Arguments) {
    let mut line = Line { bytes: [0; 512], length: 0 };
    let _ = write!(line, "baton: {text}");
    line.bytes[line.length] = b'\n';
    crate::errno::kept(|| {
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
