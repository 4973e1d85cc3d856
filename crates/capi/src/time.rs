//! Times of C as deadlines.

use crate::error;
use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline};

/// Converts a C time to a deadline, or returns `None` and sets the error if clock or time is
/// invalid. A time before 1970 becomes one that has passed.
///
/// # Safety
/// `until` is null or points to a time.
pub(crate) unsafe fn deadline(clock: libc::clockid_t, until: *const libc::timespec) -> Option<Deadline> {
    // SAFETY: guaranteed by the caller.
    let found = unsafe { until.as_ref() }.and_then(|until| converted(clock, until));
    if found.is_none() {
        error::set("expected CLOCK_MONOTONIC or CLOCK_REALTIME and a time with 0 to 999,999,999 nanoseconds");
    }
    found
}

fn converted(clock: libc::clockid_t, until: &libc::timespec) -> Option<Deadline> {
    let clock = match clock {
        libc::CLOCK_MONOTONIC => Clock::Monotonic,
        libc::CLOCK_REALTIME => Clock::Realtime,
        _ => return None,
    };
    if !(0..1_000_000_000).contains(&until.tv_nsec) {
        return None;
    }
    let seconds = u64::try_from(until.tv_sec).unwrap_or(0);
    let at = seconds.saturating_mul(1_000_000_000).saturating_add(until.tv_nsec as u64);
    Some(Deadline { at: Nanos(at), clock })
}
