//! The type of the simulated machine. Its verbs are in the other files of this folder, which name
//! it.

/// The simulated machine.
#[derive(Clone, Copy, Debug)]
pub struct Simulated;
