//! The trace's clock: how a thread reads it in a few nanoseconds, and how its ticks are converted
//! to nanoseconds.
//!
//! Time stamps of different threads must be comparable. Stamps of the invariant time-stamp counter
//! are comparable on one machine: the counter runs at one rate in all power states and is
//! synchronized across all cores. Where the processor does not guarantee that, or the kernel has
//! found it to be false, the writer reads `CLOCK_MONOTONIC` instead.

use crate::sys;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// Ticks of a trace's clock: a time since the trace began, or a length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Returns the length from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Ticks {
    type Output = Ticks;
    fn add(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Ticks {
    fn add_assign(&mut self, other: Ticks) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Ticks {
    fn sum<I: Iterator<Item = Ticks>>(all: I) -> Ticks {
        all.fold(Ticks(0), |sum, next| sum + next)
    }
}

/// Clocks that time stamps can be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Source {
    /// The invariant x86 time-stamp counter.
    Tsc = 1,
    /// `clock_gettime(CLOCK_MONOTONIC)`: one tick is a nanosecond.
    Monotonic = 2,
    /// The Arm generic timer's virtual counter, which is always invariant.
    Counter = 3,
    /// The cycles of a simulated chip.
    Simulated = 4,
}

impl Source {
    pub(crate) fn from_number(number: u32) -> Option<Source> {
        Some(match number {
            1 => Source::Tsc,
            2 => Source::Monotonic,
            3 => Source::Counter,
            4 => Source::Simulated,
            _ => return None,
        })
    }

    /// Returns the best clock that this machine has.
    pub fn detect() -> Source {
        if cfg!(target_arch = "aarch64") {
            Source::Counter
        } else if tsc_is_invariant() && !kernel_distrusts_tsc() {
            Source::Tsc
        } else {
            Source::Monotonic
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    if __cpuid(0x8000_0000).eax < 0x8000_0007 {
        return false;
    }
    // Leaf 0x80000007 EDX bit 8: invariant TSC. Leaf 0x80000001 EDX bit 27: RDTSCP.
    __cpuid(0x8000_0007).edx & 1 << 8 != 0 && __cpuid(0x8000_0001).edx & 1 << 27 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

/// Whether the kernel has switched from the time-stamp counter to a slow clock, which it does when
/// the cores' counters disagree.
fn kernel_distrusts_tsc() -> bool {
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Ok(fd) = sys::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0) else { return false };
    let mut name = [0u8; 32];
    let read = sys::read(fd, &mut name).unwrap_or(0);
    sys::close(fd);
    matches!(&name[..read], b"hpet\n" | b"acpi_pm\n" | b"jiffies\n" | b"refined-jiffies\n")
}

/// Reads the clock in raw ticks. The read may be executed ahead of earlier loads and stores, which
/// suits a stamp before a release.
#[inline(always)]
pub fn now(source: Source) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if source == Source::Tsc {
        // SAFETY: RDTSC exists on every x86-64 processor, and reads only the counter.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    #[cfg(target_arch = "aarch64")]
    if source == Source::Counter {
        let ticks: u64;
        // SAFETY: MRS only reads the virtual counter, and Linux permits user space to read it.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        return ticks;
    }
    let _ = source;
    monotonic_ns()
}

/// Reads the clock in raw ticks after all earlier instructions have completed, which suits a stamp
/// after an acquisition. Also returns the CPU's number if the same instruction tells it.
#[inline(always)]
pub fn now_ordered(source: Source) -> (u64, Option<u32>) {
    #[cfg(target_arch = "x86_64")]
    if source == Source::Tsc {
        let mut aux = 0u32;
        // SAFETY: `Source::detect` chooses the TSC only if RDTSCP exists. RDTSCP waits until all
        // earlier instructions have completed.
        let ticks = unsafe { core::arch::x86_64::__rdtscp(&mut aux) };
        // Linux stores the CPU's number in the lower 12 bits, and its NUMA node's above.
        return (ticks, Some(aux & 0xfff));
    }
    #[cfg(target_arch = "aarch64")]
    if source == Source::Counter {
        let ticks: u64;
        // SAFETY: MRS only reads the virtual counter, and Linux permits user space to read it. ISB
        // delays the read until the earlier instructions have completed.
        unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack)) };
        return (ticks, None);
    }
    (now(source), None)
}

/// Reads the monotonic clock, through the kernel's vDSO where there is one: about 20 ns, without a
/// system call.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is the one timespec that the call writes. CLOCK_MONOTONIC always exists, so
    // errno stays unchanged.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One moment, read on the trace's clock and on the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The moment in raw ticks of the trace's clock, not counted from the trace's start.
    pub ticks: u64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
}

impl Moment {
    /// Reads both clocks three times. Returns the reading that took the shortest time, because an
    /// interrupt between the two clocks would skew a reading.
    pub fn now(source: Source) -> Moment {
        let reading = || {
            let before = now(source);
            let monotonic_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
            let after = now(source);
            (after.wrapping_sub(before), Moment { ticks: before + (after.wrapping_sub(before)) / 2, monotonic_ns })
        };
        let mut best = reading();
        for _ in 0..2 {
            let next = reading();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }
}

/// Converts a trace's ticks to nanoseconds by a straight line through two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The clock that the stamps were read from.
    pub source: Source,
    /// The raw ticks at which the trace's time is 0.
    pub origin: u64,
    /// Length in nanoseconds of the interval between the two moments.
    pub span_ns: u64,
    /// Length in ticks of the interval between the two moments.
    pub span_ticks: u64,
}

impl Clock {
    /// The clock of a simulated chip, which has `hertz` ticks a second and begins at 0.
    pub fn simulated(hertz: baton_units::Hertz) -> Clock {
        Clock { source: Source::Simulated, origin: 0, span_ns: 1_000_000_000, span_ticks: hertz.0.max(1) }
    }

    /// A clock on which one tick is one nanosecond.
    pub fn nanoseconds() -> Clock {
        Clock { source: Source::Monotonic, origin: 0, span_ns: 1, span_ticks: 1 }
    }

    /// Calibrates a clock by a moment at the start and a later one. If the two are less than a
    /// millisecond apart, uses the measured `frequency` (in Hz) instead, unless it is 0. A tick of
    /// the monotonic clock is always a nanosecond.
    pub(crate) fn calibrated(source: Source, start: Moment, later: Moment, frequency: u64) -> Clock {
        let span_ns = later.monotonic_ns.saturating_sub(start.monotonic_ns);
        let span_ticks = later.ticks.saturating_sub(start.ticks);
        let (span_ns, span_ticks) = match source {
            Source::Monotonic => (1, 1),
            _ if (span_ns < 1_000_000 || span_ticks == 0) && frequency > 0 => (1_000_000_000, frequency),
            _ if span_ns == 0 || span_ticks == 0 => (1, 1),
            _ => (span_ns, span_ticks),
        };
        Clock { source, origin: start.ticks, span_ns, span_ticks }
    }

    /// Converts a length from ticks to nanoseconds, rounding to the nearest.
    pub fn nanos(&self, ticks: u64) -> Nanos {
        let ns = (u128::from(ticks) * u128::from(self.span_ns) + u128::from(self.span_ticks) / 2)
            / u128::from(self.span_ticks.max(1));
        Nanos(ns.min(u128::from(u64::MAX)) as u64)
    }

    /// Converts a length from nanoseconds to ticks, rounding to the nearest.
    pub fn ticks(&self, ns: Nanos) -> u64 {
        let ticks = (u128::from(ns.0) * u128::from(self.span_ticks) + u128::from(self.span_ns) / 2)
            / u128::from(self.span_ns.max(1));
        ticks.min(u128::from(u64::MAX)) as u64
    }

    /// Returns the number of ticks per second.
    pub fn frequency(&self) -> baton_units::Hertz {
        baton_units::Hertz(self.ticks(Nanos(1_000_000_000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detected_clock_runs_forward_and_at_the_calibrated_rate() {
        let source = Source::detect();
        let start = Moment::now(source);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let middle = Moment::now(source);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let end = Moment::now(source);
        let clock = Clock::calibrated(source, start, middle, 0);
        let by_ticks = clock.nanos(end.ticks - start.ticks).0 as f64;
        let by_kernel = (end.monotonic_ns - start.monotonic_ns) as f64;
        assert!((by_ticks / by_kernel - 1.0).abs() < 0.01, "{by_ticks} against {by_kernel}");
    }

    #[test]
    fn a_short_run_uses_the_measured_frequency() {
        let moment = |ticks, monotonic_ns| Moment { ticks, monotonic_ns };
        let clock = Clock::calibrated(Source::Tsc, moment(0, 0), moment(100, 10), 2_000_000_000);
        assert_eq!(clock.nanos(2_000), Nanos(1_000));
        assert_eq!(clock.frequency(), baton_units::Hertz(2_000_000_000));
    }

    #[test]
    fn conversion_survives_years_and_zero_spans() {
        let clock = Clock::calibrated(Source::Tsc, Moment::default(), Moment::default(), 0);
        assert_eq!(clock.nanos(u64::MAX), Nanos(u64::MAX));
        let fast = Clock { source: Source::Tsc, origin: 0, span_ns: 1_000_000_000, span_ticks: 5_000_000_000 };
        let year = Nanos(365 * 24 * 3600 * 1_000_000_000);
        assert_eq!(fast.nanos(fast.ticks(year)), year);
    }
}
