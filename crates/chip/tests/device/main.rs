//! Devices: what a request takes, its order, interrupts, kinds and typed payloads.

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod interrupts;
mod kill;
mod kinds;
mod order;
mod port;
mod preempt;
mod random;
mod requests;
mod signals;
mod typed;

/// The mailbox of the tests of requests, order, preemption and kills. Each test says how the
/// mailbox is linked to the chip.
const MAILBOX: [&str; 7] = [
    "device.kind=mailbox",
    "device.count=1",
    "device.latency=10",
    "device.words=64",
    "device.outstanding=8",
    "device.call=300",
    "device.interrupt=700",
];

/// Wires of 25 cycles.
const WIRES: [&str; 2] = ["device.link=dedicated", "device.way=25"];

/// A chip of `cores` cores with short time slices and a mailbox on wires, at the cores' clock.
fn wired(cores: u32, settings: &[&str]) -> baton_chip::Chip {
    let clock = format!("device.clock_hz={}", common::chip(&[]).core.clock.0);
    common::cores(cores, &[&[clock.as_str(), "os.time_slice=100000"], &MAILBOX[..], &WIRES, settings].concat())
}

/// A chip file's text without the devices that the chip has.
fn without_devices(text: &str) -> String {
    let Some((before, devices)) = text.split_once("\n[device]\n") else { return text.to_owned() };
    let behind = devices.find("\n# Prices").map_or("", |at| &devices[at..]);
    format!("{before}\n{behind}")
}
