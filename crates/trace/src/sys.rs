//! System calls that on x86-64 and AArch64 do not go through the C library: nothing here can be
//! interposed (except the look-up of the page size), changes `errno`, allocates, or is a
//! cancellation point. The writer runs inside other people's programs, and must do none of the
//! four.
//!
//! A function that can fail returns the kernel's answer: a value, or `Err(errno)`.

use core::ffi::CStr;
use core::sync::atomic::AtomicU8;

/// The kernel's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.0))
    }
}

/// # Safety
/// The caller upholds the requirements of the system call `number` for the arguments `a`.
#[cfg(target_arch = "x86_64")]
unsafe fn syscall6(number: libc::c_long, a: [usize; 6]) -> isize {
    let answer: isize;
    // SAFETY: the assembly follows the kernel's x86-64 calling convention: a system call clobbers
    // only rcx, r11 and memory that its arguments point at, which the caller vouches for.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a[0], in("rsi") a[1],
            in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    answer
}

/// # Safety
/// The caller upholds the requirements of the system call `number` for the arguments `a`.
#[cfg(target_arch = "aarch64")]
unsafe fn syscall6(number: libc::c_long, a: [usize; 6]) -> isize {
    let answer: isize;
    // SAFETY: the assembly follows the kernel's AArch64 calling convention: a system call changes
    // only x0 and memory that its arguments point at, which the caller vouches for.
    unsafe {
        core::arch::asm!("svc 0", inlateout("x0") a[0] => answer, in("x1") a[1], in("x2") a[2], in("x3") a[3],
            in("x4") a[4], in("x5") a[5], in("x8") number, options(nostack));
    }
    answer
}

/// # Safety
/// The caller upholds the requirements of the system call `number` for the arguments `a`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn syscall6(number: libc::c_long, a: [usize; 6]) -> isize {
    // SAFETY: the caller upholds the system call's requirements; errno belongs to this thread, and
    // is restored afterwards.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let answer = libc::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) as isize;
        let failed = -(*errno as isize);
        *errno = before;
        if answer == -1 { failed } else { answer }
    }
}

/// # Safety
/// The caller upholds the requirements of the system call `number` for its arguments.
unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: the caller upholds the system call's requirements.
    match unsafe { syscall6(number, arguments) } {
        error @ -4095..=-1 => Err(Errno(-error as i32)),
        answer => Ok(answer as usize),
    }
}

/// Returns the process id (`getpid`).
pub fn pid() -> u32 {
    // SAFETY: getpid takes no argument.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// Returns the parent's process id (`getppid`).
pub(crate) fn parent_pid() -> u32 {
    // SAFETY: getppid takes no argument.
    unsafe { call(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// Returns the kernel's number of the calling thread (`gettid`).
pub fn tid() -> u32 {
    // SAFETY: gettid takes no argument.
    unsafe { call(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// Number of 64-bit words for [`affinity`]: room for 8,192 CPUs, the most that Linux can be built
/// for on x86-64.
pub const AFFINITY_WORDS: usize = 128;

/// Returns the CPUs that thread `tid` (0: the calling thread) may run on (`sched_getaffinity`), one
/// bit for each CPU, the lowest first, as those of the `words` that the kernel filled.
///
/// # Errors
/// Fails if there is no such thread, or the kernel forbids the call.
pub fn affinity(tid: u32, words: &mut [u64; AFFINITY_WORDS]) -> Result<&[u64], Errno> {
    let arguments = [tid as usize, size_of_val(words), words.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel writes whole words, and at most as many bytes as `words` has.
    let bytes = unsafe { call(libc::SYS_sched_getaffinity, arguments) }?;
    Ok(&words[..(bytes / 8).min(AFFINITY_WORDS)])
}

/// Whether thread `tid` of process `pid` is alive: asks the kernel with signal 0, which it never
/// delivers.
pub fn is_alive(pid: u32, tid: u32) -> bool {
    // SAFETY: tgkill takes no pointer; signal 0 only checks for the thread.
    let found = unsafe { call(libc::SYS_tgkill, [pid as usize, tid as usize, 0, 0, 0, 0]) };
    found != Err(Errno(libc::ESRCH))
}

/// Reads a clock in nanoseconds (`clock_gettime`); 0 for a clock that the kernel does not know.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = [0i64; 2];
    // SAFETY: the kernel writes a timespec of two 64-bit words, and `time` has this layout.
    let done = unsafe { call(libc::SYS_clock_gettime, [clock as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    if done.is_err() { 0 } else { time[0] as u64 * 1_000_000_000 + time[1] as u64 }
}

/// Returns the CPU time of the calling thread in nanoseconds, for
/// [`What::CpuTime`](crate::What::CpuTime).
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub(crate) fn open(path: &CStr, flags: i32, mode: u32) -> Result<i32, Errno> {
    let directory = libc::AT_FDCWD as isize as usize;
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_openat, [directory, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0]) }
        .map(|fd| fd as i32)
}

pub(crate) fn unlink(path: &CStr) {
    // SAFETY: the path ends with a zero byte. If the file cannot be removed, it stays.
    let _ = unsafe { call(libc::SYS_unlink, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

pub(crate) fn close(fd: i32) {
    // SAFETY: close takes no pointer, and the caller owns the descriptor. Even after an error the
    // descriptor is closed.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Duplicates `fd` to a descriptor number of at least `least`, which is closed at exec.
pub(crate) fn duplicate_above(fd: i32, least: i32) -> Result<i32, Errno> {
    let arguments = [fd as usize, libc::F_DUPFD_CLOEXEC as usize, least as usize, 0, 0, 0];
    // SAFETY: F_DUPFD_CLOEXEC takes no pointer.
    unsafe { call(libc::SYS_fcntl, arguments) }.map(|fd| fd as i32)
}

pub(crate) fn read(fd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most `buffer.len()` bytes into the buffer.
    unsafe { call(libc::SYS_read, [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

fn write_at(fd: i32, bytes: &[AtomicU8], offset: u64) -> Result<usize, Errno> {
    let arguments = [fd as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
    // SAFETY: the kernel reads at most `bytes.len()` bytes.
    unsafe { call(libc::SYS_pwrite64, arguments) }
}

/// Returns device and inode of an open file. By these a session finds out whether a descriptor is
/// still its own.
pub(crate) fn identity(fd: i32) -> Result<(u64, u64), Errno> {
    // SAFETY: a statx of all-zero bytes is valid.
    let mut stat: libc::statx = unsafe { core::mem::zeroed() };
    let arguments = [
        fd as usize,
        c"".as_ptr() as usize,
        libc::AT_EMPTY_PATH as usize,
        libc::STATX_INO as usize,
        &raw mut stat as usize,
        0,
    ];
    // SAFETY: the path is empty and ends with a zero byte; the kernel writes one statx into `stat`.
    unsafe { call(libc::SYS_statx, arguments) }?;
    Ok((u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor), stat.stx_ino))
}

/// Reserves space for `len` bytes at `offset`, and extends the file accordingly.
///
/// Growing a file beyond `RLIMIT_FSIZE` raises SIGXFSZ, which by default ends the program. So the
/// signal is blocked meanwhile. If this call makes it pending, it is removed; if it was pending
/// before, it stays.
pub(crate) fn reserve(fd: i32, offset: u64, len: u64) -> Result<(), Errno> {
    let signal = SignalHeld::new(libc::SIGXFSZ);
    // SAFETY: fallocate takes no pointer.
    let done = unsafe { call(libc::SYS_fallocate, [fd as usize, 0, offset as usize, len as usize, 0, 0]) };
    let done = match done {
        Err(Errno(libc::EOPNOTSUPP | libc::ENOSYS)) => write_zeros(fd, offset, len),
        Err(Errno(libc::EINTR)) => write_zeros(fd, offset, len),
        // The space is reserved. Zeros that are written in one piece enter the page cache in few
        // large folios, each of which one page fault maps: on ext4 a fifth of the cost of single
        // pages. If writing them fails, that does no harm.
        Ok(_) => {
            let _ = write_zeros(fd, offset, len);
            Ok(())
        }
        Err(error) => Err(error),
    };
    if done == Err(Errno(libc::EFBIG)) {
        signal.take_new();
    }
    done
}

/// Writes zeros in as few pieces as possible. On file systems that cannot reserve space, writing
/// reserves it.
fn write_zeros(fd: i32, offset: u64, len: u64) -> Result<(), Errno> {
    /// Number of bytes of the largest segment, so that one write suffices for most calls.
    const AT_ONCE: usize = 256 << 10;
    // An array of atomics, because an array of plain zeros that is never written would take space
    // in the object file.
    static ZEROS: [AtomicU8; AT_ONCE] = [const { AtomicU8::new(0) }; AT_ONCE];
    let mut done = 0;
    while done < len {
        let n = (len - done).min(ZEROS.len() as u64) as usize;
        match write_at(fd, &ZEROS[..n], offset + done) {
            Ok(0) => return Err(Errno(libc::ENOSPC)),
            Ok(n) => done += n as u64,
            Err(Errno(libc::EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A signal that is blocked in this thread until this value is dropped.
struct SignalHeld {
    signal: i32,
    mask_before: u64,
    pending_before: bool,
}

/// Number of bytes of the kernel's signal set.
const KERNEL_SET: usize = 8;

impl SignalHeld {
    fn new(signal: i32) -> SignalHeld {
        let set = 1u64 << (signal - 1);
        let mut mask_before = 0u64;
        let arguments =
            [libc::SIG_BLOCK as usize, &raw const set as usize, &raw mut mask_before as usize, KERNEL_SET, 0, 0];
        // SAFETY: both pointers point to signal sets of the kernel's 8 bytes.
        let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
        SignalHeld { signal, mask_before, pending_before: pending() & set != 0 }
    }

    /// Removes the signal if it has become pending since it was blocked.
    fn take_new(&self) {
        let set = 1u64 << (self.signal - 1);
        if self.pending_before || pending() & set == 0 {
            return;
        }
        let now = [0i64; 2];
        let arguments = [&raw const set as usize, 0, &raw const now as usize, KERNEL_SET, 0, 0];
        // SAFETY: the arguments are a signal set of the kernel's 8 bytes, no siginfo, and a
        // timespec of zero.
        let _ = unsafe { call(libc::SYS_rt_sigtimedwait, arguments) };
    }
}

impl Drop for SignalHeld {
    fn drop(&mut self) {
        let arguments = [libc::SIG_SETMASK as usize, &raw const self.mask_before as usize, 0, KERNEL_SET, 0, 0];
        // SAFETY: the new mask is a signal set of the kernel's 8 bytes, and there is no old one to
        // write.
        let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
    }
}

fn pending() -> u64 {
    let mut set = 0u64;
    // SAFETY: the kernel writes a signal set of 8 bytes into `set`.
    let _ = unsafe { call(libc::SYS_rt_sigpending, [&raw mut set as usize, KERNEL_SET, 0, 0, 0, 0]) };
    set
}

/// Maps `len` bytes of a file, shared and writable. With `at`, replaces the mapping at that
/// address, which must belong to the caller.
///
/// # Safety
/// With `at`, the `len` bytes from that address on belong to the caller, and nothing else refers to
/// them.
pub(crate) unsafe fn map_file(fd: i32, offset: u64, len: usize, at: Option<usize>) -> Result<usize, Errno> {
    let flags = libc::MAP_SHARED | if at.is_some() { libc::MAP_FIXED } else { 0 };
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: without MAP_FIXED the kernel chooses free address space; with it the caller
    // guarantees that the range is its own.
    unsafe { call(libc::SYS_mmap, [at.unwrap_or(0), len, protection, flags as usize, fd as usize, offset as usize]) }
}

/// Reserves `len` bytes of address space without memory behind them.
pub(crate) fn map_nothing(len: usize) -> Result<usize, Errno> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: the kernel chooses free address space, so no existing mapping changes.
    unsafe { call(libc::SYS_mmap, [0, len, libc::PROT_NONE as usize, flags, usize::MAX, 0]) }
}

/// # Safety
/// The `len` bytes from `at` on belong to the caller, and nothing refers to them any more.
pub(crate) unsafe fn unmap(at: usize, len: usize) {
    if len > 0 {
        // SAFETY: the caller guarantees that the range is its own and no longer in use.
        let _ = unsafe { call(libc::SYS_munmap, [at, len, 0, 0, 0, 0]) };
    }
}

/// Returns the page size from the kernel's auxiliary vector.
pub(crate) fn page_size() -> usize {
    // SAFETY: getauxval only reads memory that the kernel gave to the process. It cannot fail for
    // AT_PAGESZ.
    let size = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    if size.is_power_of_two() { size } else { 4096 }
}
