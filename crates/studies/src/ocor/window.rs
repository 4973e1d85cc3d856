//! What the first threads of a program do over time, and what the paper's figure 10 tells of it: shares of a window at the
//! region's beginning, and how long the same work takes with marks.

use super::account::Requests;
use baton_chip::LockLog;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Threads that the figure shows.
pub const THREADS: usize = 16;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doing {
    /// The thread's own work.
    Own,
    /// The thread is in a critical section.
    Section,
    /// The thread waits for a lock that another thread holds.
    Held,
    /// The thread waits for a lock that no thread holds: competition overhead.
    Free,
}

/// Everything that a thread does, in the order of the numbers, each with its name.
pub const DOINGS: [(Doing, &str); 4] = [
    (Doing::Own, "own work"),
    (Doing::Section, "critical section"),
    (Doing::Held, "blocked: others' sections"),
    (Doing::Free, "blocked: competition overhead"),
];

/// A piece of a thread's time, in cycles from the beginning of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The first cycle of the piece.
    pub from: u64,
    /// The first cycle after the piece.
    pub to: u64,
    pub doing: Doing,
}

/// What the first threads do over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The pieces of each thread, in order of time and without gaps.
    pub threads: Vec<Vec<Piece>>,
}

/// Shares of a window's thread-time, in percent, in the order of [`DOINGS`].
pub type Shares = [f64; 4];

impl Window {
    /// Builds the window from the log of the locks' words between the region's beginning and end.
    ///
    /// # Errors
    /// A lock was released by a thread that did not hold it.
    pub fn of(log: &LockLog, requests: &Requests, (begin, end): (u64, u64)) -> Result<Window, String> {
        // `held` has the intervals in which each lock was held, `sections` each thread's sections
        // with their locks.
        let mut held: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        let mut sections: Vec<Vec<(u64, u64, u64)>> = vec![Vec::new(); requests.len()];
        let mut open: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        for change in &log.changes {
            let at = change.at.0;
            match (change.from, change.to) {
                (0, _) => drop(open.insert(change.word, (at, change.thread))),
                (_, 0) => {
                    let taken = open.remove(&change.word).filter(|taken| taken.1 == change.thread);
                    let (since, thread) = taken.ok_or("a lock was released that nobody held")?;
                    held.entry(change.word).or_default().push((since, at));
                    sections[thread as usize].push((since, at, change.word));
                }
                _ => {}
            }
        }
        let lane = |thread: usize| {
            let mut lane = Lane { begin, end, at: begin, pieces: Vec::new() };
            for (&asked, &(since, until, word)) in requests[thread].iter().zip(&sections[thread]) {
                lane.put(asked, Doing::Own);
                for &(from, to) in &held[&word] {
                    if to > asked && from < since {
                        lane.put(from.max(asked), Doing::Free);
                        lane.put(to.min(since), Doing::Held);
                    }
                }
                lane.put(since, Doing::Free);
                lane.put(until, Doing::Section);
            }
            lane.put(end, Doing::Own);
            lane.pieces
        };
        Ok(Window { threads: (0..requests.len().min(THREADS)).map(lane).collect() })
    }

    /// Shares of the thread-time up to `end`.
    pub fn shares(&self, end: u64) -> Shares {
        let mut cycles = [0u64; 4];
        for piece in self.threads.iter().flatten() {
            cycles[piece.doing as usize] += piece.to.min(end).saturating_sub(piece.from.min(end));
        }
        let all = (end * self.threads.len() as u64).max(1) as f64;
        cycles.map(|cycles| 100.0 * cycles as f64 / all)
    }

    /// Cycles of own work and sections, over all threads, up to `end`.
    fn progress(&self, end: u64) -> u64 {
        let counts = |piece: &&Piece| matches!(piece.doing, Doing::Own | Doing::Section);
        let pieces = self.threads.iter().flatten().filter(counts);
        pieces.map(|piece| piece.to.min(end).saturating_sub(piece.from.min(end))).sum()
    }

    /// Returns the cycle at which this run has done as much as `other` had done at `end`: own work
    /// and sections of the same threads, added up. `None`: this run never does as much.
    pub fn as_far_as(&self, other: &Window, end: u64) -> Option<u64> {
        let goal = other.progress(end);
        let last = self.threads.iter().flatten().map(|piece| piece.to).max()?;
        if self.progress(last) < goal {
            return None;
        }
        // Progress never falls.
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.progress(middle) < goal { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}

/// A thread's pieces as they are found.
struct Lane {
    begin: u64,
    end: u64,
    at: u64,
    pieces: Vec<Piece>,
}

impl Lane {
    /// Adds the piece from the end of the last piece to `to`, cut off at the region's end.
    fn put(&mut self, to: u64, doing: Doing) {
        let to = to.min(self.end);
        if to > self.at {
            self.pieces.push(Piece { from: self.at - self.begin, to: to - self.begin, doing });
            self.at = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_chip::WordChange;
    use baton_units::Cycles;

    fn change(at: u64, thread: u32, from: u32, to: u32) -> WordChange {
        WordChange { at: Cycles(at), word: 8, thread, from, to }
    }

    /// A window from 10 to 60 with two threads at one lock: thread 0 asks at 18 and holds the lock
    /// from 20 to 30; thread 1 asks at 22 and holds it from 34 to 44.
    fn window() -> Window {
        let changes = vec![
            change(20, 0, 0, 1),
            change(25, 1, 1, 2),
            change(30, 0, 2, 0),
            change(34, 1, 0, 2),
            change(44, 1, 2, 0),
        ];
        let log = LockLog { changes, waits: Vec::new() };
        Window::of(&log, &vec![vec![18], vec![22]], (10, 60)).unwrap()
    }

    #[test]
    fn pieces_follow_each_other() {
        let piece = |from, to, doing| Piece { from, to, doing };
        let window = window();
        assert_eq!(
            window.threads[0],
            [
                piece(0, 8, Doing::Own),
                piece(8, 10, Doing::Free),
                piece(10, 20, Doing::Section),
                piece(20, 50, Doing::Own)
            ]
        );
        assert_eq!(
            window.threads[1],
            [
                piece(0, 12, Doing::Own),
                piece(12, 20, Doing::Held),
                piece(20, 24, Doing::Free),
                piece(24, 34, Doing::Section),
                piece(34, 50, Doing::Own)
            ]
        );
        assert_eq!(window.shares(20), [100.0 * 20.0 / 40.0, 25.0, 20.0, 5.0]);
    }

    #[test]
    fn the_same_work_is_found_again() {
        let window = window();
        assert_eq!(window.as_far_as(&window, 20), Some(20));
        // Up to cycle 20 both threads together work for 30 cycles. Two threads that never wait have
        // done as much after 15 cycles.
        let fast = Window { threads: vec![vec![Piece { from: 0, to: 50, doing: Doing::Own }]; 2] };
        assert_eq!(window.progress(20), 30);
        assert_eq!((fast.as_far_as(&window, 20), window.as_far_as(&fast, 50)), (Some(15), None));
    }

    #[test]
    fn a_release_without_a_holder_is_an_error() {
        let log = LockLog { changes: vec![change(20, 0, 1, 0)], waits: Vec::new() };
        assert!(Window::of(&log, &vec![vec![10]], (0, 30)).is_err());
    }
}
