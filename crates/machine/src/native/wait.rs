//! The wait policies on the real machine.

use super::Native;
use super::cell::NativeAtomic;
use super::futex::{self, Slept};
use crate::wait::{Between, Idle, Monitor, Steps};
use crate::{Atomic, Deadline, Machine, Wait, WaitResult, Word};
use core::sync::atomic::Ordering;

/// Reads between two looks at the clock, when a spinning wait has a deadline.
const READS_A_LOOK: u32 = 64;

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
    let Steps { tries, between, idle } = wait.steps();
    if uses_instruction(wait) {
        require(wait);
    }
    if tries != 0 {
        let ended = match between {
            Between::Nothing => spin(cell, value, tries, deadline, READS_A_LOOK, || {}),
            Between::Pause => spin(cell, value, tries, deadline, READS_A_LOOK, core::hint::spin_loop),
            Between::Tpause => spin(cell, value, tries, deadline, 1, tpause),
        };
        if tries == u32::MAX || matches!(ended, WaitResult::Changed(_)) {
            return ended;
        }
    }
    match idle {
        Some(Idle::Futex) => park(cell, value, deadline),
        Some(Idle::Monitor(monitor)) => idle_between(cell, value, deadline, || watch(cell, value, monitor)),
        Some(Idle::SystemMonitor | Idle::Halt) | None => {
            unreachable!(
                "{wait}: `Native::check` grants no privileged policy, and tries without an idle wait do not end"
            )
        }
    }
}

/// Whether the policy needs an instruction that not every processor has, or no program.
fn uses_instruction(wait: Wait) -> bool {
    let Steps { between, idle, .. } = wait.steps();
    between == Between::Tpause || matches!(idle, Some(Idle::Monitor(_) | Idle::SystemMonitor | Idle::Halt))
}

/// Reads up to `tries` times (without a bound for `u32::MAX`), with `between` between the reads, looking at the clock after
/// every so many of them.
/// `Expired` also says that the tries are used up.
fn spin<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    tries: u32,
    deadline: Option<Deadline>,
    reads_a_look: u32,
    between: impl Fn(),
) -> WaitResult<T> {
    let mut done = 0u32;
    loop {
        let seen = cell.load(Ordering::Relaxed);
        if seen != value {
            core::sync::atomic::fence(Ordering::Acquire);
            return WaitResult::Changed(seen);
        }
        done = done.wrapping_add(1);
        if tries != u32::MAX && done >= tries {
            return WaitResult::Expired;
        }
        if let Some(deadline) = deadline
            && done.is_multiple_of(reads_a_look)
            && Native::now(deadline.clock) >= deadline.at
        {
            return WaitResult::Expired;
        }
        between();
    }
}

/// Reads with an idle wait of bounded length between the reads, looking at the clock every time.
fn idle_between<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    deadline: Option<Deadline>,
    idle: impl Fn(),
) -> WaitResult<T> {
    loop {
        let late = deadline.is_some_and(|d| Native::now(d.clock) >= d.at);
        let seen = cell.load(Ordering::Acquire);
        if seen != value {
            return WaitResult::Changed(seen);
        }
        if late {
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
            Monitor::Umwait => {
                x86::umonitor(line);
                if cell.load(Ordering::Relaxed) == value {
                    x86::umwait(x86::tsc() + IDLE_TICKS);
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

/// TPAUSE.
#[inline(always)]
fn tpause() {
    // SAFETY: `require` found the instruction to be there.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        super::x86::tpause(super::x86::tsc() + TPAUSE_TICKS);
    }
}

/// Panics if the machine cannot carry out `wait`: the program that chose it did not ask [`Native::check`].
fn require(wait: Wait) {
    if let Err(missing) = Native::check(wait) {
        panic!("{missing}");
    }
}

fn park<T: Word>(cell: &NativeAtomic<T>, value: T, deadline: Option<Deadline>) -> WaitResult<T> {
    loop {
        let seen = cell.load(Ordering::Acquire);
        if seen != value {
            return WaitResult::Changed(seen);
        }
        if futex::sleep(cell, value, deadline) == Slept::Expired {
            let seen = cell.load(Ordering::Acquire);
            return if seen == value { WaitResult::Expired } else { WaitResult::Changed(seen) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;
    use crate::wait::{Clock, POLICIES};

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
