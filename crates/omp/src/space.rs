//! A loop's iterations as numbers from 0, and the chunks into which schedules cut them.

use core::num::NonZeroU64;

/// The iterations of a loop: from `start` on, in steps of `step`, before `end`. The bits of signed
/// and unsigned numbers are kept alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    start: u64,
    end: u64,
    step: u64,
    /// The number of iterations.
    pub count: u64,
}

impl Space {
    /// The space of a loop over `long`. With a step of zero it has no iterations.
    pub fn signed(start: i64, end: i64, step: i64) -> Space {
        let (low, high) = if step > 0 { (start, end) } else { (end, start) };
        let span = if low < high { high.wrapping_sub(low) as u64 } else { 0 };
        let count = steps(span, step.unsigned_abs());
        Space { start: start as u64, end: end as u64, step: step as u64, count }
    }

    /// The space of a loop over `unsigned long long`. A loop that counts down has a step that wraps
    /// around.
    pub fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Space {
        let (span, by) =
            if up { (end.checked_sub(start), step) } else { (start.checked_sub(end), step.wrapping_neg()) };
        Space { start, end, step, count: steps(span.unwrap_or(0), by) }
    }

    /// The space of `count` iterations from `start` on. The sums wrap around, so the last value may
    /// be the greatest one of its type.
    pub fn counted(start: u64, step: u64, count: u64) -> Space {
        Space { start, end: start.wrapping_add(step.wrapping_mul(count)), step, count }
    }

    /// The same values in blocks of `length` iterations, which schedules then hand out as they hand
    /// out iterations; the step leads from one block to the next. The last block may be shorter.
    pub fn in_blocks(self, length: u64) -> Space {
        let length = length.clamp(1, self.count.max(1));
        Space { step: self.step.wrapping_mul(length), count: self.count.div_ceil(length), ..self }
    }

    /// The distance from one value of the loop variable to the next.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether a chunk that ends before the value `end` is the loop's last.
    pub fn ends_with(&self, end: u64) -> bool {
        end == self.end
    }

    /// The value of the loop variable for an iteration.
    #[inline(always)]
    pub(crate) fn value(&self, iteration: u64) -> u64 {
        self.start.wrapping_add(self.step.wrapping_mul(iteration))
    }

    /// The end of the loop variable's values.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The values of the loop variable for the iterations from `from` to before `to`: the first
    /// value, and the end.
    #[inline(always)]
    pub fn values(&self, from: u64, to: u64) -> (u64, u64) {
        // The last chunk ends with the loop's own end, because one step past the last iteration may
        // overflow.
        (self.value(from), if to == self.count { self.end } else { self.value(to) })
    }

    /// Does what [`values`](Space::values) does, without a multiplication in the usual case: a loop with
    /// step 1 ends `count` after its start.
    #[inline(always)]
    pub(crate) fn chunk_values(&self, from: u64, to: u64) -> (u64, u64) {
        if self.step == 1 {
            return (self.start.wrapping_add(from), self.start.wrapping_add(to));
        }
        self.values(from, to)
    }
}

/// How many steps of `by` begin within `span`; 0 if `by` is 0.
fn steps(span: u64, by: u64) -> u64 {
    match by {
        0 => 0,
        // The most frequent case; the division would take as long as all the rest.
        1 => span,
        _ => span.div_ceil(by),
    }
}

/// How a loop's iterations are handed out to threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleKind {
    /// Iterations are divided beforehand, in order.
    #[default]
    Static,
    /// Each thread that asks gets the next chunk.
    Dynamic,
    /// Each thread that asks gets the next chunk, and chunks become shorter.
    Guided,
    /// The runtime chooses; here it divides as for `Static`.
    Auto,
    /// Each thread that asks gets the next chunk, and each chunk is shorter than the one before by
    /// the same number of iterations. LLVM's library has it.
    Trapezoidal,
}

/// A schedule and the size of its chunks; 0 means that none was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The kind.
    pub kind: ScheduleKind,
    /// Iterations of a chunk.
    pub chunk: u64,
    /// Whether `monotonic:` was given, or a static schedule without a modifier.
    pub monotonic: bool,
}

/// The chunks that one thread has yet to run under a static schedule. A chunk is given by its first
/// iteration and the one behind its last.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticChunks {
    /// The first iteration of the next chunk; at or beyond `count`: no chunk is left.
    next: u64,
    /// Iterations of a chunk.
    length: u64,
    /// The distance from one chunk of the thread to its next.
    round: u64,
    /// Iterations of the loop.
    count: u64,
}

impl StaticChunks {
    /// The chunks of thread `id` of `threads`, in a loop of `count` iterations. With a `chunk` of 0
    /// each thread has one chunk at most.
    #[inline]
    pub fn new(count: u64, chunk: u64, id: u64, threads: u64) -> StaticChunks {
        if threads == 1 {
            return StaticChunks { next: 0, length: count, round: u64::MAX, count };
        }
        if chunk == 0 {
            let (each, more) = (count / threads, count % threads);
            // A thread without a chunk begins at the end.
            return StaticChunks {
                next: each * id + id.min(more),
                length: each + u64::from(id < more),
                round: u64::MAX,
                count,
            };
        }
        let (next, round) = (chunk.saturating_mul(id), chunk.saturating_mul(threads));
        StaticChunks { next, length: chunk, round, count }
    }
}

impl Iterator for StaticChunks {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let from = self.next;
        // The sums saturate at the greatest number, which no loop has as an iteration, so no chunk
        // is found twice.
        (from < self.count).then(|| {
            self.next = from.saturating_add(self.round);
            (from, from.saturating_add(self.length).min(self.count))
        })
    }
}

/// How many of the `left` iterations the next guided chunk has: an equal share for each thread, but
/// at least `chunk`.
#[inline]
pub fn guided_chunk(left: u64, chunk: u64, threads: NonZeroU64) -> u64 {
    // The share is rounded up, so it is not 0. A division by this type needs no check.
    let share = left / threads + u64::from(left % threads != 0);
    share.max(chunk).min(left)
}

/// The chunks of a trapezoidal schedule: the first has an equal share of half the loop for each
/// thread, the last `chunk` iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trapezoid {
    count: u64,
    first: u64,
    /// By how many iterations a chunk is shorter than the one before.
    less: u64,
    /// The number of chunks that cover the loop.
    chunks: u64,
}

impl Trapezoid {
    pub(crate) fn new(count: u64, chunk: u64, threads: NonZeroU64) -> Trapezoid {
        let last = chunk.max(1);
        let first = (count / threads / 2).max(last);
        // The mean of the lengths is half of `first + last`.
        let chunks = (2 * u128::from(count)).div_ceil(u128::from(first) + u128::from(last)).max(2);
        let less = u128::from(first - last) / (chunks - 1);
        Trapezoid { count, first, less: less as u64, chunks: chunks as u64 }
    }

    /// The first iteration of chunk `at`, counted from 0; the loop's end if there is no such chunk.
    fn start(&self, at: u64) -> u64 {
        if at >= self.chunks {
            return self.count;
        }
        let (at, first, less) = (u128::from(at), u128::from(self.first), u128::from(self.less));
        let start = at * first - less * (at * at.saturating_sub(1) / 2);
        start.min(u128::from(self.count)) as u64
    }

    /// Chunk `at`, as its first iteration and the one behind its last.
    pub(crate) fn chunk(&self, at: u64) -> Option<(u64, u64)> {
        let from = self.start(at);
        (from < self.count).then(|| (from, self.start(at + 1)))
    }
}

/// The most iterations of a loop for which [`share_by_reciprocal`] is exact.
pub(crate) const MOST_BY_RECIPROCAL: u64 = 1 << 32;

/// What [`share_by_reciprocal`] needs to divide among `threads` threads: 2^64 divided by their
/// number, rounded up. For one thread, which needs no division, the quotient wraps.
pub(crate) fn reciprocal(threads: NonZeroU64) -> u64 {
    (u64::MAX / threads).wrapping_add(1)
}

/// An equal share of `left` iterations, which are not 0 and at most [`MOST_BY_RECIPROCAL`], for
/// each of several threads, rounded up.
///
/// The product exceeds (left - 1) / threads * 2^64 by less than `left`, which is at most 2^32. A
/// quotient that is not whole lies by at least 1 / threads, times 2^64 more than 2^32, below the
/// next whole number. So the result is exact.
#[inline(always)]
pub(crate) fn share_by_reciprocal(left: u64, reciprocal: u64) -> u64 {
    ((u128::from(left - 1) * u128::from(reciprocal)) >> 64) as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_reach_the_ends_of_their_types() {
        assert_eq!(Space::signed(i64::MIN, i64::MAX, 1).count, u64::MAX);
        assert_eq!(Space::signed(0, 10, 3).count, 4);
        assert_eq!(Space::signed(10, 0, -3).count, 4);
        assert_eq!(Space::signed(10, 0, 3).count, 0);
        assert_eq!(Space::signed(i64::MAX, i64::MIN, -1).count, u64::MAX);
        assert_eq!(Space::signed(i64::MAX, i64::MIN, i64::MIN).count, 2);
        assert_eq!(Space::signed(0, 10, 0).count, 0);
        assert_eq!(Space::unsigned(true, 0, u64::MAX, 1 << 63).count, 2);
        assert_eq!(Space::unsigned(false, 10, 0, 3u64.wrapping_neg()).count, 4);
        let down = Space::counted(10, 3u64.wrapping_neg(), 4);
        assert_eq!((down.values(1, 3), down.values(3, 4)), ((7, 1), (1, 2u64.wrapping_neg())));
        let last = Space::counted(u64::MAX, 1, 1).values(0, 1);
        assert!(last == (u64::MAX, 0) && Space::counted(u64::MAX, 1, 1).ends_with(0));
        assert_eq!(Space::signed(0, 10, 3).values(3, 4), (9, 10));
        assert_eq!(Space::signed(10, 0, -3).values(1, 3), (7, 1));
    }

    #[test]
    fn static_chunks_cover_each_iteration_once() {
        for (count, chunk, threads) in
            [(0, 0, 1), (7, 2, 1), (0, 0, 3), (10, 0, 3), (2, 0, 5), (10, 1, 3), (17, 4, 3), (100, 7, 8)]
        {
            let mut seen = vec![0; count as usize];
            for id in 0..threads {
                for (from, to) in StaticChunks::new(count, chunk, id, threads) {
                    assert!(from < to, "{count} {chunk} {threads}");
                    (from..to).for_each(|i| seen[i as usize] += 1);
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{count} {chunk} {threads}: {seen:?}");
        }
    }

    #[test]
    fn static_chunks_end_where_numbers_end() {
        let of = |chunk, id| StaticChunks::new(u64::MAX, chunk, id, 3).collect::<Vec<_>>();
        assert_eq!(of(u64::MAX - 1, 0), [(0, u64::MAX - 1)]);
        assert_eq!(of(u64::MAX - 1, 1), [(u64::MAX - 1, u64::MAX)]);
        assert_eq!(of(u64::MAX - 1, 2), []);
        assert_eq!(of(1 << 62, 0), [(0, 1 << 62), (3 << 62, u64::MAX)]);
    }

    #[test]
    fn guided_chunks_shrink_to_the_least() {
        let four = NonZeroU64::new(4).unwrap();
        assert_eq!(guided_chunk(100, 0, four), 25);
        assert_eq!(guided_chunk(101, 0, four), 26);
        assert_eq!(guided_chunk(3, 0, four), 1);
        assert_eq!(guided_chunk(100, 30, four), 30);
        assert_eq!(guided_chunk(3, 30, four), 3);
    }

    #[test]
    fn trapezoidal_chunks_shrink_evenly_and_cover_the_loop() {
        let chunks = |count, chunk, threads| {
            let all = Trapezoid::new(count, chunk, NonZeroU64::new(threads).unwrap());
            (0..).map_while(|at| all.chunk(at)).collect::<Vec<_>>()
        };
        let lengths: Vec<u64> = chunks(1000, 1, 4).iter().map(|(from, to)| to - from).collect();
        assert_eq!((&lengths[..3], lengths.len()), (&[125, 117, 109][..], 13));
        for (count, chunk, threads) in [(0, 1, 2), (1, 1, 3), (7, 13, 2), (100, 13, 2), (1000, 1, 1), (4096, 5, 17)] {
            let all = chunks(count, chunk, threads);
            assert_eq!(all.first().map_or(0, |first| first.0), 0);
            assert_eq!(all.last().map_or(0, |last| last.1), count, "{count} {chunk} {threads}");
            assert!(all.windows(2).all(|two| two[0].1 == two[1].0));
            assert!(all.iter().rev().skip(1).all(|(from, to)| to - from >= chunk));
        }
        assert_eq!(chunks(u64::MAX, 1 << 60, 1).last().unwrap().1, u64::MAX);
    }

    #[test]
    fn blocks_are_handed_out_as_iterations_are() {
        let space = Space::signed(10, 37, 1).in_blocks(4);
        assert_eq!((space.count, space.step(), space.values(0, 2), space.values(6, 7)), (7, 4, (10, 18), (34, 37)));
        let down = Space::signed(10, 0, -3).in_blocks(2);
        assert_eq!((down.count, down.values(1, 2)), (2, (4, 0)));
        assert_eq!(Space::signed(0, 0, 1).in_blocks(4).count, 0);
    }

    #[test]
    fn shares_by_reciprocal_are_those_of_a_division() {
        let ends = [1, 2, 3, 1 << 31, MOST_BY_RECIPROCAL - 1, MOST_BY_RECIPROCAL];
        for threads in [2, 3, 5, 7, 8, 11, 64, 255, 256, 65_537, u64::from(u32::MAX) - 1, u64::from(u32::MAX)] {
            let divisor = NonZeroU64::new(threads).unwrap();
            let around = (1..40).flat_map(|n| [n * threads - 1, n * threads, n * threads + 1]);
            for left in ends.into_iter().chain(around).filter(|left| (1..=MOST_BY_RECIPROCAL).contains(left)) {
                assert_eq!(
                    share_by_reciprocal(left, reciprocal(divisor)),
                    guided_chunk(left, 0, divisor),
                    "{left} {threads}"
                );
            }
        }
    }
}
