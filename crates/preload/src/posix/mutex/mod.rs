//! Mutexes: locks of `sync` in a `pthread_mutex_t`, or glibc's own, recorded and counted.
//!
//! | file | holds |
//! | --- | --- |
//! | [`object`] | what stands in a `pthread_mutex_t`, and what its kind asks for |
//! | `stand_in` | a lock of `sync` as what stands in for a mutex |
//! | `place` | the named lock inside the mutex, or behind a pointer where it does not fit |
//! | `spare_lock` | the lock that serves those who cannot stand in a queue |
//! | [`moved_waiters`] | waiters of condition variables, moved to their mutex by a broadcast |
//! | [`plugin`] | a lock of a shared library of the user's |
//! | [`replace`] | lock, trylock, timed lock, unlock by a lock of `sync` |
//! | [`glibc`] | the same by glibc, recorded and counted |
//! | `functions` | what the slots of the mutex functions point to |
//! | [`lock_by_place`] | a lock for each of some places of the program: which one a mutex has |
//! | [`counting`] | mutexes whose acquisitions are counted |
//! | [`c11`] | `mtx_*`, which come down to the same functions |
//! | `events` | what is written down of mutexes |

pub mod c11;
pub mod counting;
pub(in crate::posix) mod events;
mod functions;
pub mod glibc;
pub mod lock_by_place;
pub mod moved_waiters;
mod object;
mod place;
pub mod plugin;
pub mod replace;
mod spare_lock;
pub mod stand_in;

pub use functions::Functions;
pub use object::{Class, Mutex};
