//! Which lock, wait policy and barrier are to serve the program. `run` and `profile` share these
//! options, and both check them before anything runs.

use super::crowd::Crowd;
use crate::error::BadInput;
use baton_machine::{Native, Wait, wait::POLICIES};
use baton_sync::barrier::{BARRIERS, BarrierInfo};
use baton_sync::lock::{self, LOCKS, LockInfo, Posix, plugin};

/// If this variable is `on`, waiters that only spin go on spinning, even when the program makes no
/// progress.
pub const KEEP_SPINNING: &str = "BATON_KEEP_SPINNING";

/// The lock and wait policy that the user chose.
#[derive(Clone, Debug)]
pub struct Choice {
    pub lock: &'static LockInfo,
    /// The wait policy of the lock's waiters.
    pub wait: Wait,
}

/// Checks the name of a lock, and wait policies separated by commas, of which the first that this
/// machine supports is chosen.
pub fn check(lock: &str, waits: Option<&str>) -> Result<Choice, BadInput> {
    if lock::added::is_added(lock) {
        return Err(of_the_command("lock", lock));
    }
    if plugin::parse(lock).is_some() {
        return of_a_library(lock, waits);
    }
    let info = LOCKS.iter().find(|l| l.name == lock);
    let lock = info.ok_or_else(|| BadInput::unknown("lock", lock, LOCKS.iter().map(|l| l.name)))?;
    if let Posix::No(why) = lock.posix {
        let message = format!("lock `{}` cannot stand in for a pthread mutex: {why}", lock.name);
        return Err(BadInput::new(message).hint("`baton list locks` shows which can (posix)"));
    }
    let Some(waits) = waits else {
        let wait = lock.wait_of_a_mutex(None).map_err(BadInput::new)?;
        Native::check(wait).map_err(BadInput::new)?;
        return Ok(Choice { lock, wait });
    };
    let mut missing = Vec::new();
    for name in waits.split(',').map(str::trim) {
        let asked: Wait = name
            .parse()
            .map_err(|_| BadInput::unknown("wait policy", name, POLICIES.iter().map(|(_, info)| info.name)))?;
        if asked.is_added() {
            return Err(of_the_command("wait policy", name));
        }
        let wait = lock.wait(Some(asked)).map_err(BadInput::new)?;
        match Native::check(wait) {
            Ok(()) => return Ok(Choice { lock, wait }),
            Err(why) => missing.push(why.to_string()),
        }
    }
    Err(BadInput::new(missing.join("; ")).hint(
        "name others behind a comma to fall back on, as in `--wait umwait,pause`; `baton doctor` shows what is here",
    ))
}

/// Checks a lock from a plug-in. The library is loaded here too, so that its faults are reported
/// before the program runs.
fn of_a_library(lock: &str, waits: Option<&str>) -> Result<Choice, BadInput> {
    if waits.is_some() {
        return Err(BadInput::new(format!("plug-in `{lock}` waits in its own way: leave out --wait")));
    }
    let lock = plugin::load(lock).map_err(BadInput::new)?;
    Ok(Choice { lock, wait: lock.wait(None).map_err(BadInput::new)? })
}

/// The error for a lock or wait policy that was added to this command only: the library that is
/// loaded into the program has only the built-in ones.
fn of_the_command(kind: &str, name: &str) -> BadInput {
    BadInput::new(format!("{kind} `{name}` is part of this command, not of the library that the program is run with"))
        .hint("simulations have it: `sim`, `whatif`")
}

/// Finds a barrier that the preload library has, by its name.
pub fn barrier(name: &str) -> Result<&'static BarrierInfo, BadInput> {
    let unknown = || BadInput::unknown("barrier", name, BARRIERS.iter().map(|b| b.name));
    BARRIERS.iter().find(|b| b.name == name).ok_or_else(unknown)
}

impl Choice {
    /// A watch over the number of threads, for a program whose waiters only spin.
    pub fn crowd(&self) -> Crowd {
        Crowd::new(baton_machine::discover::allowed_cpus().len(), self.lock.name, self.wait)
    }

    /// Whether waiters keep their CPU as long as they wait.
    pub fn only_spins(&self) -> bool {
        !self.wait.parks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_hinted_at() {
        let e = check("tiket", None).unwrap_err();
        assert_eq!(e, BadInput::unknown("lock", "tiket", LOCKS.iter().map(|l| l.name)));
        let e = check("mcs", Some("paus")).unwrap_err().to_string();
        assert!(e.starts_with("unknown wait policy `paus`; expected one of spin, pause"), "{e}");
        let e = check("spin-park", Some("pause")).unwrap_err().to_string();
        assert!(e.contains("waits by its own policy"), "{e}");
    }

    #[test]
    fn the_first_policy_that_is_here_is_taken() {
        assert_eq!(check("mcs", Some("wfe,pause")).unwrap().wait == Wait::Pause, cfg!(target_arch = "x86_64"));
        assert_eq!(check("mcs", Some("spin-park(9)")).unwrap().wait, Wait::SpinPark(9));
        assert!(!check("mcs", None).unwrap().only_spins(), "a lock in the place of a mutex sleeps");
        assert!(check("mcs", Some("pause")).unwrap().only_spins());
        assert!(!check("mcs", Some("futex")).unwrap().only_spins());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_policy_that_is_not_here_is_an_error_that_names_it() {
        let e = check("mcs", Some("wfe")).unwrap_err().to_string();
        assert!(e.contains("`wfe` is not available here"), "{e}");
    }
}
