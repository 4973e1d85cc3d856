//! Gaps in a loop that does nothing but read the clock. A gap is time that the kernel, or the host
//! of a virtual machine, took from the running thread. Ticks are the gaps at the kernel's period.
//! An interrupt from another CPU is the gap that a system call on that CPU causes (`membarrier`
//! interrupts every CPU on which a thread of the program runs).

use super::{Alone, Budget, Spread, now, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A time span in which the loop did not advance, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The moment at which the gap began, on the steady clock.
    pub at: u64,
    /// The length of the gap, beyond one turn of the loop.
    pub length: u64,
}

/// Reads the clock until `until` is true of the time read. Returns the gaps, and the first and the
/// last reading.
fn watch(until: impl Fn(u64) -> bool) -> (Vec<Gap>, u64, u64) {
    const TURNS: usize = 2_001;
    let mut turns: Vec<u64> = (0..TURNS).map(|_| now()).collect::<Vec<_>>().windows(2).map(|t| t[1] - t[0]).collect();
    turns.sort_unstable();
    let turn = turns[turns.len() / 2];
    // A gap must be longer than the cache misses that appending to the list can cause.
    let least = (4 * turn).max(turn + 200);
    let mut gaps = Vec::with_capacity(1 << 14);
    let begin = now();
    let mut last = begin;
    while !until(last) {
        let time = now();
        if time - last > least && gaps.len() < gaps.capacity() {
            gaps.push(Gap { at: last, length: time - last - turn });
        }
        last = time;
    }
    (gaps, begin, last)
}

/// The time that a timer tick takes from the running thread, given the kernel's tick period. An
/// error says why the tick cannot be measured.
pub fn tick(cpu: u32, period: u64, budget: Budget) -> Result<Spread, String> {
    let window = (budget.long * 2).as_nanos() as u64;
    let watching = std::thread::spawn(move || {
        pin(cpu);
        let end = now() + window;
        watch(|time| time >= end)
    });
    let (gaps, from, to) = watching.join().expect("the watching thread does not panic");
    periodic(&gaps, period, from, to)
}

/// Finds the gaps that recur at one phase of the period, the longest one in each period. Returns
/// the distribution of their lengths.
fn periodic(gaps: &[Gap], period: u64, from: u64, to: u64) -> Result<Spread, String> {
    const LEAST: u64 = 10;
    let periods = (to - from) / period.max(1);
    if periods < LEAST {
        return Err(format!("{periods} periods are too few to tell ticks from other gaps"));
    }
    // Timers are late by up to this much now and then.
    let width = period / 20;
    let within = |phase: u64, gap: &Gap| (gap.at % period + period - phase) % period < width;
    let phases = gaps.iter().map(|gap| gap.at % period);
    let Some(phase) = phases.max_by_key(|&phase| gaps.iter().filter(|gap| within(phase, gap)).count()) else {
        return Err("nothing ever took the CPU from a busy thread".into());
    };
    let turn = |gap: &Gap| (gap.at - from + (period - phase + from % period) % period) / period;
    let mut longest = std::collections::BTreeMap::<u64, u64>::new();
    for gap in gaps.iter().filter(|gap| within(phase, gap)) {
        let most = longest.entry(turn(gap)).or_default();
        *most = gap.length.max(*most);
    }
    let seen = longest.len() as u64;
    if seen * 5 < periods * 4 {
        return Err(format!("only {seen} of {periods} periods have a gap at the same moment"));
    }
    let all = Spread::of(longest.into_values().map(|length| length as f64).collect());
    all.ok_or_else(|| "no gaps".to_owned())
}

/// The time that an interrupt from another CPU takes from the thread that it hits. An error says
/// why it cannot be measured.
pub fn interrupt((from, hit): (u32, u32), budget: Budget) -> Result<Spread, String> {
    const PRIVATE_EXPEDITED: i32 = 1 << 3;
    const REGISTER: i32 = 1 << 4;
    const APART: Duration = Duration::from_micros(200);
    // SAFETY: the call takes numbers only.
    let barrier = |command: i32| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } == 0;
    if !barrier(REGISTER) {
        return Err("the kernel has no membarrier that interrupts other CPUs".into());
    }
    let (ready, stop) = (Alone(AtomicBool::new(false)), Alone(AtomicBool::new(false)));
    let (gaps, calls) = std::thread::scope(|s| {
        let watching = s.spawn(|| {
            pin(hit);
            ready.0.store(true, Ordering::Release);
            watch(|_| stop.0.load(Ordering::Relaxed)).0
        });
        let calling = s.spawn(|| {
            pin(from);
            while !ready.0.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let (mut calls, end) = (Vec::new(), now() + budget.long.as_nanos() as u64);
            while now() < end {
                let next = now() + APART.as_nanos() as u64;
                while now() < next {
                    std::hint::spin_loop();
                }
                let start = now();
                barrier(PRIVATE_EXPEDITED);
                calls.push((start, now()));
            }
            stop.0.store(true, Ordering::Relaxed);
            calls
        });
        let calls = calling.join().expect("the calling thread does not panic");
        (watching.join().expect("the watching thread does not panic"), calls)
    });
    caused(&calls, &gaps)
}

/// For each call of `membarrier`, the longest gap that begins within the call; the call is over
/// when all CPUs have answered. A gap that began before the call was no interrupt: another thread
/// had the CPU, so the call had no thread to interrupt.
fn caused(calls: &[(u64, u64)], gaps: &[Gap]) -> Result<Spread, String> {
    // A gap is dated to the last clock reading before it, which is up to one turn early.
    const TURN: u64 = 1_000;
    let longest = |&(start, end): &(u64, u64)| {
        let first = gaps.partition_point(|gap| gap.at + TURN < start);
        let hit = gaps[first..].iter().take_while(|gap| gap.at < end).map(|gap| gap.length).max();
        hit.map(|length| length as f64)
    };
    let hits: Vec<f64> = calls.iter().filter_map(longest).collect();
    if calls.is_empty() || hits.len() * 5 < calls.len() * 4 {
        return Err(format!("only {} of {} calls stopped the other CPU", hits.len(), calls.len()));
    }
    Spread::of(hits).ok_or_else(|| "no gaps".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A recording with ticks every 4 ms that take 2 µs and are late by up to 50 µs, and with other
    /// gaps, some at the same moment.
    fn recorded(ticks: u64) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = (0..ticks)
            .map(|n| Gap { at: 777_123 + n * 4 * MS + n * 7_919 % 50_000, length: 1_900 + n % 200 })
            .chain((0..ticks / 3).map(|n| Gap { at: 1_000 + n * 11_300_000, length: 90_000 }))
            .chain((0..ticks / 10).map(|n| Gap { at: 797_000 + n * 40 * MS, length: 400 }))
            .collect();
        gaps.sort_by_key(|gap| gap.at);
        gaps
    }

    #[test]
    fn ticks_are_the_gaps_at_the_period() {
        let cost = periodic(&recorded(250), 4 * MS, 0, 1_000 * MS).unwrap();
        assert!((1_900.0..2_100.0).contains(&cost.median), "{cost:?}");
        // The result must not depend on when the recording begins relative to the period.
        let later: Vec<Gap> = recorded(250).iter().map(|g| Gap { at: g.at + 3_456_789, ..*g }).collect();
        let cost = periodic(&later, 4 * MS, 3_456_789, 1_003_456_789).unwrap();
        assert!(cost.samples >= 245 && (1_900.0..2_100.0).contains(&cost.median), "{cost:?}");
    }

    #[test]
    fn what_has_no_period_is_no_tick() {
        let now_and_then: Vec<Gap> =
            (0..300u64).map(|n| Gap { at: n * n * 10_007 % (1_000 * MS), length: 2_000 }).collect();
        assert!(periodic(&now_and_then, 4 * MS, 0, 1_000 * MS).unwrap_err().contains("of 250 periods"));
        assert!(periodic(&[], 4 * MS, 0, 1_000 * MS).is_err());
        assert!(periodic(&recorded(2), 4 * MS, 0, 8 * MS).unwrap_err().contains("too few"));
    }

    #[test]
    fn interrupts_are_the_gaps_within_the_calls() {
        let calls: Vec<(u64, u64)> = (1..=100u64).map(|n| (n * 200_000, n * 200_000 + 5_000)).collect();
        let gap = |n: u64| Gap { at: n * 200_000 + 2_000, length: 1_500 + n };
        let mut gaps: Vec<Gap> = (1..=90).map(gap).chain([Gap { at: 290_000, length: 60_000 }]).collect();
        gaps.sort_by_key(|gap| gap.at);
        let cost = caused(&calls, &gaps).unwrap();
        assert_eq!((cost.samples, cost.median), (90, 1_546.0));
        assert!(caused(&calls, &gaps[..40]).unwrap_err().starts_with("only"));
        assert!(caused(&[], &[]).is_err());
        // Here another thread has the CPU nearly all the time, so no gap begins within a call.
        let away: Vec<Gap> = (1..=100).map(|n| Gap { at: n * 200_000 - 150_000, length: 180_000 }).collect();
        assert!(caused(&calls, &away).unwrap_err().starts_with("only 0"));
    }

    #[test]
    fn this_machine_ticks_or_says_why_not() {
        let cpus = baton_machine::discover::allowed_cpus();
        match tick(cpus[0], 4 * MS, Budget::LOOK) {
            Ok(cost) => assert!(cost.median > 50.0, "{cost:?}"),
            Err(why) => assert!(!why.is_empty()),
        }
        if let Some(&other) = cpus.get(1) {
            match interrupt((cpus[0], other), Budget::LOOK) {
                Ok(cost) => assert!(cost.median > 50.0, "{cost:?}"),
                Err(why) => assert!(!why.is_empty()),
            }
        }
    }
}
