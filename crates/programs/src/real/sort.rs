//! A merge sort by tasks (as in the tasking benchmarks' `sort`): ranges are sorted whole, then
//! merged pair by pair. A merge is ready when both of its halves are.

use super::{pool::Pool, scale::Scale};
use crate::monitor::Kit;
use crate::places::Places;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::AcqRel, OwnedSlice};
use baton_workloads::{Body, Team, xorshift};
use std::sync::Arc;

/// Cycles of a key and level in the sort of a whole range: a comparison, and often a mispredicted
/// branch.
const SORT_CYCLES: u64 = 8;
/// Cycles of a key that is merged.
const MERGE_CYCLES: u64 = 6;

/// The data that the threads share. Tasks are numbered as in a heap: task 1 merges all, node `n`
/// has halves `2n` and `2n + 1`, and the last `leaves` nodes are ranges.
struct Data<M: Machine, K: Kit<M>> {
    keys: Places<M, u32>,
    /// By node: the number of halves that are done.
    done: OwnedSlice<M, M::Atomic<u32>>,
    pool: Pool<M, K>,
    leaves: u32,
}

fn input(scale: Scale) -> Vec<u32> {
    let mut state = scale.seed | 1;
    (0..scale.size).map(|_| (xorshift(&mut state) >> 32) as u32).collect()
}

/// Makes the threads of the program, and the check of their result.
pub(super) fn team<M: Machine, K: Kit<M>>(threads: u32, scale: Scale, kit: &K) -> Team {
    let keys = input(scale);
    let leaves = scale.size / scale.grain;
    let first: Vec<u32> = (leaves..2 * leaves).collect();
    let data = Arc::new(Data::<M, K> {
        keys: Places::new(keys.len(), |at| keys[at]),
        done: OwnedSlice::new(leaves as usize, |_| M::Atomic::new(0)),
        pool: Pool::new(kit, 0, 2 * leaves as usize, &first),
        leaves,
    });
    let body = |_| {
        let (data, kit) = (data.clone(), kit.clone());
        Box::new(move || data.pool.run(&kit, |node| data.task(node))) as Body
    };
    let bodies = (0..threads).map(body).collect();
    let verify = move || {
        let mut expected = input(scale);
        expected.sort_unstable();
        // SAFETY: the threads have ended.
        let found: Vec<u32> = (0..expected.len()).map(|at| unsafe { data.keys.get(at) }).collect();
        if found == expected { Ok(()) } else { Err("the keys are not sorted".to_owned()) }
    };
    Team::new(bodies, Box::new(verify))
}

impl<M: Machine, K: Kit<M>> Data<M, K> {
    /// Sorts or merges a node's range. Returns the merge that this makes ready.
    fn task(&self, node: u32) -> Vec<u32> {
        // A node of depth d covers a share of 1 / 2^d of the keys.
        let depth = node.ilog2();
        let len = self.keys.0.len() >> depth;
        let begin = (node as usize - (1 << depth)) * len;
        // SAFETY: (here and below) the range belongs to this task. Tasks that wrote it earlier
        // happened before this one, by `done` and the pool's lock.
        let mut keys: Vec<u32> = (begin..begin + len).map(|at| unsafe { self.keys.get(at) }).collect();
        if node >= self.leaves {
            M::work(Cycles(len as u64 * u64::from(len.ilog2()) * SORT_CYCLES));
            keys.sort_unstable();
        } else {
            M::work(Cycles(len as u64 * MERGE_CYCLES));
            keys = merge(keys.split_at(len / 2));
        }
        for (at, key) in keys.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.keys.set(begin + at, key) };
        }
        // AcqRel: the thread that finds the other half done has seen that half's writes.
        let last = node > 1 && self.done[node as usize / 2].fetch_add(1, AcqRel) == 1;
        if last { vec![node / 2] } else { Vec::new() }
    }
}

fn merge((mut a, mut b): (&[u32], &[u32])) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    while let (Some((x, rest_of_a)), Some((y, rest_of_b))) = (a.split_first(), b.split_first()) {
        if x <= y {
            out.push(*x);
            a = rest_of_a;
        } else {
            out.push(*y);
            b = rest_of_b;
        }
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
    out
}
