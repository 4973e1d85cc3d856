//! Events of the kernel about one thread (perf_event_open), read from a ring in memory.
//!
//! The event's descriptor is closed at once: the mapping keeps the event alive, and the program
//! sees no descriptor that it did not open.

use core::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};

pub(super) const PAGE: usize = 4096;

/// Offsets of `data_head` and `data_tail` in the kernel's `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// The kernel's `struct perf_event_attr`, of its version 5.
#[repr(C)]
pub(super) struct Attributes {
    pub(super) sort: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup: u32,
    pub(super) breakpoint: u32,
    pub(super) breakpoint_at: u64,
    pub(super) breakpoint_length: u64,
    pub(super) branches: u64,
    pub(super) registers: u64,
    pub(super) stack: u32,
    pub(super) clock: i32,
    pub(super) unused: [u64; 2],
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// PERF_TYPE_SOFTWARE; PERF_COUNT_SW_DUMMY: an event that counts nothing; PERF_COUNT_SW_CPU_CLOCK: nanoseconds on a CPU.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;
const CPU_CLOCK: u64 = 0;
/// PERF_SAMPLE_IP.
const CODE: u64 = 1;
/// PERF_SAMPLE_TIME and PERF_SAMPLE_CPU: the time and the CPU, which every record ends with or
/// contains.
pub(super) const TIME_AND_CPU: u64 = 1 << 2 | 1 << 7;
/// exclude_kernel, exclude_hv, sample_id_all, use_clockid.
pub(super) const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 18 | 1 << 25;
/// context_switch.
const SWITCHES: u64 = 1 << 26;
/// PERF_FLAG_FD_CLOEXEC.
const CLOSE_ON_EXEC: usize = 8;

/// PERF_RECORD_LOST, PERF_RECORD_SAMPLE, PERF_RECORD_SWITCH.
pub(super) const LOST: u32 = 2;
pub(super) const SAMPLE: u32 = 9;
pub(super) const SWITCH: u32 = 14;

impl Attributes {
    /// An event that only reports the thread's context switches.
    pub(super) const fn switches() -> Attributes {
        Attributes {
            sort: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: DUMMY,
            sample_period: 0,
            sample_type: TIME_AND_CPU,
            read_format: 0,
            flags: FLAGS | SWITCHES,
            wakeup: 0,
            breakpoint: 0,
            breakpoint_at: 0,
            breakpoint_length: 0,
            branches: 0,
            registers: 0,
            stack: 0,
            clock: libc::CLOCK_MONOTONIC,
            unused: [0; 2],
        }
    }

    /// An event that samples the thread's code address whenever the thread has run for `period_ns`
    /// more. It takes no samples in the kernel.
    pub(super) const fn samples(period_ns: u64) -> Attributes {
        Attributes {
            config: CPU_CLOCK,
            sample_period: period_ns,
            sample_type: TIME_AND_CPU | CODE,
            flags: FLAGS,
            ..Attributes::switches()
        }
    }
}

/// Opens an event of the calling thread, maps its ring of `pages` pages, and closes the event's
/// descriptor. The error is `errno` if the kernel refuses the event, and 0 if the kernel refuses
/// the ring.
pub(super) fn map(attributes: &Attributes, pages: usize) -> Result<usize, i32> {
    // SAFETY: the kernel reads `attributes` during the call, for this thread on any CPU, without a
    // group; the mapping is new memory. Raw calls are no cancellation points.
    unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, &raw const *attributes, 0, -1, -1, CLOSE_ON_EXEC);
        if fd < 0 {
            return Err(crate::base::errno::get());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = (1 + pages) * PAGE;
        let at = libc::mmap(core::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd as i32, 0);
        libc::syscall(libc::SYS_close, fd);
        if at == libc::MAP_FAILED { Err(0) } else { Ok(at.expose_provenance()) }
    }
}

/// Unmaps a ring, which ends its event.
///
/// # Safety
/// [`map`] returned `at` for this number of pages, and no thread reads the ring any more.
pub(super) unsafe fn unmap(at: usize, pages: usize) {
    // SAFETY: by contract.
    crate::base::errno::kept(|| unsafe { libc::munmap(at as *mut libc::c_void, (1 + pages) * PAGE) });
}

/// A word of a ring, at `offset` bytes.
///
/// # Safety
/// `at` is a mapped ring, and `offset` that of a word in it.
#[inline(always)]
unsafe fn word<'a>(at: usize, offset: usize) -> &'a AtomicU64 {
    // SAFETY: the caller says that the word lies in a mapped ring; all offsets are multiples of 8.
    unsafe { &*((at + offset) as *const AtomicU64) }
}

/// Bytes that the kernel has written into the ring so far.
///
/// # Safety
/// `at` is a mapped ring.
#[inline(always)]
pub(super) unsafe fn written(at: usize) -> u64 {
    // SAFETY: by contract.
    unsafe { word(at, HEAD).load(Relaxed) }
}

/// Bytes of the ring that have been read so far.
///
/// # Safety
/// `at` is a mapped ring.
#[inline(always)]
pub(super) unsafe fn read(at: usize) -> u64 {
    // SAFETY: by contract.
    unsafe { word(at, TAIL).load(Relaxed) }
}

/// The records of a ring from the first unread one to the last one written.
pub(super) struct Records {
    at: usize,
    bytes: usize,
    tail: u64,
    head: u64,
}

impl Records {
    /// The unread records of the ring at `at`.
    ///
    /// # Safety
    /// `at` is 0, which stands for no ring, or a ring that [`map`] mapped for this number of pages.
    /// That ring stays mapped while the records are used.
    pub(super) unsafe fn of(at: usize, pages: usize) -> Records {
        // Acquire: the records before the head are written completely.
        // SAFETY: the caller says that `at`, if it is not 0, is a mapped ring.
        let (tail, head) = if at == 0 { (0, 0) } else { unsafe { (read(at), word(at, HEAD).load(Ordering::Acquire)) } };
        Records { at, bytes: pages * PAGE, tail, head }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tail >= self.head
    }

    /// The first record that has not been passed yet. [`Records::pass`] moves on to the one behind
    /// it.
    pub(super) fn next(&self) -> Option<Record<'_>> {
        (!self.is_empty()).then_some(Record { records: self, begin: self.tail })
    }

    /// Moves past the record that [`Records::next`] returns.
    pub(super) fn pass(&mut self) {
        let size = self.next().map_or(8, |record| u64::from(record.size()).max(8));
        self.tail += size;
    }

    /// Tells the kernel that it may overwrite the records that have been passed.
    pub(super) fn give_back(&self) {
        if self.at != 0 {
            // Release: the kernel overwrites the records only after this thread has read them.
            // SAFETY: the ring stays mapped while the records are used, as `of` demands.
            unsafe { word(self.at, TAIL).store(self.tail, Ordering::Release) };
        }
    }
}

/// One record.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    records: &'a Records,
    begin: u64,
}

impl Record<'_> {
    /// The record's word at an offset of `offset` bytes. A record may wrap around the end of the
    /// ring.
    pub(super) fn word(&self, offset: u64) -> u64 {
        let place = (self.begin + offset) as usize % self.records.bytes;
        // SAFETY: records consist of aligned words, and `place` lies inside the ring.
        unsafe { word(self.records.at, PAGE + place).load(Relaxed) }
    }

    pub(super) fn sort(&self) -> u32 {
        self.word(0) as u32
    }

    pub(super) fn marks(&self) -> u16 {
        (self.word(0) >> 32) as u16
    }

    pub(super) fn size(&self) -> u16 {
        (self.word(0) >> 48) as u16
    }

    /// The time in nanoseconds of a context switch, or of a sample without a code address: the word
    /// behind the record's header.
    pub(super) fn nanos(&self) -> u64 {
        self.word(8)
    }

    /// On which CPU.
    pub(super) fn cpu(&self) -> u32 {
        self.word(16) as u32
    }

    /// Until when records were lost, in nanoseconds, and the CPU on which the thread was then: the
    /// words behind the count of lost records.
    pub(super) fn lost_until(&self) -> (u64, u32) {
        (self.word(24), self.word(32) as u32)
    }

    /// The code address and the time in nanoseconds of a sample that has a code address.
    pub(super) fn code_and_nanos(&self) -> (u64, u64) {
        (self.word(8), self.word(16))
    }
}
