//! Halts the CPU in a system call; the thread that changes the cell sends an interrupt.

use super::{Idle, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "halt",
    what: "halt the CPU in a system call, woken by an interrupt",
    source: "Anastopoulos and Koziris, section 4 (spin-loops-halt)",
    limits: "simulated chips only: privileged; a wake-up costs a system call; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Halt)
}
