//! What a chip is: the chip file, read into one typed value, and the kinds of devices that a chip may have.
//!
//! ```
//! use baton_chipfile::config::Chip;
//!
//! let chip = Chip::from_toml(include_str!("../../../chips/sample-host.toml"), "sample-host.toml")?;
//! assert!(chip.core.count > 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | room | holds |
//! | --- | --- |
//! | [`config`] | the keys of a chip file, their values, and how a file is read, checked and written |
//! | [`peripheral`] | kinds of devices: protocols, keys, what each does |
//! | [`value`] | what a key's value may be |
//!
//! The crate simulates nothing. `baton-memory` and `baton-chip` carry out what a chip file says. Each room uses only rooms
//! that stand below it in the table: `docs/rooms.md`, which
//! `crates/cli/tests/house/floors` checks.

#![warn(missing_docs)]

pub mod config;
pub mod peripheral;
pub mod value;
