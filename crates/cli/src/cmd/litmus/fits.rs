//! Whether tests can run on a chip: the chip needs cores and queue devices enough, and no thread of
//! a test may wait for ever.

use super::files::Found;
use super::model::{self, endless};
use crate::error::BadInput;
use baton_chip::Chip;
use baton_chip::config::device::{Devices, OneDevice};
use baton_chip::config::keys::Value;
use baton_litmus::Test;
use baton_litmus::tso::{Buffers, Model};
use baton_machine::device::Protocol;
use baton_machine::queues::QueueDevice;

/// Checks that the tests can run on the chip.
pub(super) fn check(tests: &[Found], chip: &Chip) -> Result<(), BadInput> {
    for found in tests {
        let (threads, cores) = (found.test.threads.len(), chip.core.count);
        if threads > cores as usize {
            return Err(BadInput::new(format_args!(
                "{}: {threads} threads; chip `{}` has {cores} cores (core.count)",
                found.path.display(),
                chip.name
            ))
            .hint(format_args!("--set core.count={threads}")));
        }
        if !found.test.queues.is_empty() {
            let wrong = |what: String| BadInput::new(format_args!("{}: {what}", found.path.display()));
            has_room(&found.test, chip).map_err(wrong)?;
            ends(found, chip)?;
        }
    }
    Ok(())
}

/// The chip's queue devices.
fn queue_devices(chip: &Chip) -> impl Iterator<Item = OneDevice> {
    let all = chip.devices.as_ref().into_iter().flat_map(Devices::each);
    all.filter(|one| one.kind.name == QueueDevice::KIND)
}

/// Checks that the chip has a queue device, and that each of them has room for all of the test's
/// queues and drops no request. Each device must do, because the noise chooses the device of a
/// queue.
fn has_room(test: &Test, chip: &Chip) -> Result<(), String> {
    let name = &chip.name;
    if queue_devices(chip).next().is_none() {
        return Err(format!(
            "a test with queues; chip `{name}` has no queue device (device.kind = \"{}\")",
            QueueDevice::KIND
        ));
    }
    for one in queue_devices(chip) {
        let value = |key| one.settings.whole(key).unwrap_or(0);
        let queues = test.queues.len() as u64;
        let entries: u64 = test.queues.iter().map(|queue| u64::from(queue.entries)).sum();
        if queues > value("queues") {
            return Err(format!(
                "{queues} queues; a queue device of chip `{name}` has {} (device.qmd.queues)",
                value("queues")
            ));
        }
        if entries > value("entries") {
            return Err(format!(
                "queues of {entries} entries together; a queue device of chip `{name}` has {} (device.qmd.entries)",
                value("entries")
            ));
        }
        if value("timeout") != 0 {
            return Err(format!(
                "a queue device of chip `{name}` drops requests (device.qmd.timeout = {}; expected 0)",
                value("timeout")
            ));
        }
    }
    Ok(())
}

/// Checks that no thread waits for ever, with the store buffers of the chip and the request buffers
/// of its devices.
fn ends(found: &Found, chip: &Chip) -> Result<(), BadInput> {
    let is_shared = |value: &Value| matches!(value, Value::Text(text) if text == "shared");
    let shared = queue_devices(chip).any(|one| one.settings.get("buffers").is_some_and(is_shared));
    let model = Model {
        buffers: if shared { Buffers::Shared } else { Buffers::Context },
        outstanding: chip.devices.as_ref().map_or(1, |devices| devices.outstanding as usize),
        entries: Some(chip.core.store_buffer as usize),
        ..model::of(chip)
    };
    let on = format!("on chip `{}`", chip.name);
    match model::explore(found, model)?.endless {
        Some(thread) => Err(endless(found, thread, &on)),
        None => Ok(()),
    }
}
