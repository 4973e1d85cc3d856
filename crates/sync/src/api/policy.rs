//! Wait policies as types, and deadlines.

use baton_machine::units::Nanos;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Clock, Deadline, Machine, Native, Wait};
use core::time::Duration;

/// A wait policy as a type.
pub trait WaitPolicy: Send + Sync + 'static {
    /// The policy that the type stands for.
    const WAIT: Wait;
}

/// [`Wait::Adaptive`]: a waiter learns how long waits for the object last, and sleeps when that is
/// cheaper, where a sleep and its wake-up cost `NANOS` nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive<const NANOS: u32 = 10_000>;
impl<const NANOS: u32> WaitPolicy for Adaptive<NANOS> {
    const WAIT: Wait = Wait::Adaptive(NANOS);
}

/// [`Wait::Pause`]: waiters spin.
#[derive(Clone, Copy, Debug)]
pub struct Pause;
impl WaitPolicy for Pause {
    const WAIT: Wait = Wait::Pause;
}

/// [`Wait::Futex`]: waiters sleep at once.
#[derive(Clone, Copy, Debug)]
pub struct Park;
impl WaitPolicy for Park {
    const WAIT: Wait = Wait::Futex;
}

/// [`Wait::SpinPark`]: waiters sleep after `TRIES` tries.
#[derive(Clone, Copy, Debug)]
pub struct SpinPark<const TRIES: u32 = SPIN_TRIES>;
impl<const TRIES: u32> WaitPolicy for SpinPark<TRIES> {
    const WAIT: Wait = Wait::SpinPark(TRIES);
}

/// Returns the deadline `timeout` from now by [`Clock::Monotonic`]; the latest possible one, if
/// `timeout` reaches further.
pub fn after(timeout: Duration) -> Deadline {
    let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    Deadline { at: Nanos(Native::now(Clock::Monotonic).0.saturating_add(nanos)), clock: Clock::Monotonic }
}
