//! What a key is.

use crate::config::chip::{Chip, MemoryModel};
pub use crate::value::{Value, ValueKind};
pub(in crate::config) use crate::value::{share, text, whole};

/// Whether a chip file gives a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Must,
    /// It may: the key is for a thing that a chip may lack, or says what stands for its absence.
    May,
    /// It may, with all the keys of its table.
    Table,
    /// It must not.
    No,
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// Table and name, joined by a dot.
    pub path: &'static str,
    /// What may stand there.
    pub kind: ValueKind,
    /// Whether a chip of fixed latencies gives it.
    pub fixed: Need,
    /// Whether a coherent chip gives it.
    pub coherent: Need,
    /// What it is for.
    pub what: &'static str,
    /// Reads it.
    pub(in crate::config) get: fn(&Key, &Chip) -> Option<Value>,
    /// Sets it; the value has been checked against `kind`.
    pub(in crate::config) set: fn(&Key, &mut Chip, Value),
}

impl Key {
    /// The table and the name within it.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// Whether a chip of this memory model gives it.
    pub fn need(&self, model: MemoryModel) -> Need {
        match model {
            MemoryModel::Fixed => self.fixed,
            MemoryModel::Coherent => self.coherent,
            // The coarse mode has the keys of a coherent chip, and its own.
            MemoryModel::Phases if self.parts().0 == "phases" => Need::May,
            MemoryModel::Phases => self.coherent,
        }
    }

    /// Its value on a chip, if it has one there.
    pub fn get(&self, chip: &Chip) -> Option<Value> {
        (self.get)(self, chip)
    }

    /// Gives it a value, which has been checked ([`Key::takes`]).
    pub fn set(&self, chip: &mut Chip, value: Value) {
        (self.set)(self, chip, value);
    }

    /// What is expected, for messages.
    pub fn expected(&self) -> String {
        self.kind.expected()
    }

    /// Whether `value` may stand there.
    pub fn takes(&self, value: &Value) -> bool {
        self.kind.takes(value)
    }
}

/// Several tables in one.
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
