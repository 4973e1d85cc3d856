//! The columns of a store: coordinates, figures, and those that every store has.

use crate::value::Kind;
use serde::{Deserialize, Serialize};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A coordinate of the point.
    Coordinate,
    /// A figure of the point.
    Figure,
    /// A column that every store has.
    Own,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name.
    pub name: String,
    /// What the column holds.
    pub role: Role,
    /// The sort of its values.
    pub kind: Kind,
    /// The unit; empty for none.
    pub unit: String,
    /// The meaning; empty for a coordinate, which is an option or a key of that name.
    pub what: String,
    /// Where a figure comes from: its path, or `= ` and its expression. Empty for other columns,
    /// and in stores of versions that did not keep sources.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// The columns that every store has: name, sort, meaning.
const OWN: [(&str, Kind, &str); 5] = [
    ("key", Kind::Text, "hash of the expanded configuration, the inputs' content, the seed and the version"),
    ("seed", Kind::Whole, "seed of the run"),
    ("failure", Kind::Text, "null, or why there are no figures: invalid, deadlock, memory, time, failed, panic"),
    ("reason", Kind::Text, "null, or the failure as a sentence"),
    ("command", Kind::Text, "the command that repeats the run"),
];

/// The name of the column with the keys of points.
pub(crate) const KEY: &str = OWN[0].0;
pub(crate) const SEED: &str = OWN[1].0;
pub(crate) const FAILURE: &str = OWN[2].0;
pub(crate) const REASON: &str = OWN[3].0;
pub(crate) const COMMAND: &str = OWN[4].0;

/// Whether every store has a column of this name.
pub(crate) fn is_own(name: &str) -> bool {
    OWN.iter().any(|(own, ..)| *own == name)
}

/// All columns of a store with these coordinates and figures, in the order of the file: key,
/// coordinates, seed, figures, failure, reason, command.
pub(crate) fn all(named: &[Column]) -> Vec<Column> {
    let own = |name: &str| {
        let own = OWN.iter().find(|(own, ..)| *own == name);
        own.map(|&(name, kind, what)| Column {
            name: name.into(),
            role: Role::Own,
            kind,
            unit: String::new(),
            what: what.into(),
            source: String::new(),
        })
    };
    let of = |role: Role| named.iter().filter(move |column| column.role == role).cloned();
    let mut all: Vec<Column> = own(KEY).into_iter().collect();
    all.extend(of(Role::Coordinate));
    all.extend(own(SEED));
    all.extend(of(Role::Figure));
    all.extend([FAILURE, REASON, COMMAND].into_iter().filter_map(own));
    all
}
