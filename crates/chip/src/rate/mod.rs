//! How fast computations proceed, and what is recorded when their speed changes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`modes`] | contexts of a core become active and give their part back |
//! | [`windows`] | contexts get other shares of their core's window |
//! | [`clocks`] | a core's clock changes |
//! | [`phases`] | phases of the coarse mode begin, end and move |
//! | [`meter`] | how long CPUs were in which state, at which clock |

pub(crate) mod clocks;
pub(crate) mod meter;
pub(crate) mod modes;
mod phases;
pub(crate) mod windows;
