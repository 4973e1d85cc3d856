//! The smallest and the largest window, under which a study reports its headline besides the chip
//! file's own window.

use super::value::Value;
use super::{Chip, Core, CoresByKind};

/// A window that a study sets in place of the chip file's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSize {
    /// One access at a time.
    Smallest,
    /// The largest window sold today, or the chip file's own entries where they are more.
    Largest,
}

/// The entries of Golden Cove (Intel 64 and IA-32 Architectures Optimization Reference Manual,
/// "Golden Cove"): instructions, loads, stores, and misses of its L1 and L2.
const LARGEST: Largest = Largest { rob: 512, loads: 192, stores: 114, l1_misses: 16, l2_misses: 48 };

struct Largest {
    rob: u32,
    loads: u32,
    stores: u32,
    l1_misses: u32,
    l2_misses: u32,
}

impl WindowSize {
    /// The names of the sizes, as `--window` takes them.
    pub const NAMES: [&str; 2] = ["smallest", "largest"];

    /// Finds a window by name.
    pub fn named(name: &str) -> Option<WindowSize> {
        match name {
            "smallest" => Some(WindowSize::Smallest),
            "largest" => Some(WindowSize::Largest),
            _ => None,
        }
    }
}

impl Chip {
    /// The chip with another window for each kind of core, and otherwise unchanged. On a chip of
    /// fixed latencies, entries for stores stay as they are.
    pub fn with_window(mut self, size: WindowSize) -> Chip {
        let coherent = self.coherent.is_some();
        let by_kind = CoresByKind::new(&self);
        for (kind, core) in self.core.kinds.0.iter_mut().zip(&by_kind.each()[1..]) {
            let mut core = core.clone();
            size.resize(&mut core, coherent);
            for (path, entries) in [
                ("core.rob", core.rob),
                ("core.load_queue", core.load_queue),
                ("core.store_queue", core.store_queue),
                ("core.store_buffer", core.store_buffer),
            ] {
                if kind.own.iter().any(|(own, _)| *own == path) {
                    kind.set(path, Value::Whole(entries.into()));
                }
            }
        }
        size.resize(&mut self.core, coherent);
        let Some(coherent) = &mut self.coherent else { return self };
        if size == WindowSize::Largest {
            // The misses that leave the core are those of the outermost private level.
            match &mut coherent.l2 {
                Some(l2) => {
                    l2.mshrs = l2.mshrs.max(LARGEST.l2_misses);
                    coherent.l1.mshrs = coherent.l1.mshrs.max(LARGEST.l1_misses);
                }
                None => coherent.l1.mshrs = coherent.l1.mshrs.max(LARGEST.l2_misses),
            }
        }
        self
    }
}

impl WindowSize {
    /// Gives a core the entries of this window.
    fn resize(self, core: &mut Core, coherent: bool) {
        match self {
            WindowSize::Smallest => (core.rob, core.load_queue) = (1, 1),
            WindowSize::Largest => {
                (core.rob, core.load_queue) = (core.rob.max(LARGEST.rob), core.load_queue.max(LARGEST.loads));
            }
        }
        match self {
            _ if !coherent => {}
            WindowSize::Smallest => core.store_queue = 1,
            WindowSize::Largest => {
                core.store_queue = core.store_queue.max(LARGEST.stores);
                if core.store_buffer != 0 {
                    core.store_buffer = core.store_buffer.max(LARGEST.stores);
                }
            }
        }
    }
}
