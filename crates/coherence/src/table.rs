//! The structure of a table: rows, which are found by state and event with two array accesses.

use std::fmt;

/// The length of the longest list of actions in a row.
pub const MAX_ACTIONS: usize = 6;

/// What happens to the message or access that was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// It is consumed.
    Take,
    /// The message or access waits unchanged (the row has no actions and keeps the state), and is
    /// presented again when the state has changed.
    Wait,
    /// The row's actions are carried out, but the message or access waits and is presented again
    /// when the state has changed.
    Retain,
}

/// A row's actions, in the order in which they are carried out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Actions<A: Copy> {
    list: [Option<A>; MAX_ACTIONS],
}

impl<A: Copy> Actions<A> {
    /// Creates the list `actions`. A list longer than [`MAX_ACTIONS`] is a mistake in the table and
    /// does not compile.
    pub const fn new(actions: &[A]) -> Actions<A> {
        assert!(actions.len() <= MAX_ACTIONS, "a row has too many actions");
        let mut list = [None; MAX_ACTIONS];
        let mut i = 0;
        while i < actions.len() {
            list[i] = Some(actions[i]);
            i += 1;
        }
        Actions { list }
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = A> + '_ {
        self.list.iter().map_while(|action| *action)
    }
}

impl<A: Copy + fmt::Debug> fmt::Debug for Actions<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What happens on one event in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row<S, A: Copy> {
    /// What happens to the message or access.
    pub then: Then,
    /// The state afterwards.
    pub next: S,
    /// What the executor does, in this order.
    pub actions: Actions<A>,
}

/// An event for which the table has no row: a hole in the protocol. The checker shows that there is
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unhandled {
    /// Either `cache` or `home`.
    pub controller: &'static str,
    /// Name of the state.
    pub state: &'static str,
    /// Name of the event.
    pub event: &'static str,
}

impl fmt::Display for Unhandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} has no row for {} in state {}", self.controller, self.event, self.state)
    }
}

impl std::error::Error for Unhandled {}

/// Declares a controller's `Entry` (one line of the source, with the states and events that share a
/// row) and its `Table`, which unfolds the lists at compile time. Two entries for the same state
/// and event do not compile.
macro_rules! table {
    ($controller:literal, $state:ty, $event:ty, $action:ty) => {
        /// A row of this controller.
        pub type Row = $crate::table::Row<$state, $action>;

        /// One line of the source, with the states and events that share it. Without `next`, the
        /// state is kept.
        #[derive(Clone, Copy)]
        pub(crate) struct Entry {
            pub(crate) states: &'static [$state],
            pub(crate) events: &'static [$event],
            pub(crate) then: $crate::table::Then,
            pub(crate) next: Option<$state>,
            pub(crate) actions: &'static [$action],
        }

        /// The rows of this controller by state and event.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Table {
            rows: [[Option<Row>; <$event>::COUNT]; <$state>::COUNT],
        }

        impl Table {
            pub(crate) const fn new(lists: &[&[Entry]]) -> Table {
                let mut rows = [[None; <$event>::COUNT]; <$state>::COUNT];
                let mut l = 0;
                while l < lists.len() {
                    let mut e = 0;
                    while e < lists[l].len() {
                        rows = Table::with(rows, lists[l][e]);
                        e += 1;
                    }
                    l += 1;
                }
                Table { rows }
            }

            const fn with(
                mut rows: [[Option<Row>; <$event>::COUNT]; <$state>::COUNT],
                entry: Entry,
            ) -> [[Option<Row>; <$event>::COUNT]; <$state>::COUNT] {
                let actions = $crate::table::Actions::new(entry.actions);
                let mut s = 0;
                while s < entry.states.len() {
                    let state = entry.states[s];
                    let next = match entry.next {
                        Some(next) => next,
                        None => state,
                    };
                    let mut v = 0;
                    while v < entry.events.len() {
                        let place = &mut rows[state as usize][entry.events[v] as usize];
                        assert!(place.is_none(), "two rows for one state and event");
                        *place = Some($crate::table::Row { then: entry.then, next, actions });
                        v += 1;
                    }
                    s += 1;
                }
                rows
            }

            /// Returns the row for `event` in `state`, or an error if the table has none.
            #[inline]
            pub fn row(&self, state: $state, event: $event) -> Result<&Row, $crate::table::Unhandled> {
                self.rows[state as usize][event as usize].as_ref().ok_or($crate::table::Unhandled {
                    controller: $controller,
                    state: state.name(),
                    event: event.name(),
                })
            }

            /// Yields every row, ordered by state and then by event.
            pub fn iter(&self) -> impl Iterator<Item = ($state, $event, Row)> + '_ {
                <$state>::ALL.iter().flat_map(move |&state| {
                    <$event>::ALL.iter().filter_map(move |&event| {
                        self.rows[state as usize][event as usize].map(|row| (state, event, row))
                    })
                })
            }

            /// Returns this table with one row changed or removed, for mutation tests.
            pub fn changed(&self, state: $state, event: $event, row: Option<Row>) -> Table {
                let mut table = self.clone();
                table.rows[state as usize][event as usize] = row;
                table
            }
        }
    };
}

/// The source form of rows: `states : events => next { actions }`. It has `same` if the state is
/// kept, `wait` if the event waits unchanged, and `retain next { actions }` if the event waits but
/// the actions are carried out.
macro_rules! rows {
    ($(#[$doc:meta])* $name:ident: $state:ident, $event:ident, $action:ident;
        $($($s:ident)|+ : $($e:ident)|+ => $kind:ident $($next:ident)? $({ $($a:ident),* })?;)*) => {
        $(#[$doc])*
        pub(crate) const $name: &[Entry] = &[$($crate::table::entry!(
            $state, $action, &[$($state::$s),+], &[$($event::$e),+], $kind $($next)?, [$($($action::$a),*)?]
        )),*];
    };
}

macro_rules! entry {
    ($state:ident, $action:ident, $s:expr, $e:expr, wait, [$($a:expr),*]) => {
        Entry { states: $s, events: $e, then: $crate::table::Then::Wait, next: None, actions: &[$($a),*] }
    };
    ($state:ident, $action:ident, $s:expr, $e:expr, retain $next:ident, [$($a:expr),*]) => {
        Entry { states: $s, events: $e, then: $crate::table::Then::Retain, next: Some($state::$next), actions: &[$($a),*] }
    };
    ($state:ident, $action:ident, $s:expr, $e:expr, same, [$($a:expr),*]) => {
        Entry { states: $s, events: $e, then: $crate::table::Then::Take, next: None, actions: &[$($a),*] }
    };
    ($state:ident, $action:ident, $s:expr, $e:expr, $next:ident, [$($a:expr),*]) => {
        Entry { states: $s, events: $e, then: $crate::table::Then::Take, next: Some($state::$next), actions: &[$($a),*] }
    };
}

pub(crate) use {entry, rows, table};
