//! Checks which values of governors must fit together.

use super::misfit::{Fits, ensure};
use crate::config::chip::Chip;
use crate::config::limits::SLOWEST;
use baton_sched::governor::GOVERNORS;

/// Checks that cores can have the clocks of the levels, and that the chip gives the prices that the
/// governor needs.
pub(super) fn check(chip: &Chip) -> Fits {
    let (least, most) = (SLOWEST, chip.core.clock);
    for level in &chip.core.clock_levels.0 {
        let expected = format!("clocks from {least} to {most} (core.clock_hz)");
        ensure((least..=most).contains(level), "core.clock_levels", level.0, expected)?;
    }
    let Some(missing) = chip.lacks_for_governor() else { return Ok(()) };
    let free = GOVERNORS.iter().filter(|governor| !governor.needs_prices).map(|governor| governor.name);
    let free = free.collect::<Vec<_>>().join(", ");
    let expected = format!("{free} or none without the price `{}` ({}: {})", missing.path, missing.unit, missing.what);
    ensure(false, "os.governor", format!("\"{}\"", chip.os.governing.governor.name()), expected)
}
