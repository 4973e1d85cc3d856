//! The keys of the coarse mode.

use super::key::{Key, Need, Value, ValueKind, text};
use crate::config::chip::Chip;
use crate::config::phases::{Division, Phases, Queueing, SharedBy};

/// Returns the coarse-mode part of a chip, which the setters write into. A file of another model is
/// refused after it is read.
fn of(chip: &mut Chip) -> &mut Phases {
    chip.phases.get_or_insert_default()
}

macro_rules! key {
    ($path:literal, $field:ident, $type:ident, $what:literal) => {
        Key {
            path: $path,
            kind: ValueKind::Choice($type::NAMES),
            fixed: Need::No,
            coherent: Need::No,
            what: $what,
            get: |_, chip| chip.phases.map(|phases| Value::Text(phases.$field.name().into())),
            set: |_, chip, value| of(chip).$field = $type::named(&text(value)).unwrap_or_default(),
        }
    };
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    key!(
        "phases.shared",
        shared,
        SharedBy,
        "which bank of the shared level serves a phase: that of its core's domain, or that of its pages' home; absent: cores"
    ),
    key!(
        "phases.division",
        division,
        Division,
        "what each of several phases has of the shared level: what least-recently-used replacement leaves it, or an equal part; \
         absent: recency"
    ),
    key!(
        "phases.queueing",
        queueing,
        Queueing,
        "whether requests wait for each other at a memory controller; absent: mean-value"
    ),
];
