//! The rate at which memory moves lines while several CPUs read, and the number of stores that can
//! wait for a missing line.

use super::chain::Ring;
use super::{Budget, Spread, pin};
use std::sync::Barrier;
use std::time::Instant;

/// The least number of bytes that each CPU reads, so that few caches hold them.
const RANGE: usize = 64 << 20;
/// The most CPUs that read. More would not raise the rate, but would take more memory.
const READERS: usize = 16;

/// The rate of memory while the first [`READERS`] of `cpus` (all of them, if there are fewer) read
/// long ranges: wall-clock nanoseconds per line of `line_bytes`, counting the lines that all of
/// these CPUs read.
pub fn line_rate(cpus: &[u32], line_bytes: u32, last_level: u64, budget: Budget) -> Option<Spread> {
    let cpus = &cpus[..cpus.len().min(READERS)];
    let each = RANGE.max((last_level as usize * 4 / cpus.len().max(1)).min(4 * RANGE));
    let start = Barrier::new(cpus.len());
    let passes: Vec<Vec<f64>> = std::thread::scope(|s| {
        let reader = |&cpu: &u32| {
            let start = &start;
            s.spawn(move || {
                pin(cpu);
                // The range is filled with ones, because the kernel may map a range of zeros to one
                // shared page.
                let range = vec![1u64; each / 8];
                start.wait();
                let (begin, mut times) = (Instant::now(), Vec::new());
                while times.len() < 3 || begin.elapsed() < budget.long {
                    let pass = Instant::now();
                    std::hint::black_box(range.iter().fold(0u64, |sum, x| sum.wrapping_add(*x)));
                    times.push(pass.elapsed().as_nanos() as f64);
                }
                times
            })
        };
        let readers: Vec<_> = cpus.iter().map(reader).collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader does not panic")).collect()
    });
    // Each CPU measures its own time. In that time all readers together read this many lines.
    let lines = (each as f64 / f64::from(line_bytes)) * cpus.len() as f64;
    Spread::of(passes.into_iter().flatten().map(|time| time / lines).collect())
}

/// The number of stores that a CPU accepts while the first of them misses, before the next store
/// has to wait. The measurement takes several passes; an error says why it failed.
#[cfg(target_arch = "x86_64")]
pub fn store_buffer(cpu: u32, budget: Budget) -> Result<u32, String> {
    const MOST: usize = 160;
    const SAMPLES: usize = 300;
    let passes = if budget.long < Budget::CALIBRATE.long { 3 } else { 11 };
    std::thread::spawn(move || {
        pin(cpu);
        let cold = Ring::new(RANGE / 64, 64);
        // Each store goes to a line of its own, because stores to one line may be merged.
        let mut hot = vec![[0u64; 8]; MOST];
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut time = |stores: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let missing = cold.cell((random >> 40) as usize % (RANGE / 64));
            hot.iter_mut().for_each(|line| line[0] = stores as u64);
            // SAFETY: the cell lies in the ring's own mapping, through which no chase runs any
            // more; fences and the counter do not touch memory.
            unsafe {
                use core::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
                _mm_mfence();
                _mm_lfence();
                let start = _rdtsc();
                missing.write_volatile(stores);
                for line in &mut hot[..stores - 1] {
                    (&raw mut line[1]).write_volatile(1);
                }
                _mm_lfence();
                (_rdtsc() - start) as f64
            }
        };
        let mut pass = || -> Vec<(usize, f64)> {
            let numbers = (STEP..=MOST).step_by(STEP);
            numbers.filter_map(|n| Some((n, Spread::of((0..SAMPLES).map(|_| time(n)).collect())?.low))).collect()
        };
        agreed(&(0..passes).map(|_| step(&pass())).collect::<Vec<_>>())
    })
    .join()
    .expect("the measuring thread does not panic")
}

/// The increment from one tried number of stores to the next.
const STEP: usize = 2;

/// The median of the passes' results. An error if more than a third of the passes found nothing, or
/// if the middle half of the results spans more than two steps and more than an eighth of the
/// median.
fn agreed(passes: &[Option<u32>]) -> Result<u32, String> {
    let mut found: Vec<u32> = passes.iter().copied().flatten().collect();
    found.sort_unstable();
    let n = found.len();
    if n == 0 || n * 3 < passes.len() * 2 {
        return Err(format!("{n} of {} passes found a step", passes.len()));
    }
    let (low, middle, high) = (found[n / 4], found[n / 2], found[n * 3 / 4]);
    if high - low > (2 * STEP as u32).max(middle / 8) {
        return Err(format!("from {} to {} by pass: too far apart", found[0], found[n - 1]));
    }
    Ok(middle)
}

/// On processors other than x86-64 no clock is precise enough for this measurement.
#[cfg(not(target_arch = "x86_64"))]
pub fn store_buffer(_: u32, _: Budget) -> Result<u32, String> {
    Err("no time-stamp counter that is precise enough".into())
}

/// The number of stores after which times rise for good: the last number before times cross the
/// middle between the least and the last time. `None` if that rise is less than two ticks for each
/// store between the least number and the greatest, which stores may take without a wait. Times are
/// low percentiles, because the first store is often slow for other reasons.
fn step(times: &[(usize, f64)]) -> Option<u32> {
    let ((least, _), (most, high)) = (*times.first()?, *times.last()?);
    let low = times.iter().map(|&(_, time)| time).min_by(f64::total_cmp)?;
    let own = (most - least) as f64;
    if high < low + 2.0 * own {
        return None;
    }
    let middle = (low + high) / 2.0;
    let at = times.iter().rposition(|&(_, time)| time <= middle)?;
    Some(times[at].0 as u32)
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use super::*;

    #[test]
    fn a_step_is_found_and_a_slope_is_none() {
        let stair = |n: usize| (n, if n <= 56 { 30.0 + n as f64 } else { 600.0 + n as f64 });
        assert_eq!(step(&(2..=160).step_by(2).map(stair).collect::<Vec<_>>()), Some(56));
        assert_eq!(step(&(2..=160).step_by(2).map(|n| (n, 30.0 + n as f64)).collect::<Vec<_>>()), None);
        assert_eq!(step(&[]), None);
    }

    #[test]
    fn passes_agree_or_are_refused() {
        let all = |found: &[u32]| agreed(&found.iter().map(|&n| Some(n)).collect::<Vec<_>>());
        // The result 64 holds although one of the seven passes was disturbed and found 2.
        assert_eq!(all(&[64, 62, 64, 64, 2, 64, 66]), Ok(64));
        assert!(all(&[64, 30, 12, 64, 100, 44, 66]).unwrap_err().contains("from 12 to 100"));
        assert_eq!(agreed(&[Some(64), None, Some(64)]), Ok(64));
        assert_eq!(agreed(&[Some(64), None, None]), Err("1 of 3 passes found a step".into()));
        assert!(agreed(&[]).is_err());
    }

    #[test]
    fn memory_moves_lines() {
        let cpus = baton_machine::discover::allowed_cpus();
        let rate = measured(Budget::LOOK, |budget| line_rate(&cpus, 64, 0, budget));
        assert!(rate.median > 0.05, "{rate:?}");
    }
}
