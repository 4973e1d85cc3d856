//! How results are compared that differ by rounding.

/// Compares two numbers that may differ by rounding, at most by `within`.
pub(super) fn near(what: &str, found: f64, expected: f64, within: f64) -> Result<(), String> {
    // The comparison is written so that a value that is not a number is an error.
    if (found - expected).abs() <= within { Ok(()) } else { Err(format!("{what}: {found:e}, expected {expected:e}")) }
}
