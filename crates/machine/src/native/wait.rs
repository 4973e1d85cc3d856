//! The wait policies on the real machine.

use super::Native;
use super::cell::NativeAtomic;
use super::futex::{self, Slept};
use crate::{Atomic, Deadline, Machine, Unavailable, Wait, WaitResult, Word};
use core::sync::atomic::Ordering;

/// Reads between two looks at the clock, when a spinning wait has a deadline.
const READS_A_LOOK: u32 = 64;

impl Native {
    /// Whether this machine can carry out `wait`; the error names what is missing. Ask before the first wait:
    /// [`Machine::wait_while`] panics with the same message.
    pub fn check(wait: Wait) -> Result<(), Unavailable> {
        match wait {
            Wait::Spin | Wait::Pause | Wait::Futex | Wait::SpinPark(_) => Ok(()),
            Wait::Umwait | Wait::Tpause => Err(Unavailable { wait, why: "the processor has no WAITPKG" }),
            Wait::Mwaitx => Err(Unavailable { wait, why: "the processor has no MONITORX" }),
            Wait::Wfe => Err(Unavailable { wait, why: "not an Arm processor" }),
        }
    }
}

/// [`Machine::wait_while`] of [`Native`].
#[inline]
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
    match wait {
        Wait::Spin => spin(cell, value, u32::MAX, deadline, || {}),
        Wait::Pause => spin(cell, value, u32::MAX, deadline, core::hint::spin_loop),
        Wait::Futex => park(cell, value, deadline),
        Wait::SpinPark(tries) => match spin(cell, value, tries, deadline, core::hint::spin_loop) {
            WaitResult::Expired if tries != u32::MAX => park(cell, value, deadline),
            ended => ended,
        },
        other => match Native::check(other) {
            Err(missing) => panic!("{missing}"),
            Ok(()) => unreachable!("every available policy is handled above"),
        },
    }
}

/// Reads up to `tries` times (without a bound for `u32::MAX`), with `between` between the reads.
/// `Expired` also says that the tries are used up.
fn spin<T: Word>(
    cell: &NativeAtomic<T>,
    value: T,
    tries: u32,
    deadline: Option<Deadline>,
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
            && done.is_multiple_of(READS_A_LOOK)
            && Native::now(deadline.clock) >= deadline.at
        {
            return WaitResult::Expired;
        }
        between();
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
