//! What one core does by itself.

use super::{Budget, Spread, batches};
use baton_machine::units::Cycles;
use baton_machine::{Clock, Machine, Native};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A load that depends on the one before it, from the first-level cache.
pub(crate) fn hit(budget: Budget) -> Spread {
    // 2 KiB: in every first-level cache.
    let ring = Ring::new(32, 64);
    batches(budget.short, |n| ring.chase(n))
}

/// A load that depends on the one before it, from a range that no cache holds. The range is in huge pages where the
/// kernel gives them, so that the look-up of its address costs little.
pub(crate) fn memory(budget: Budget, last_level: u64) -> Spread {
    const LEAST: u64 = 64 << 20;
    const MOST: u64 = 512 << 20;
    let bytes = (last_level * 4).clamp(LEAST, MOST);
    let ring = Ring::new((bytes / 64) as usize, 64);
    batches(budget.long, |n| ring.chase(n))
}

/// A PAUSE (YIELD).
pub(crate) fn pause(budget: Budget) -> Spread {
    batches(budget.short, |n| (0..n).for_each(|_| std::hint::spin_loop()))
}

/// An atomic addition to a line that the core owns.
pub(crate) fn atomic(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    batches(budget.short, |n| {
        for _ in 0..n {
            black_box(cell.fetch_add(1, Ordering::Relaxed));
        }
    })
}

/// A sequentially consistent fence.
pub(crate) fn sequential_fence(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    batches(budget.short, |n| {
        for i in 0..n {
            // A store between: fences that meet are made one by the compiler.
            cell.store(i, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    })
}

/// Reading the steady clock.
pub(crate) fn clock(budget: Budget) -> Spread {
    batches(budget.short, |n| {
        for _ in 0..n {
            black_box(Native::now(Clock::Monotonic));
        }
    })
}

/// One turn of a spinning wait whose line is in the cache: load, compare, branch.
pub(crate) fn spin_turn(budget: Budget) -> Spread {
    let cell = AtomicU64::new(0);
    batches(budget.short, |n| {
        let mut turns = 0;
        while cell.load(Ordering::Relaxed) == 0 && turns < n {
            turns = black_box(turns) + 1;
        }
    })
}

/// One cycle of `Native::work`, the loop that stands for computation.
pub(crate) fn work(budget: Budget) -> Spread {
    batches(budget.short, |n| Native::work(Cycles(n)))
}

/// Ticks a second of the counter that stands for cycles: the time-stamp counter, measured against the steady clock.
/// `None` where there is none that compares across CPUs.
pub(crate) fn ticks_a_second(budget: Budget) -> Option<u64> {
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

/// Cells that each hold the number of the next one, in one random cycle, each in a line of its own.
struct Ring {
    memory: *mut u8,
    bytes: usize,
    stride: usize,
    /// Where the chase stands: it must not walk the same cells again, which would then be in a cache.
    at: Cell<usize>,
}

impl Ring {
    fn new(cells: usize, stride: usize) -> Ring {
        let bytes = cells * stride;
        // SAFETY: an anonymous private mapping, checked below; the advice changes no content.
        let memory = unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(memory, libc::MAP_FAILED, "no {bytes} bytes of memory to measure with");
            libc::madvise(memory, bytes, libc::MADV_HUGEPAGE);
            memory.cast::<u8>()
        };
        let ring = Ring { memory, bytes, stride, at: Cell::new(0) };
        // Sattolo's shuffle gives one cycle over all cells.
        let mut order: Vec<u32> = (0..cells as u32).collect();
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        for i in (1..cells).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            order.swap(i, (random % i as u64) as usize);
        }
        for (i, next) in order.iter().enumerate() {
            // SAFETY: cell i lies inside the mapping, which is aligned for it.
            unsafe { ring.cell(i).write(*next as usize * stride) };
        }
        ring
    }

    fn cell(&self, i: usize) -> *mut usize {
        self.memory.wrapping_add(i * self.stride).cast()
    }

    fn chase(&self, steps: u64) {
        let mut at = self.at.get();
        for _ in 0..steps {
            // SAFETY: every cell holds the offset of another one.
            at = unsafe { self.memory.add(at).cast::<usize>().read() };
        }
        self.at.set(black_box(at));
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_one_cycle() {
        let ring = Ring::new(1000, 64);
        let (mut at, mut steps) = (0usize, 0);
        loop {
            // SAFETY: as in `chase`.
            at = unsafe { ring.memory.add(at).cast::<usize>().read() };
            steps += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(steps, 1000);
    }

    #[test]
    fn a_cache_is_faster_than_memory() {
        let (hit, memory) = (hit(Budget::LOOK), memory(Budget::LOOK, 0));
        assert!(hit.low > 0.1 && hit.low * 3.0 < memory.median, "{hit:?} {memory:?}");
    }
}
