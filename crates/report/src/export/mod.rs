//! Conversions for other tools. Each takes the report for its names and, where it holds single waits, the intervals one by one.

pub mod csv;
pub mod parquet;
pub mod perfetto;
pub mod pprof;
mod proto;
pub(crate) use proto::varint;
pub mod row;
mod slices;
