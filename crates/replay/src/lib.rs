//! A recorded trace run on a simulated chip.
