//! A line's home: its directory entry and its place in the shared level.
//!
//! | file | holds |
//! | --- | --- |
//! | `state.rs` | the states and the entry |
//! | `event.rs` | the events, and how a message becomes an event |
//! | `action.rs` | the actions and what each means to the executor |
//! | `rows.rs` | the rows that both policies share |
//! | `policy_rows.rs` | the rows of the blocking home, and of the non-blocking home |
//! | `table.rs` | the shape of the rows, and the table made of them |
//! | `step.rs` | the only interpreter of the rows |

mod action;
mod event;
mod policy_rows;
mod rows;
mod state;
mod step;
mod table;

pub use action::Action;
pub use event::Event;
pub use state::{Line, Naming, State};
pub use step::{Effects, deliver, evict};
pub(crate) use table::Entry;
pub use table::{Row, Table};

pub(crate) const BLOCKING: Table = Table::new(&[rows::SHARED, policy_rows::BLOCKING]);
pub(crate) const NONBLOCKING: Table = Table::new(&[rows::SHARED, policy_rows::NONBLOCKING]);
