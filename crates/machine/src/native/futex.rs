//! Sleeping in the kernel until a cell changes.
//!
//! A waker should not pay for a system call when no thread sleeps, and must not touch the cell's
//! memory after the change (it may be freed). So sleepers announce themselves in a table of
//! counters, indexed by a hash of the address, as C++'s `std::atomic::wait` does. Threads that wait
//! for a cell of four bytes sleep on its own address. The kernel cannot compare cells of other
//! sizes, so their waiters sleep on the bucket's generation, which every wake-up of the bucket
//! changes.
//!
//! No wake-up is lost: a sleeper increments the count (SeqCst), then the kernel (or this code)
//! reads the cell again; a waker changes the cell, then fences (SeqCst), then reads the count. At
//! least one of the two sees the other's write.

use super::cell::NativeAtomic;
use super::fence;
use crate::{Atomic, Clock, Deadline, Word};
use baton_units::Nanos;
use core::sync::atomic::{AtomicU32, Ordering};

/// Number of buckets: large enough that unrelated locks seldom share one.
const BUCKETS: usize = 256;

/// A counter of sleepers and a generation, alone in a pair of cache lines.
#[repr(align(128))]
struct Bucket {
    sleepers: AtomicU32,
    generation: AtomicU32,
}

static TABLE: [Bucket; BUCKETS] =
    [const { Bucket { sleepers: AtomicU32::new(0), generation: AtomicU32::new(0) } }; BUCKETS];

fn bucket<T>(cell: *const NativeAtomic<T>) -> &'static Bucket {
    let hash = (cell.addr() as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(hash >> 56) as usize % BUCKETS]
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The sleeper was woken, the cell had already changed, or the kernel returned spuriously: read
    /// the cell again.
    Woken,
    /// The deadline passed.
    Expired,
}

/// The group of a sleeper that every wake-up finds.
pub const ANY: u32 = u32::MAX;

/// Sleeps in `group` until woken, if the cell still holds `value`. May return spuriously.
pub fn sleep<T: Word>(cell: &NativeAtomic<T>, value: T, group: u32, deadline: Option<Deadline>) -> Slept {
    let bucket = bucket(cell);
    bucket.sleepers.fetch_add(1, Ordering::SeqCst);
    let slept = if T::BYTES == 4 {
        wait(cell.as_ptr().cast(), value.to_bits() as u32, group, deadline)
    } else {
        let generation = bucket.generation.load(Ordering::SeqCst);
        if cell.load(Ordering::SeqCst) != value {
            Slept::Woken
        } else {
            wait(bucket.generation.as_ptr(), generation, ANY, deadline)
        }
    };
    bucket.sleepers.fetch_sub(1, Ordering::Relaxed);
    slept
}

/// Wakes up to `n` sleepers of a cell of four bytes. If the cell has another width, wakes all
/// threads that sleep on the generation of its bucket.
#[inline]
pub fn wake<T: Word>(cell: *const NativeAtomic<T>, n: u32) {
    fence::full();
    let bucket = bucket(cell);
    if bucket.sleepers.load(Ordering::Relaxed) != 0 {
        wake_sleepers(cell, bucket, n);
    }
}

/// [`wake`] of sleepers that share a group with `group`. It is a function of its own because a
/// further argument would cost each caller of [`wake`] two instructions.
#[inline]
pub fn wake_in<T: Word>(cell: *const NativeAtomic<T>, n: u32, group: u32) {
    fence::full();
    let bucket = bucket(cell);
    if bucket.sleepers.load(Ordering::Relaxed) != 0 {
        wake_group(cell, bucket, n, group);
    }
}

#[cold]
fn wake_sleepers<T: Word>(cell: *const NativeAtomic<T>, bucket: &Bucket, n: u32) {
    wake_group(cell, bucket, n, ANY);
}

#[cold]
fn wake_group<T: Word>(cell: *const NativeAtomic<T>, bucket: &Bucket, n: u32, group: u32) {
    let (at, n, group) = if T::BYTES == 4 {
        (cell.cast::<u32>(), n.min(i32::MAX as u32), group)
    } else {
        bucket.generation.fetch_add(1, Ordering::SeqCst);
        (bucket.generation.as_ptr().cast_const(), i32::MAX as u32, ANY)
    };
    keeping_errno(|| {
        let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let unused = core::ptr::null::<u32>();
        // SAFETY: FUTEX_WAKE_BITSET uses the address only as a key; no memory is read.
        unsafe { libc::syscall(libc::SYS_futex, at, operation, n, unused, unused, group) };
    });
}

/// Converts a point in time, or a span, to the kernel's form.
pub fn timespec(at: Nanos) -> libc::timespec {
    libc::timespec { tv_sec: (at.0 / 1_000_000_000) as libc::time_t, tv_nsec: (at.0 % 1_000_000_000) as libc::c_long }
}

fn wait(at: *mut u32, value: u32, group: u32, deadline: Option<Deadline>) -> Slept {
    let realtime = matches!(deadline, Some(Deadline { clock: Clock::Realtime, .. }));
    let until = deadline.map(|d| timespec(d.at));
    let until = until.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let clock = if realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | clock;
    keeping_errno(|| {
        // SAFETY: the address is an aligned u32 that lives as long as the borrowed cell (or is
        // static); the timeout is null or points to a local. FUTEX_WAIT_BITSET takes an absolute
        // time.
        let failed =
            unsafe { libc::syscall(libc::SYS_futex, at, operation, value, until, core::ptr::null::<u32>(), group) }
                != 0;
        // SAFETY: errno belongs to this thread.
        let error = if failed { unsafe { *libc::__errno_location() } } else { 0 };
        if error != libc::EAGAIN {
            // The cell still held `value`, so the thread did sleep, if only briefly.
            super::thread::slept();
        }
        if error == libc::ETIMEDOUT { Slept::Expired } else { Slept::Woken }
    })
}

/// Calls `f` and restores `errno` afterwards: POSIX programs expect that a lock operation that
/// succeeds leaves it alone.
fn keeping_errno<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: errno belongs to this thread.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        let result = f();
        *errno = kept;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread::sleeps;
    use super::*;
    use crate::units::Nanos;
    use crate::{Machine, Native};

    #[test]
    fn sleeps_are_counted_and_a_cell_that_has_changed_is_none() {
        let cell = NativeAtomic::new(1u32);
        let before = sleeps();
        assert_eq!(sleep(&cell, 0, ANY, None), Slept::Woken);
        assert_eq!(sleeps(), before);
        let soon = Deadline { at: Native::now(Clock::Monotonic) + Nanos(1_000_000), clock: Clock::Monotonic };
        assert_eq!(sleep(&cell, 1, ANY, Some(soon)), Slept::Expired);
        assert_eq!(sleeps(), before + 1);
        let wide = NativeAtomic::new(1u64);
        assert_eq!(sleep(&wide, 0, ANY, None), Slept::Woken);
        assert_eq!(sleeps(), before + 1);
    }
}
