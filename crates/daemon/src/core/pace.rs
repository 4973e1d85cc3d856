//! When the daemon looks again: a look costs more than what it finds, so a calm run is looked at less often.

use super::Core;

/// The time between two looks while something moves, in nanoseconds.
pub const LOOK_NS: u64 = 4_000_000;
/// The longest time between two looks. A fast CPU may then idle for this time, and for that of another
/// look, beside a slow one that works: less than the 20 ms that are the bar.
pub const CALM_NS: u64 = 12_000_000;

impl Core {
    /// Returns the time, in nanoseconds, after which the daemon looks again. A run is calm if no move is
    /// under way and no thread waits while a CPU idles. The next look then comes when the policy wants
    /// to be called, or threads are old enough to be placed.
    pub fn patience(&self) -> u64 {
        if self.board.is_restless() {
            return LOOK_NS;
        }
        let mature_at = |pid| self.processes.get(&pid).map(|process| process.mature_at);
        let young = self.board.untold().filter_map(|(_, thread)| mature_at(thread.begins.pid));
        let due = young.chain(self.period).min();
        due.map_or(CALM_NS, |at| at.saturating_sub(self.now)).clamp(LOOK_NS, CALM_NS)
    }
}
