//! Tools that do not depend on the program's threads: memory of the library's own, times, `errno`,
//! messages.

pub mod alloc;
pub mod errno;
pub mod message;
pub mod stack;
mod syscall;
pub mod time;
pub mod unwind;
