//! Measures every lock beside those of std, parking_lot and pthread, with one thread, and with 1, 2
//! and 4 threads per core.
//!
//! One iteration is one acquisition by any of the threads: the thread takes the lock, increments a
//! counter, releases the lock, and computes for a while. Locks that work with any wait policy run
//! spinning (pause) and sleeping (spin-park). Thread *i* is bound to the *i*-th of the allowed
//! CPUs, counted cyclically; otherwise the scheduler might keep two threads on one CPU for a whole
//! sample, and they would never contend. Every lock lies with its counter on its own pair of cache
//! lines.
//!
//! `cargo bench -p baton-bench --bench locks` measures. `… -- --test` runs each benchmark once, to
//! check that it works; `… -- --smoke` measures each for some milliseconds. An argument selects the
//! benchmarks whose names contain it. Every sample runs for the same time, and the acquisitions in it are counted:
//! spinning with more threads than CPUs collapses, which is a result but must not take hours.

#![allow(clippy::disallowed_types, reason = "the others' locks and clocks stand beside ours")]

use baton_machine::units::Cycles;
use baton_machine::{Machine, Native, Wait};
use baton_sync::lock::{self, LOCKS, LockVisitor, RawLock, Waits, ZeroInit};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a sample runs, whatever happens in that time. It is several time slices of the
/// scheduler, so that the threads contend.
const WINDOW: Duration = Duration::from_millis(100);
/// The same with `--smoke`, whose figures mean little.
const SMOKE_WINDOW: Duration = Duration::from_millis(1);
/// How long each thread computes between two acquisitions.
const OUTSIDE: Cycles = Cycles(100);

/// Puts a value on its own pair of cache lines.
#[repr(C, align(128))]
struct Apart<T>(T);

/// Binds the calling thread to one of the allowed CPUs. Otherwise the figures would mean nothing.
fn stay_on(cpu: usize) {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is a local variable, and the macro's array access checks that the CPU number
    // fits.
    let failed = unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    assert_eq!(failed, 0, "CPU {cpu}: {}", std::io::Error::last_os_error());
}

/// A counter that is accessed only by the holder of its lock.
struct Counter(UnsafeCell<u64>);
// SAFETY: the counter is accessed only under a lock.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Self {
        Counter(UnsafeCell::new(0))
    }

    /// Increments the counter.
    ///
    /// # Safety
    /// The caller holds the lock that protects the counter.
    unsafe fn add(&self) {
        // SAFETY: the caller holds the lock, so no other thread accesses the counter.
        unsafe { *self.0.get() = black_box(*self.0.get()) + 1 };
    }
}

/// The number of threads, and how long a sample of them runs.
#[derive(Clone, Copy)]
struct Load {
    threads: usize,
    window: Duration,
}

/// Returns the time that the threads take for `acquisitions` acquisitions in all: they run for the
/// window, and the time for what they did is scaled to the number asked for.
fn contend(Load { threads, window }: Load, acquisitions: u64, section: impl Fn() + Sync) -> Duration {
    let (barrier, stop, section) = (&Barrier::new(threads + 1), &AtomicBool::new(false), &section);
    let cpus = baton_machine::discover::allowed_cpus();
    let (took, done) = std::thread::scope(|s| {
        let threads: Vec<_> = (0..threads)
            .map(|i| {
                let cpu = cpus[i % cpus.len()];
                s.spawn(move || {
                    stay_on(cpu as usize);
                    barrier.wait();
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        section();
                        Native::work(OUTSIDE);
                        done += 1;
                    }
                    (Instant::now(), done)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(window);
        stop.store(true, Ordering::Relaxed);
        let ends: Vec<(Instant, u64)> =
            threads.into_iter().map(|thread| thread.join().expect("a bench thread does not panic")).collect();
        let end = ends.iter().map(|end| end.0).max().expect("there are threads");
        (end - start, ends.iter().map(|end| end.1).sum::<u64>())
    });
    // If no thread has completed an acquisition, this divides by 1 instead of by 0.
    took.mul_f64(acquisitions as f64 / done.max(1) as f64)
}

type Group<'a, 'b> = &'a mut BenchmarkGroup<'b, WallTime>;

fn measure(group: Group, name: &str, load: Load, section: impl Fn() + Sync) {
    group.bench_function(BenchmarkId::new(name, load.threads), |b| {
        b.iter_custom(|acquisitions| contend(load, acquisitions, &section));
    });
}

/// Measures one of Baton's locks.
struct Ours<'a, 'b> {
    group: Group<'a, 'b>,
    wait: Wait,
    load: Load,
}

impl LockVisitor<Native> for Ours<'_, '_> {
    type Out = ();
    fn visit<L: RawLock<Native> + ZeroInit>(self) {
        let (both, wait) = (Apart((L::new(), Counter::new())), self.wait);
        let Apart((lock, counter)) = &both;
        let name = format!("{} {wait}", L::INFO.name);
        measure(self.group, &name, self.load, || {
            let token = lock.lock(wait);
            // SAFETY: this thread holds the lock, by `token`.
            unsafe {
                counter.add();
                lock.unlock(token, wait);
            }
        });
    }
}

/// Measures the locks of std, parking_lot and pthread.
fn others(group: Group, load: Load) {
    let std = Apart(std::sync::Mutex::new(0u64));
    measure(group, "std", load, || *std.0.lock().unwrap() += 1);
    let parking_lot = Apart(parking_lot::Mutex::new(0u64));
    measure(group, "parking_lot", load, || *parking_lot.0.lock() += 1);

    struct Pthread(UnsafeCell<libc::pthread_mutex_t>);
    // SAFETY: a pthread mutex is made to be shared between threads.
    unsafe impl Sync for Pthread {}
    let both = Apart((Pthread(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)), Counter::new()));
    let Apart((pthread, counter)) = &both;
    measure(group, "pthread", load, || {
        // SAFETY: the mutex is initialised and does not move; the counter is accessed while it is
        // held.
        unsafe {
            libc::pthread_mutex_lock(pthread.0.get());
            counter.add();
            libc::pthread_mutex_unlock(pthread.0.get());
        }
    });
}

/// The shortest times that criterion measures. Criterion does not know `--smoke`, so it cannot read
/// the other arguments: one of them may be a filter, and cargo adds `--bench`.
fn smoke(criterion: Criterion) -> Criterion {
    let shortest = Duration::from_millis(1);
    let criterion = criterion.warm_up_time(shortest).measurement_time(shortest).nresamples(100);
    let known = |argument: &String| ["--smoke", "--bench"].contains(&argument.as_str());
    let others: Vec<String> = std::env::args().skip(1).filter(|argument| !known(argument)).collect();
    match others.as_slice() {
        [] => criterion,
        [filter] if !filter.starts_with('-') => criterion.with_filter(filter),
        _ => {
            eprintln!("locks: with --smoke: expected at most a filter; found {}", others.join(" "));
            std::process::exit(2);
        }
    }
}

fn main() {
    let is_smoke = std::env::args().any(|argument| argument == "--smoke");
    let window = if is_smoke { SMOKE_WINDOW } else { WINDOW };
    let criterion = Criterion::default().without_plots();
    let mut criterion = if is_smoke { smoke(criterion) } else { criterion.configure_from_args() };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let crowd =
        |n: usize| (if n == 1 { "1 thread a core".to_owned() } else { format!("{n} threads a core") }, cores * n);
    for (name, threads) in [("1 thread".to_owned(), 1)].into_iter().chain([1, 2, 4].map(crowd)) {
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat).sample_size(10).throughput(Throughput::Elements(1));
        if !is_smoke {
            group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        }
        let load = Load { threads, window };
        others(&mut group, load);
        for info in LOCKS {
            let waits = match info.waits {
                Waits::Fixed(own) => vec![own],
                Waits::Spinning => vec![Wait::Pause],
                Waits::Any => vec![Wait::Pause, Wait::SpinPark(baton_machine::wait::SPIN_TRIES)],
            };
            for wait in waits {
                lock::visit::<Native, _>(info.name, Ours { group: &mut group, wait, load })
                    .expect("the registry knows its own locks");
            }
        }
        group.finish();
    }
    criterion.final_summary();
}
