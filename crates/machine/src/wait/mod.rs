//! How to wait: one policy for a lock, a barrier or a queue, chosen by its user.
//!
//! Waiting is a verb with a policy ([`crate::Machine::wait_while`]), never a loop written inside an algorithm. A policy
//! is one file beside this one, which says what the policy is called and which steps it takes, and one line in
//! `policies!`. Machines carry out [`Steps`].

mod deadline;
mod learnt;
mod steps;

pub use deadline::{Clock, Deadline, Spinning, WaitResult};
pub use learnt::{Learnt, Plan, Terms};
pub use spin_park::SPIN_TRIES;
pub use steps::{Between, Idle, Monitor, Steps};

use core::fmt;
use core::str::FromStr;
use thiserror::Error;

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
    /// The number that stands in parentheses behind the name, if the policy takes one.
    pub argument: Option<Argument>,
}

/// The number that a policy takes.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// What the bare name stands for.
    pub bare: u32,
    /// The least allowed.
    pub least: u32,
    /// The most allowed; [`u32::MAX`]: any.
    pub most: u32,
    /// Whether the bare name's number is printed too.
    pub shown_if_bare: bool,
}

/// Nanoseconds of waiting before the thread sleeps. The bare number is about what going to sleep and being woken cost on today's
/// machines (`baton doctor --calibrate` measures it), so that a wait costs at most twice what it had to.
const REST: Argument = Argument { bare: 10_000, least: 1, most: u32::MAX, shown_if_bare: true };

impl WaitInfo {
    /// The number that the bare name stands for.
    const fn bare(&self) -> u32 {
        match self.argument {
            Some(argument) => argument.bare,
            None => 0,
        }
    }
}

/// Makes the policies of a list: variant (with `u32` if it takes a number) and module.
macro_rules! policies {
    ($($policy:ident $(($number:ident))? : $room:ident,)*) => {
        $(mod $room;)*

        /// How a thread waits for a cell to change. The number that a policy takes is as wide as the variant's tag: so a
        /// policy is passed in two registers, and a lock that knows it at run time only takes five instructions less a pair.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Wait {$(
            #[doc = concat!("The policy of `wait/", stringify!($room), ".rs`.")]
            $policy $(($number))?,
        )*}

        /// Every policy (with its bare name's number), and what is said of it.
        pub const POLICIES: &[(Wait, WaitInfo)] =
            &[$((Wait::$policy $(($room::INFO.bare() as $number))?, $room::INFO),)*];

        impl Wait {
            /// What the policy does.
            pub const fn steps(self) -> Steps {
                match self {$(
                    policies!(@pattern $policy n $($number)?) => $room::steps(policies!(@number n $($number)?)),
                )*}
            }

            /// Whether a waiter may stop looking at the cell (asleep in the kernel, or halted), so that the thread that
            /// changes the cell must wake it.
            #[inline(always)]
            pub const fn parks(self) -> bool {
                match self {$(
                    policies!(@pattern $policy _n $($number)?) => const { $room::steps($room::INFO.bare()).parks() },
                )*}
            }

            /// What is said of this policy.
            pub fn info(self) -> &'static WaitInfo {
                match self {$(
                    policies!(@pattern $policy _n $($number)?) => const { &$room::INFO },
                )*}
            }

            /// The number in parentheses, if the policy takes one.
            const fn number(self) -> Option<u32> {
                match self {$(
                    policies!(@pattern $policy n $($number)?) => policies!(@some n $($number)?),
                )*}
            }

            /// The policy of a module with a number.
            fn with_number(name: &str, n: u32) -> Option<Wait> {
                $(if name == $room::INFO.name {
                    return Some(Wait::$policy $((n as $number))?);
                })*
                None
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

// Those whose waiters may stop looking come last, so that `parks` is one comparison: a lock asks it at each release.
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
    /// Tag and number (0 where there is none) in one word.
    pub(crate) const fn bits(self) -> u64 {
        let number = match self.number() {
            Some(number) => number,
            None => 0,
        };
        // SAFETY: a `repr(u32)` enum begins with its tag.
        let tag = unsafe { *(&raw const self).cast::<u32>() };
        tag as u64 | (number as u64) << 32
    }

    /// The policy of these bits.
    ///
    /// # Safety
    /// They are [`bits`](Wait::bits) of a policy.
    #[inline(always)]
    pub(crate) const unsafe fn of_bits(bits: u64) -> Wait {
        // SAFETY: a `repr(u32)` enum is its tag, then the variant's number, if it has one (else bytes that are not looked at); the tag
        // is a variant's.
        unsafe { core::mem::transmute::<[u32; 2], Wait>([bits as u32, (bits >> 32) as u32]) }
    }

    /// Whether only a kernel can carry it out, so that no program has it natively.
    pub const fn is_privileged(self) -> bool {
        self.steps().is_privileged()
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        match (info.argument, self.number()) {
            (Some(argument), Some(n)) if argument.shown_if_bare || n != argument.bare => {
                write!(f, "{}({n})", info.name)
            }
            _ => f.write_str(info.name),
        }
    }
}

/// A name that is no policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown wait policy `{0}`; expected one of {list}", list = names())]
pub struct UnknownWait(pub String);

/// The names of all policies with commas, and behind them those that take a number.
fn names() -> String {
    let mut names: Vec<String> = POLICIES.iter().map(|(_, info)| info.name.to_owned()).collect();
    let mut numbered: Vec<_> = POLICIES.iter().filter_map(|(_, info)| Some((info.name, info.argument?.most))).collect();
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
            return POLICIES.iter().find(|(_, info)| info.name == text).map(|(wait, _)| *wait).ok_or_else(unknown);
        };
        let info = POLICIES.iter().map(|(_, info)| info).find(|info| info.name == name).ok_or_else(unknown)?;
        let n = number.strip_suffix(')').and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
        let allowed = info.argument.is_some_and(|argument| (argument.least..=argument.most).contains(&n));
        allowed.then(|| Wait::with_number(name, n)).flatten().ok_or_else(unknown)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_what_its_steps_are() {
        for (wait, info) in POLICIES {
            let steps = wait.steps();
            // What does not end its tries idles never, and what idles has an end of its tries.
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
