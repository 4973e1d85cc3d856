//! How calls reach the library: exported functions with glibc's names, the slots through which they
//! jump, and glibc's own functions behind them.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | the exported functions, and the slots that they jump through |
//! | [`real`] | glibc's own functions |
//! | [`registered_code`] | notices code that is registered at run time |
//! | [`lookup`] | functions that are reached past the loader's order: `dlsym` with a handle, `RTLD_DEEPBIND`; object files by address |

pub mod lookup;
pub mod real;
pub mod registered_code;
mod table;

pub use table::{Code, STUBS, pass_through, slot};
pub(crate) use table::{call, with_site};
