//! How fast computations proceed, and what is settled when that changes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`modes`] | contexts of a core become active or give their share back |
//! | [`windows`] | contexts get other shares of their core's window |
//! | [`clocks`] | a core's clock changes |
//! | [`phases`] | phases of the coarse mode begin, end and move |
//! | [`meter`] | how long CPUs were in which power state, at which clock |

pub(crate) mod clocks;
pub(crate) mod meter;
pub(crate) mod modes;
mod phases;
pub(crate) mod windows;
