//! Policy `adaptive` on the real machine: combines what the thread has learnt from earlier waits
//! with what the processor and the kernel report.

use super::marker::Native;
use crate::discover::allowed_count;
use crate::local::Use;
use crate::units::Nanos;
use crate::wait::{Clock, Idle, Learnt, Monitor, Plan, Terms};
use crate::{Deadline, Machine, Wait, WaitResult};
use core::sync::atomic::{AtomicU32, Ordering};

/// Assumed cost of leaving UMWAIT at C0.1, MWAITX or WFE. Vendors state less than a microsecond for
/// these states.
const EXIT: Nanos = Nanos(500);
/// A yield that takes longer than this has let another thread run; the system call itself takes a
/// fraction of it.
const YIELD: Nanos = Nanos(5_000);

/// Number of live threads that have used the policy `adaptive` and do not sleep under it now. (A
/// forked child also counts its parent's threads, and so sleeps sooner.)
static THREADS: AtomicU32 = AtomicU32::new(0);

std::thread_local! {
    /// What the thread has learnt. Without a destructor: the C library allocates memory to register
    /// one, and the thread may wait for the lock of its allocator.
    static LEARNT: Learnt = const { Learnt::new() };
}

/// Counts the thread in [`THREADS`] until it ends, at its first call.
fn count() {
    let local = super::thread::local();
    if local.get(Use::Adaptive) == 0 {
        local.set(Use::Adaptive, 1);
        local.at_end(Use::Adaptive, |_| {
            THREADS.fetch_sub(1, Ordering::Relaxed);
        });
        THREADS.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the machine offers. Queried once, because CPUID takes microseconds in a virtual machine.
#[derive(Clone, Copy)]
struct Offered {
    monitor: Option<Monitor>,
    sibling: bool,
    cpus: u32,
}

/// Monitor instructions that user code may execute on some processors.
const MONITORS: [(Monitor, Wait); 3] =
    [(Monitor::Umwait, Wait::Umwait), (Monitor::Mwaitx, Wait::Mwaitx), (Monitor::Wfe, Wait::Wfe)];

impl Offered {
    fn here() -> Offered {
        /// Packed result: bit 0 is set once it is known, then two bits for the monitor's number
        /// from 1 (0: none), a bit for siblings, and the number of CPUs of the process.
        static KNOWN: AtomicU32 = AtomicU32::new(0);
        // Relaxed for both accesses: the word holds the whole result, and every thread computes the
        // same one.
        let mut known = KNOWN.load(Ordering::Relaxed);
        if known == 0 {
            let monitor =
                MONITORS.iter().position(|(_, wait)| Native::check(*wait).is_ok()).map_or(0, |at| at as u32 + 1);
            known = 1 | monitor << 1 | u32::from(has_siblings()) << 3 | allowed_count().min(1 << 20) << 4;
            KNOWN.store(known, Ordering::Relaxed);
        }
        let monitor = (known >> 1 & 3).checked_sub(1).map(|at| MONITORS[at as usize].0);
        Offered { monitor, sibling: known >> 3 & 1 != 0, cpus: known >> 4 }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_siblings() -> bool {
    super::x86::has_siblings()
}

#[cfg(not(target_arch = "x86_64"))]
fn has_siblings() -> bool {
    false
}

/// Offers the CPU to other threads. Returns whether another thread ran meanwhile.
fn yields() -> bool {
    let before = Native::now(Clock::Monotonic);
    // SAFETY: sched_yield takes no argument and cannot fail.
    unsafe { libc::sched_yield() };
    Native::now(Clock::Monotonic) - before > YIELD
}

/// Waits as planned, where a sleep costs `sleep_after` nanoseconds. `rest` runs one stage until a
/// deadline: tries, or an idle wait with the given monitor. `sleep` ends the wait.
pub(super) fn wait<T>(
    cell: usize,
    sleep_after: u32,
    deadline: Option<Deadline>,
    rest: impl Fn(Option<Idle>, Deadline) -> WaitResult<T>,
    sleep: impl Fn() -> WaitResult<T>,
) -> WaitResult<T> {
    let offered = Offered::here();
    let exit = offered.monitor.map(|_| EXIT);
    // Relaxed, here and in all accesses to the count: it is only a hint.
    let terms = || Terms {
        sleep: Nanos(sleep_after.into()),
        exit,
        sibling: offered.sibling,
        cpus: offered.cpus,
        threads: THREADS.load(Ordering::Relaxed),
    };
    let clock = deadline.map_or(Clock::Monotonic, |deadline| deadline.clock);
    let begun = Native::now(clock);
    count();
    let plan = LEARNT.with(|learnt| learnt.plan(cell, terms()));
    let learns = |lasted: Nanos, slept| LEARNT.with(|learnt| learnt.ended(cell, lasted, slept, terms()));
    let sleeps = || {
        THREADS.fetch_sub(1, Ordering::Relaxed);
        let result = sleep();
        THREADS.fetch_add(1, Ordering::Relaxed);
        learns(Nanos(Native::now(clock).0.saturating_sub(begun.0)), true);
        result
    };
    let Plan { tries, monitor, asks } = plan;
    let mut now = begun;
    for (until, idle) in [(tries, None), (monitor, offered.monitor.map(Idle::Monitor))] {
        let until = begun + until;
        while now < until {
            let at = until.min(now + Nanos(sleep_after.into()));
            let at = deadline.map_or(at, |deadline| deadline.at.min(at));
            let result = rest(idle, Deadline { at, clock });
            if let WaitResult::Changed(_) = result {
                // The wait ended between `now` and `at`. The middle is taken instead of reading the
                // clock again, because other threads may wait for this thread now.
                learns(Nanos((now.0.midpoint(at.0)).saturating_sub(begun.0)), false);
                return result;
            }
            if deadline.is_some_and(|deadline| at == deadline.at) {
                return result;
            }
            if terms().is_crowded() {
                return sleeps();
            }
            if asks && yields() {
                LEARNT.with(Learnt::cpu_is_wanted);
                return sleeps();
            }
            now = Native::now(clock);
        }
    }
    sleeps()
}
