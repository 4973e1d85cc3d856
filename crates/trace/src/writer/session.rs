//! The events file of a process: a session creates it once, and hands out its space in segments,
//! without locks.

use super::segment::Segment;
use crate::clock::{self, Moment, Source};
use crate::layout::{self, DROP, FILE_HEADER_BYTES, FileHeader, GRAIN, SegmentHeader, file};
use crate::sys::{self, Errno};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

const CLOSED: u32 = 0;
const OPENING: u32 = 1;
const OPEN: u32 = 2;
const STOPPED: u32 = 3;

const PATH_BYTES: usize = 4096;

/// Why a session takes no more events. The program itself continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum StopReason {
    /// The events file has reached its own size limit.
    SizeLimit = 1,
    /// The file system is full.
    NoSpace = 2,
    /// `RLIMIT_FSIZE`, or the file system's limit on file sizes, was reached.
    FileSizeLimit = 3,
    /// There is no memory or address space for a mapping.
    NoMemory = 4,
    /// The program has closed the file's descriptor, and the file cannot be opened again.
    DescriptorLost = 5,
    /// Another error of the system, the number of which is in the file.
    Other = 6,
}

impl StopReason {
    /// Returns the reason as half a sentence.
    pub fn text(self) -> &'static str {
        match self {
            StopReason::SizeLimit => "the trace's size limit was reached",
            StopReason::NoSpace => "the file system was full",
            StopReason::FileSizeLimit => "the limit on file sizes (RLIMIT_FSIZE) was reached",
            StopReason::NoMemory => "no memory or address space was left",
            StopReason::DescriptorLost => "the program closed the trace's file and it could not be opened again",
            StopReason::Other => "the system refused more space",
        }
    }

    pub(crate) fn from_number(number: u32) -> Option<StopReason> {
        Some(match number {
            0 => return None,
            1 => StopReason::SizeLimit,
            2 => StopReason::NoSpace,
            3 => StopReason::FileSizeLimit,
            4 => StopReason::NoMemory,
            5 => StopReason::DescriptorLost,
            _ => StopReason::Other,
        })
    }

    fn of(error: Errno) -> StopReason {
        match error.0 {
            libc::ENOSPC | libc::EDQUOT => StopReason::NoSpace,
            libc::EFBIG => StopReason::FileSizeLimit,
            libc::ENOMEM | libc::EAGAIN => StopReason::NoMemory,
            libc::EBADF => StopReason::DescriptorLost,
            _ => StopReason::Other,
        }
    }
}

/// Why a session cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The path of the directory is too long: it has more than 4,032 bytes.
    PathTooLong,
    /// The session is already open.
    AlreadyOpen,
    /// The file could not be created.
    Create(Errno),
    /// There was no room for the file's first page.
    Reserve(Errno),
    /// The file could not be mapped.
    Map(Errno),
}

impl core::fmt::Display for OpenError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            OpenError::PathTooLong => f.write_str("the trace directory's path is longer than 4,032 bytes"),
            OpenError::AlreadyOpen => f.write_str("the trace session is open already"),
            OpenError::Create(e) => write!(f, "cannot create the events file: {e}"),
            OpenError::Reserve(e) => write!(f, "cannot reserve space for the events file: {e}"),
            OpenError::Map(e) => write!(f, "cannot map the events file: {e}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// Options of a session.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size limit of the events file in bytes. Once the file has reached it, events are only
    /// counted.
    pub limit: u64,
    /// The clock that stamps the events; `None` chooses the best one of the machine.
    pub source: Option<Source>,
}

impl Default for Options {
    fn default() -> Self {
        Options { limit: 2 << 30, source: None }
    }
}

/// The events file of this process. A `Session` lives in a `static`.
pub struct Session {
    state: AtomicU32,
    fd: AtomicI32,
    /// Device and inode of the file. By these the session finds out whether `fd` is still its own:
    /// programs close descriptors that they did not open.
    device: AtomicU64,
    inode: AtomicU64,
    /// Address at which the file header is mapped; 0 if it is not.
    header: AtomicUsize,
    source: AtomicU8,
    limit: AtomicU64,
    page: AtomicUsize,
    /// The path of the directory, to which the file's name is added. Written only in state OPENING,
    /// and read only in the states after it.
    path: UnsafeCell<[u8; PATH_BYTES]>,
    directory_len: AtomicUsize,
}

// SAFETY: only the one thread that moved `state` to OPENING writes `path`, and other threads read
// `path` only after they have seen OPEN, which is stored with release order. All other fields are
// atomics.
unsafe impl Sync for Session {}

impl Default for Session {
    fn default() -> Self {
        Session::new()
    }
}

impl Session {
    /// Creates a closed session, which ignores the events that are posted to it.
    pub const fn new() -> Session {
        Session {
            state: AtomicU32::new(CLOSED),
            fd: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            header: AtomicUsize::new(0),
            source: AtomicU8::new(Source::Monotonic as u8),
            limit: AtomicU64::new(0),
            page: AtomicUsize::new(GRAIN),
            path: UnsafeCell::new([0; PATH_BYTES]),
            directory_len: AtomicUsize::new(0),
        }
    }

    /// Creates `events.PID.N` in `directory` and opens the session. The directory's path should be
    /// absolute: the session opens the file again by its path when the program has closed the
    /// descriptor, and a forked child creates a file of its own beside it, whatever their working
    /// directories are by then. The call takes about half a millisecond, because it measures the
    /// clock's rate.
    ///
    /// # Errors
    /// On failure nothing is left open: the session stays closed, and ignores events that are
    /// posted to it.
    pub fn open(&self, directory: &CStr, options: Options) -> Result<(), OpenError> {
        let bytes = directory.to_bytes();
        if bytes.len() > PATH_BYTES - 64 {
            return Err(OpenError::PathTooLong);
        }
        if self.state.compare_exchange(CLOSED, OPENING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(OpenError::AlreadyOpen);
        }
        // SAFETY: only the thread that has moved `state` to OPENING, which is this one, may access
        // `path`.
        unsafe { (&mut *self.path.get())[..bytes.len()].copy_from_slice(bytes) };
        self.directory_len.store(bytes.len(), Ordering::Relaxed);
        let source = options.source.unwrap_or_else(Source::detect);
        self.source.store(source as u8, Ordering::Relaxed);
        self.limit.store(options.limit, Ordering::Relaxed);
        self.page.store(sys::page_size().max(GRAIN), Ordering::Relaxed);
        let made = self.create();
        self.state.store(if made.is_ok() { OPEN } else { CLOSED }, Ordering::Release);
        made
    }

    /// Call this in the child after `fork`. Leaves the parent's file alone; with `follow` creates a
    /// file for the child, otherwise closes the session. The forking thread's
    /// [`ThreadWriter::forget`](super::ThreadWriter::forget) must come before the next event.
    ///
    /// An event posted in the child before this call would go to the parent's segment: block
    /// signals around `fork`.
    ///
    /// # Errors
    /// The errors are those of [`Session::open`]; the child's session is then closed.
    pub fn reopen_after_fork(&self, follow: bool) -> Result<(), OpenError> {
        if self.state.swap(OPENING, Ordering::Acquire) == CLOSED {
            self.state.store(CLOSED, Ordering::Release);
            return Ok(());
        }
        let header = self.header.swap(0, Ordering::Relaxed);
        if header != 0 {
            // SAFETY: the range is the child's copy of the header's mapping. No other thread exists
            // in the child, and `header` was set to 0 before.
            unsafe { sys::unmap(header, FILE_HEADER_BYTES) };
        }
        let fd = self.fd.swap(-1, Ordering::Relaxed);
        if self.is_ours(fd) {
            sys::close(fd);
        }
        let made = if follow { self.create() } else { Ok(()) };
        let state = if follow && made.is_ok() { OPEN } else { CLOSED };
        self.state.store(state, Ordering::Release);
        made
    }

    /// Writes the end time of the session. Later events are still taken, and the file is readable
    /// without an end time, too.
    pub fn finish(&self) {
        if self.header.load(Ordering::Acquire) == 0 {
            return;
        }
        let end = Moment::now(self.source());
        self.word64(file::END_MONOTONIC).store(end.monotonic_ns, Ordering::Relaxed);
        self.word64(file::END_TICKS).store(end.ticks, Ordering::Relaxed);
        self.word32(file::END_CRC).store(layout::end_crc(end), Ordering::Relaxed);
        self.word32(file::FINISHED).store(1, Ordering::Release);
    }

    /// Whether the session takes events.
    pub fn is_open(&self) -> bool {
        self.state.load(Ordering::Relaxed) == OPEN
    }

    /// Returns why the session stopped taking events; `None` if it has not stopped.
    pub fn stopped(&self) -> Option<StopReason> {
        if self.state.load(Ordering::Acquire) != STOPPED {
            return None;
        }
        StopReason::from_number(self.word32(file::STOP).load(Ordering::Relaxed))
    }

    /// Returns the clock that stamps the events.
    #[inline(always)]
    pub fn source(&self) -> Source {
        match self.source.load(Ordering::Relaxed) {
            1 => Source::Tsc,
            3 => Source::Counter,
            _ => Source::Monotonic,
        }
    }

    fn create(&self) -> Result<(), OpenError> {
        let pid = sys::pid();
        let fd = self.create_file(pid).map_err(OpenError::Create)?;
        let made = self.fill_header(fd, pid);
        if made.is_err() {
            sys::close(fd);
            // Removes the file, because a file without a header would count as a damaged trace.
            // SAFETY: only the thread that has moved `state` to OPENING, which is this one, may
            // access `path`.
            if let Ok(path) = CStr::from_bytes_until_nul(unsafe { &*self.path.get() }) {
                sys::unlink(path);
            }
        }
        made
    }

    fn create_file(&self, pid: u32) -> Result<i32, Errno> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // A program that replaces itself by exec keeps its process number, so the file's name has a
        // second number.
        for n in 0..10_000 {
            // SAFETY: only the thread that has moved `state` to OPENING, which is this one, may
            // access `path`.
            let path = write_path(unsafe { &mut *self.path.get() }, self.directory_len.load(Ordering::Relaxed), pid, n);
            match sys::open(path, flags, 0o600) {
                Err(Errno(libc::EEXIST)) => {}
                Err(error) => return Err(error),
                // Moves the descriptor to a high number, out of the way of programs that rely on
                // getting the lowest free numbers, or close them.
                Ok(low) => match [1000, 200].into_iter().find_map(|least| sys::duplicate_above(low, least).ok()) {
                    Some(high) => {
                        sys::close(low);
                        return Ok(high);
                    }
                    None => return Ok(low),
                },
            }
        }
        Err(Errno(libc::EEXIST))
    }

    fn fill_header(&self, fd: i32, pid: u32) -> Result<(), OpenError> {
        let page = self.page.load(Ordering::Relaxed);
        let (device, inode) = sys::identity(fd).map_err(OpenError::Create)?;
        sys::reserve(fd, 0, page as u64).map_err(OpenError::Reserve)?;
        // SAFETY: without an address to replace, the kernel chooses free address space.
        let at = unsafe { sys::map_file(fd, 0, FILE_HEADER_BYTES, None) }.map_err(OpenError::Map)?;
        let source = self.source();
        let start = Moment::now(source);
        let frequency = measure(source, start);
        let header = FileHeader {
            pid,
            parent: sys::parent_pid(),
            source,
            frequency,
            start,
            realtime_ns: sys::clock_ns(libc::CLOCK_REALTIME),
            limit: self.limit.load(Ordering::Relaxed),
        };
        let bytes = header.to_bytes();
        // SAFETY: `at` is the start of a writable mapping of a page that only this thread knows.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.header.store(at, Ordering::Release);
        self.word64(file::NEXT).store(page as u64, Ordering::Relaxed);
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        self.fd.store(fd, Ordering::Release);
        Ok(())
    }

    fn word32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: callers use this only while the file header is mapped, which it stays until a
        // fork; the field at `offset` is aligned.
        unsafe { &*((self.header.load(Ordering::Relaxed) + offset) as *const AtomicU32) }
    }

    fn word64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the file header is mapped, and the field at `offset` aligned, as in `word32`.
        unsafe { &*((self.header.load(Ordering::Relaxed) + offset) as *const AtomicU64) }
    }

    /// Returns the number of a new thread. The caller must have seen the session open.
    pub(crate) fn next_thread(&self) -> u32 {
        self.word32(file::THREADS).fetch_add(1, Ordering::Relaxed)
    }

    /// Counts an event that is lost in a thread without a segment. Does nothing unless the session
    /// has stopped.
    pub(crate) fn count_dropped(&self) {
        if self.state.load(Ordering::Acquire) == STOPPED {
            self.word64(file::DROPPED).fetch_add(DROP, Ordering::Relaxed);
        }
    }

    /// Returns a new mapped segment. If there is none, stops the session and returns `None`.
    pub(crate) fn allocate(&self, bytes: usize, header: SegmentHeader) -> Option<Segment> {
        self.try_allocate(bytes, header).map_err(|(reason, error)| self.stop(reason, error)).ok()
    }

    /// Returns a new mapped segment, or why there is none.
    pub(crate) fn try_allocate(&self, bytes: usize, mut header: SegmentHeader) -> Result<Segment, (StopReason, Errno)> {
        let bytes = bytes.max(self.page.load(Ordering::Relaxed));
        header.bytes = bytes as u32;
        let next = self.word64(file::NEXT);
        let limit = self.limit.load(Ordering::Relaxed);
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
            at.checked_add(bytes as u64).filter(|end| *end <= limit)
        });
        let offset = taken.map_err(|_| (StopReason::SizeLimit, Errno(0)))?;
        let made = self.descriptor().and_then(|fd| {
            sys::reserve(fd, offset, bytes as u64)?;
            Segment::map(fd, offset, header)
        });
        made.map_err(|error| (StopReason::of(error), error))
    }

    fn stop(&self, reason: StopReason, error: Errno) {
        let first = self.word32(file::STOP).compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            let (code, at) = (error.0 as u32, clock::now(self.source()));
            self.word32(file::STOP_ERROR).store(code, Ordering::Relaxed);
            self.word64(file::STOP_TICKS).store(at, Ordering::Relaxed);
            self.word32(file::STOP_CRC).store(layout::stop_crc(reason as u32, code, at), Ordering::Relaxed);
        }
        // Changes only the state OPEN: a forked child may have closed its session meanwhile.
        let _ = self.state.compare_exchange(OPEN, STOPPED, Ordering::Release, Ordering::Relaxed);
    }

    fn is_ours(&self, fd: i32) -> bool {
        fd >= 0
            && sys::identity(fd)
                .is_ok_and(|id| id == (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed)))
    }

    /// Returns the file's descriptor. If the program has closed it (and perhaps opened another file
    /// under its number), opens the file again.
    fn descriptor(&self) -> Result<i32, Errno> {
        let fd = self.fd.load(Ordering::Acquire);
        if self.is_ours(fd) {
            return Ok(fd);
        }
        // SAFETY: the state is past OPENING, so `path` is complete and no longer changes.
        let path = unsafe { &*self.path.get() };
        let path = CStr::from_bytes_until_nul(path).map_err(|_| Errno(libc::EBADF))?;
        let again =
            sys::open(path, libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC, 0).map_err(|_| Errno(libc::EBADF))?;
        if !self.is_ours(again) {
            sys::close(again);
            return Err(Errno(libc::EBADF));
        }
        // Another thread may have opened the file again meanwhile. Both descriptors work; the one
        // stored first stays open, and is not used again.
        self.fd.store(again, Ordering::Release);
        Ok(again)
    }
}

/// Measures the clock's ticks per second over half a millisecond. A run that is too short to
/// calibrate the clock by its own ends uses this frequency.
fn measure(source: Source, start: Moment) -> u64 {
    if source == Source::Monotonic {
        return 1_000_000_000;
    }
    let now = loop {
        let now = Moment::now(source);
        if now.monotonic_ns.saturating_sub(start.monotonic_ns) >= 500_000 {
            break now;
        }
    };
    let ns = u128::from(now.monotonic_ns - start.monotonic_ns);
    (u128::from(now.ticks.saturating_sub(start.ticks)) * 1_000_000_000 / ns) as u64
}

/// Writes `/events.PID.N` into the buffer behind the directory, and returns the whole path.
fn write_path(buffer: &mut [u8; PATH_BYTES], directory: usize, pid: u32, n: u32) -> &CStr {
    let mut at = directory;
    let mut push = |bytes: &[u8]| {
        buffer[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let mut digits = [0u8; 10];
    push(b"/events.");
    push(decimal(pid, &mut digits));
    push(b".");
    push(decimal(n, &mut digits));
    push(b"\0");
    CStr::from_bytes_until_nul(&buffer[..]).unwrap_or(c"")
}

fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}
