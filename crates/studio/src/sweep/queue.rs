//! Points that wait: the queue prepares 4,096 combinations at a time, on all cores, and hands out
//! the points of each such batch by cost, the longest first.

use super::plan::{Plan, Prepared};
use crate::hash::Key;
use crate::space::{Point, SpaceError};
use crate::subject::Failure;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// Combinations that are prepared at a time.
const CHUNK: u64 = 1 << 12;

/// A point and a seed that wait.
pub(super) struct Task {
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) key: Key,
    pub(super) memory: u64,
    /// Why the point cannot run; its row then says so.
    pub(super) failure: Option<Failure>,
    pub(super) point: Arc<Point>,
}

impl Task {
    pub(super) fn new(number: u64, point: &Arc<Point>, prepared: Prepared) -> (f64, Task) {
        let Prepared { seed, key, cost, memory, failure } = prepared;
        (cost, Task { number, seed, key, memory, failure, point: point.clone() })
    }
}

/// The points of a space that have not begun.
pub(super) struct Queue {
    plan: Arc<Plan>,
    /// The numbers of the combinations to run; `None` for all.
    only: Option<Vec<u64>>,
    /// The first combination that was not prepared yet.
    next: u64,
    ready: VecDeque<Task>,
}

impl Queue {
    pub(super) fn new(plan: &Arc<Plan>, only: Option<Vec<u64>>) -> Queue {
        Queue { plan: plan.clone(), only, next: 0, ready: VecDeque::new() }
    }

    /// The next point; prepares more of them if none is ready.
    pub(super) fn pop(&mut self) -> Result<Option<Task>, SpaceError> {
        while self.ready.is_empty() && self.next < self.combinations() {
            self.prepare()?;
        }
        Ok(self.ready.pop_front())
    }

    /// The number of combinations, with those whose points are excluded.
    fn combinations(&self) -> u64 {
        self.only.as_ref().map_or(self.plan.space.combinations(), |only| only.len() as u64)
    }

    /// Puts a point at the beginning.
    pub(super) fn push_front(&mut self, task: Task) {
        self.ready.push_front(task);
    }

    fn prepare(&mut self) -> Result<(), SpaceError> {
        let end = (self.next + CHUNK).min(self.combinations());
        let seeds = self.plan.first_seeds();
        let plan = &self.plan;
        let only = self.only.as_deref();
        let of = |at: u64| -> Result<Vec<(f64, Task)>, SpaceError> {
            let number = only.map_or(at, |only| only[at as usize]);
            let Some((point, prepared)) = plan.prepare(number, &seeds)? else { return Ok(Vec::new()) };
            let point = Arc::new(point);
            Ok(prepared.into_iter().map(|prepared| Task::new(number, &point, prepared)).collect())
        };
        let tasks = (self.next..end).into_par_iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let mut tasks: Vec<(f64, Task)> = tasks.into_iter().flatten().collect();
        // The sort is stable: points with the same cost keep their order.
        tasks.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.ready.extend(tasks.into_iter().map(|(_, task)| task));
        self.next = end;
        Ok(())
    }
}
