//! What the queue needs of the kernel: a file in memory, locks of bytes of the file by which a
//! process shows that it lives, and sleep on a word that several processes map.

use baton_machine::native::cell::NativeAtomic;
use baton_machine::units::Nanos;
use baton_machine::{Deadline, Machine, Native};
use core::ptr::NonNull;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A file in memory, shared with other processes.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is reached only through atomic cells, which threads may share.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of a file, which has at least as many.
    pub(super) fn new(file: &File, bytes: usize) -> io::Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of this
        // program.
        let start = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the kernel mapped address 0"))?;
        let mapping = Mapping { start, bytes };
        // A forked child would have the same open file, and its claims.
        // SAFETY: the mapping was made above, and the advice changes nothing in this process.
        if unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// Returns the `T` at `offset`.
    ///
    /// # Panics
    /// Panics if it does not lie inside of the mapping, or is not aligned.
    pub(super) fn at<T: Cells>(&self, offset: usize) -> &T {
        assert!(offset.checked_add(size_of::<T>()).is_some_and(|end| end <= self.bytes), "outside of the mapping");
        // SAFETY: the place was checked.
        let place = unsafe { self.start.add(offset) }.cast::<T>();
        assert!(place.is_aligned(), "a cell is aligned");
        // SAFETY: the place lies in the mapping, which lives as long as the reference. Any bytes are a
        // `T`, and all accesses to it are atomic, here and in other processes.
        unsafe { place.as_ref() }
    }

    /// Returns the `count` words from `offset` on.
    ///
    /// # Panics
    /// Panics if they do not lie inside of the mapping, or are not aligned.
    pub(super) fn words(&self, offset: usize, count: usize) -> &[NativeAtomic<u64>] {
        let bytes = count.checked_mul(8).expect("a slice of words fits the address space");
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "outside of the mapping");
        // SAFETY: the place was checked.
        let place = unsafe { self.start.add(offset) }.cast::<NativeAtomic<u64>>();
        assert!(place.is_aligned(), "a word is aligned");
        // SAFETY: as in `at`.
        unsafe { core::slice::from_raw_parts(place.as_ptr(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped by `new`; references into it have ended, as they borrow this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Atomic cells, of which any bytes are a value.
///
/// # Safety
/// The type consists of atomic cells and of bytes that are never read.
pub(super) unsafe trait Cells {}

/// Makes the file `bytes` long, with memory for all of them.
pub(super) fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Describes a lock of the byte `place` of a file, which may lie behind the file's end.
fn lock_of(place: u64) -> libc::flock {
    // SAFETY: all bytes zero are a value of this struct of integers.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = place as libc::off_t;
    lock.l_len = 1;
    lock
}

/// Locks a byte of the file until this open file is closed, as it is when the process ends in any
/// way. Returns false if another open file has the lock.
pub(super) fn claim(file: &File, place: u64) -> io::Result<bool> {
    // SAFETY: the descriptor is open, and the argument is what this command takes.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock_of(place)) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        error => Err(error),
    }
}

/// Whether another open file has the lock of the byte. Says true if the kernel cannot tell.
pub(super) fn is_claimed(file: &File, place: u64) -> bool {
    let mut lock = lock_of(place);
    // SAFETY: the descriptor is open, and the argument is what this command takes.
    let told = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) } == 0;
    !told || i32::from(lock.l_type) != libc::F_UNLCK
}

/// Sleeps while `cell` holds `value`, until woken, until `most` nanoseconds have passed, or until the
/// deadline. May return without a reason.
pub(super) fn sleep(cell: &NativeAtomic<u32>, value: u32, most: Nanos, deadline: Option<Deadline>) {
    let left = deadline.map_or(u64::MAX, |deadline| deadline.at.0.saturating_sub(Native::now(deadline.clock).0));
    let most = left.min(most.0);
    let span = libc::timespec { tv_sec: (most / 1_000_000_000) as _, tv_nsec: (most % 1_000_000_000) as _ };
    // SAFETY: the cell is an aligned word that lives during the call, and the timeout points to a
    // local. Processes share the word, so the operation is not private.
    unsafe { libc::syscall(libc::SYS_futex, cell.as_ptr(), libc::FUTEX_WAIT, value, &span) };
}

/// Wakes all threads of all processes that sleep on `cell`.
pub(super) fn wake(cell: &NativeAtomic<u32>) {
    // SAFETY: the cell is an aligned word that lives during the call.
    unsafe { libc::syscall(libc::SYS_futex, cell.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Whether a deadline has passed.
pub(super) fn passed(deadline: Option<Deadline>) -> bool {
    deadline.is_some_and(|deadline| Native::now(deadline.clock) >= deadline.at)
}
