//! Which files are sockets or pipes: a read or write of such a file may be a wait for another
//! thread or process, or end another's wait.
//!
//! The kernel is asked once for each file number, and again after a `close`; the number of a new
//! connection is known to be a socket. A number that comes to stand for another file in another way
//! (`dup2`, a close inside the C library) keeps its old answer.

use crate::base::errno;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// File numbers whose kind is remembered; the kernel is asked each time about higher ones.
const FILES: usize = 1 << 14;
const UNKNOWN: u8 = 0;
const STREAM: u8 = 1;
const OTHER: u8 = 2;
static KNOWN: [AtomicU8; FILES] = [const { AtomicU8::new(UNKNOWN) }; FILES];

/// Whether a file is a socket or a pipe.
#[inline]
pub fn is_stream(file: c_int) -> bool {
    let known = usize::try_from(file).ok().and_then(|file| KNOWN.get(file));
    match known.map(|known| known.load(Relaxed)) {
        Some(STREAM) => true,
        Some(OTHER) => false,
        _ => {
            let is = ask(file);
            if let Some(known) = known {
                known.store(if is { STREAM } else { OTHER }, Relaxed);
            }
            is
        }
    }
}

#[cold]
fn ask(file: c_int) -> bool {
    let mut about = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the structure, or fails.
    let failed = errno::kept(|| unsafe { libc::fstat(file, about.as_mut_ptr()) }) != 0;
    // SAFETY: the structure was zeroed, and all zeros are a valid value of it.
    let sort = unsafe { about.assume_init() }.st_mode & libc::S_IFMT;
    !failed && (sort == libc::S_IFSOCK || sort == libc::S_IFIFO)
}

/// Remembers that this file number is a socket: the call that accepted a connection returned it.
pub fn made(file: c_int) {
    set(file, STREAM);
}

/// Forgets the kind of this file number, which is about to be closed.
pub fn forget(file: c_int) {
    set(file, UNKNOWN);
}

fn set(file: c_int, value: u8) {
    if let Some(known) = usize::try_from(file).ok().and_then(|file| KNOWN.get(file)) {
        known.store(value, Relaxed);
    }
}
