//! The threads of a run: they work before a window, in it and after it, so that they overlap in all of it.

use crate::numbers::Histogram;
use serde::Serialize;
use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// How a point is run.
pub struct Load {
    pub threads: usize,
    pub window: Duration,
    /// The CPUs to which threads are bound in turn; none if they are not bound.
    pub pins: Vec<u32>,
}

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
    /// Times of single operations, from a window of their own.
    pub times: Histogram,
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
    pub times: Histogram,
}

impl Worker<'_> {
    /// Whether to go on.
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
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

/// Runs `work` in `load.threads` threads until it is told to stop; `end` is called once it is told, to
/// wake threads that wait. `handovers` reads how often the object changed hands.
pub fn run(load: &Load, handovers: impl Fn() -> u64, end: impl Fn(), work: impl Fn(&mut Worker<'_>) + Sync) -> Outcome {
    let counts: Vec<Apart<AtomicU64>> = (0..load.threads).map(|_| Apart::default()).collect();
    let (stop, timed, ready) = (AtomicBool::new(false), AtomicBool::new(false), Barrier::new(load.threads + 1));
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
                let (stop, timed, ready, work) = (&stop, &timed, &ready, &work);
                s.spawn(move || {
                    if !load.pins.is_empty() {
                        pin(load.pins[number % load.pins.len()]);
                    }
                    let mut worker = Worker { number, count, stop, timed, times: Histogram::default() };
                    ready.wait();
                    work(&mut worker);
                    worker.times
                })
            })
            .collect();
        ready.wait();
        let began = all_after(&vec![0; load.threads]);
        let (before, changes, cpu, begin) = (read(), handovers(), cpu_time(), Instant::now());
        std::thread::sleep(load.window);
        let (after, seconds) = (read(), begin.elapsed().as_secs_f64());
        outcome.cpu_seconds = cpu_time() - cpu;
        outcome.handovers = handovers() - changes;
        timed.store(true, Relaxed);
        std::thread::sleep(load.window);
        timed.store(false, Relaxed);
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
