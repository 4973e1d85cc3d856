//! The table of a chip file's keys. Reading, writing, `--set` and the check of the documentation
//! all use this table, so that a new key is one field in [`Chip`](super::Chip) and one line here.
//!
//! | file | holds |
//! | --- | --- |
//! | [`key`] | what a key is, and what its value may be |
//! | [`common`] | cores, fixed prices, wait policies |
//! | [`os`] | operating system, noise |
//! | [`amp`] | its policies for chips with fast and slow cores |
//! | [`coherent`] | caches, directory, memory controllers, network |
//! | [`phases`] | the coarse mode |
//! | [`device`] | devices |
//! | [`energy`] | prices |
//!
//! The keys of a mechanism are in the folder of the mechanism ([`super::mechanism`]).

mod amp;
mod coherent;
mod common;
mod device;
mod energy;
pub(super) mod key;
mod os;
mod phases;

pub use key::{Key, Need, Value, ValueKind};

use super::mechanism::{self, mechanisms};
use key::joined;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Returns the key with the path `path`.
pub fn find(path: &str) -> Option<&'static Key> {
    place_of(path).map(|at| &KEYS[at])
}

/// Returns where the key with the path `path` stands in [`KEYS`].
pub(super) fn place_of(path: &str) -> Option<usize> {
    static PLACES: LazyLock<BTreeMap<&str, usize>> =
        LazyLock::new(|| KEYS.iter().enumerate().map(|(at, key)| (key.path, at)).collect());
    PLACES.get(path).copied()
}

macro_rules! of_mechanisms {
    ($($folder:ident: $type:ident,)+) => {
        const MECHANISMS: [Key; 0 $(+ mechanism::$folder::keys::KEYS.len())+] =
            joined(&[$(mechanism::$folder::keys::KEYS),+]);
    };
}
mechanisms!(of_mechanisms);

/// All keys, in the order in which a chip file is written.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let kinds = device::of_kinds();
    [common::KEYS, os::KEYS, amp::KEYS, &coherent::KEYS, &MECHANISMS, phases::KEYS, device::KEYS, &kinds, &energy::KEYS]
        .concat()
});
