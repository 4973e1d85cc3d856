//! A value that does not go with the others.

use baton_units::Cycles;

/// A key whose value does not go with the others.
pub(in crate::config) struct Misfit {
    pub(in crate::config) key: String,
    pub(in crate::config) found: String,
    pub(in crate::config) expected: String,
    /// The kind of core that it is of, by its place in the chip file.
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

/// A guest must not run for ever at one moment.
pub(super) fn at_least_1(key: &'static str, cycles: Cycles) -> Fits {
    ensure(cycles.0 != 0, key, 0, "at least 1: a guest must not run for ever at one moment")
}
