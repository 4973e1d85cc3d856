//! The keys of energy prices, made from the table of prices. All of them may be absent: a run asks
//! for those that it needs.

use super::key::{Key, Need, Value, ValueKind, whole};
use crate::config::energy::{KEYS as ALL, PRICES};

/// Makes the key of the price of that number.
macro_rules! price {
    ($at:literal) => {
        Key {
            path: ALL[$at].path,
            kind: ValueKind::Share(0.0, 1e9),
            fixed: Need::May,
            coherent: Need::May,
            what: ALL[$at].what,
            get: |_, chip| chip.energy.0[$at].map(Value::Share),
            set: |_, chip, value| {
                chip.energy.0[$at] = Some(match value {
                    Value::Share(x) => x,
                    other => whole(other) as f64,
                });
            },
        }
    };
}

macro_rules! prices {
    ($($at:literal)+) => { [$(price!($at)),+] };
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: [Key; PRICES] = prices![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26];
