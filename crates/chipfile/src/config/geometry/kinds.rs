//! Checks which values of kinds of cores must fit together.

use super::coherent;
use super::misfit::{Fits, Misfit, ensure};
use crate::config::by_kind::{CoresByKind, Private};
use crate::config::chip::Chip;
use crate::config::cores::Core;
use crate::config::kinds::{CoreKind, KindCores};
use crate::config::limits::SLOWEST;
use crate::config::texts::core_ranges;
use crate::config::write::value_text;

/// Checks each kind against the chip and against the kinds before it.
pub(super) fn check(chip: &Chip) -> Fits {
    let kinds = &chip.core.kinds.0;
    if kinds.is_empty() {
        return Ok(());
    }
    let by_kind = CoresByKind::new(chip);
    let mut free = chip.core.count;
    for (number, kind) in kinds.iter().enumerate() {
        let fits = cores(chip, &kinds[..number], kind, &mut free)
            .and_then(|()| values(&chip.core, &by_kind.each()[number + 1]))
            .and_then(|()| caches(chip, kind, by_kind.each_caches().get(number + 1)));
        fits.map_err(|misfit| misfit.of_kind(number))?;
    }
    Ok(())
}

/// Checks that no other kind has the name or the cores of this kind.
fn cores(chip: &Chip, before: &[CoreKind], kind: &CoreKind, free: &mut u32) -> Fits {
    let new = before.iter().all(|other| other.name != kind.name);
    ensure(new, "core.kind.name", format!("\"{}\"", kind.name), "a name that no other kind has")?;
    let count = chip.core.count;
    match &kind.cores {
        KindCores::Named(named) => {
            let text = format!("\"{}\"", core_ranges(named));
            let there = named.last().is_some_and(|&last| last < count);
            ensure(there, "core.kind.cores", &text, format!("cores from 0 to {} (core.count)", count - 1))?;
            let others = crate::config::kinds::Kinds(before.to_vec()).of_cores(count);
            let fresh = named.iter().all(|&core| others[core as usize] == 0);
            ensure(fresh, "core.kind.cores", text, "cores that no kind before it has")?;
            *free -= named.len() as u32;
        }
        KindCores::Count(n) => {
            let expected = format!("at most {free}: of core.count, {count}, the other kinds have the rest");
            ensure(*n <= *free, "core.kind.count", n, expected)?;
            *free -= n;
        }
    }
    Ok(())
}

/// Checks that the values of a kind fit the values of the chip.
fn values(common: &Core, own: &Core) -> Fits {
    let (least, most) = (SLOWEST, common.clock);
    let expected = format!("a clock from {least} to {most} (core.clock_hz)");
    ensure((least..=most).contains(&own.clock), "core.kind.clock_hz", own.clock.0, expected)?;
    let (buffers, has) = (own.store_buffer != 0, common.store_buffer != 0);
    let expected = if has { "at least 1, as core.store_buffer is not 0" } else { "0, as core.store_buffer is" };
    ensure(buffers == has, "core.kind.store_buffer", own.store_buffer, expected)?;
    if own.contexts != 1 && own.rob != 0 && own.width != 0 {
        let expected = "more than 0 with core.contexts, and rob and width of the kind";
        ensure(own.result_latency > 0.0, "core.kind.result_latency", own.result_latency, expected)?;
    }
    Ok(())
}

/// Checks the private caches of a kind: the chip has these levels, and each has a whole number of
/// sets.
fn caches(chip: &Chip, kind: &CoreKind, caches: Option<&Private>) -> Fits {
    let of_kind = |misfit: Misfit| Misfit { key: format!("core.kind.{}", misfit.key), ..misfit };
    let second = chip.coherent.as_ref().is_some_and(|coherent| coherent.l2.is_some());
    for (path, value) in &kind.own {
        let (there, lacks) = match path.split_once('.') {
            Some(("l1", _)) => (caches.is_some(), "memory.model is \"fixed\""),
            Some(("l2", _)) => (second, "the chip has no [l2]"),
            _ => continue,
        };
        ensure(there, path, value_text(value), format!("none: {lacks}")).map_err(of_kind)?;
    }
    caches.map_or(Ok(()), |caches| coherent::private(caches, chip.cache.line_bytes).map_err(of_kind))
}
