//! The window of a hardware context: how many of its accesses can be under way at once, and the
//! share of the window that a context has at a moment.
//!
//! No number here is a factor that slows a thread down. Each number counts entries that are taken
//! and given back; a thread waits when none is free.

use crate::base::token::LOADS;
use baton_chipfile::config::{Chip, Core};

/// The entries that one hardware context can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The most instructions under way at once (`core.rob`); with 0, one access at a time.
    pub rob: u32,
    /// The most loads under way at once (`core.load_queue`); 0 is taken as 1.
    pub load_queue: u32,
    /// The most stores whose lines are requested at once (`core.store_queue`), oldest first; 0 is
    /// taken as 1.
    pub store_queue: u32,
    /// The most stores that wait in the buffer to be written (`core.store_buffer`); with 0, the
    /// thread waits at each store until it is written.
    pub store_buffer: u32,
    /// The most misses under way in the private caches; [`u32::MAX`] on a chip of fixed latencies,
    /// which does not bound them.
    pub mshrs: u32,
}

/// The share of a core's window that a hardware context has: `parts / of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Parts that the context has.
    pub parts: u32,
    /// Parts of the whole window, not 0.
    pub of: u32,
}

impl Share {
    /// The whole window.
    pub const WHOLE: Share = Share { parts: 1, of: 1 };
}

impl Window {
    /// The window that the chip file gives to a context of a core without a kind.
    pub fn of(chip: &Chip) -> Window {
        Window::of_core(chip, &chip.core)
    }

    /// The window that the chip file gives to a context of `core`.
    pub(crate) fn of_core(chip: &Chip, core: &Core) -> Window {
        let private = chip.coherent.as_ref().map(|coherent| coherent.l2.unwrap_or(coherent.l1));
        Window {
            rob: core.rob,
            load_queue: core.load_queue,
            store_queue: core.store_queue,
            store_buffer: core.store_buffer,
            mshrs: private.map_or(u32::MAX, |level| level.mshrs),
        }
    }

    /// A share of the window, rounded down, but at least one entry of each resource that is
    /// divided.
    pub fn share(self, share: Share) -> Window {
        let part = |entries: u32| match entries {
            0 | u32::MAX => entries,
            _ => {
                let scaled = u64::from(entries) * u64::from(share.parts) / u64::from(share.of.max(1));
                scaled.clamp(1, u64::from(u32::MAX - 1)) as u32
            }
        };
        Window {
            rob: part(self.rob),
            load_queue: part(self.load_queue),
            store_queue: part(self.store_queue),
            store_buffer: part(self.store_buffer),
            // Miss-status registers belong to the core: the context that misses takes one.
            mshrs: self.mshrs,
        }
    }

    /// The number of independent loads that can be under way at once, if each comes with
    /// `instructions` of its own (itself included). If the result is 1, each load waits for the
    /// previous one.
    pub fn loads(&self, instructions: u32) -> usize {
        let in_rob = self.rob / instructions.max(1);
        in_rob.min(self.load_queue).clamp(1, LOADS) as usize
    }

    /// The number of stores, oldest first, whose lines are requested at once.
    pub fn stores(&self) -> usize {
        self.store_queue.min(self.mshrs).max(1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { rob: 128, load_queue: 64, store_queue: 20, store_buffer: 21, mshrs: 10 };

    #[test]
    fn a_share_is_a_part_of_each_count() {
        assert_eq!(WINDOW.share(Share::WHOLE), WINDOW);
        let half = WINDOW.share(Share { parts: 1, of: 2 });
        assert_eq!(half, Window { rob: 64, load_queue: 32, store_queue: 10, store_buffer: 10, mshrs: 10 });
        assert_eq!(WINDOW.share(Share { parts: 2, of: 1 }).rob, 256);
        // A share leaves at least one entry of each resource; an absent resource is not shared;
        // miss-status registers belong to the core.
        let least = WINDOW.share(Share { parts: 1, of: 1000 });
        assert_eq!(least, Window { rob: 1, load_queue: 1, store_queue: 1, store_buffer: 1, mshrs: 10 });
        let fixed = Window { store_buffer: 0, mshrs: u32::MAX, ..WINDOW }.share(Share { parts: 1, of: 2 });
        assert_eq!((fixed.store_buffer, fixed.mshrs), (0, u32::MAX));
    }

    #[test]
    fn the_scarcest_entry_bounds_what_is_under_way() {
        assert_eq!(WINDOW.loads(1), 64);
        assert_eq!(WINDOW.loads(4), 32);
        assert_eq!(WINDOW.loads(1000), 1);
        assert_eq!(Window { rob: 0, ..WINDOW }.loads(4), 1);
        assert_eq!(Window { load_queue: 0, ..WINDOW }.loads(4), 1);
        assert_eq!(Window { rob: u32::MAX, load_queue: u32::MAX, ..WINDOW }.loads(1), LOADS as usize);
        assert_eq!(WINDOW.stores(), 10);
        assert_eq!(Window { store_queue: 0, ..WINDOW }.stores(), 1);
    }
}
