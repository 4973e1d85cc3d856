//! Rows of timed requests, and armed threads: what the device keeps of them.
//!
//! A row is a thread's timed requests for one queue and direction. When the device drops one of
//! them, it drops those behind it too, and those that come later, until the thread begins a new
//! row. Each context has a register for its row in each direction. A request that follows is
//! dropped if the register has another row: no order rests on what the register remembers.

use super::buffers::{Waiting, aim};
use crate::peripheral::port::Request;
use baton_machine::queues::{Direction, Mode, Operand, QueueId};

/// A thread's requests for a queue in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) cpu: u32,
    pub(super) thread: u32,
    pub(super) queue: QueueId,
    pub(super) direction: Direction,
}

impl Row {
    /// The row of a request that waits; `None` if the request is not timed.
    pub(super) fn of(waiting: &Waiting) -> Option<Row> {
        let (direction, Operand { queue, mode, .. }) = aim(&waiting.asked);
        let Request { cpu, subject, .. } = waiting.request;
        matches!(mode, Mode::Timed { .. }).then_some(Row { cpu, thread: subject.thread, queue, direction })
    }
}

/// The rows of the contexts, and the threads that are armed: one queue and direction a thread.
#[derive(Default)]
pub(super) struct Arms {
    /// For each context and direction, the row in the register; `None` if the register is empty.
    rows: Vec<[Option<Row>; 2]>,
    pub(super) armed: Vec<Row>,
}

impl Arms {
    fn register(&mut self, row: Row) -> &mut Option<Row> {
        let cpu = row.cpu as usize;
        if self.rows.len() <= cpu {
            self.rows.resize(cpu + 1, [None; 2]);
        }
        &mut self.rows[cpu][row.direction as usize]
    }

    /// A timed request comes. Returns whether it may be served: it begins a row, or follows in the
    /// row of its context's register.
    pub(super) fn comes(&mut self, row: Row, follows: bool) -> bool {
        let register = self.register(row);
        if !follows {
            *register = Some(row);
        }
        *register == Some(row)
    }

    /// A request of the row was dropped.
    pub(super) fn ends(&mut self, row: Row) {
        let register = self.register(row);
        if *register == Some(row) {
            *register = None;
        }
    }

    /// Forgets what a thread is armed for.
    pub(super) fn forget(&mut self, thread: u32) {
        self.armed.retain(|armed| armed.thread != thread);
    }
}
