//! How to wait: one policy for a lock, a barrier or a queue, chosen by whoever uses it.
//!
//! Waiting is a verb with a policy ([`crate::Machine::wait_while`]), never a loop written inside an algorithm.

use crate::units::Nanos;
use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// How a thread waits for a cell to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// Load in a loop, nothing between the loads.
    Spin,
    /// Load in a loop with a PAUSE (or YIELD) between the loads.
    #[default]
    Pause,
    /// UMONITOR, re-check, UMWAIT (Intel WAITPKG).
    Umwait,
    /// TPAUSE between the loads (Intel WAITPKG).
    Tpause,
    /// MONITORX, re-check, MWAITX (AMD).
    Mwaitx,
    /// Load-exclusive and WFE (Arm).
    Wfe,
    /// MONITOR, re-check, MWAIT, with the hint for this depth: 1 is the shallowest. Privileged on most systems.
    /// Its payload is as wide as that of `SpinPark`: a policy is then passed in two registers, and a lock that knows it at run
    /// time only takes five instructions less a pair.
    Mwait(u32),
    /// MONITOR, re-check, MWAIT within a system call, where user code may not execute them.
    Mwmon,
    /// Halt the CPU in a system call; whoever changes the cell sends an interrupt.
    Halt,
    /// Sleep in the kernel at once (futex).
    Futex,
    /// Load with PAUSE up to this many times, then futex.
    SpinPark(u32),
}

/// The number of tries that a bare `spin-park` stands for: the paper's MAX_SPIN_COUNT (OCOR, table 2).
pub const SPIN_TRIES: u32 = 128;

/// Depths that `mwait(n)` can ask for: 1 to this.
pub const MWAIT_DEPTHS: u32 = 3;

/// What is said of a policy: its name, what it is, what it cannot do.
#[derive(Clone, Copy, Debug)]
pub struct WaitInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do or needs.
    pub limits: &'static str,
}

/// Every policy, with what is said of it. One line here and one arm in `Wait` make a new one.
pub const POLICIES: &[(Wait, WaitInfo)] = &[
    (
        Wait::Spin,
        WaitInfo {
            name: "spin",
            what: "load in a loop",
            source: "-",
            limits: "takes the whole core; collapses with more threads than CPUs",
        },
    ),
    (
        Wait::Pause,
        WaitInfo {
            name: "pause",
            what: "load in a loop with PAUSE between",
            source: "Intel SDM vol. 2, PAUSE",
            limits: "collapses with more threads than CPUs",
        },
    ),
    (
        Wait::Umwait,
        WaitInfo {
            name: "umwait",
            what: "UMONITOR and UMWAIT on the line",
            source: "Intel SDM vol. 2, WAITPKG",
            limits: "needs WAITPKG; keeps the CPU",
        },
    ),
    (
        Wait::Tpause,
        WaitInfo {
            name: "tpause",
            what: "TPAUSE between loads",
            source: "Intel SDM vol. 2, WAITPKG",
            limits: "needs WAITPKG; keeps the CPU",
        },
    ),
    (
        Wait::Mwaitx,
        WaitInfo {
            name: "mwaitx",
            what: "MONITORX and MWAITX on the line",
            source: "AMD APM vol. 3, MWAITX",
            limits: "needs MWAITX that no hypervisor intercepts; keeps the CPU",
        },
    ),
    (
        Wait::Wfe,
        WaitInfo {
            name: "wfe",
            what: "load-exclusive and WFE",
            source: "Arm ARM, WFE",
            limits: "Arm only; keeps the CPU",
        },
    ),
    (
        Wait::Mwait(1),
        WaitInfo {
            name: "mwait",
            what: "MONITOR and MWAIT on the line, at depth n (mwait(n), 1 if bare)",
            source: "Akkan, Lang and Ionkov, section III; Intel SDM vol. 2, MWAIT",
            limits: "simulated chips only: privileged, but in kernels that give it to users; keeps the CPU",
        },
    ),
    (
        Wait::Mwmon,
        WaitInfo {
            name: "mwmon",
            what: "MONITOR and MWAIT within a system call",
            source: "Anastopoulos and Koziris, section 3",
            limits: "simulated chips only: needs a kernel with that call; costs a system call; keeps the CPU",
        },
    ),
    (
        Wait::Halt,
        WaitInfo {
            name: "halt",
            what: "halt the CPU in a system call, woken by an interrupt",
            source: "Anastopoulos and Koziris, section 4 (spin-loops-halt)",
            limits: "simulated chips only: privileged; a wake-up costs a system call; keeps the CPU",
        },
    ),
    (
        Wait::Futex,
        WaitInfo {
            name: "futex",
            what: "sleep in the kernel at once",
            source: "futex(2)",
            limits: "Linux only; a wake-up costs a system call; cells of 4 or 8 bytes",
        },
    ),
    (
        Wait::SpinPark(SPIN_TRIES),
        WaitInfo {
            name: "spin-park",
            what: "try n times (spin-park(n), 128 if bare), then futex",
            source: "OCOR paper, algorithm 1",
            limits: "as futex",
        },
    ),
];

impl Wait {
    /// Whether a waiter may stop looking at the cell (asleep in the kernel, or halted), so that whoever changes the cell
    /// must wake it.
    #[inline(always)]
    pub const fn parks(self) -> bool {
        matches!(self, Wait::Futex | Wait::SpinPark(_) | Wait::Halt)
    }

    /// Whether only a kernel can carry it out, so that no program has it natively.
    #[inline(always)]
    pub const fn is_privileged(self) -> bool {
        matches!(self, Wait::Mwait(_) | Wait::Mwmon | Wait::Halt)
    }

    /// What is said of this policy.
    pub fn info(self) -> &'static WaitInfo {
        let same = |p: &&(Wait, WaitInfo)| core::mem::discriminant(&p.0) == core::mem::discriminant(&self);
        &POLICIES.iter().find(same).expect("every policy stands in the table").1
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::SpinPark(n) => write!(f, "spin-park({n})"),
            Wait::Mwait(depth @ 2..) => write!(f, "mwait({depth})"),
            other => f.write_str(other.info().name),
        }
    }
}

/// A name that is no policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown wait policy `{0}`; expected one of {list}, spin-park(n), mwait(n) with n up to {MWAIT_DEPTHS}", list = names())]
pub struct UnknownWait(pub String);

/// The names of all policies, with commas.
fn names() -> String {
    let names: Vec<&str> = POLICIES.iter().map(|(_, info)| info.name).collect();
    names.join(", ")
}

impl FromStr for Wait {
    type Err = UnknownWait;

    fn from_str(name: &str) -> Result<Wait, UnknownWait> {
        let unknown = || UnknownWait(name.to_owned());
        if let Some(tries) = name.strip_prefix("spin-park(").and_then(|rest| rest.strip_suffix(')')) {
            return tries.parse().map(Wait::SpinPark).map_err(|_| unknown());
        }
        if let Some(depth) = name.strip_prefix("mwait(").and_then(|rest| rest.strip_suffix(')')) {
            let depth = depth.parse().ok().filter(|depth| (1..=MWAIT_DEPTHS).contains(depth));
            return depth.map(Wait::Mwait).ok_or_else(unknown);
        }
        POLICIES.iter().find(|(_, info)| info.name == name).map(|(wait, _)| *wait).ok_or_else(unknown)
    }
}

/// A policy that this machine cannot carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("wait policy `{wait}` is not available here: {why}")]
pub struct Unavailable {
    /// The policy that was asked for.
    pub wait: Wait,
    /// What is missing.
    pub why: &'static str,
}

/// Which clock a deadline is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// Steady time since some start.
    #[default]
    Monotonic,
    /// The time of day, which can be set.
    Realtime,
}

/// The moment after which a wait gives up: `at` nanoseconds on `clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Absolute time in nanoseconds.
    pub at: Nanos,
    /// On this clock.
    pub clock: Clock,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum WaitResult<T> {
    /// The cell no longer held the value; this is what it held, read with acquire ordering.
    Changed(T),
    /// The deadline passed while the cell held the value.
    Expired,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (wait, _) in POLICIES {
            assert_eq!(wait.to_string().parse(), Ok(*wait));
        }
        assert_eq!("spin-park(7)".parse(), Ok(Wait::SpinPark(7)));
        assert_eq!("spin-park".parse(), Ok(Wait::SpinPark(SPIN_TRIES)));
        assert_eq!(("mwait(1)".parse(), "mwait(3)".parse()), (Ok(Wait::Mwait(1)), Ok(Wait::Mwait(3))));
        assert_eq!(Wait::Mwait(3).to_string(), "mwait(3)");
        let bad =
            ["", "spin-park(", "spin-park(-1)", "spin-park(99999999999)", "mwait2", "mwait(0)", "mwait(4)", "mwait()"];
        for bad in bad {
            assert_eq!(bad.parse::<Wait>(), Err(UnknownWait(bad.to_owned())));
        }
        let message = UnknownWait("x".to_owned()).to_string();
        assert!(POLICIES.iter().all(|(_, info)| message.contains(info.name)), "{message}");
    }
}
