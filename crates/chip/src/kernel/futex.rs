//! Sleepers of futexes at fixed prices move from cell to cell.

use crate::engine::state::Engine;
use crate::engine::waiting::Waited;

impl Engine {
    /// Moves up to `n` sleepers of a cell behind those of another. Returns how many were moved.
    pub(crate) fn move_sleepers(&mut self, from: usize, to: usize, n: u32) -> u32 {
        let moved = self.os.futexes.move_to(from, to, n);
        for &id in &moved {
            // A thread that is still on its way to sleep records its cell itself; it will be at the
            // new cell by then.
            if let Some((Waited::Cell(cell), _)) = &mut self.threads[id as usize].wait.waits_on {
                *cell = to;
            }
        }
        moved.len() as u32
    }
}
