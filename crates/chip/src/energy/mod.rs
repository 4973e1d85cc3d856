//! Energy: the time of each CPU in each state, the number of events, and the prices of both.
//!
//! A CPU is at any moment in exactly one [`PowerState`], so that the states' times add up to the
//! run's cycles times its CPUs. Events are counted by the memory system, the network and the
//! devices. [`Account::of`] multiplies both by the prices of the chip file (`[energy]`). A missing
//! price that is needed is an error that names the key; nothing counts as free.
//!
//! | file | holds |
//! | --- | --- |
//! | [`account`] | states times watts and events times joules, by component |

pub mod account;

pub use crate::power::{PowerState, STATES, Spent};
pub use account::{Account, Component, Line, PriceMissing, Quantity};
pub use baton_chipfile::config::energy::{self as prices, Price, Prices};
