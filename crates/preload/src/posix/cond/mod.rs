//! Baton's own condition variables, whose waiters wait with replaced mutexes.
//!
//! | file | holds |
//! | --- | --- |
//! | `object` | what stands in a `pthread_cond_t`, and the protocol |
//! | `list` | its list of waiters |
//! | `ops` | `pthread_cond_*` and `cnd_*` |

mod list;
mod object;
mod ops;

pub use ops::install;
