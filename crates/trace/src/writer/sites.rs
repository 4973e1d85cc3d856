//! Call sites by number: return address in, 24-bit number out, without a lock and without ever moving an entry.

use crate::event::{Address, SiteId};
use core::sync::atomic::{AtomicU64, Ordering};

/// An open-addressed table of return addresses; a site's number is its place plus one. Fixed in size, for a `static`.
pub struct SiteTable<const SLOTS: usize> {
    slots: [AtomicU64; SLOTS],
}

/// What a look-up says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteAnswer {
    /// Seen before.
    Known(SiteId),
    /// Seen for the first time: the caller now writes its definition.
    New(SiteId),
    /// The table is full.
    Full,
}

impl<const SLOTS: usize> Default for SiteTable<SLOTS> {
    fn default() -> Self {
        SiteTable::new()
    }
}

impl<const SLOTS: usize> SiteTable<SLOTS> {
    /// How many places a look-up tries. Bounds its time; a table that is three quarters full seldom needs ten.
    const PROBES: usize = 32;

    /// An empty table.
    pub const fn new() -> Self {
        assert!(SLOTS.is_power_of_two() && SLOTS <= SiteId::MAX as usize);
        SiteTable { slots: [const { AtomicU64::new(0) }; SLOTS] }
    }

    /// The number of `address`, which is entered if it is new. Async-signal-safe.
    #[inline]
    pub fn number(&self, address: Address) -> SiteAnswer {
        // Fibonacci hashing; the upper bits are the mixed ones.
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        for probe in 0..Self::PROBES {
            let at = (hash as usize + probe) & (SLOTS - 1);
            let site = SiteId(at as u32 + 1);
            match self.slots[at].load(Ordering::Relaxed) {
                found if found == address => return SiteAnswer::Known(site),
                0 => match self.slots[at].compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return SiteAnswer::New(site),
                    Err(found) if found == address => return SiteAnswer::Known(site),
                    Err(_) => {}
                },
                _ => {}
            }
        }
        SiteAnswer::Full
    }

    /// Forgets all: a fork's child writes a file of its own, which needs the definitions again.
    pub fn clear(&self) {
        for slot in &self.slots {
            slot.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_number() {
        let table = SiteTable::<64>::new();
        let SiteAnswer::New(first) = table.number(0x1000) else { panic!("not new") };
        let SiteAnswer::New(second) = table.number(0x2000) else { panic!("not new") };
        assert_ne!(first, second);
        assert_eq!(table.number(0x1000), SiteAnswer::Known(first));
        table.clear();
        assert!(matches!(table.number(0x1000), SiteAnswer::New(_)));
    }

    #[test]
    fn a_full_table_says_so() {
        let table = SiteTable::<64>::new();
        let new = (1..1000u64).filter(|i| matches!(table.number(i * 4096), SiteAnswer::New(_))).count();
        assert!((33..=64).contains(&new), "{new}");
        assert_eq!(table.number(999_999 * 4096), SiteAnswer::Full);
    }
}
