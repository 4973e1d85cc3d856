//! Converts the times that programs pass to POSIX functions, and pauses between two looks at a
//! polled value.

use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Machine, Native};
use libc::{clockid_t, timespec};

/// The clock that a program names by `id`; `None` if a thread cannot wait on that clock.
pub fn clock(id: clockid_t) -> Option<Clock> {
    match id {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// An absolute time that a program passed.
pub struct Time(pub timespec);

impl Time {
    /// The time as a deadline on `clock`; `None` if it is not a valid time (EINVAL). A time before the clock's beginning has
    /// passed.
    pub fn on(&self, clock: Clock) -> Option<Deadline> {
        let Time(timespec { tv_sec, tv_nsec }) = *self;
        let nanos = u64::try_from(tv_nsec).ok().filter(|n| *n < 1_000_000_000)?;
        let at = u64::try_from(tv_sec).map_or(0, |seconds| seconds.saturating_mul(1_000_000_000).saturating_add(nanos));
        Some(Deadline { at: Nanos(at), clock })
    }
}

/// Whether glibc would wait on clock `id` until `at`. If not, a timed wait fails with EINVAL, even
/// for an object that is free.
///
/// # Safety
/// `at` points to a time.
pub unsafe fn is_valid(id: clockid_t, at: *const timespec) -> bool {
    // SAFETY: the caller says that `at` points to a time.
    clock(id).is_some_and(|clock| Time(unsafe { *at }).on(clock).is_some())
}

/// Pauses between two looks at something that must be polled. The first 63 pauses are a moment on
/// the CPU each; the later ones are sleeps, whose length doubles from 10 µs up to a millisecond.
pub struct Backoff(u32);

impl Backoff {
    /// Starts with the shortest pause.
    pub fn new() -> Backoff {
        Backoff(0)
    }

    /// Makes the next pause, which ends at `deadline` at the latest.
    pub fn wait(&mut self, deadline: Option<Deadline>) {
        self.0 += 1;
        if self.0 < 64 {
            Native::relax();
            return;
        }
        let mut nanos = 10_000u64 << (self.0 - 64).min(7);
        nanos = nanos.min(1_000_000);
        if let Some(deadline) = deadline {
            nanos = nanos.min(deadline.at.0.saturating_sub(Native::now(deadline.clock).0));
        }
        let pause = timespec { tv_sec: 0, tv_nsec: nanos as libc::c_long };
        baton_machine::native::thread::slept();
        crate::base::errno::kept(|| {
            // SAFETY: the kernel reads the length from `pause` during the call. The raw call is no
            // cancellation point; a signal only shortens the pause.
            unsafe { libc::syscall(libc::SYS_nanosleep, &raw const pause, core::ptr::null_mut::<timespec>()) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_valid_past_or_refused() {
        let on = |tv_sec, tv_nsec| Time(timespec { tv_sec, tv_nsec }).on(Clock::Realtime).map(|d| d.at.0);
        assert_eq!(on(1, 5), Some(1_000_000_005));
        assert_eq!(on(-1, 5), Some(0));
        assert_eq!(on(i64::MAX, 999_999_999), Some(u64::MAX));
        assert_eq!((on(1, -1), on(1, 1_000_000_000)), (None, None));
    }
}
