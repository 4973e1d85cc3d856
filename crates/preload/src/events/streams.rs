//! Which files are sockets or pipes, or have no name (an eventfd, a timer): a read or write of such a
//! file may be a wait for another thread or process, or end another's wait.
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

/// The sorts of files, as far as they matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Sort {
    /// A socket or a pipe.
    Stream = 1,
    /// A file that the kernel made without a name: an eventfd, a timer, a signal's file.
    Nameless,
    /// Any other file.
    Other,
}

static KNOWN: [AtomicU8; FILES] = [const { AtomicU8::new(UNKNOWN) }; FILES];

/// Returns the sort of a file.
#[inline]
pub fn sort(file: c_int) -> Sort {
    let known = usize::try_from(file).ok().and_then(|file| KNOWN.get(file));
    match known.map(|known| known.load(Relaxed)) {
        Some(known) if known == Sort::Stream as u8 => Sort::Stream,
        Some(known) if known == Sort::Nameless as u8 => Sort::Nameless,
        Some(known) if known == Sort::Other as u8 => Sort::Other,
        _ => {
            let sort = ask(file);
            if let Some(known) = known {
                known.store(sort as u8, Relaxed);
            }
            sort
        }
    }
}

#[cold]
fn ask(file: c_int) -> Sort {
    let mut about = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the structure, or fails.
    let failed = errno::kept(|| unsafe { libc::fstat(file, about.as_mut_ptr()) }) != 0;
    // SAFETY: the structure was zeroed, and all zeros are a valid value of it.
    let sort = unsafe { about.assume_init() }.st_mode & libc::S_IFMT;
    match sort {
        libc::S_IFSOCK | libc::S_IFIFO if !failed => Sort::Stream,
        0 if !failed => Sort::Nameless,
        _ => Sort::Other,
    }
}

/// Remembers that this file number is a socket: the call that accepted a connection returned it.
pub fn made(file: c_int) {
    set(file, Sort::Stream as u8);
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
