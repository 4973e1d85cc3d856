//! Mutexes served by a lock from a shared library of the user's ([`baton_sync::lock::plugin`]).

use super::stand_in::StandIn;
use crate::base::time::Backoff;
use baton_machine::{Deadline, Machine, Native, Wait};
use baton_sync::lock::TryLock;
use baton_sync::lock::plugin::Plugin;

/// The loaded plug-in lock. It lies beside the mutex, because its size is known only at run time.
/// It is not known whether its waiters have places in a queue, so the spare lock serves threads
/// that might have to leave one.
pub struct Plugged;

impl StandIn for Plugged {
    type Lock = Plugin;
    const QUEUES: bool = true;
    const GIVES_UP: bool = true;
    const LOOKS: bool = false;

    fn lock_until(lock: &Plugin, _: Wait, deadline: Deadline) -> Option<()> {
        if let Some(taken) = lock.timedlock(deadline) {
            return taken.then_some(());
        }
        let mut pause = Backoff::new();
        loop {
            let taken = lock.try_lock();
            if taken.is_some() || Native::now(deadline.clock) >= deadline.at {
                return taken;
            }
            pause.wait(Some(deadline));
        }
    }

    fn is_free(_: &Plugin) -> bool {
        unreachable!("it does not lie in the mutex")
    }
}
