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
mod typed;

/// A chip file's text without the devices that the chip has.
fn without_devices(text: &str) -> String {
    let Some((before, devices)) = text.split_once("\n[device]\n") else { return text.to_owned() };
    let behind = devices.find("\n# Prices").map_or("", |at| &devices[at..]);
    format!("{before}\n{behind}")
}
