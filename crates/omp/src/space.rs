//! The iterations of a loop as numbers from 0, and the chunks that schedules cut them into.

/// The iterations of a loop: from `start` to before `end`, each `step` on. Signed and unsigned loops alike are kept as the bits of
/// their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    start: u64,
    end: u64,
    step: u64,
    /// How many iterations there are.
    pub count: u64,
}

impl Space {
    /// The space of a loop over `long`. A step of zero has no iterations.
    pub fn signed(start: i64, end: i64, step: i64) -> Space {
        let (from, to, by) = (i128::from(start), i128::from(end), i128::from(step));
        let count = match step {
            0 => 0,
            1.. => (to - from + by - 1) / by,
            _ => (from - to - by - 1) / -by,
        };
        Space { start: start as u64, end: end as u64, step: step as u64, count: count.max(0) as u64 }
    }

    /// The space of a loop over `unsigned long long`; one that counts down has a step that wraps.
    pub fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Space {
        let (span, by) =
            if up { (end.checked_sub(start), step) } else { (start.checked_sub(end), step.wrapping_neg()) };
        let count = if by == 0 { 0 } else { span.unwrap_or(0).div_ceil(by) };
        Space { start, end, step, count }
    }

    /// The loop's values at which iterations `from` to before `to` begin and end.
    #[inline(always)]
    pub fn values(&self, from: u64, to: u64) -> (u64, u64) {
        let at = |n: u64| self.start.wrapping_add(self.step.wrapping_mul(n));
        // The last chunk ends where the loop ends: one step past the last iteration may not be a number any more.
        (at(from), if to == self.count { self.end } else { at(to) })
    }
}

/// How the iterations are handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleKind {
    /// In turn, known beforehand.
    #[default]
    Static,
    /// A chunk to each thread that asks.
    Dynamic,
    /// As dynamic, with chunks that shrink.
    Guided,
    /// As the runtime likes; static here.
    Auto,
}

/// A schedule and its chunk; a chunk of 0 means none was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The kind.
    pub kind: ScheduleKind,
    /// Iterations of a chunk.
    pub chunk: u64,
    /// Whether `monotonic:` was given.
    pub monotonic: bool,
}

/// The chunk number `trip` of thread `id` of `threads` under a static schedule.
pub fn static_chunk(count: u64, chunk: u64, trip: u64, id: u64, threads: u64) -> Option<(u64, u64)> {
    if chunk == 0 {
        let (each, more) = (count / threads, count % threads);
        let from = each * id + id.min(more);
        let to = from + each + u64::from(id < more);
        return (trip == 0 && from < to).then_some((from, to));
    }
    let from = trip.checked_mul(threads)?.checked_add(id)?.checked_mul(chunk)?;
    (from < count).then(|| (from, from.saturating_add(chunk).min(count)))
}

/// How many of the `left` iterations the next guided chunk has: its share, at least `chunk`.
pub fn guided_chunk(left: u64, chunk: u64, threads: u64) -> u64 {
    left.div_ceil(threads).max(chunk.max(1)).min(left)
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
        assert_eq!(Space::unsigned(true, 0, u64::MAX, 1 << 63).count, 2);
        assert_eq!(Space::unsigned(false, 10, 0, 3u64.wrapping_neg()).count, 4);
        assert_eq!(Space::signed(0, 10, 3).values(3, 4), (9, 10));
        assert_eq!(Space::signed(10, 0, -3).values(1, 3), (7, 1));
    }

    #[test]
    fn static_chunks_cover_each_iteration_once() {
        for (count, chunk, threads) in [(0, 0, 3), (10, 0, 3), (2, 0, 5), (10, 1, 3), (17, 4, 3), (100, 7, 8)] {
            let mut seen = vec![0; count as usize];
            for id in 0..threads {
                for trip in 0.. {
                    let Some((from, to)) = static_chunk(count, chunk, trip, id, threads) else { break };
                    (from..to).for_each(|i| seen[i as usize] += 1);
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{count} {chunk} {threads}: {seen:?}");
        }
    }

    #[test]
    fn guided_chunks_shrink_to_the_least() {
        assert_eq!(guided_chunk(100, 0, 4), 25);
        assert_eq!(guided_chunk(3, 0, 4), 1);
        assert_eq!(guided_chunk(100, 30, 4), 30);
        assert_eq!(guided_chunk(3, 30, 4), 3);
    }
}
