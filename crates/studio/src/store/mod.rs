//! The store: a folder of Parquet files with a row for each point and seed.
//!
//! | file | holds |
//! | --- | --- |
//! | `writer` | what a sweep adds: claims of points, and rows |
//! | `folder` | the files of a store, and reading them |
//! | `merge` | several Parquet files replaced by one at a stroke |
//! | `manifest` | `store.json`: version, command, columns |
//! | `column` | the columns |
//! | `row` | a row, and its line in a journal |
//! | `journal` | rows as their points end, until they are in a Parquet file |
//! | `encode`, `decode` | rows to and from Parquet |
//! | `table` | rows by column, in memory |
//! | `filter` | the rows in which a condition holds |
//! | `export` | rows as CSV, JSON lines and Parquet |
//! | `whole` | files that are there whole or not at all |
//! | `error` | why a store cannot be used |

pub(crate) mod column;
mod decode;
mod encode;
mod error;
mod export;
mod filter;
mod folder;
mod journal;
mod manifest;
mod merge;
mod row;
mod table;
mod whole;
mod writer;

pub use column::{Column, Role};
pub use error::StoreError;
pub use export::Format;
pub use folder::Store;
pub use manifest::{Manifest, SpaceText};
pub use row::Row;
pub use table::{Table, Values};
pub use writer::{Claim, Writer};
