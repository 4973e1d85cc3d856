//! The simulated many-core; implements Machine.
