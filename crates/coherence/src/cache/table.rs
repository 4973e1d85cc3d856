//! The shape of the caches' rows, and the table made of them.

use super::action::Action;
use super::event::Event;
use super::state::State;

crate::table::table!("cache", State, Event, Action);
