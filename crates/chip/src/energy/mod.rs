//! Energy: what every CPU did and for how long, what happened how often, and the prices of both.
//!
//! A CPU is at any moment in one [`PowerState`]; the run's cycles times its CPUs are spread over the states exactly. Events
//! are counted by the memory system, the network and the devices. [`Account::of`] multiplies both by the prices of the chip
//! file (`[energy]`). What is needed and not priced is an error that names the key: nothing is taken for free in passing.
//!
//! | file | holds |
//! | --- | --- |
//! | [`account`] | states times watts and events times joules, by component |

pub mod account;

pub use crate::power::{PowerState, STATES, Spent};
pub use account::{Account, Component, Line, PriceMissing, Quantity};
pub use baton_chipfile::config::energy::{self as prices, Price, Prices};
