//! How the scheduler treats threads that share a CPU.

use super::{Budget, Spread, now, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The context switches of the calling thread so far: voluntary and involuntary ones.
fn switches() -> u64 {
    // SAFETY: all-zero bytes are a valid value, which the kernel fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        (usage.ru_nvcsw + usage.ru_nivcsw) as u64
    }
}

/// The time of a context switch on `cpu`: two threads yield to each other, and the time is divided
/// by the switches that happened.
pub fn context_switch(cpu: u32, budget: Budget) -> Option<Spread> {
    const YIELDS: u32 = 500;
    let stop = AtomicBool::new(false);
    let yielder = || {
        pin(cpu);
        while !stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    };
    let sample = std::thread::scope(|s| {
        s.spawn(yielder);
        let measure = s.spawn(|| {
            pin(cpu);
            let mut sample = Vec::new();
            let end = Instant::now() + budget.long;
            while Instant::now() < end {
                let (start, before) = (Instant::now(), switches());
                (0..YIELDS).for_each(|_| std::thread::yield_now());
                let (time, switched) = (start.elapsed(), switches() - before);
                if switched > u64::from(YIELDS) / 2 {
                    // Each switch of this thread has one switch of the other thread as its answer.
                    sample.push(time.as_nanos() as f64 / (2 * switched) as f64);
                }
            }
            stop.store(true, Ordering::Relaxed);
            sample
        });
        measure.join().expect("the measuring thread does not panic")
    });
    Spread::of(sample)
}

/// The least pause of a busy thread that is longer than any interrupt, so that another thread must
/// have had the CPU.
const GAP: u64 = 300_000;

/// How long a busy thread runs before another busy thread on its CPU gets its turn.
pub fn time_slice(cpu: u32, budget: Budget) -> Option<Spread> {
    let end = Instant::now() + budget.long * 3;
    let busy = || {
        pin(cpu);
        let mut runs = Vec::new();
        let (mut start, mut last) = (now(), now());
        while Instant::now() < end {
            let time = now();
            if time - last > GAP {
                runs.push((last - start) as f64);
                start = time;
            }
            last = time;
        }
        // The first run began before the other thread existed.
        if runs.is_empty() { runs } else { runs.split_off(1) }
    };
    let runs = std::thread::scope(|s| {
        let threads = [s.spawn(busy), s.spawn(busy)];
        threads.map(|t| t.join().expect("a busy thread does not panic")).concat()
    });
    Spread::of(runs)
}

/// How long a busy thread runs on after a sleeper on the same CPU should wake. The low end is the
/// delay of a sleeper that is as far behind as a sleeper can be. The time of the wake-up and of the
/// switch is included.
pub fn preemption(cpu: u32, budget: Budget) -> Option<Spread> {
    const SLEEP: Duration = Duration::from_micros(20);
    let stop = AtomicBool::new(false);
    let spins = AtomicU64::new(0);
    let runs = std::thread::scope(|s| {
        s.spawn(|| {
            pin(cpu);
            while !stop.load(Ordering::Relaxed) {
                spins.fetch_add(1, Ordering::Relaxed);
            }
        });
        let waker = s.spawn(|| {
            pin(cpu);
            // SAFETY: the call takes numbers only. It sets this thread's timer slack to the least,
            // so that its sleeps end in time.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            let end = Instant::now() + budget.long * 2;
            let mut runs = Vec::new();
            while Instant::now() < end {
                let (before, start) = (spins.load(Ordering::Relaxed), now());
                std::thread::sleep(SLEEP);
                // A sample counts only if the busy thread had the CPU in the meantime.
                if spins.load(Ordering::Relaxed) != before {
                    runs.push((now() - start).saturating_sub(SLEEP.as_nanos() as u64) as f64);
                }
            }
            stop.store(true, Ordering::Relaxed);
            runs
        });
        waker.join().expect("the waking thread does not panic")
    });
    Spread::of(runs)
}

extern "C" fn nothing(argument: *mut libc::c_void) -> *mut libc::c_void {
    argument
}

/// The time that creating a thread takes at its creator.
pub fn thread_create(budget: Budget) -> Option<Spread> {
    let mut sample = Vec::new();
    let end = Instant::now() + budget.long;
    while Instant::now() < end {
        let start = Instant::now();
        // SAFETY: `thread` is a local variable, the function has the type that pthread_create
        // wants, and the thread is joined.
        unsafe {
            let mut thread = std::mem::zeroed();
            if libc::pthread_create(&mut thread, std::ptr::null(), nothing, std::ptr::null_mut()) != 0 {
                return None;
            }
            sample.push(start.elapsed().as_nanos() as f64);
            libc::pthread_join(thread, std::ptr::null_mut());
        }
    }
    Spread::of(sample)
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use super::*;

    #[test]
    fn the_scheduler_is_measured() {
        let cpu = baton_machine::discover::allowed_cpus()[0];
        let switch = measured(Budget::LOOK, |budget| context_switch(cpu, budget));
        assert!(switch.median > 100.0, "{switch:?}");
        assert!(measured(Budget::LOOK, thread_create).median > 1_000.0);
        measured(Budget::LOOK, |budget| preemption(cpu, budget));
    }
}
