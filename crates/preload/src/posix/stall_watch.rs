//! Watches for programs that stand still because waiters of a replaced lock or barrier only spin.
//! The process says so once, and from then on such waiters sleep, unless `BATON_KEEP_SPINNING`
//! forbids it.

use crate::base::message::{self, Subject};
use crate::config::{Config, Locks};
use crate::posix::{barrier, mutex};
use crate::thread::callbacks::Callbacks;
use baton_machine::Wait;
use baton_machine::native::stall::{Kernel, Stall, Then, WATCH};
use baton_machine::wait::SPIN_TRIES;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How waiters wait after a stall.
pub const AFTERWARDS: Wait = Wait::SpinPark(SPIN_TRIES);

static SWITCHED: AtomicBool = AtomicBool::new(false);

/// Whether this process's waiters were put to sleep.
pub fn switched() -> bool {
    SWITCHED.load(Relaxed)
}

/// Watches the process if any of its waiters only spin.
pub fn start(config: &Config) {
    let locks = config.lock.iter().flat_map(Locks::waits);
    if !locks.chain(config.barrier.map(|(_, wait)| wait)).any(|wait| !wait.parks()) {
        return;
    }
    match config.keep_spinning {
        false => WATCH.start(&Kernel, Then::Sleep, sleep),
        true => WATCH.start(&Kernel, Then::KeepSpinning, |stall| say(stall, "")),
    }
}

/// Starts to watch anew in a fork's child.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child, ..Callbacks::NONE };

/// Watches anew in a fork's child, which has not stood still yet.
fn after_fork_in_child() {
    WATCH.after_fork(&Kernel);
}

/// Changes every policy that only spins to [`AFTERWARDS`]. Each lock or barrier with such a policy
/// takes any policy, so this one too.
fn sleep(stall: Stall) {
    for policy in mutex::replace::WAITS.iter().chain([&barrier::WAIT]) {
        if !policy.get().parks() {
            policy.set(AFTERWARDS);
        }
    }
    SWITCHED.store(true, Relaxed);
    say(
        stall,
        "; waiters sleep from now on (BATON_KEEP_SPINNING=on, or `baton run --keep-spinning`, leaves them as they are)",
    );
}

fn say(stall: Stall, then: &str) {
    let Stall { lasted, spun, computed } = stall;
    let ms = |nanos: baton_machine::units::Nanos| nanos.0 / 1_000_000;
    let text = format_args!(
        "process {} made no progress for {} ms: its threads spun for {} ms of CPU time, waiting, and computed for {} ms{then}",
        std::process::id(),
        ms(lasted),
        ms(spun),
        ms(computed),
    );
    message::tell(Subject::Stalled, format_args!(""), text);
}
