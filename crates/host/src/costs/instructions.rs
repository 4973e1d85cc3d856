//! Tries the wait instructions in a child process. An instruction that CPUID hides may execute all
//! the same, one that CPUID offers may be intercepted by a hypervisor, and one that does not exist
//! kills only the child.

use baton_machine::native::trial::{self, Trial};
use baton_machine::units::Cycles;
use baton_machine::{Native, Wait};
use serde::Serialize;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// The time limit of a trial. A trial takes less than a millisecond.
const LIMIT: Duration = Duration::from_secs(2);

/// The outcome of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The policy uses no instruction that needs a trial, or no child could be made and read.
    NotTried,
    /// The instruction executed. Times are in ticks of the time-stamp counter.
    Executes {
        /// The duration of a call whose deadline had already passed.
        at_once_cycles: u64,
        /// The duration of a call that was asked to wait for [`trial::ASKED`].
        waits_cycles: u64,
        /// Whether a call is so slow that a hypervisor must intercept it.
        intercepted: bool,
    },
    /// A signal killed the child (4: invalid instruction).
    Killed { signal: i32 },
    /// The child was still running at the time limit.
    Hangs,
}

/// Whether a wait policy can be used on this machine, and why not.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub name: &'static str,
    pub here: bool,
    /// The reason, if the policy cannot be used.
    pub why: Option<String>,
    /// The result of the trial in a child process.
    pub trial: Outcome,
}

impl Verdict {
    /// The outcome of the trial as a phrase.
    pub fn words(&self) -> String {
        match self.trial {
            Outcome::NotTried => self.why.clone().unwrap_or_default(),
            Outcome::Executes { at_once_cycles, intercepted: true, .. } => {
                let hidden = if self.offered() { "" } else { "hidden by CPUID; it executes all the same, but " };
                format!("{hidden}a hypervisor intercepts it: {at_once_cycles} cycles a call")
            }
            Outcome::Executes { at_once_cycles, waits_cycles, .. } => {
                let asked = trial::ASKED.0;
                let hidden = if self.offered() { "" } else { "CPUID does not offer it, but it executes: " };
                format!("{hidden}{at_once_cycles} cycles a call, {waits_cycles} when asked to wait {asked}")
            }
            Outcome::Killed { signal: libc::SIGILL } => "no such instruction".into(),
            Outcome::Killed { signal } => format!("killed by signal {signal}"),
            Outcome::Hangs => "the trial did not come back".into(),
        }
    }

    fn offered(&self) -> bool {
        self.name.parse().is_ok_and(|wait| trial::offered(wait).is_ok())
    }
}

/// Tries the wait policies that have a timed wait instruction. Returns a verdict on every policy.
pub fn verdicts() -> Vec<Verdict> {
    let verdict = |(wait, info): &(Wait, baton_machine::wait::WaitInfo)| {
        let here = Native::check(*wait);
        let timed = cfg!(target_arch = "x86_64")
            && matches!(wait, Wait::Umwait | Wait::UmwaitC02 | Wait::Tpause | Wait::TpauseC02 | Wait::Mwaitx);
        let trial = if timed { in_child(|| attempt(*wait)) } else { Outcome::NotTried };
        Verdict { name: info.name, here: here.is_ok(), why: here.err().map(|e| e.why.to_owned()), trial }
    };
    baton_machine::wait::POLICIES.iter().map(verdict).collect()
}

fn attempt(wait: Wait) -> [u64; 2] {
    // SAFETY: this runs in a child process, where a missing instruction does no harm.
    match unsafe { trial::try_out(wait) } {
        Some(Trial { at_once, waits }) => [at_once.0, waits.0],
        None => [0, 0],
    }
}

/// Forks a child that runs `attempt`, which may kill or hang the child, and reads the two numbers
/// that `attempt` returns there.
fn in_child(attempt: impl Fn() -> [u64; 2]) -> Outcome {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two ends of the pipe.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Outcome::NotTried;
    }
    // SAFETY: between the fork and its end the child calls only setrlimit, signal, `attempt` (which
    // allocates nothing), write and _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: these calls are allowed in a forked child, and the buffer outlives the write.
        // With the default action for SIGILL and no core file, the child just dies at an
        // instruction that does not exist.
        unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(libc::SIGILL, libc::SIG_DFL);
            let numbers = attempt();
            libc::write(ends[1], numbers.as_ptr().cast(), size_of_val(&numbers));
            libc::_exit(0);
        }
    }
    // SAFETY: both ends are open, and only this function uses them. The reading end goes to the
    // `File`, which closes it.
    let mut reader = unsafe {
        libc::close(ends[1]);
        std::fs::File::from_raw_fd(ends[0])
    };
    if pid < 0 {
        return Outcome::NotTried;
    }
    let end = Instant::now() + LIMIT;
    let mut status = 0;
    // SAFETY: the child has not been waited for, so its id is still its own.
    while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() >= end {
            // SAFETY: as above.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, &mut status, 0);
            }
            return Outcome::Hangs;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if let Some(signal) = std::process::ExitStatus::from_raw(status).signal() {
        return Outcome::Killed { signal };
    }
    let mut bytes = [0; 16];
    if reader.read_exact(&mut bytes).is_err() {
        return Outcome::NotTried;
    }
    let number = |i: usize| u64::from_ne_bytes(bytes[i..i + 8].try_into().expect("eight bytes"));
    let found = Trial { at_once: Cycles(number(0)), waits: Cycles(number(8)) };
    let (at_once_cycles, waits_cycles) = (found.at_once.0, found.waits.0);
    Outcome::Executes { at_once_cycles, waits_cycles, intercepted: found.intercepted() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_may_die_or_tell() {
        assert_eq!(
            in_child(|| [300, 50_000]),
            Outcome::Executes { at_once_cycles: 300, waits_cycles: 50_000, intercepted: false }
        );
        // SAFETY: the child sends a signal to itself, which must kill it; no memory is passed.
        let die = || unsafe {
            libc::kill(libc::getpid(), libc::SIGILL);
            [0, 0]
        };
        assert_eq!(in_child(die), Outcome::Killed { signal: libc::SIGILL });
    }

    #[test]
    fn an_intercepted_instruction_is_said_to_be() {
        let trial = Outcome::Executes { at_once_cycles: 20_113, waits_cycles: 70_000, intercepted: true };
        let verdict = Verdict { name: "mwaitx", here: false, why: None, trial };
        assert!(verdict.words().ends_with("a hypervisor intercepts it: 20113 cycles a call"), "{}", verdict.words());
    }

    #[test]
    fn every_policy_has_a_verdict() {
        let verdicts = verdicts();
        assert_eq!(verdicts.len(), baton_machine::wait::POLICIES.len());
        for v in verdicts {
            assert!(v.here == v.why.is_none(), "{v:?}");
            assert_ne!(v.trial, Outcome::Hangs, "{v:?}");
        }
    }
}
