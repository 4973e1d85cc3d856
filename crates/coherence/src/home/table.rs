//! The shape of the home's rows, and the table made of them.

use super::action::Action;
use super::event::Event;
use super::state::State;

crate::table::table!("home", State, Event, Action);
