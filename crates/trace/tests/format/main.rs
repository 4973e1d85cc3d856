//! Tests of the file format: what was written is read again, whatever happens to the file's bytes.

mod damage;
mod faults;
mod nonsense;
mod page;
mod round_trip;
mod write_out;
