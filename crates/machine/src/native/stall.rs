//! A watch on waits that only spin: detects that the program hardly computes any more.
//!
//! With more threads than CPUs, or when a lock holder sleeps, spinning waiters burn the CPU time
//! that another thread needs to let them continue. [`Watch::start`] registers a callback, which is
//! called when the process's threads did little but spin for a second; waiters can then be made to
//! sleep.
//!
//! The waiters judge for themselves, each after a number of failed reads that depends on its policy
//! (1,024 with PAUSE), so that short waits pay nothing and no additional thread is needed. A waiter
//! reads three clocks: its own CPU time, the process's CPU time, and the time.
//!
//! From the verdict on, spinning waits sleep on their cells with [`super::futex`], each time for a
//! bounded time only: a thread that was about to release when the verdict fell may not know that it
//! has to wake sleepers.

use super::marker::Native;
use crate::units::Nanos;
use crate::wait::Spinning;
use crate::{Clock, Deadline, Machine};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// Length of the window in which the program must have hardly computed.
const WINDOW: Nanos = Nanos(1_000_000_000);
/// A stalled program computed for less than 1/`OF_WINDOW` of the window.
const OF_WINDOW: u64 = 20;
/// A stalled program also computed for less than 1/`OF_USED` of the CPU time that it got.
const OF_USED: u64 = 10;

/// Length of a waiter's first sleep after the verdict. It has a bound because the thread that
/// changes the cell might not wake the waiter. Each further sleep is twice as long, so that a
/// missed wake-up at most doubles a wait.
const FIRST_SLEEP: Nanos = Nanos(1_000_000);
/// Upper bound of the length of such a sleep.
const LAST_SLEEP: Nanos = Nanos(128_000_000);

/// What the watch measured when the program stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Length of the window.
    pub lasted: Nanos,
    /// CPU time that the threads spent spinning in waits.
    pub spun: Nanos,
    /// The rest of the CPU time that the threads used.
    pub computed: Nanos,
}

/// What to do after a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Waiters continue to spin, and the watch ends.
    KeepSpinning,
    /// Waiters sleep from then on.
    Sleep,
}

/// The clocks that waiters read; replaced in tests.
pub trait Clocks {
    /// Steady time.
    fn now(&self) -> Nanos;
    /// CPU time of the calling thread.
    fn thread(&self) -> Nanos;
    /// CPU time of the process.
    fn process(&self) -> Nanos;
}

/// The kernel's clocks.
pub struct Kernel;

impl Clocks for Kernel {
    fn now(&self) -> Nanos {
        Native::now(Clock::Monotonic)
    }
    fn thread(&self) -> Nanos {
        read(libc::CLOCK_THREAD_CPUTIME_ID)
    }
    fn process(&self) -> Nanos {
        read(libc::CLOCK_PROCESS_CPUTIME_ID)
    }
}

fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a local variable; every Linux has both clocks.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

const OFF: u8 = 0;
const WATCHING: u8 = 1;
const ASLEEP: u8 = 2;

/// The watch on the waits of a process.
pub struct Watch {
    state: AtomicU8,
    /// The callback, a `fn(Stall)`. It is set before `state` becomes WATCHING.
    tell: AtomicPtr<()>,
    /// Whether waiters keep spinning after a stall.
    keeps: AtomicBool,
    /// CPU time spent spinning in waits since the start.
    spun: AtomicU64,
    /// When the window began, and in `spun_before` and `used_before` the spun and the used CPU time
    /// at that moment. Besides `start` and `after_fork`, only the thread that judges writes these
    /// three fields.
    began: AtomicU64,
    spun_before: AtomicU64,
    used_before: AtomicU64,
    /// Whether a thread is judging. Other threads continue meanwhile.
    judging: AtomicBool,
}

/// The watch of this process. Off until it is started.
pub static WATCH: Watch = Watch::off();

impl Watch {
    /// Creates a watch that is off.
    pub const fn off() -> Watch {
        Watch {
            state: AtomicU8::new(OFF),
            tell: AtomicPtr::new(core::ptr::null_mut()),
            keeps: AtomicBool::new(false),
            spun: AtomicU64::new(0),
            began: AtomicU64::new(0),
            spun_before: AtomicU64::new(0),
            used_before: AtomicU64::new(0),
            judging: AtomicBool::new(false),
        }
    }

    /// Starts watching. At the first stall the waiter that detects it calls `tell`, once. With
    /// [`Then::Sleep`], `tell` must make releasing threads wake waiters from then on, by switching
    /// to a policy that parks.
    pub fn start(&self, clocks: &impl Clocks, then: Then, tell: fn(Stall)) {
        self.tell.store(tell as *mut (), Ordering::Relaxed);
        self.keeps.store(then == Then::KeepSpinning, Ordering::Relaxed);
        self.begin(clocks.now(), clocks.process());
        // Release: a thread that sees WATCHING also sees `tell`.
        self.state.store(WATCHING, Ordering::Release);
    }

    /// Restarts the window in a forked child: its CPU time begins at zero, and a thread that was
    /// judging does not exist there.
    pub fn after_fork(&self, clocks: &impl Clocks) {
        self.begin(clocks.now(), clocks.process());
        self.judging.store(false, Ordering::Release);
    }

    fn begin(&self, now: Nanos, used: Nanos) {
        self.began.store(now.0, Ordering::Relaxed);
        self.spun_before.store(self.spun.load(Ordering::Relaxed), Ordering::Relaxed);
        self.used_before.store(used.0, Ordering::Relaxed);
    }

    /// Whether waiters that would spin should sleep instead.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP
    }

    /// Called by a waiter that has spun without success for a while. Returns whether it should
    /// sleep.
    pub fn look(&self, mine: &mut Spinning, clocks: &impl Clocks) -> bool {
        // Acquire pairs with the Release in `start`.
        match self.state.load(Ordering::Acquire) {
            OFF => return false,
            ASLEEP => return true,
            _ => {}
        }
        let seen = clocks.thread();
        if let Some(before) = mine.seen.replace(seen) {
            self.spun.fetch_add(seen.0.saturating_sub(before.0), Ordering::Relaxed);
        }
        if clocks.now().0.saturating_sub(self.began.load(Ordering::Relaxed)) >= WINDOW.0
            && !self.judging.swap(true, Ordering::Acquire)
        {
            if let Some(stall) = self.judge(clocks) {
                // This store comes before the callback: a thread that starts to sleep because of
                // the callback's new policy then finds ASLEEP, and bounds its sleep.
                let keeps = self.keeps.load(Ordering::Relaxed);
                self.state.store(if keeps { OFF } else { ASLEEP }, Ordering::Relaxed);
                self.tell(stall);
            }
            self.judging.store(false, Ordering::Release);
        }
        self.is_asleep()
    }

    /// Ends the window and begins the next one, unless another thread has done so since the caller
    /// looked. Returns a stall if the window was one.
    fn judge(&self, clocks: &impl Clocks) -> Option<Stall> {
        let (now, used) = (clocks.now(), clocks.process());
        let since = |now: u64, before: &AtomicU64| Nanos(now.saturating_sub(before.load(Ordering::Relaxed)));
        let (lasted, spun) = (since(now.0, &self.began), since(self.spun.load(Ordering::Relaxed), &self.spun_before));
        // Another thread may have judged, or ended the watch, since this one looked.
        if lasted < WINDOW || self.state.load(Ordering::Relaxed) != WATCHING {
            return None;
        }
        let used = since(used.0, &self.used_before);
        self.begin(now, Nanos(self.used_before.load(Ordering::Relaxed) + used.0));
        let computed = Nanos(used.0.saturating_sub(spun.0));
        let stands_still = computed.0 * OF_WINDOW <= lasted.0 && computed.0 * OF_USED <= used.0 && spun.0 != 0;
        stands_still.then_some(Stall { lasted, spun, computed })
    }

    fn tell(&self, stall: Stall) {
        let tell = self.tell.load(Ordering::Relaxed);
        // SAFETY: `start` stored a function of this type before it set WATCHING, which the caller
        // has seen.
        let tell = unsafe { core::mem::transmute::<*mut (), fn(Stall)>(tell) };
        tell(stall);
    }
}

/// The lengths of a wait's sleeps after the verdict, which no wake-up might end.
pub(super) struct Bounded {
    next: Nanos,
}

impl Bounded {
    pub(super) const fn new() -> Bounded {
        Bounded { next: FIRST_SLEEP }
    }

    /// Returns when to look at the cell next: after the next sleep's length, `deadline` at the
    /// latest.
    pub(super) fn until(&mut self, deadline: Option<Deadline>) -> Deadline {
        let clock = deadline.map_or(Clock::Monotonic, |deadline| deadline.clock);
        let at = Nanos(Native::now(clock).0.saturating_add(self.next.0));
        self.next = Nanos((2 * self.next.0).min(LAST_SLEEP.0));
        Deadline { at: deadline.map_or(at, |deadline| deadline.at.min(at)), clock }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::sync::Mutex;

    /// Clocks that tests set by hand.
    #[derive(Default)]
    struct Set {
        now: Cell<u64>,
        thread: Cell<u64>,
        process: Cell<u64>,
    }

    impl Clocks for Set {
        fn now(&self) -> Nanos {
            Nanos(self.now.get())
        }
        fn thread(&self) -> Nanos {
            Nanos(self.thread.get())
        }
        fn process(&self) -> Nanos {
            Nanos(self.process.get())
        }
    }

    impl Set {
        /// Advances the time by `all` milliseconds, this thread's CPU time by `spun`, which it
        /// spins, and the process's CPU time by `spun` and `computed` together.
        fn go_by(&self, all: u64, spun: u64, computed: u64) {
            const MS: u64 = 1_000_000;
            self.now.set(self.now.get() + all * MS);
            self.thread.set(self.thread.get() + spun * MS);
            self.process.set(self.process.get() + (spun + computed) * MS);
        }
    }

    const STALLED: Stall =
        Stall { lasted: Nanos(1_010_000_000), spun: Nanos(1_000_000_000), computed: Nanos(10_000_000) };

    #[test]
    fn a_program_that_only_spins_is_told_of_once_and_sleeps() {
        static TOLD: Mutex<Vec<Stall>> = Mutex::new(Vec::new());
        let (watch, clocks, mut mine) = (Watch::off(), Set::default(), Spinning::default());
        watch.start(&clocks, Then::Sleep, |stall| TOLD.lock().unwrap().push(stall));
        assert!(!watch.look(&mut mine, &clocks), "its first look");
        clocks.go_by(999, 990, 9);
        assert!(!watch.look(&mut mine, &clocks), "the second is not over");
        clocks.go_by(11, 10, 1);
        assert!(!watch.is_asleep());
        assert!(watch.look(&mut mine, &clocks) && watch.is_asleep());
        clocks.go_by(5000, 5000, 0);
        assert!(watch.look(&mut mine, &clocks), "all waits that come later sleep, too");
        assert_eq!(*TOLD.lock().unwrap(), [STALLED]);
    }

    #[test]
    fn who_keeps_spinning_is_told_of_once() {
        static TOLD: Mutex<Vec<Stall>> = Mutex::new(Vec::new());
        let (watch, clocks, mut mine) = (Watch::off(), Set::default(), Spinning::default());
        watch.start(&clocks, Then::KeepSpinning, |stall| TOLD.lock().unwrap().push(stall));
        assert!(!watch.look(&mut mine, &clocks));
        clocks.go_by(1010, 1000, 10);
        assert!(!watch.look(&mut mine, &clocks) && !watch.is_asleep());
        clocks.go_by(5000, 5000, 0);
        assert!(!watch.look(&mut mine, &clocks));
        assert_eq!(*TOLD.lock().unwrap(), [STALLED]);
    }

    #[test]
    fn a_program_that_computes_is_left_alone() {
        let (watch, clocks, mut mine) = (Watch::off(), Set::default(), Spinning::default());
        watch.start(&clocks, Then::Sleep, |stall| panic!("{stall:?}"));
        watch.look(&mut mine, &clocks);
        // No stall, case by case: one thread computes while another waits; one computes while 63
        // wait for it; the program gets a tenth of a CPU and computes for 40% of that.
        for (all, spun, computed) in [(1000, 1000, 1000), (1000, 63_000, 1000), (1000, 60, 40)] {
            clocks.go_by(all, spun, computed);
            assert!(!watch.look(&mut mine, &clocks), "{spun} {computed}");
        }
        // A new wait begins with its first look, so the second in which its thread spun before that
        // look does not count.
        clocks.go_by(1000, 1000, 0);
        assert!(!watch.look(&mut Spinning::default(), &clocks));
    }

    #[test]
    fn a_forks_child_begins_anew() {
        let (watch, clocks, mut mine) = (Watch::off(), Set::default(), Spinning::default());
        watch.start(&clocks, Then::Sleep, |_| {});
        watch.look(&mut mine, &clocks);
        clocks.go_by(900, 900, 0);
        watch.look(&mut mine, &clocks);
        clocks.process.set(0);
        clocks.thread.set(0);
        watch.judging.store(true, Ordering::Relaxed);
        watch.after_fork(&clocks);
        let mut childs = Spinning::default();
        assert!(!watch.look(&mut childs, &clocks));
        clocks.go_by(999, 999, 0);
        assert!(!watch.look(&mut childs, &clocks), "its second began with it");
        clocks.go_by(1, 1, 0);
        assert!(watch.look(&mut childs, &clocks), "and who judged in the parent does not hinder it");
    }

    #[test]
    fn sleeps_grow_and_end_at_the_deadline() {
        let mut sleeps = Bounded::new();
        let lengths: Vec<u64> = (0..9).map(|_| (sleeps.until(None), sleeps.next.0).1 / 1_000_000).collect();
        assert_eq!(lengths, [2, 4, 8, 16, 32, 64, 128, 128, 128]);
        let past = Deadline { at: Nanos(5), clock: Clock::Realtime };
        assert_eq!(sleeps.until(Some(past)), past);
    }
}
