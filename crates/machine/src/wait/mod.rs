//! How to wait: one policy for a lock, a barrier or a queue, chosen by its user.
//!
//! Algorithms wait by [`crate::Machine::wait_while`] with a policy, never by a loop of their own. A
//! policy is a file beside this one, which defines its name and its [`Steps`], and one line in
//! `policies!`. Machines carry out the steps. A command may [`add`] policies of its own.

mod added;
mod deadline;
mod learnt;
mod steps;

pub use added::{add, policies};
pub use deadline::{Clock, Deadline, Spinning, WaitResult};
pub use learnt::{Learnt, Plan, Terms};
pub use spin_park::SPIN_TRIES;
pub use steps::{Between, Idle, Monitor, Steps};

use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// The description of a policy.
#[derive(Clone, Copy, Debug)]
pub struct WaitInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// What the policy does, in one line.
    pub what: &'static str,
    /// The paper or manual that the policy comes from.
    pub source: &'static str,
    /// Limitations and requirements.
    pub limits: &'static str,
    /// The number in parentheses after the name, if the policy takes one.
    pub argument: Option<Argument>,
}

/// The range of the number that a policy takes, and its default.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Number that the bare name stands for.
    pub bare: u32,
    /// Smallest number allowed.
    pub least: u32,
    /// Largest number allowed; [`u32::MAX`]: no limit.
    pub most: u32,
    /// Whether the number is printed even if it is the bare name's.
    pub shown_if_bare: bool,
}

/// Nanoseconds of waiting before the thread sleeps. The default is about what it costs today's
/// machines to go to sleep and be woken (`baton doctor --calibrate` measures it), so that a wait
/// costs at most twice the minimum.
const REST: Argument = Argument { bare: 10_000, least: 1, most: u32::MAX, shown_if_bare: true };

impl WaitInfo {
    /// Returns the number that the bare name stands for.
    const fn bare(&self) -> u32 {
        match self.argument {
            Some(argument) => argument.bare,
            None => 0,
        }
    }
}

/// Declares the policies, each by its variant (with `u32` if it takes a number) and its module.
macro_rules! policies {
    ($($policy:ident $(($number:ident))? : $room:ident,)*) => {
        $(mod $room;)*

        /// How a thread waits for a cell to change. A policy's number is as wide as the variant's
        /// tag, so that a policy is passed in two registers; a lock that knows its policy only at
        /// run time saves five instructions a pair of lock and unlock.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Wait {
            /// A policy that a command added, and whose waiters keep looking at the cell.
            Added(u32),
            $(
                #[doc = concat!("The policy of `wait/", stringify!($room), ".rs`.")]
                $policy $(($number))?,
            )*
            /// A policy that a command added, and whose waiters may stop looking.
            AddedPark(u32),
        }

        /// Every built-in policy (with its bare name's number) and its description.
        pub const POLICIES: &[(Wait, WaitInfo)] =
            &[$((Wait::$policy $(($room::INFO.bare() as $number))?, $room::INFO),)*];

        impl Wait {
            /// Returns what the policy does.
            pub fn steps(self) -> Steps {
                match self {
                    $(policies!(@pattern $policy n $($number)?) => $room::steps(policies!(@number n $($number)?)),)*
                    Wait::Added(bits) | Wait::AddedPark(bits) => added::steps(bits),
                }
            }

            /// Whether a waiter may stop looking at the cell (asleep in the kernel, or halted), so
            /// that the thread that changes the cell must wake it.
            #[inline(always)]
            pub const fn parks(self) -> bool {
                match self {
                    Wait::Added(_) => false,
                    $(policies!(@pattern $policy _n $($number)?) => const { $room::steps($room::INFO.bare()).parks() },)*
                    Wait::AddedPark(_) => true,
                }
            }

            /// Returns the policy's description.
            pub fn info(self) -> &'static WaitInfo {
                match self {
                    $(policies!(@pattern $policy _n $($number)?) => const { &$room::INFO },)*
                    Wait::Added(bits) | Wait::AddedPark(bits) => added::info(bits),
                }
            }

            /// Returns the variant's number: that in parentheses, or an added policy's bits.
            const fn number(self) -> Option<u32> {
                match self {
                    $(policies!(@pattern $policy n $($number)?) => policies!(@some n $($number)?),)*
                    Wait::Added(bits) | Wait::AddedPark(bits) => Some(bits),
                }
            }

            /// Returns the policy called `name` with number `n`.
            fn with_number(name: &str, n: u32) -> Option<Wait> {
                $(if name == $room::INFO.name {
                    return Some(Wait::$policy $((n as $number))?);
                })*
                added::with_number(name, n)
            }
        }
    };
    (@pattern $policy:ident $n:ident) => { Wait::$policy };
    (@pattern $policy:ident $n:ident $number:ident) => { Wait::$policy($n) };
    (@number $n:ident) => { 0 };
    (@number $n:ident $number:ident) => { $n };
    (@some $n:ident) => { None };
    (@some $n:ident $number:ident) => { Some($n) };
}

// Policies whose waiters may stop looking come last, so that `parks` is one comparison: a lock
// calls it at each release.
policies! {
    Spin: spin,
    Pause: pause,
    Umwait: umwait,
    UmwaitC02: umwait_c02,
    Tpause: tpause,
    TpauseC02: tpause_c02,
    Mwaitx: mwaitx,
    Wfe: wfe,
    Mwait(u32): mwait,
    Mwmon: mwmon,
    SpinNotify(u32): spin_notify,
    Halt: halt,
    Futex: futex,
    SpinPark(u32): spin_park,
    SpinFor(u32): spin_for,
    YieldPark(u32): yield_park,
    UmwaitPark(u32): umwait_park,
    MwaitxPark(u32): mwaitx_park,
    WfePark(u32): wfe_park,
    MwaitPark(u32): mwait_park,
    NotifyPark(u32): notify_park,
    Adaptive(u32): adaptive,
}

#[allow(clippy::derivable_impls, reason = "the macro that makes the policies' enum names no default")]
impl Default for Wait {
    fn default() -> Wait {
        Wait::Pause
    }
}

impl Wait {
    /// Packs tag and number (0 if none) into one word.
    pub(crate) const fn bits(self) -> u64 {
        let number = match self.number() {
            Some(number) => number,
            None => 0,
        };
        // SAFETY: a `repr(u32)` enum begins with its tag.
        let tag = unsafe { *(&raw const self).cast::<u32>() };
        tag as u64 | (number as u64) << 32
    }

    /// Unpacks a policy from its bits.
    ///
    /// # Safety
    /// `bits` came from [`bits`](Wait::bits).
    #[inline(always)]
    pub(crate) const unsafe fn of_bits(bits: u64) -> Wait {
        // SAFETY: a `repr(u32)` enum is its tag followed by the variant's number, if it has one
        // (the bytes are ignored otherwise); `bits` has a variant's tag.
        unsafe { core::mem::transmute::<[u32; 2], Wait>([bits as u32, (bits >> 32) as u32]) }
    }

    /// Whether only a kernel can carry out the policy, so that programs cannot use it natively.
    pub fn is_privileged(self) -> bool {
        self.steps().is_privileged()
    }

    /// Whether a command added the policy. The libraries that a command puts into programs know no
    /// added policies.
    pub const fn is_added(self) -> bool {
        matches!(self, Wait::Added(_) | Wait::AddedPark(_))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        let number = match self {
            Wait::Added(bits) | Wait::AddedPark(bits) => Some(added::number(*bits)),
            built_in => built_in.number(),
        };
        match (info.argument, number) {
            (Some(argument), Some(n)) if argument.shown_if_bare || n != argument.bare => {
                write!(f, "{}({n})", info.name)
            }
            _ => f.write_str(info.name),
        }
    }
}

/// The error for a name that is not a policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown wait policy `{0}`; expected one of {list}", list = names())]
pub struct UnknownWait(pub String);

/// Returns the names of all policies, then the forms with a number, separated by commas.
fn names() -> String {
    let mut names: Vec<String> = policies().iter().map(|(_, info)| info.name.to_owned()).collect();
    let mut numbered: Vec<_> =
        policies().iter().filter_map(|(_, info)| Some((info.name, info.argument?.most))).collect();
    numbered.sort_by_key(|(_, most)| core::cmp::Reverse(*most));
    names.extend(numbered.into_iter().map(|(name, most)| match most {
        u32::MAX => format!("{name}(n)"),
        most => format!("{name}(n) with n up to {most}"),
    }));
    names.join(", ")
}

impl FromStr for Wait {
    type Err = UnknownWait;

    fn from_str(text: &str) -> Result<Wait, UnknownWait> {
        let unknown = || UnknownWait(text.to_owned());
        let Some((name, number)) = text.split_once('(') else {
            return policies().iter().find(|(_, info)| info.name == text).map(|(wait, _)| *wait).ok_or_else(unknown);
        };
        let info = policies().iter().map(|(_, info)| info).find(|info| info.name == name).ok_or_else(unknown)?;
        let n = number.strip_suffix(')').and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
        let allowed = info.argument.is_some_and(|argument| (argument.least..=argument.most).contains(&n));
        allowed.then(|| Wait::with_number(name, n)).flatten().ok_or_else(unknown)
    }
}

/// The error for a policy that this machine cannot carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("wait policy `{wait}` is not available here: {why}")]
pub struct Unavailable {
    /// The requested policy.
    pub wait: Wait,
    /// What is missing, for the message.
    pub why: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_what_its_steps_are() {
        for (wait, info) in POLICIES {
            let steps = wait.steps();
            // Tries without end have no idle wait; tries with an end have one.
            assert_eq!(steps.tries == u32::MAX, steps.idle.is_none(), "{wait}");
            assert_eq!(wait.parks(), steps.parks(), "{wait}");
            assert_eq!(wait.info().name, info.name);
            assert!(!info.what.is_empty() && !info.source.is_empty(), "{wait}");
            assert_eq!(POLICIES.iter().filter(|(_, other)| other.name == info.name).count(), 1, "{wait}");
        }
        assert_eq!(core::mem::size_of::<Wait>(), 8, "a policy is passed in two registers");
    }

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
