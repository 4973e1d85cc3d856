//! Tests whether a wait policy's instruction works on this machine as promised: by CPUID first,
//! then by a measured trial.
//!
//! CPUID alone is not enough. A hypervisor may offer MWAITX and intercept it, or hide it and still
//! execute it. An intercepted call costs tens of thousands of cycles, far more than the hand-off
//! that it should make cheap.

use crate::discover::UmwaitControl;
use crate::units::Cycles;
use crate::wait::{Between, Idle, Monitor};
use crate::{Native, Unavailable, Wait};
use core::sync::atomic::{AtomicU8, Ordering};

/// A call that should return at once but takes longer than this is intercepted. (UMWAIT and MWAITX
/// take a few hundred cycles; leaving and re-entering a virtual machine takes thousands.)
pub const INTERCEPTED: Cycles = Cycles(4_000);

/// Requested length of the trial's longer wait.
pub const ASKED: Cycles = Cycles(50_000);

/// Measurements of a trial in ticks of the time-stamp counter. Each is the median of nine calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Duration of a call whose timeout has already passed.
    pub at_once: Cycles,
    /// Duration of a call with a timeout of [`ASKED`] while the line is not written.
    pub waits: Cycles,
}

impl Trial {
    /// Whether a call costs so much that a hypervisor must be intercepting it.
    pub fn intercepted(&self) -> bool {
        self.at_once > INTERCEPTED
    }

    /// Whether a wait ends at once. That is legal (a wait may end for no reason), but such a wait
    /// saves nothing.
    pub fn is_no_wait(&self) -> bool {
        self.waits.0 < ASKED.0 / 4
    }
}

/// An instruction that a trial can time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timed {
    Umwait,
    UmwaitC02,
    Tpause,
    TpauseC02,
    Mwaitx,
}

impl Timed {
    /// Returns the instruction that a policy uses, if a trial can time it.
    fn of(wait: Wait) -> Option<Timed> {
        let steps = wait.steps();
        match (steps.between, steps.idle) {
            (_, Some(Idle::Monitor(Monitor::Umwait))) => Some(Timed::Umwait),
            (_, Some(Idle::Monitor(Monitor::UmwaitC02))) => Some(Timed::UmwaitC02),
            (_, Some(Idle::Monitor(Monitor::Mwaitx))) => Some(Timed::Mwaitx),
            (Between::Tpause, _) => Some(Timed::Tpause),
            (Between::TpauseC02, _) => Some(Timed::TpauseC02),
            _ => None,
        }
    }
}

/// Whether the processor and the kernel report support for `wait`, before any trial. The error says
/// what is missing.
pub fn offered(wait: Wait) -> Result<(), Unavailable> {
    let steps = wait.steps();
    let between = match steps.between {
        Between::Nothing | Between::Pause | Between::Yield => Ok(()),
        Between::Tpause => has_waitpkg(),
        Between::TpauseC02 => has_waitpkg().and_then(|()| allows_c02()),
    };
    let idle = match steps.idle {
        None | Some(Idle::Futex) => Ok(()),
        Some(Idle::Monitor(Monitor::Umwait)) => has_waitpkg(),
        Some(Idle::Monitor(Monitor::UmwaitC02)) => has_waitpkg().and_then(|()| allows_c02()),
        Some(Idle::Monitor(Monitor::Mwaitx)) => has_monitorx(),
        Some(Idle::Monitor(Monitor::Wfe)) => has_event_stream(),
        Some(Idle::Monitor(Monitor::Mwait(_))) => {
            Err("MONITOR and MWAIT are privileged: only the kernel may execute them")
        }
        Some(Idle::SystemMonitor) => Err("it needs a kernel whose system call waits with MWAIT, and this one has none"),
        Some(Idle::Halt) => Err("HLT is privileged: only the kernel may halt a CPU"),
    };
    between.and(idle).map_err(|why| Unavailable { wait, why })
}

#[cfg(target_arch = "x86_64")]
fn has_waitpkg() -> Result<(), &'static str> {
    super::x86::has_waitpkg().then_some(()).ok_or("CPUID does not offer WAITPKG")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_waitpkg() -> Result<(), &'static str> {
    Err("not an x86-64 processor")
}

/// If the kernel reports nothing, it has not restricted C0.2.
fn allows_c02() -> Result<(), &'static str> {
    let forbids = UmwaitControl::discover().is_some_and(|control| !control.c02);
    if forbids {
        Err("the kernel allows UMWAIT and TPAUSE C0.1 at most (enable_c02 in umwait_control is 0)")
    } else {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_monitorx() -> Result<(), &'static str> {
    super::x86::has_monitorx().then_some(()).ok_or("CPUID does not offer MONITORX")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_monitorx() -> Result<(), &'static str> {
    Err("not an x86-64 processor")
}

#[cfg(target_arch = "aarch64")]
fn has_event_stream() -> Result<(), &'static str> {
    super::arm::has_event_stream().then_some(()).ok_or("the kernel keeps no event stream that would bound a WFE")
}

#[cfg(not(target_arch = "aarch64"))]
fn has_event_stream() -> Result<(), &'static str> {
    Err("not an Arm processor")
}

impl Native {
    /// Whether this machine can carry out `wait`; the error says what is missing. Call this before
    /// the first wait: [`crate::Machine::wait_while`] panics with the same message. The trial runs
    /// once and takes about 100 µs.
    pub fn check(wait: Wait) -> Result<(), Unavailable> {
        let Some(timed) = Timed::of(wait) else { return offered(wait) };
        let verdict = &VERDICTS[timed as usize];
        // CPUID itself costs thousands of cycles in a virtual machine, and every wait calls this
        // function.
        match verdict.load(Ordering::Relaxed) {
            GOOD => Ok(()),
            INTERCEPTS => Err(Unavailable {
                wait,
                why: "a hypervisor intercepts it: a call takes thousands of cycles (`baton doctor` measures it)",
            }),
            _ => {
                offered(wait)?;
                // SAFETY: CPUID offers the instruction.
                let trial = unsafe { try_out(wait) };
                let found = if trial.is_some_and(|t| t.intercepted()) { INTERCEPTS } else { GOOD };
                verdict.store(found, Ordering::Relaxed);
                Native::check(wait)
            }
        }
    }
}

const UNKNOWN: u8 = 0;
const GOOD: u8 = 1;
const INTERCEPTS: u8 = 2;
/// Verdicts of the trials, by [`Timed`].
static VERDICTS: [AtomicU8; 5] = [const { AtomicU8::new(UNKNOWN) }; 5];

/// Executes the instruction of `wait` and measures it; `None` if the policy has no instruction that
/// a trial times on this architecture.
///
/// # Safety
/// The processor executes the instruction, or the caller handles SIGILL (`baton doctor` tries even
/// instructions that CPUID does not offer, in a child process).
#[cfg(target_arch = "x86_64")]
pub unsafe fn try_out(wait: Wait) -> Option<Trial> {
    use super::x86;
    let timed = Timed::of(wait)?;
    let depth = match timed {
        Timed::UmwaitC02 | Timed::TpauseC02 => x86::Depth::C02,
        Timed::Umwait | Timed::Tpause | Timed::Mwaitx => x86::Depth::C01,
    };
    let line = super::cell::NativeAtomic::<u64>::new(0);
    let address = line.as_ptr().cast_const().cast::<u8>();
    let call = |ticks: u64| {
        let start = x86::tsc();
        // SAFETY: the caller guarantees that the instruction can be executed.
        unsafe {
            match timed {
                Timed::Umwait | Timed::UmwaitC02 => {
                    x86::umonitor(address);
                    x86::umwait(depth, start + ticks);
                }
                Timed::Tpause | Timed::TpauseC02 => x86::tpause(depth, start + ticks),
                Timed::Mwaitx => {
                    x86::monitorx(address);
                    x86::mwaitx((ticks as u32).max(1));
                }
            }
        }
        x86::tsc().saturating_sub(start)
    };
    let median = |ticks: u64| {
        let mut taken: [u64; 9] = core::array::from_fn(|_| call(ticks));
        taken.sort_unstable();
        Cycles(taken[taken.len() / 2])
    };
    Some(Trial { at_once: median(0), waits: median(ASKED.0) })
}

/// Returns `None`: this architecture has no instruction that a trial times.
///
/// # Safety
/// This form has no requirement; see the x86-64 form.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn try_out(_: Wait) -> Option<Trial> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::POLICIES;

    #[test]
    fn a_missing_policy_is_named() {
        for (wait, info) in POLICIES {
            match Native::check(*wait) {
                Ok(()) => assert_eq!(offered(*wait), Ok(())),
                Err(missing) => assert!(missing.to_string().contains(info.name), "{missing}"),
            }
        }
    }

    #[test]
    fn what_is_privileged_is_never_there() {
        for (wait, _) in POLICIES.iter().filter(|(wait, _)| wait.is_privileged()) {
            let missing = Native::check(*wait).unwrap_err();
            assert!(missing.why.contains("kernel"), "{missing}");
        }
        assert!(Native::check(Wait::Mwait(3)).is_err());
    }

    #[test]
    fn what_needs_nothing_is_always_there() {
        for wait in [Wait::Spin, Wait::Pause, Wait::Futex, Wait::SpinPark(7)] {
            assert_eq!(Native::check(wait), Ok(()));
        }
    }

    #[test]
    fn an_intercepted_call_is_told_from_a_bare_one() {
        let bare = Trial { at_once: Cycles(300), waits: Cycles(50_400) };
        assert!(!bare.intercepted() && !bare.is_no_wait());
        assert!(Trial { at_once: Cycles(20_000), waits: Cycles(70_000) }.intercepted());
        assert!(Trial { at_once: Cycles(300), waits: Cycles(320) }.is_no_wait());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn an_offered_instruction_passes_its_trial_without_harm() {
        for wait in [Wait::Umwait, Wait::UmwaitC02, Wait::Tpause, Wait::TpauseC02, Wait::Mwaitx] {
            if offered(wait).is_ok() {
                // SAFETY: `offered` says that the instruction exists.
                let trial = unsafe { try_out(wait) }.expect("the instruction is timed");
                // At any plausible clock rate this is about a hundred milliseconds or more, so the
                // timeout was honoured.
                assert!(trial.waits.0 < 500_000_000, "{wait}: {trial:?}");
            }
        }
        // SAFETY: spinning has no instruction to try.
        assert_eq!(unsafe { try_out(Wait::Spin) }, None);
    }
}
