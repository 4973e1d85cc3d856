//! The build of a k-d tree (as in OMP2012's kdtree): a task splits a range of points at its median,
//! by the two coordinates in turn, and makes two tasks of the halves. Nodes are given out in a
//! critical section of their own.

use super::{pool::Pool, scale::Scale};
use crate::monitor::{Guarded, Kit};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::{Body, Shared, Team, share, xorshift};
use std::sync::Arc;

/// Cycles of a point in the search for a median: about three looks at each point (quickselect).
const CYCLES: u64 = 12;

type Point = [u32; 2];

/// A node: its range, and its halves if it has halves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Node {
    begin: u32,
    len: u32,
    /// The coordinate by which the range is split.
    axis: u32,
    /// The nodes of the two halves; 0: the node is a leaf.
    halves: [u32; 2],
}

/// The data that the threads share.
struct Data<M: Machine, K: Kit<M>> {
    points: Places<M, Point>,
    nodes: Places<M, Node>,
    /// Number of nodes given out.
    given: Shared<M, Guarded<M, K, u32>>,
    pool: Pool<M, K>,
    leaf: u32,
}

fn input(scale: Scale) -> Vec<Point> {
    let mut state = scale.seed | 1;
    let point = |_| {
        let bits = xorshift(&mut state);
        [(bits >> 40) as u32, (bits & 0xff_ffff) as u32]
    };
    (0..scale.size).map(point).collect()
}

/// Puts the median of the points at their middle, smaller points before it.
fn split(points: &mut [Point], axis: u32) {
    let key = |point: &Point| (point[axis as usize], point[1 - axis as usize]);
    points.select_nth_unstable_by_key(points.len() / 2, key);
}

/// Sorts the points in the order of the leaves, as one thread does.
fn plain(points: &mut [Point], axis: u32, leaf: usize) {
    if points.len() > leaf {
        split(points, axis);
        let (before, behind) = points.split_at_mut(points.len() / 2);
        plain(before, 1 - axis, leaf);
        plain(behind, 1 - axis, leaf);
    }
}

/// Makes the threads of the program, and the check of their result.
pub(super) fn team<M: Machine, K: Kit<M>>(threads: u32, scale: Scale, kit: &K) -> Team {
    let points = input(scale);
    // A leaf has at least half of the grain, which bounds the number of nodes.
    let most = 4 * (scale.size / scale.grain).max(1) as usize;
    let root = Node { len: scale.size, ..Node::default() };
    let data = Arc::new(Data::<M, K> {
        points: Places::new(points.len(), |at| points[at]),
        nodes: Places::new(most, |at| if at == 0 { root } else { Node::default() }),
        given: share::<M, _>(Guarded::new(kit, 1, 1)),
        pool: Pool::new(kit, 0, most, &[0]),
        leaf: scale.grain,
    });
    let body = |_| {
        let (data, kit) = (data.clone(), kit.clone());
        Box::new(move || data.pool.run(&kit, |node| data.task(&kit, node))) as Body
    };
    let bodies = (0..threads).map(body).collect();
    let verify = move || {
        let mut expected = input(scale);
        plain(&mut expected, 0, scale.grain as usize);
        // SAFETY: the threads have ended.
        let found: Vec<Point> = (0..expected.len()).map(|at| unsafe { data.points.get(at) }).collect();
        if found != expected {
            return Err("the points do not stand as one thread puts them".to_owned());
        }
        let covered = data.covered(0, 0)?;
        baton_workloads::expect("points that the tree's leaves hold", u64::from(covered), u64::from(scale.size))
    };
    Team::new(bodies, Box::new(verify))
}

impl<M: Machine, K: Kit<M>> Data<M, K> {
    /// Splits a node's range if it is too long for a leaf. Returns its halves.
    fn task(&self, kit: &K, number: u32) -> Vec<u32> {
        // SAFETY: (here and below) a node and its range belong to the task of that number from the
        // moment in which the number went into the pool, whose lock orders this task after the one
        // that made the node.
        let node = unsafe { self.nodes.get(number as usize) };
        if node.len <= self.leaf {
            return Vec::new();
        }
        let range = node.begin as usize..(node.begin + node.len) as usize;
        // SAFETY: as above.
        let mut points: Vec<Point> = range.clone().map(|at| unsafe { self.points.get(at) }).collect();
        M::work(Cycles(u64::from(node.len) * CYCLES));
        split(&mut points, node.axis);
        for (at, point) in range.zip(points) {
            // SAFETY: as above.
            unsafe { self.points.set(at, point) };
        }
        let first = self.given.with(kit, |given| {
            *given += 2;
            *given - 2
        });
        let (halves, axis, before) = ([first, first + 1], 1 - node.axis, node.len / 2);
        let half = |begin, len| Node { begin, len, axis, halves: [0; 2] };
        // SAFETY: the node belongs to this task, and no other thread knows the new nodes yet.
        unsafe {
            self.nodes.set(number as usize, Node { halves, ..node });
            self.nodes.set(first as usize, half(node.begin, before));
            self.nodes.set(first as usize + 1, half(node.begin + before, node.len - before));
        }
        halves.to_vec()
    }

    /// Number of points in the leaves below a node, which must follow each other without a gap.
    fn covered(&self, number: u32, begin: u32) -> Result<u32, String> {
        // SAFETY: the threads have ended.
        let node = unsafe { self.nodes.get(number as usize) };
        if node.begin != begin {
            return Err(format!("node {number} begins at {}, expected {begin}", node.begin));
        }
        if node.halves == [0; 2] {
            return Ok(node.len);
        }
        let before = self.covered(node.halves[0], begin)?;
        Ok(before + self.covered(node.halves[1], begin + before)?)
    }
}
