//! A world runs guest threads on one machine. A new machine needs a world of some twenty lines to
//! run the whole suite of contracts.

mod guests;
mod loom;
mod native;
mod scenario;
mod shuttle;

pub use self::loom::{Brief, Loom, Pairs};
pub use self::native::Native;
pub use self::shuttle::{EverySchedule, Shuttle};
pub use guests::{Crowd, Shared, World, share};
pub use scenario::{Guest, Scenario};
