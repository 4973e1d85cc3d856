//! The definition of a key.

use crate::config::chip::{Chip, MemoryModel};
pub use crate::value::{Value, ValueKind};
pub(in crate::config) use crate::value::{share, text, whole};

/// Whether a chip file must give a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The file must give the key.
    Must,
    /// A file may give the key: the chip may lack what the key describes, or the key's explanation
    /// states what its absence means.
    May,
    /// A file may give the key, together with all keys of its table.
    Table,
    /// The file must not give the key.
    No,
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// The table and the name, joined by a dot.
    pub path: &'static str,
    /// The values that the key accepts.
    pub kind: ValueKind,
    /// Whether the file of a chip of fixed latencies must, may or must not give the key.
    pub fixed: Need,
    /// Whether the file of a coherent chip must, may or must not give the key.
    pub coherent: Need,
    /// The purpose of the key.
    pub what: &'static str,
    /// Reads the value of the key on a chip; `None` if the chip has none.
    pub(in crate::config) get: fn(&Key, &Chip) -> Option<Value>,
    /// Sets the value of the key on a chip. The value has been checked against `kind`.
    pub(in crate::config) set: fn(&Key, &mut Chip, Value),
}

impl Key {
    /// Returns the table and the name within the table.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// Returns whether the file of a chip of this memory model must, may or must not give the key.
    pub fn need(&self, model: MemoryModel) -> Need {
        match model {
            MemoryModel::Fixed => self.fixed,
            MemoryModel::Coherent => self.coherent,
            // A chip of the coarse mode has the keys of a coherent chip, and the keys of
            // `[phases]`.
            MemoryModel::Phases if self.parts().0 == "phases" => Need::May,
            MemoryModel::Phases => self.coherent,
        }
    }

    /// Returns the value of the key on a chip; `None` if the chip has none.
    pub fn get(&self, chip: &Chip) -> Option<Value> {
        (self.get)(self, chip)
    }

    /// Sets the value of the key, which has been checked ([`Key::takes`]).
    pub fn set(&self, chip: &mut Chip, value: Value) {
        (self.set)(self, chip, value);
    }

    /// Returns a description of the accepted values, for messages.
    pub fn expected(&self) -> String {
        self.kind.expected()
    }

    /// Returns whether the key accepts `value`.
    pub fn takes(&self, value: &Value) -> bool {
        self.kind.takes(value)
    }
}

/// Joins several tables of keys into one.
pub(in crate::config) const fn joined<const N: usize>(parts: &[&[Key]]) -> [Key; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut i, mut at) = (0, 0, 0);
    while part < parts.len() {
        while i < parts[part].len() {
            all[at] = parts[part][i];
            (i, at) = (i + 1, at + 1);
        }
        (part, i) = (part + 1, 0);
    }
    assert!(at == N, "the tables have as many keys as the whole");
    all
}
