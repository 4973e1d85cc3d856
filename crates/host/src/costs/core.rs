//! Costs that one core pays without any other core.

use super::chain::Ring;
use super::{Budget, Spread, batches};
use baton_machine::units::Cycles;
use baton_machine::{Clock, Machine, Native};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The latency of a load from the first-level cache.
pub fn hit(budget: Budget) -> Spread {
    // 2 KiB fit into every first-level cache.
    let ring = Ring::new(32, 64);
    batches(budget.short, |n| ring.chase(n))
}

/// The latency of a load from memory, over a range four times as large as the last-level cache, but
/// of 64 to 512 MiB. The range lies in huge pages where the kernel grants them, so that translating
/// the address costs little.
pub fn memory(budget: Budget, last_level: u64) -> Spread {
    const LEAST: u64 = 64 << 20;
    const MOST: u64 = 512 << 20;
    let bytes = (last_level * 4).clamp(LEAST, MOST);
    let ring = Ring::new((bytes / 64) as usize, 64);
    batches(budget.long, |n| ring.chase(n))
}

/// The latency of a load from the cache level that `bytes` fit into. The whole range has been
/// walked once before.
pub fn level(budget: Budget, bytes: u64) -> Spread {
    let ring = Ring::new((bytes / 64) as usize, 64);
    ring.chase(bytes / 64);
    batches(budget.short, |n| ring.chase(n))
}

/// The time of one PAUSE instruction (YIELD on AArch64).
pub fn pause(budget: Budget) -> Spread {
    batches(budget.short, |n| (0..n).for_each(|_| std::hint::spin_loop()))
}

/// The time of an atomic addition to a line that the core owns.
pub fn atomic(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    batches(budget.short, |n| {
        for _ in 0..n {
            black_box(cell.fetch_add(1, Ordering::Relaxed));
        }
    })
}

/// The time of a sequentially consistent fence.
pub fn sequential_fence(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    // Without a store between two fences the compiler merges them. The cell must be visible to
    // other threads, or the store would be left out too.
    let cell = black_box(&cell);
    batches(budget.short, |n| {
        for i in 0..n {
            cell.store(i, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    })
}

/// The time of reading the steady clock.
pub fn clock(budget: Budget) -> Spread {
    batches(budget.short, |n| {
        for _ in 0..n {
            black_box(Native::now(Clock::Monotonic));
        }
    })
}

/// The time of one pass through the loop of a spinning wait whose line is in the cache: load,
/// compare, branch.
pub fn spin_turn(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    batches(budget.short, |n| {
        let mut turns = 0;
        while cell.load(Ordering::Relaxed) == 0 && turns < n {
            turns = black_box(turns) + 1;
        }
    })
}

/// The time of one cycle of `Native::work`, the loop that stands for computation.
pub fn work(budget: Budget) -> Spread {
    batches(budget.short, |n| Native::work(Cycles(n)))
}

/// The frequency in hertz of the counter that stands for cycles: the time-stamp counter, measured
/// against the steady clock. Returns `None` on a machine without a counter that agrees across CPUs.
pub fn ticks_a_second(budget: Budget) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        use baton_machine::{discover::Processor, native::x86::tsc};
        if !Processor::discover().offers("INVARIANT-TSC") {
            return None;
        }
        let mut rates = Vec::new();
        for _ in 0..5 {
            let (t0, c0) = (super::now(), tsc());
            std::thread::sleep(budget.short);
            let (t1, c1) = (super::now(), tsc());
            rates.push((c1 - c0) as f64 * 1e9 / (t1 - t0) as f64);
        }
        Spread::of(rates).map(|s| s.median.round() as u64)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = budget;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_faster_than_memory() {
        let (hit, memory) = (hit(Budget::LOOK), memory(Budget::LOOK, 0));
        assert!(hit.low > 0.1 && hit.low * 3.0 < memory.median, "{hit:?} {memory:?}");
    }
}
