//! The type that stands for this machine.

/// The real machine that the program runs on.
#[derive(Clone, Copy, Debug)]
pub struct Native;
