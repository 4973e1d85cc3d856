//! The threads of a run: they work before a window, in it and after it, so that they overlap in all of it.

use crate::machine::Energy;
use crate::numbers::Histogram;
use serde::Serialize;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Barrier, LazyLock};
use std::time::{Duration, Instant};

/// How a point is run.
pub struct Load {
    pub threads: usize,
    pub window: Duration,
    /// The CPUs to which threads are bound in turn; none if they are not bound.
    pub pins: Vec<u32>,
    /// Whether and where thread 0 is stopped in a part of the run.
    pub stops: Option<Stop>,
}

/// Where a thread is stopped for [`STOP`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Wherever it is, by a signal.
    Anywhere,
    /// Where it holds the lock ([`Worker::is_to_stop`]).
    Holder,
}

/// How long a thread is stopped.
const STOP: Duration = Duration::from_millis(10);
/// How often.
const STOPS: u32 = 3;
/// What the others do is counted in this part of a stop.
const COUNTED: Duration = Duration::from_millis(8);

/// Number of stops that have begun, and that have ended.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Does nothing for [`STOP`]. May be called in a handler of a signal.
pub fn stand_still() {
    BEGUN.fetch_add(1, Relaxed);
    let mut left = libc::timespec { tv_sec: 0, tv_nsec: STOP.as_nanos() as _ };
    // SAFETY: all pointers lead to a local or to the thread's own errno, which the interrupted code finds
    // as it was.
    unsafe {
        let errno = *libc::__errno_location();
        while libc::nanosleep(&left, &mut left) != 0 && *libc::__errno_location() == libc::EINTR {}
        *libc::__errno_location() = errno;
    }
    ENDED.fetch_add(1, Relaxed);
}

extern "C" fn on_signal(_: libc::c_int) {
    stand_still();
}

/// Has [`on_signal`] called for SIGUSR1.
fn listen() {
    // SAFETY: a zeroed action is valid, and its handler only does what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0, "SIGUSR1 can be handled");
    }
}

/// The counters of energy of this machine, or why there are none.
pub static ENERGY: LazyLock<Result<Energy, String>> =
    LazyLock::new(|| Energy::find(std::path::Path::new("/sys/class/powercap")));

/// The result of a run.
#[derive(Serialize, Default)]
pub struct Outcome {
    /// Operations in the window without stamps, by thread.
    pub operations: Vec<u64>,
    pub seconds: f64,
    /// The CPU time of all threads in that window.
    pub cpu_seconds: f64,
    /// How often the object went from one thread to another in it.
    pub handovers: u64,
    /// Whether the threads overlapped.
    pub overlapped: bool,
    /// Energy of all packages in that window, in joules, if it can be read.
    pub joules: Option<f64>,
    /// What the other threads did while thread 0 was stopped; `None` if it was not.
    pub beside_stopped: Option<Beside>,
    /// Times of single operations, from a window of their own.
    pub times: Histogram,
}

/// What threads do while another one is stopped.
#[derive(Serialize, Clone, Copy)]
pub struct Beside {
    /// Operations.
    pub per_second: f64,
    /// CPUs that they use.
    pub cpus: f64,
}

/// A value alone in its pair of cache lines.
#[repr(align(128))]
#[derive(Default)]
pub struct Apart<T>(pub T);

/// What a lock guards: a counter, and who was there last.
#[derive(Default)]
pub struct Guarded {
    count: UnsafeCell<u64>,
    last: UnsafeCell<usize>,
    handovers: AtomicU64,
}
// SAFETY: the cells are accessed only by the holder of the lock that is timed.
unsafe impl Sync for Guarded {}

impl Guarded {
    /// Counts a critical section of thread `me`.
    ///
    /// # Safety
    /// The caller holds the lock that guards this.
    pub unsafe fn enter(&self, me: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            *self.count.get() += 1;
            if std::mem::replace(&mut *self.last.get(), me) != me {
                self.handovers.store(self.handovers.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    pub fn handovers(&self) -> u64 {
        self.handovers.load(Relaxed)
    }
}

/// What a thread of a run may look at.
pub struct Worker<'a> {
    pub number: usize,
    count: &'a Apart<AtomicU64>,
    stop: &'a AtomicBool,
    timed: &'a AtomicBool,
    halt: &'a AtomicBool,
    pub times: Histogram,
}

impl Worker<'_> {
    /// Whether to go on.
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Whether this thread is to stop now, with the lock held.
    #[inline]
    pub fn is_to_stop(&self) -> bool {
        self.number == 0 && self.halt.load(Relaxed) && self.halt.swap(false, Relaxed)
    }

    /// Runs one operation, and notes its time in the window for times.
    #[inline]
    pub fn operation(&mut self, f: impl FnOnce()) {
        if self.timed.load(Relaxed) {
            let begin = Instant::now();
            f();
            self.times.add(begin.elapsed());
        } else {
            f();
        }
        self.done();
    }

    /// Counts an operation.
    #[inline]
    pub fn done(&self) {
        self.count.0.store(self.count.0.load(Relaxed) + 1, Relaxed);
    }

    /// Whether single operations are timed now.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.timed.load(Relaxed)
    }
}

/// Binds the calling thread to a CPU.
fn pin(cpu: u32) {
    // SAFETY: a zeroed set is empty, and the macro checks the number.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0, "CPU {cpu}");
    }
}

fn cpu_time() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call fills the struct.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// How long to wait for each thread's first operation and last one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stops thread 0 some times, and counts what the others do meanwhile: `others` reads their operations. Returns
/// `None` if the thread did not stop.
fn beside_stopped(stop: impl Fn(), others: impl Fn() -> u64) -> Option<Beside> {
    let reached = |count: &AtomicU64, before: u64| {
        let begin = Instant::now();
        while count.load(Relaxed) == before {
            if begin.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    };
    let (mut operations, mut seconds, mut cpu) = (0, 0.0, 0.0);
    for _ in 0..STOPS {
        let (begun, ended) = (BEGUN.load(Relaxed), ENDED.load(Relaxed));
        stop();
        if !reached(&BEGUN, begun) {
            return None;
        }
        let (before, used, begin) = (others(), cpu_time(), Instant::now());
        std::thread::sleep(COUNTED);
        let (after, used, took) = (others(), cpu_time() - used, begin.elapsed());
        // A stop that ended before the count did is no such stop.
        if ENDED.load(Relaxed) == ended {
            operations += after - before;
            seconds += took.as_secs_f64();
            cpu += used;
        } else {
            continue;
        }
        if !reached(&ENDED, ended) {
            return None;
        }
        std::thread::sleep(COUNTED / 2);
    }
    (seconds > 0.0).then(|| Beside { per_second: operations as f64 / seconds, cpus: cpu / seconds })
}

/// Runs `work` in `load.threads` threads until it is told to stop; `end` is called once it is told, to
/// wake threads that wait. `handovers` reads how often the object changed hands.
pub fn run(load: &Load, handovers: impl Fn() -> u64, end: impl Fn(), work: impl Fn(&mut Worker<'_>) + Sync) -> Outcome {
    let counts: Vec<Apart<AtomicU64>> = (0..load.threads).map(|_| Apart::default()).collect();
    let [stop, timed, halt] = [(); 3].map(|()| AtomicBool::new(false));
    let (ready, first) = (Barrier::new(load.threads + 1), AtomicUsize::new(0));
    if load.stops == Some(Stop::Anywhere) {
        listen();
    }
    let read = || counts.iter().map(|count| count.0.load(Relaxed)).collect::<Vec<u64>>();
    // Waits until all threads have done an operation after `before`. Returns whether they have.
    let all_after = |before: &[u64]| {
        let begin = Instant::now();
        while read().iter().zip(before).any(|(now, before)| now == before) {
            if begin.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    };
    let mut outcome = Outcome::default();
    std::thread::scope(|s| {
        let threads: Vec<_> = counts
            .iter()
            .enumerate()
            .map(|(number, count)| {
                let (stop, timed, halt, ready, first, work) = (&stop, &timed, &halt, &ready, &first, &work);
                s.spawn(move || {
                    if !load.pins.is_empty() {
                        pin(load.pins[number % load.pins.len()]);
                    }
                    if number == 0 {
                        // SAFETY: the call has no conditions.
                        first.store(unsafe { libc::pthread_self() } as usize, Relaxed);
                    }
                    let mut worker = Worker { number, count, stop, timed, halt, times: Histogram::default() };
                    ready.wait();
                    work(&mut worker);
                    worker.times
                })
            })
            .collect();
        ready.wait();
        let began = all_after(&vec![0; load.threads]);
        let energy = ENERGY.as_ref().ok();
        let joules = energy.and_then(Energy::now);
        let (before, changes, cpu, begin) = (read(), handovers(), cpu_time(), Instant::now());
        std::thread::sleep(load.window);
        let (after, seconds) = (read(), begin.elapsed().as_secs_f64());
        outcome.cpu_seconds = cpu_time() - cpu;
        outcome.joules = energy.zip(joules).and_then(|(energy, joules)| Some(energy.between(&joules, &energy.now()?)));
        outcome.handovers = handovers() - changes;
        timed.store(true, Relaxed);
        std::thread::sleep(load.window);
        timed.store(false, Relaxed);
        let others = || read().iter().skip(1).sum();
        outcome.beside_stopped = load.stops.filter(|_| load.threads > 1).and_then(|how| {
            let stop = || match how {
                Stop::Holder => halt.store(true, Relaxed),
                // SAFETY: the thread is in the scope, and has stored its name before it came to the barrier.
                Stop::Anywhere => assert_eq!(unsafe { libc::pthread_kill(first.load(Relaxed) as _, libc::SIGUSR1) }, 0),
            };
            beside_stopped(stop, others)
        });
        let ended = all_after(&after);
        outcome.operations = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        outcome.seconds = seconds;
        // Ten changes of hands: several threads had the object in the window, not one after another.
        outcome.overlapped = began && ended && (load.threads == 1 || outcome.handovers >= 10);
        stop.store(true, Relaxed);
        end();
        for thread in threads {
            outcome.times.join(&thread.join().expect("a thread of a run does not panic"));
        }
    });
    outcome
}
