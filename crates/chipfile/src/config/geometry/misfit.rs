//! The report of a value that does not fit the others.

use baton_units::Cycles;

/// A key whose value does not fit the others.
pub(in crate::config) struct Misfit {
    pub(in crate::config) key: String,
    pub(in crate::config) found: String,
    pub(in crate::config) expected: String,
    /// The kind of core to which the key belongs, by its position in the chip file; `None`: the key
    /// belongs to the chip.
    pub(in crate::config) kind: Option<usize>,
}

impl Misfit {
    pub(super) fn of_kind(self, kind: usize) -> Misfit {
        Misfit { kind: Some(kind), ..self }
    }
}

pub(in crate::config) type Fits = Result<(), Misfit>;

pub(in crate::config) fn ensure(
    fits: bool,
    key: &'static str,
    found: impl ToString,
    expected: impl Into<String>,
) -> Fits {
    if fits {
        return Ok(());
    }
    Err(Misfit { key: key.to_owned(), found: found.to_string(), expected: expected.into(), kind: None })
}

pub(super) fn divides(part: u32, whole: u32) -> bool {
    part != 0 && part <= whole && whole.is_multiple_of(part)
}

/// Checks that a duration is not 0, so that a guest cannot run forever without time passing.
pub(super) fn at_least_1(key: &'static str, cycles: Cycles) -> Fits {
    ensure(cycles.0 != 0, key, 0, "at least 1: a guest must not run for ever at one moment")
}
