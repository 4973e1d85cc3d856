//! Numbers call sites: gives each return address a 24-bit number, without a lock and without ever
//! moving an entry.

use crate::event::{Address, SiteId};
use core::sync::atomic::{AtomicU64, Ordering};

/// An open-addressed hash table of return addresses; the number of a call site is its index plus
/// one. The table has a fixed size, so that it fits into a `static`.
pub struct SiteTable<const SLOTS: usize> {
    slots: [AtomicU64; SLOTS],
}

/// The result of looking up a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteAnswer {
    /// The address was seen before.
    Known(SiteId),
    /// The address was seen for the first time: the caller must write its definition.
    New(SiteId),
    /// The address is new, and there is no place left for it.
    Full,
}

impl<const SLOTS: usize> Default for SiteTable<SLOTS> {
    fn default() -> Self {
        SiteTable::new()
    }
}

impl<const SLOTS: usize> SiteTable<SLOTS> {
    /// Number of places that a look-up tries, which bounds its time. In a table that is three
    /// quarters full, ten places suffice almost always.
    const PROBES: usize = 32;

    /// Creates an empty table.
    pub const fn new() -> Self {
        assert!(SLOTS.is_power_of_two() && SLOTS <= SiteId::MAX as usize);
        SiteTable { slots: [const { AtomicU64::new(0) }; SLOTS] }
    }

    /// Returns the number of `address`; enters the address if it is new. Async-signal-safe.
    #[inline]
    pub fn number(&self, address: Address) -> SiteAnswer {
        for at in self.probes(address) {
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

    /// Returns the number of `address`; `None` if the table does not have it. Async-signal-safe.
    #[inline]
    pub fn known(&self, address: Address) -> Option<SiteId> {
        self.probes(address).find_map(|at| match self.slots[at].load(Ordering::Relaxed) {
            found if found == address => Some(Some(SiteId(at as u32 + 1))),
            0 => Some(None),
            _ => None,
        })?
    }

    fn probes(&self, address: Address) -> impl Iterator<Item = usize> {
        // Fibonacci hashing: the upper bits of the product depend on all bits of the address.
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (0..Self::PROBES).map(move |probe| (hash as usize + probe) & (SLOTS - 1))
    }

    /// Renames every entry for which `as_other` returns another address. The entry keeps its place
    /// and number, but [`SiteTable::number`] finds it under its old address only after
    /// [`SiteTable::restore`].
    pub fn file_under(&self, as_other: impl Fn(Address) -> Option<Address>) {
        for slot in &self.slots {
            let address = slot.load(Ordering::Relaxed);
            if let Some(other) = (address != 0).then(|| as_other(address)).flatten() {
                let _ = slot.compare_exchange(address, other, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Renames the entry of `address`, which is now filed under `other`, back to `address`. Returns
    /// its number; `None` if there is no such entry.
    pub fn restore(&self, address: Address, other: Address) -> Option<SiteId> {
        self.probes(address).find_map(|at| {
            let restored = self.slots[at].compare_exchange(other, address, Ordering::Relaxed, Ordering::Relaxed);
            restored.is_ok().then_some(SiteId(at as u32 + 1))
        })
    }

    /// Forgets all addresses: a forked child writes its own file, which needs all definitions
    /// again.
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
    fn what_is_filed_elsewhere_is_new_and_found_again_when_it_is_restored() {
        let table = SiteTable::<64>::new();
        let numbers = [0x1000, 0x2000, 0x3000].map(|address| match table.number(address) {
            SiteAnswer::New(number) => number,
            other => panic!("{other:?}"),
        });
        let elsewhere = |address: u64| address | 7 << 48;
        table.file_under(|address| (address < 0x3000).then(|| elsewhere(address)));
        assert_eq!([0x1000, 0x2000, 0x3000].map(|address| table.known(address)), [None, None, Some(numbers[2])]);
        assert!(matches!(table.number(0x2000), SiteAnswer::New(other) if !numbers.contains(&other)));
        assert_eq!(table.restore(0x1000, elsewhere(0x1000)), Some(numbers[0]));
        assert_eq!((table.known(0x1000), table.restore(0x1000, 8)), (Some(numbers[0]), None));
    }

    #[test]
    fn a_full_table_says_so() {
        let table = SiteTable::<64>::new();
        let new = (1..1000u64).filter(|i| matches!(table.number(i * 4096), SiteAnswer::New(_))).count();
        assert!((33..=64).contains(&new), "{new}");
        assert_eq!(table.number(999_999 * 4096), SiteAnswer::Full);
    }
}
