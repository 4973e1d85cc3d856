//! `libbaton_preload.so`: stands between an unmodified program and glibc, replaces its locks, and
//! records what its threads do.
//!
//! The program does not know of the library. Environment variables (`docs/reference/preload.md`),
//! which `baton run` and `baton profile` set, tell the library what to do.
//!
//! | room | holds |
//! | --- | --- |
//! | `start` | fills the slots, once, before `main` |
//! | `stats` | counters at exit |
//! | `omp` | OpenMP's regions, barriers, tasks, critical sections and locks |
//! | `library` | Baton's own C library, recorded |
//! | `posix` | mutexes, condition variables, barriers and the rest of POSIX: replaced, or recorded |
//! | `events` | recording |
//! | `progress` | counts of calls, in a file that is read while the program runs |
//! | `notices` | what `baton sched` is told of locks, and the masks of CPUs that it answers |
//! | `thread` | a record of each thread; the registry of what other rooms do as threads begin and end, and at forks |
//! | `hooks` | the exported functions, the slots that they jump through, glibc's own functions |
//! | `config` | the environment variables |
//! | `base` | tools: memory of our own, times, `errno`, messages |
//!
//! # Rules of this room
//! A hook keeps `errno`, and is no cancellation point where glibc's function is none. Where it is
//! one, no value with a destructor is alive in the library's frames. No code of the library calls
//! the program's allocator. Thread-local state is two words without a destructor. A panic is a bug
//! of the library: it prints a message and ends the process, and never unwinds into the program.

#![allow(unreachable_pub, reason = "a cdylib has no Rust interface; `pub` says what a room offers to the others")]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod base;
mod config;
mod events;
mod hooks;
mod library;
mod notices;
mod omp;
mod posix;
mod progress;
mod start;
mod stats;
mod thread;
