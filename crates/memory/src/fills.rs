//! Lines on their way to a core whose hardware threads share its cache.
//!
//! With fixed latencies a request changes the line's state when it arrives. A sibling that asks meanwhile waits for the line, as it
//! would behind one miss register: it must not read, nor begin to watch, what an earlier write of another core has yet to change.

use super::border::Line;
use baton_units::{CoreId, Cycles};

/// Lines on their way, by core. Empty on a chip without siblings, whose threads have one access under way.
pub(crate) struct Fills(Box<[Vec<(Line, u64)>]>);

impl Fills {
    pub(crate) fn new(cores: u32, contexts: u32) -> Fills {
        Fills(vec![Vec::new(); if contexts == 1 { 0 } else { cores as usize }].into())
    }

    /// Returns the time at which the line comes to the core, if it is on its way.
    #[inline]
    pub(crate) fn arrival(&self, core: CoreId, line: Line, now: Cycles) -> Option<u64> {
        let fills = self.0.get(core.0 as usize)?;
        fills.iter().find(|fill| fill.0 == line).map(|fill| fill.1).filter(|&at| at > now.0)
    }

    /// Notes that the line comes to the core at `at`.
    #[inline]
    pub(crate) fn add(&mut self, core: CoreId, line: Line, at: u64, now: Cycles) {
        if let Some(fills) = self.0.get_mut(core.0 as usize) {
            fills.retain(|fill| fill.0 != line && fill.1 > now.0);
            fills.push((line, at));
        }
    }
}
