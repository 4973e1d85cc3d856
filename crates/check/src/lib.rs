//! The Checked machines (shuttle, loom) and the contract suites.
