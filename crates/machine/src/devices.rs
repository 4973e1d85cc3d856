//! Machines that have devices.

use crate::Machine;
use crate::device::{Device, Protocol};

/// A machine that can have devices.
pub trait Devices: Machine {
    /// The handle of a device with protocol `P`.
    type Device<P: Protocol>: Device<P>;

    /// Number of devices of all kinds. They are numbered from 0.
    fn count() -> u32;

    /// Returns device `number`, if it speaks protocol `P`.
    fn at<P: Protocol>(number: u32) -> Option<Self::Device<P>>;

    /// Returns the first device that speaks protocol `P`.
    fn first<P: Protocol>() -> Option<Self::Device<P>> {
        (0..Self::count()).find_map(Self::at)
    }
}
