//! The wait policies on the real machine.

use super::Native;
use super::adapt;
use super::cell::NativeAtomic;
use super::futex::{self, Slept};
use super::stall::{Bounded, Kernel, WATCH};
use crate::units::Nanos;
use crate::wait::{Between, Clock, Idle, Monitor, Spinning, Steps};
use crate::{Atomic, Deadline, Machine, Wait, WaitResult, Word};
use core::sync::atomic::Ordering;

/// Reads of a spinning wait between two looks.
#[derive(Clone, Copy)]
struct Reads {
    /// At the clock, when the wait has a deadline.
    a_look_at_the_clock: u32,
    /// At the watch on spins ([`super::stall`]): some tens of microseconds, beside which the kernel's clocks cost little.
    a_look_at_the_watch: u32,
}

const NOTHING: Reads = Reads { a_look_at_the_clock: 64, a_look_at_the_watch: 1 << 16 };
const PAUSE: Reads = Reads { a_look_at_the_clock: 64, a_look_at_the_watch: 1 << 10 };
const TPAUSE: Reads = Reads { a_look_at_the_clock: 1, a_look_at_the_watch: 1 << 8 };
/// A system call, and whatever ran meanwhile.
const YIELD: Reads = Reads { a_look_at_the_clock: 1, a_look_at_the_watch: 1 << 6 };

/// Idle waits between two looks at the watch on spins.
const IDLES_A_LOOK: u32 = 8;

/// The longest idle wait in one go, in ticks of the time-stamp counter: after it the cell and the clock are looked at again.
/// Some ten microseconds: a deadline is overrun by no more, and a wake-up that got lost costs no more.
#[cfg(target_arch = "x86_64")]
const IDLE_TICKS: u64 = 30_000;

/// TPAUSE does not see the line change, so it takes less: about the time in which a line changes hands.
#[cfg(target_arch = "x86_64")]
const TPAUSE_TICKS: u64 = 500;

/// [`Machine::wait_while`] of [`Native`]: the first read stands in the caller, the others out of its way.
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

/// Carries out the policy's steps.
#[cold]
#[inline(never)]
fn wait_on<T: Word>(cell: &NativeAtomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
    if uses_instruction(wait) {
        require(wait);
    }
    let steps = wait.steps();
    if steps.adapts {
        let rest = |idle: Option<Idle>, until| {
            let steps = idle.map_or(steps, Steps::idle);
            carry_out(cell, value, steps, Some(until))
        };
        return adapt::wait(cell.as_ptr().addr(), steps.sleep_after, deadline, rest, || park(cell, value, deadline));
    }
    let rest = rest(steps.sleep_after, deadline);
    match carry_out(cell, value, steps, rest.or(deadline)) {
        WaitResult::Expired if rest.is_some() => park(cell, value, deadline),
        ended => ended,
    }
}

/// The end of the time after which the thread sleeps, if that comes before its deadline.
fn rest(nanoseconds: u32, deadline: Option<Deadline>) -> Option<Deadline> {
    if nanoseconds == 0 {
        return None;
    }
    let clock = deadline.map_or(Clock::Monotonic, |deadline| deadline.clock);
    let at = Native::now(clock) + Nanos(nanoseconds.into());
    deadline.is_none_or(|deadline| at < deadline.at).then_some(Deadline { at, clock })
}

/// The tries, and the idle wait behind them.
fn carry_out<T: Word>(cell: &NativeAtomic<T>, value: T, steps: Steps, deadline: Option<Deadline>) -> WaitResult<T> {
    // No scheduler here listens to notices (`Steps::tell_after`).
    let Steps { tries, between, idle, .. } = steps;
    if tries != 0 {
        let ended = match between {
            Between::Nothing => spin(cell, value, tries, deadline, NOTHING, || {}),
            Between::Pause => spin(cell, value, tries, deadline, PAUSE, core::hint::spin_loop),
            Between::Tpause => spin(cell, value, tries, deadline, TPAUSE, tpause::<false>),
            Between::TpauseC02 => spin(cell, value, tries, deadline, TPAUSE, tpause::<true>),
            // SAFETY: it takes no argument and cannot fail.
            Between::Yield => spin(cell, value, tries, deadline, YIELD, || unsafe {
                libc::sched_yield();
            }),
        };
        if let WaitResult::Changed(_) = ended {
            return ended;
        }
        if tries == u32::MAX {
            return if WATCH.is_asleep() { park(cell, value, deadline) } else { ended };
        }
    }
    match idle {
        Some(Idle::Futex) => park(cell, value, deadline),
        Some(Idle::Monitor(monitor)) => match idle_between(cell, value, deadline, || watch(cell, value, monitor)) {
            WaitResult::Expired if WATCH.is_asleep() => park(cell, value, deadline),
            ended => ended,
        },
        Some(Idle::SystemMonitor | Idle::Halt) | None => {
            unreachable!("`Native::check` grants no privileged policy, and tries without an idle wait do not end")
        }
    }
}

/// Whether the policy needs an instruction that not every processor has, or no program.
fn uses_instruction(wait: Wait) -> bool {
    let Steps { between, idle, .. } = wait.steps();
    matches!(between, Between::Tpause | Between::TpauseC02)
        || matches!(idle, Some(Idle::Monitor(_) | Idle::SystemMonitor | Idle::Halt))
}

/// Reads up to `tries` times (without a bound for `u32::MAX`), with `between` between the reads, looking at the clock and at
/// the watch on spins after every so many of them.
/// `Expired` also says that the tries are used up, or that the watch says to sleep.
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

/// The value has been read; what its writer did before comes before what follows.
fn changed<T>(seen: T) -> WaitResult<T> {
    core::sync::atomic::fence(Ordering::Acquire);
    WaitResult::Changed(seen)
}

/// Reads with an idle wait of bounded length between the reads, looking at the clock every time, and at the watch on spins at times.
/// `Expired` also says that the watch says to sleep.
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

/// Watches the cell's line, looks once more (a write before the watch began would be missed), and waits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn watch<T: Word>(cell: &NativeAtomic<T>, value: T, monitor: Monitor) {
    use super::x86;
    let line = cell.as_ptr().cast_const().cast::<u8>();
    // SAFETY: `require` found the policy's instructions to be there.
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

/// Loads the cell exclusively and waits for an event, if the value is still there.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn watch<T: Word>(cell: &NativeAtomic<T>, value: T, _: Monitor) {
    // SAFETY: the cell is alive, aligned and T::BYTES wide; `require` grants no monitor but WFE.
    unsafe { super::arm::wait_exclusive(cell.as_ptr().cast_const().cast(), T::BYTES, value.to_bits()) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn watch<T: Word>(_: &NativeAtomic<T>, _: T, monitor: Monitor) {
    unreachable!("`require` refuses {monitor:?} here")
}

/// TPAUSE, at C0.2 if `DEEP`.
#[inline(always)]
fn tpause<const DEEP: bool>() {
    // SAFETY: `require` found the instruction to be there.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use super::x86::{self, Depth};
        x86::tpause(if DEEP { Depth::C02 } else { Depth::C01 }, x86::tsc() + TPAUSE_TICKS);
    }
}

/// Panics if the machine cannot carry out `wait`: the program that chose it did not ask [`Native::check`].
fn require(wait: Wait) {
    if let Err(missing) = Native::check(wait) {
        panic!("{missing}");
    }
}

/// Sleeps until the value has changed. Once the watch on spins has put waiters to sleep, each sleep is bounded: a thread may
/// release that does not know of sleepers.
fn park<T: Word>(cell: &NativeAtomic<T>, value: T, deadline: Option<Deadline>) -> WaitResult<T> {
    let mut bounded = WATCH.is_asleep().then(Bounded::new);
    loop {
        let seen = cell.load(Ordering::Acquire);
        if seen != value {
            return WaitResult::Changed(seen);
        }
        let until = bounded.as_mut().map(|bounded| bounded.until(deadline)).or(deadline);
        if futex::sleep(cell, value, until) == Slept::Expired && until == deadline {
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
