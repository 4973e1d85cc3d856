//! Sleepers of futexes move from cell to cell (at fixed prices), and are roused one by one (with
//! futexes in guest memory).

use crate::base::event::Event;
use crate::base::thread::ThreadId;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, ThreadState};
use crate::engine::waiting::Waited;
use crate::os::cpu::Roused;
use baton_memory::Line;

impl Engine {
    /// Moves up to `n` sleepers of a cell behind those of another. Returns how many were moved.
    pub(crate) fn move_sleepers(&mut self, from: usize, to: usize, n: u32) -> u32 {
        let moved = self.os.futexes.move_to(from, to, n);
        for &id in &moved {
            // If the thread's record names the cell that it waits on, it names the new cell from
            // now on.
            if let Some((Waited::Cell(cell), _)) = &mut self.threads[id as usize].wait.waits_on {
                *cell = to;
            }
        }
        moved.len() as u32
    }

    /// Rouses a thread that sleeps on a cell, and no other. Returns what kind of idle CPU that
    /// roused, if any.
    pub(crate) fn rouse_sleeper(&mut self, id: ThreadId, bucket: Line) -> Roused {
        let thread = &mut self.threads[id as usize];
        if thread.state != ThreadState::Asleep || !matches!(thread.wait.waits_on, Some((Waited::Cell(_), _))) {
            return Roused::Nobody;
        }
        thread.ended = Ended::Woken;
        self.queue.cancel(Event::timeout(id));
        self.wake_sleeper(id, Some(bucket))
    }
}
