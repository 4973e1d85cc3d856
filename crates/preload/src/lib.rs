//! `libbaton_preload.so`: stands between an unmodified program and glibc, replaces its locks, records what its threads do.
//!
//! The program is told nothing; the library is told everything by environment variables (`docs/reference/preload.md`), which
//! `baton run` and `baton profile` set.
//!
//! | room | holds |
//! | --- | --- |
//! | `hook` | the exported functions, and the slots that they jump through |
//! | `start` | fills the slots, once, before `main` |
//! | `config` | the environment variables |
//! | `real` | glibc's own functions |
//! | `mutex`, `cond` | replacement: locks of `baton-sync` in `pthread_mutex_t`, condition variables that go with them |
//! | `watch` | what is recorded but never replaced: reader-writer and spin locks, barriers, semaphores, threads |
//! | `barrier` | replacement of barriers |
//! | `leaving` | threads that may leave a wait at any instruction |
//! | `lookup` | functions that are reached past the loader's order: `dlsym` with a handle, `RTLD_DEEPBIND` |
//! | `omp` | OpenMP's regions, barriers, tasks, critical sections and locks |
//! | `capture` | recording |
//! | `thread`, `fork` | what is known of each thread; what a fork's child has to put in order |
//! | `stall` | waiters that only spin, put to sleep when the program stands still |
//! | `stats` | counters at exit |
//! | `alloc`, `stack`, `time`, `errno`, `message` | tools: memory of our own, times, messages |
//!
//! # Rules of this room
//! Hooks keep `errno` and are no cancellation points where glibc's are none. Where one is, no value with a destructor is alive
//! in our frames. Nothing calls the program's allocator. Thread-local state is one word without a destructor. A panic is a
//! bug of ours: it is told and ends the process, it never unwinds into the program.

#![allow(unreachable_pub, reason = "a cdylib has no Rust interface; `pub` says what a room offers to the others")]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod alloc;
mod barrier;
mod capture;
mod cond;
mod config;
mod errno;
mod fork;
mod hook;
mod leaving;
mod lookup;
mod message;
mod mutex;
mod omp;
mod real;
mod stack;
mod stall;
mod start;
mod stats;
mod thread;
mod time;
mod watch;
