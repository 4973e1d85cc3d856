//! The functions behind POSIX's names: Baton's replacements, or glibc's functions between two
//! events.
//!
//! | file | holds |
//! | --- | --- |
//! | [`mutex`], [`cond`], [`barrier`] | replacement: locks, condition variables that go with them, barriers |
//! | [`recorded`] | what is recorded but never replaced: reader-writer and spin locks, semaphores, threads, input and output |
//! | [`abandoned_waits`] | threads that may leave a wait at any instruction |
//! | [`stall_watch`] | waiters that only spin, put to sleep when the program stands still |

pub mod abandoned_waits;
pub mod barrier;
pub mod cond;
pub mod mutex;
pub mod recorded;
pub mod stall_watch;
