//! The file: what was written is read again, whatever befalls its bytes.

mod damage;
mod faults;
mod nonsense;
mod page;
mod round_trip;
