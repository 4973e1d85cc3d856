//! The wait policies, carried out on the real machine.

use super::adapt;
use super::cell::NativeAtomic;
use super::futex::{self, Slept};
use super::marker::Native;
use super::stall::{Bounded, Kernel, WATCH};
use crate::local::Use;
use crate::units::Nanos;
use crate::wait::{Between, Clock, Idle, Monitor, Spinning, Steps};
use crate::{Atomic, Deadline, Machine, Wait, WaitResult, Word};
use core::sync::atomic::Ordering;

/// How many reads of the cell a spinning wait does between two checks.
#[derive(Clone, Copy)]
struct Reads {
    /// Reads between two looks at the clock, if the wait has a deadline.
    a_look_at_the_clock: u32,
    /// Reads between two checks of the watch on spins ([`super::stall`]). The reads take tens of
    /// microseconds, so that reading the kernel's clocks costs little in comparison.
    a_look_at_the_watch: u32,
}

const NOTHING: Reads = Reads { a_look_at_the_clock: 64, a_look_at_the_watch: 1 << 16 };
const PAUSE: Reads = Reads { a_look_at_the_clock: 64, a_look_at_the_watch: 1 << 10 };
const TPAUSE: Reads = Reads { a_look_at_the_clock: 1, a_look_at_the_watch: 1 << 8 };
/// A try of policy `yield` lasts as long as its system call, and as long as other threads run
/// meanwhile.
const YIELD: Reads = Reads { a_look_at_the_clock: 1, a_look_at_the_watch: 1 << 6 };

/// Idle waits between two checks of the watch on spins.
const IDLES_A_LOOK: u32 = 8;

/// Longest idle wait in ticks of the time-stamp counter, after which the thread looks at the cell
/// and the clock again. It is about ten microseconds, which bounds the overrun of a deadline and
/// the cost of a lost wake-up.
#[cfg(target_arch = "x86_64")]
const IDLE_TICKS: u64 = 30_000;

/// Length of a TPAUSE, which does not notice writes to the line: about the time in which a line
/// moves between cores.
#[cfg(target_arch = "x86_64")]
const TPAUSE_TICKS: u64 = 500;

/// [`Machine::wait_while`] of [`Native`]. The first read is inlined into the caller, the rest is
/// not.
#[inline(always)]
pub(super) fn wait_while<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    wait: Wait,
    deadline: Option<Deadline>,
) -> WaitResult<T> {
    let seen = cell.load(Ordering::Acquire);
    if seen != value {
        return WaitResult::Changed(seen);
    }
    wait_on(cell, value, wait, deadline)
}

/// [`Machine::wait_while_in`] of [`Native`].
#[inline(always)]
pub(super) fn wait_while_in<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    group: u32,
    wait: Wait,
    deadline: Option<Deadline>,
) -> WaitResult<T> {
    let seen = cell.load(Ordering::Acquire);
    if seen != value {
        return WaitResult::Changed(seen);
    }
    wait_in(cell, value, group, wait, deadline)
}

/// [`wait_in`] in the group of all sleepers. A further argument would cost each caller of
/// [`wait_while`] registers that it must save.
#[cold]
#[inline(never)]
fn wait_on<T: Word>(cell: &NativeAtomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
    wait_in(cell, value, futex::ANY, wait, deadline)
}

/// Carries out the policy's steps.
#[cold]
#[inline(never)]
fn wait_in<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    group: u32,
    wait: Wait,
    deadline: Option<Deadline>,
) -> WaitResult<T> {
    if uses_instruction(wait) {
        require(wait);
    }
    let steps = wait.steps();
    if steps.adapts {
        let rest = |idle: Option<Idle>, until| {
            let steps = idle.map_or(steps, Steps::idle);
            carry_out(cell, value, group, steps, Some(until))
        };
        let sleep = || park(cell, value, group, deadline);
        return adapt::wait(cell.as_ptr().addr(), steps.sleep_after, deadline, rest, sleep);
    }
    let rest = rest(steps.sleep_after, deadline);
    match carry_out(cell, value, group, steps, rest.or(deadline)) {
        WaitResult::Expired if rest.is_some() => park_after_spin(cell, value, group, deadline),
        ended => ended,
    }
}

/// A sleep is brief if it takes less than this: several changes of threads on a CPU.
const BRIEF: Nanos = Nanos(50_000);

/// [`park`] after the time for which the policy rests. Notes for the thread if the sleep is brief:
/// then the thread has probably kept the CPU from the one that it waited for.
fn park_after_spin<T: Word>(cell: &NativeAtomic<T>, value: T, group: u32, deadline: Option<Deadline>) -> WaitResult<T> {
    let start = Native::now(Clock::Monotonic);
    let ended = park(cell, value, group, deadline);
    if Native::now(Clock::Monotonic).0 - start.0 < BRIEF.0 {
        Native::local().set(Use::SpunInVain, 1);
    }
    ended
}

/// When the wait should switch to sleeping, `nanoseconds` from now; `None` if `nanoseconds` is 0,
/// or if the deadline does not come later.
fn rest(nanoseconds: u32, deadline: Option<Deadline>) -> Option<Deadline> {
    if nanoseconds == 0 {
        return None;
    }
    let clock = deadline.map_or(Clock::Monotonic, |deadline| deadline.clock);
    let at = Native::now(clock) + Nanos(nanoseconds.into());
    deadline.is_none_or(|deadline| at < deadline.at).then_some(Deadline { at, clock })
}

/// Carries out the tries and then the idle wait.
fn carry_out<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    group: u32,
    steps: Steps,
    deadline: Option<Deadline>,
) -> WaitResult<T> {
    // Ignores `Steps::tell_after`: the native scheduler does not listen to notices.
    let Steps { tries, between, idle, .. } = steps;
    if tries != 0 {
        let ended = match between {
            Between::Nothing => spin(cell, value, tries, deadline, NOTHING, || {}),
            Between::Pause => spin(cell, value, tries, deadline, PAUSE, core::hint::spin_loop),
            Between::Tpause => spin(cell, value, tries, deadline, TPAUSE, tpause::<false>),
            Between::TpauseC02 => spin(cell, value, tries, deadline, TPAUSE, tpause::<true>),
            // SAFETY: sched_yield takes no argument and cannot fail.
            Between::Yield => spin(cell, value, tries, deadline, YIELD, || unsafe {
                libc::sched_yield();
            }),
        };
        if let WaitResult::Changed(_) = ended {
            return ended;
        }
        if tries == u32::MAX {
            return if WATCH.is_asleep() { park(cell, value, group, deadline) } else { ended };
        }
    }
    match idle {
        Some(Idle::Futex) => park(cell, value, group, deadline),
        Some(Idle::Monitor(monitor)) => match idle_between(cell, value, deadline, || watch(cell, value, monitor)) {
            WaitResult::Expired if WATCH.is_asleep() => park(cell, value, group, deadline),
            ended => ended,
        },
        Some(Idle::SystemMonitor | Idle::Halt) | None => {
            unreachable!("`Native::check` grants no privileged policy, and tries without an idle wait do not end")
        }
    }
}

/// Whether the policy needs an instruction that some processors lack or programs may not execute.
fn uses_instruction(wait: Wait) -> bool {
    let Steps { between, idle, .. } = wait.steps();
    matches!(between, Between::Tpause | Between::TpauseC02)
        || matches!(idle, Some(Idle::Monitor(_) | Idle::SystemMonitor | Idle::Halt))
}

/// Reads up to `tries` times (without limit if `u32::MAX`), calling `between` between the reads.
/// Checks the clock as often as `reads` says if there is a deadline, and the watch on spins if the
/// tries have no limit. `Expired` also means that the tries are used up, or that the watch tells
/// the thread to sleep.
fn spin<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    tries: u32,
    deadline: Option<Deadline>,
    reads: Reads,
    between: impl Fn(),
) -> WaitResult<T> {
    let seen = cell.load(Ordering::Relaxed);
    if seen != value {
        return changed(seen);
    }
    let (mut left, mut until_watch) = (tries - 1, reads.a_look_at_the_watch);
    let mut spinning = Spinning::default();
    while left != 0 {
        let round = if deadline.is_some() { reads.a_look_at_the_clock } else { reads.a_look_at_the_watch }.min(left);
        for _ in 0..round {
            between();
            let seen = cell.load(Ordering::Relaxed);
            if seen != value {
                return changed(seen);
            }
        }
        if let Some(deadline) = deadline
            && Native::now(deadline.clock) >= deadline.at
        {
            return WaitResult::Expired;
        }
        if tries != u32::MAX {
            left -= round;
            continue;
        }
        until_watch = until_watch.saturating_sub(round);
        if until_watch == 0 {
            until_watch = reads.a_look_at_the_watch;
            if WATCH.look(&mut spinning, &Kernel) {
                return WaitResult::Expired;
            }
        }
    }
    WaitResult::Expired
}

/// [`Machine::tried_in_vain`] of [`Native`].
pub(super) fn tried_in_vain(tries: u32, spinning: &mut Spinning) -> bool {
    tries.is_multiple_of(PAUSE.a_look_at_the_watch) && WATCH.look(spinning, &Kernel)
}

/// Wraps the changed value. The fence orders what its writer did before ahead of what the caller
/// does next.
fn changed<T>(seen: T) -> WaitResult<T> {
    core::sync::atomic::fence(Ordering::Acquire);
    WaitResult::Changed(seen)
}

/// Reads the cell with bounded idle waits between the reads; checks the clock each time and the
/// watch on spins every [`IDLES_A_LOOK`] times. `Expired` also means that the watch tells the
/// thread to sleep.
fn idle_between<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    deadline: Option<Deadline>,
    idle: impl Fn(),
) -> WaitResult<T> {
    let mut spinning = Spinning::default();
    let mut done = 0u32;
    loop {
        done = done.wrapping_add(1);
        let late = deadline.is_some_and(|d| Native::now(d.clock) >= d.at);
        let seen = cell.load(Ordering::Acquire);
        if seen != value {
            return WaitResult::Changed(seen);
        }
        if late || done.is_multiple_of(IDLES_A_LOOK) && WATCH.look(&mut spinning, &Kernel) {
            return WaitResult::Expired;
        }
        idle();
    }
}

/// Arms the monitor on the cell's line, reads the cell once more (an earlier write would be
/// missed), and waits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn watch<T: Word>(cell: &NativeAtomic<T>, value: T, monitor: Monitor) {
    use super::x86;
    let line = cell.as_ptr().cast_const().cast::<u8>();
    // SAFETY: `require` has checked that the policy's instructions exist.
    unsafe {
        match monitor {
            Monitor::Umwait | Monitor::UmwaitC02 => {
                let depth = if monitor == Monitor::Umwait { x86::Depth::C01 } else { x86::Depth::C02 };
                x86::umonitor(line);
                if cell.load(Ordering::Relaxed) == value {
                    x86::umwait(depth, x86::tsc() + IDLE_TICKS);
                }
            }
            Monitor::Mwaitx => {
                x86::monitorx(line);
                if cell.load(Ordering::Relaxed) == value {
                    x86::mwaitx(IDLE_TICKS as u32);
                }
            }
            Monitor::Wfe | Monitor::Mwait(_) => unreachable!("`require` refuses {monitor:?} here"),
        }
    }
}

/// Loads the cell exclusively and waits for an event, if the cell still holds `value`.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn watch<T: Word>(cell: &NativeAtomic<T>, value: T, _: Monitor) {
    // SAFETY: the cell is live, aligned and T::BYTES wide; `require` allows no monitor but WFE
    // here.
    unsafe { super::arm::wait_exclusive(cell.as_ptr().cast_const().cast(), T::BYTES, value.to_bits()) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn watch<T: Word>(_: &NativeAtomic<T>, _: T, monitor: Monitor) {
    unreachable!("`require` refuses {monitor:?} here")
}

/// Executes TPAUSE, at C0.2 if `DEEP`.
#[inline(always)]
fn tpause<const DEEP: bool>() {
    // SAFETY: `require` has checked that the instruction exists.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use super::x86::{self, Depth};
        x86::tpause(if DEEP { Depth::C02 } else { Depth::C01 }, x86::tsc() + TPAUSE_TICKS);
    }
}

/// Panics if the machine cannot carry out `wait`: the program should have called [`Native::check`].
fn require(wait: Wait) {
    if let Err(missing) = Native::check(wait) {
        panic!("{missing}");
    }
}

/// Sleeps until the value has changed. Once the watch on spins has made waiters sleep, each sleep
/// is bounded: the releasing thread may not know about sleepers.
fn park<T: Word>(cell: &NativeAtomic<T>, value: T, group: u32, deadline: Option<Deadline>) -> WaitResult<T> {
    let mut bounded = WATCH.is_asleep().then(Bounded::new);
    loop {
        let seen = cell.load(Ordering::Acquire);
        if seen != value {
            return WaitResult::Changed(seen);
        }
        let until = bounded.as_mut().map(|bounded| bounded.until(deadline)).or(deadline);
        if futex::sleep(cell, value, group, until) == Slept::Expired && until == deadline {
            let seen = cell.load(Ordering::Acquire);
            return if seen == value { WaitResult::Expired } else { WaitResult::Changed(seen) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::POLICIES;

    fn available() -> impl Iterator<Item = Wait> {
        POLICIES.iter().map(|(wait, _)| *wait).filter(|wait| Native::check(*wait).is_ok())
    }

    #[test]
    fn every_available_policy_sees_a_change() {
        for wait in available() {
            let cell = NativeAtomic::new(0u32);
            std::thread::scope(|s| {
                s.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    cell.store(7, Ordering::Release);
                    Native::wake(&cell, 1, wait);
                });
                assert_eq!(Native::wait_while(&cell, 0, wait, None), WaitResult::Changed(7), "{wait}");
            });
        }
    }

    #[test]
    fn every_available_policy_honours_a_deadline_on_both_clocks() {
        for (wait, clock) in available().flat_map(|w| [(w, Clock::Monotonic), (w, Clock::Realtime)]) {
            let cell = NativeAtomic::new(0u64);
            let at = Native::now(clock) + Nanos(1_000_000);
            let ended = Native::wait_while(&cell, 0, wait, Some(Deadline { at, clock }));
            assert_eq!(ended, WaitResult::Expired, "{wait}");
            assert!(Native::now(clock) >= at, "{wait} gave up early");
        }
    }

    #[test]
    fn a_deadline_in_the_past_still_reads_once() {
        for wait in available() {
            let past = Some(Deadline { at: Nanos(1), clock: Clock::Monotonic });
            let cell = NativeAtomic::new(5u8);
            assert_eq!(Native::wait_while(&cell, 4, wait, past), WaitResult::Changed(5), "{wait}");
            assert_eq!(Native::wait_while(&cell, 5, wait, past), WaitResult::Expired, "{wait}");
        }
    }

    /// Waits in vain until `deadline`, by a policy that sleeps after it has spun for `spin` nanoseconds.
    /// Returns whether the wait noted that the thread has spun in vain.
    fn spins_in_vain(spin: u32, deadline: Nanos) -> bool {
        let deadline = Deadline { at: deadline, clock: Clock::Monotonic };
        Native::local().set(Use::SpunInVain, 0);
        let ended = Native::wait_while(&NativeAtomic::new(0u32), 0, Wait::SpinFor(spin), Some(deadline));
        assert_eq!(ended, WaitResult::Expired);
        Native::local().get(Use::SpunInVain) != 0
    }

    #[test]
    fn a_brief_sleep_after_a_spin_is_noted() {
        let now = || Native::now(Clock::Monotonic).0;
        assert!(!spins_in_vain(1000, Nanos(now() + 20_000_000)), "the sleep is long");
        // The deadline passes as the spin ends, so that the kernel wakes the thread at once. How much later
        // than the spin's end that has to be depends on the machine, and the thread may lose its CPU.
        let later = (1..=20).map(|n| 100 * n).cycle().take(2000);
        assert!(later.into_iter().any(|later| spins_in_vain(20_000, Nanos(now() + 20_000 + later))));
    }

    #[test]
    fn a_missing_policy_panics_with_its_name() {
        let missing = POLICIES.iter().map(|(wait, _)| *wait).filter(|wait| Native::check(*wait).is_err());
        for wait in missing {
            let cell = NativeAtomic::new(0u32);
            let panic =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Native::wait_while(&cell, 0, wait, None)))
                    .unwrap_err();
            let message = panic.downcast_ref::<String>().expect("a message");
            assert!(message.contains(wait.info().name), "{message}");
        }
    }
}
