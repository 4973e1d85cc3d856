//! The timeline of the page: what each thread did when, in few enough blocks for a browser.
//!
//! Pieces are kept exact as long as there are not too many. Then the shortest neighbours of a lane
//! are merged into mixed blocks, which record how much of each state they contain. The merging
//! length doubles until the rest fits. So long pieces stay exact however many short ones the run
//! has, and no page has more than [`BLOCKS`] blocks.

mod encode;
mod flatten;
mod lane;
mod queue;

pub(crate) use lane::LaneState;

use crate::Profile;
use crate::intervals::{Doing, Interval};
use baton_units::Nanos;
use flatten::flatten;
use lane::{Lane, Piece};
use queue::Queue;
use serde::Serialize;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The most blocks of a page; a block takes some eight bytes.
const BLOCKS: usize = 150_000;
/// The most threads and locks that get a lane: the threads that waited most, and the locks that
/// were waited for most.
const THREAD_LANES: usize = 200;
const LOCK_LANES: usize = 12;

/// The timeline, ready for the page.
#[derive(Serialize)]
pub(crate) struct Timeline {
    start_ns: Nanos,
    end_ns: Nanos,
    /// The threads that have a lane, in the order of the lanes.
    threads: Vec<u32>,
    /// The threads whose lanes were taken away, because nothing of them can be seen.
    folded: Vec<u32>,
    /// The locks that have a lane, which shows the owner; they follow the threads' lanes.
    locks: Vec<u32>,
    /// Pieces shorter than this may have been merged with neighbours; 0 if all pieces are exact.
    merged_below_ns: Nanos,
    /// The blocks of all lanes, as `encode` writes them.
    blocks: String,
    /// For each lock of `locks`, the queue length over time.
    queues: Vec<Vec<f32>>,
}

struct Builder {
    lanes: Vec<Lane>,
    thread_lanes: BTreeMap<u32, usize>,
    lock_lanes: BTreeMap<u32, usize>,
    queues: Vec<Queue>,
    pending: BTreeMap<u32, Vec<Interval>>,
    merge_below: u64,
    blocks: usize,
}

pub(crate) fn timeline(profile: &Profile) -> Timeline {
    let report = &profile.report;
    let mut threads: Vec<u32> = (0..report.threads.len() as u32).collect();
    threads.sort_by_key(|t| std::cmp::Reverse(report.threads[*t as usize].wait_ns));
    threads.truncate(THREAD_LANES);
    threads.sort_unstable();
    let contended = report.locks.iter().enumerate().filter(|(_, l)| l.usage.contended > 0);
    let locks: Vec<u32> = contended.map(|(i, _)| i as u32).take(LOCK_LANES).collect();
    let start = report.threads.iter().map(|t| t.first_ns).min().unwrap_or_default();
    let end = report.threads.iter().map(|t| t.last_ns).max().unwrap_or_default();
    let mut builder = Builder {
        lanes: (0..threads.len() + locks.len()).map(|_| Lane::default()).collect(),
        thread_lanes: threads.iter().enumerate().map(|(lane, t)| (*t, lane)).collect(),
        lock_lanes: locks.iter().enumerate().map(|(lane, l)| (*l, threads.len() + lane)).collect(),
        queues: locks.iter().map(|_| Queue::new(start, end)).collect(),
        pending: BTreeMap::new(),
        merge_below: 0,
        blocks: 0,
    };
    let Ok(()) = profile.intervals(|interval| {
        builder.take(interval);
        Ok::<(), Infallible>(())
    });
    builder.flush_all();
    let folded = builder.fold(profile, &mut threads, end.0 - start.0);
    Timeline {
        start_ns: start,
        end_ns: end,
        merged_below_ns: Nanos(builder.merge_below),
        blocks: encode::encode(&builder.lanes, start),
        queues: builder.queues.iter().map(Queue::means).collect(),
        threads,
        folded,
        locks,
    }
}

/// A thread that lives for less than this fraction (1 / 1000) of the timeline cannot be seen in it.
const SEEN: u64 = 1000;

impl Builder {
    fn take(&mut self, interval: &Interval) {
        let lock = interval.object.filter(|_| interval.doing.is_of_lock());
        if let Some(lane) = lock.and_then(|l| self.lock_lanes.get(&l)).copied() {
            match interval.doing {
                Doing::Hold(_) => self.add(lane, Piece::of(interval, LaneState::Hold, Some(interval.thread.0))),
                Doing::Wait(_) => self.queues[lane - self.thread_lanes.len()].add(interval.start, interval.end),
                _ => {}
            }
        }
        if self.thread_lanes.contains_key(&interval.thread.0) {
            self.pending.entry(interval.thread.0).or_default().push(*interval);
            if interval.open == 0 {
                self.flush(interval.thread.0);
            }
        }
    }

    /// Removes the lanes of threads of which nothing can be seen: the lane is empty, and the thread
    /// lives too briefly. Returns these threads.
    fn fold(&mut self, profile: &Profile, threads: &mut Vec<u32>, span: u64) -> Vec<u32> {
        let is_empty = |(lane, thread): (usize, &u32)| {
            let thread = &profile.report.threads[*thread as usize];
            self.lanes[lane].len() == 0 && thread.last_ns.0.saturating_sub(thread.first_ns.0) < span / SEEN
        };
        let empty: Vec<bool> = threads.iter().enumerate().map(is_empty).collect();
        let mut lane = 0..;
        self.lanes.retain(|_| !lane.next().and_then(|lane: usize| empty.get(lane)).is_some_and(|empty| *empty));
        let (folded, kept): (Vec<_>, Vec<_>) = threads.iter().zip(&empty).partition(|(_, empty)| **empty);
        let of = |those: Vec<(&u32, &bool)>| those.into_iter().map(|(thread, _)| *thread).collect::<Vec<u32>>();
        let (folded, kept) = (of(folded), of(kept));
        *threads = kept;
        folded
    }

    fn flush_all(&mut self) {
        let threads: Vec<u32> = self.pending.keys().copied().collect();
        for thread in threads {
            self.flush(thread);
        }
    }

    fn flush(&mut self, thread: u32) {
        let (Some(pending), Some(lane)) = (self.pending.get_mut(&thread), self.thread_lanes.get(&thread)) else {
            return;
        };
        let pieces = flatten(&std::mem::take(pending));
        let lane = *lane;
        for piece in pieces {
            self.add(lane, piece);
        }
    }

    fn add(&mut self, lane: usize, piece: Piece) {
        self.blocks += usize::from(self.lanes[lane].add(piece, self.merge_below));
        while self.blocks > BLOCKS {
            self.merge_below = (self.merge_below * 2).max(256);
            self.lanes.iter_mut().for_each(|l| l.merge(self.merge_below));
            self.blocks = self.lanes.iter().map(Lane::len).sum();
        }
    }
}
