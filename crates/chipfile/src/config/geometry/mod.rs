//! Checks which values of a chip must fit together. Impossible values are refused when the file is
//! read, so that no later code needs to check again.
//!
//! | file | holds |
//! | --- | --- |
//! | `misfit` | the report of a value that does not fit the others |
//! | `coherent` | caches, network, and the places of homes and controllers |
//! | `device` | devices |
//! | `kinds` | kinds of cores |
//! | `governor` | governors: their clock levels and the prices that they need |

mod coherent;
mod device;
mod governor;
mod kinds;
mod misfit;

pub(super) use misfit::Misfit;

use super::chip::Chip;
use super::coherent::{Atomics, Coherent, HomePlacement};
use super::limits::SLOWEST;
use super::mechanism::Mechanisms;
use super::os::{FutexHome, Ipi, WakeEntry};
use coherent::{caches, network, places};
use misfit::{Fits, at_least_1, divides, ensure};

/// Runs all checks.
pub(super) fn check(chip: &Chip) -> Fits {
    let (count, cluster) = (chip.core.count, chip.core.per_cluster);
    ensure(divides(cluster, count), "core.per_cluster", cluster, format!("a divisor of core.count, {count}"))?;
    let (clusters, socket) = (count / cluster, chip.core.clusters_per_socket);
    let expected = format!("a divisor of the number of clusters, {clusters} (core.count / core.per_cluster)");
    ensure(divides(socket, clusters), "core.clusters_per_socket", socket, expected)?;
    for one in &chip.core.clocks.0 {
        let expected = format!("cores from 0 to {} (core.count)", count - 1);
        ensure(one.to < count, "core.clocks", chip.core.clocks.text(), expected)?;
        let (least, most) = (SLOWEST, chip.core.clock);
        let expected = format!("clocks from {least} to {most} (core.clock_hz)");
        ensure((least..=most).contains(&one.clock), "core.clocks", chip.core.clocks.text(), expected)?;
    }
    kinds::check(chip)?;
    let wake = chip.os.futex.wake_none;
    let expected = format!("at least os.futex_wake_none, {}", wake.0);
    ensure(chip.os.futex.wake >= wake, "os.futex_wake", chip.os.futex.wake.0, expected)?;
    if let Some(mwmon) = chip.wait.mwmon {
        let expected = "none without wait.mwait.c1: it is a system call around MWAIT at depth 1";
        ensure(chip.wait.mwait.c1.is_some(), "wait.mwmon.call", mwmon.call.0, expected)?;
    }
    let core = &chip.core;
    if core.contexts != 1 && core.rob != 0 && core.width != 0 {
        let expected =
            "more than 0 with core.contexts, core.rob and core.width: how much of a window computations need";
        ensure(core.result_latency > 0.0, "core.result_latency", core.result_latency, expected)?;
    }
    at_least_1("os.time_slice", chip.os.sched.time_slice)?;
    system(chip)?;
    governor::check(chip)?;
    if let Some(devices) = &chip.devices {
        device::check(devices, chip)?;
    }
    match &chip.coherent {
        None => at_least_1("cache.hit", chip.cache.hit),
        Some(coherent) => {
            caches(coherent, chip.cache.line_bytes)?;
            network(coherent, chip)?;
            mechanisms(&coherent.mechanisms)?;
            places(coherent, chip)?;
            phases(coherent, chip)
        }
    }
}

/// Refuses values that the coarse mode does not support.
fn phases(coherent: &Coherent, chip: &Chip) -> Fits {
    if chip.phases.is_none() {
        return Ok(());
    }
    let with = "with memory.model \"phases\"";
    ensure(chip.core.contexts == 1, "core.contexts", chip.core.contexts, format!("1 {with}"))?;
    let pages = coherent.home.placement == HomePlacement::FirstTouch;
    let expected = format!("\"first-touch\" {with}: each page has a node");
    ensure(pages, "home.placement", coherent.home.placement.name(), expected)?;
    let near = coherent.atomics == Atomics::Near;
    ensure(near, "core.atomics", coherent.atomics.name(), format!("\"near\" {with}: cells have fixed prices"))?;
    let enabled = coherent.mechanisms.enabled();
    let marked = enabled.first().copied().unwrap_or("ocor.enabled");
    ensure(enabled.is_empty(), marked, true, format!("false {with}: no packets travel"))
}

/// Checks the keys of mechanisms: the values of each fit together, and at most one mechanism is on.
fn mechanisms(all: &Mechanisms) -> Fits {
    if let Some((key, value, expected)) = all.misfit() {
        ensure(false, key, value, expected)?;
    }
    match all.enabled()[..] {
        [first, second, ..] => ensure(false, second, true, format!("false beside {first}: a chip has one mechanism")),
        _ => Ok(()),
    }
}

/// Checks the keys of the operating system.
fn system(chip: &Chip) -> Fits {
    let os = &chip.os;
    if chip.os.futex.home == Some(FutexHome::Lock) {
        let round = |coherent: &Coherent| coherent.home.placement == HomePlacement::Interleaved;
        let fits = chip.coherent.as_ref().is_some_and(round);
        let expected = "\"bucket\" where lines do not go round all homes (home.placement = \"interleaved\")";
        ensure(fits, "os.futex_home", "\"lock\"", expected)?;
    }
    let expected = "\"program\" or \"call\" without os.futex_home: no bucket has a lock";
    ensure(os.futex.entry != WakeEntry::Lock || os.futex.home.is_some(), "os.futex_wake_entry", "\"lock\"", expected)?;
    let expected = "\"price\" or \"packet\" without os.futex_home: no home has the sleepers' queue";
    ensure(os.interrupt.ipi != Ipi::Home || os.futex.home.is_some(), "os.ipi", "\"home\"", expected)?;
    if os.interrupt.tick.0 != 0 {
        let expected = format!("less than os.tick, {}: a thread must get on", os.interrupt.tick.0);
        ensure(os.interrupt.tick_cost < os.interrupt.tick, "os.tick_cost", os.interrupt.tick_cost.0, expected)?;
    }
    if let Some(first) = os.idle.states.0.first() {
        let expected = format!("states that begin after os.idle_poll, {}", os.idle.poll.0);
        ensure(first.after > os.idle.poll.0, "os.idle_states", os.idle.states.text(), expected)?;
    }
    let count = chip.core.count;
    let there = os.off.cores.last().is_none_or(|&last| last < count);
    ensure(there, "os.off", os.off.text(), format!("cores from 0 to {} (core.count)", count - 1))?;
    let expected = format!("fewer cores than core.count, {count}: one must be on");
    let last = os.fast_cores.last().copied().unwrap_or(0);
    ensure(last < count, "os.amp.fast_cores", last, format!("cores from 0 to {} (core.count)", count - 1))?;
    ensure(os.off.cores.len() < count as usize, "os.off", os.off.text(), expected)
}
