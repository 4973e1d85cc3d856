//! How fast computations go on, and what is put down when that changes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`modes`] | contexts of a core become active and give their part back |
//! | [`windows`] | contexts get other shares of their core's window |
//! | [`clocks`] | a core's clock changes |
//! | [`meter`] | how long CPUs were in which state, at which clock |

pub(crate) mod clocks;
pub(crate) mod meter;
pub(crate) mod modes;
pub(crate) mod windows;
