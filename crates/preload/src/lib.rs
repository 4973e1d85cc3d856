//! `libbaton_preload.so`: stands between an unmodified program and glibc, replaces its locks, records what its threads do.
//!
//! The program is told nothing; the library is told everything by environment variables (`docs/reference/preload.md`), which
//! `baton run` and `baton profile` set.
//!
//! | room | holds |
//! | --- | --- |
//! | `start` | fills the slots, once, before `main` |
//! | `stats` | counters at exit |
//! | `omp` | OpenMP's regions, barriers, tasks, critical sections and locks |
//! | `posix` | mutexes, condition variables, barriers and the rest of POSIX: replaced, or recorded |
//! | `events` | recording |
//! | `progress` | counts of calls, in a file that is read while the program runs |
//! | `thread` | a record of each thread; the registry of what other rooms do as threads begin and end, and at forks |
//! | `hooks` | the exported functions, the slots that they jump through, glibc's own functions |
//! | `config` | the environment variables |
//! | `base` | tools: memory of our own, times, `errno`, messages |
//!
//! # Rules of this room
//! Hooks keep `errno` and are no cancellation points where glibc's are none. Where one is, no value with a destructor is alive
//! in our frames. Nothing calls the program's allocator. Thread-local state is one word without a destructor. A panic is a
//! bug of ours: it is told and ends the process, it never unwinds into the program.

#![allow(unreachable_pub, reason = "a cdylib has no Rust interface; `pub` says what a room offers to the others")]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod base;
mod config;
mod events;
mod hooks;
mod omp;
mod posix;
mod progress;
mod start;
mod stats;
mod thread;
