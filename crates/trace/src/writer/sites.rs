//! Numbers call sites: maps return addresses to 24-bit numbers, without a lock and without moving
//! entries.

use crate::event::{Address, SiteId};
use core::sync::atomic::{AtomicU64, Ordering};

/// An open-addressed table of return addresses; a site's number is its index plus one. Fixed in
/// size, for a `static`.
pub struct SiteTable<const SLOTS: usize> {
    slots: [AtomicU64; SLOTS],
}

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteAnswer {
    /// The address was seen before.
    Known(SiteId),
    /// The address was seen for the first time: the caller must write its definition.
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
    /// Number of places that a look-up tries, which bounds its time; in a table that is three
    /// quarters full, ten seldom do not suffice.
    const PROBES: usize = 32;

    /// Creates an empty table.
    pub const fn new() -> Self {
        assert!(SLOTS.is_power_of_two() && SLOTS <= SiteId::MAX as usize);
        SiteTable { slots: [const { AtomicU64::new(0) }; SLOTS] }
    }

    /// Returns the number of `address`, entering it if it is new. Async-signal-safe.
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

    /// Returns the number of `address`, if it has one. Async-signal-safe.
    #[inline]
    pub fn known(&self, address: Address) -> Option<SiteId> {
        self.probes(address).find_map(|at| match self.slots[at].load(Ordering::Relaxed) {
            found if found == address => Some(Some(SiteId(at as u32 + 1))),
            0 => Some(None),
            _ => None,
        })?
    }

    fn probes(&self, address: Address) -> impl Iterator<Item = usize> {
        // Fibonacci hashing, in which the upper bits are the mixed ones.
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (0..Self::PROBES).map(move |probe| (hash as usize + probe) & (SLOTS - 1))
    }

    /// Files every entry under the address that `as_other` returns for it, if any. Such an entry
    /// keeps its place and number, but [`SiteTable::number`] no longer finds it until
    /// [`SiteTable::restore`].
    pub fn file_under(&self, as_other: impl Fn(Address) -> Option<Address>) {
        for slot in &self.slots {
            let address = slot.load(Ordering::Relaxed);
            if let Some(other) = (address != 0).then(|| as_other(address)).flatten() {
                let _ = slot.compare_exchange(address, other, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Files the entry of `address`, now under `other`, under `address` again. Returns its number.
    pub fn restore(&self, address: Address, other: Address) -> Option<SiteId> {
        self.probes(address).find_map(|at| {
            let restored = self.slots[at].compare_exchange(other, address, Ordering::Relaxed, Ordering::Relaxed);
            restored.is_ok().then_some(SiteId(at as u32 + 1))
        })
    }

    /// Forgets all addresses: a forked child writes its own file, which needs the definitions
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
