//! The simulated many-core. [`Simulated`] implements [`Machine`](baton_machine::Machine), so that
//! every algorithm of `sync` runs on it unchanged.
//!
//! ```
//! use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
//! use baton_machine::{Atomic, Machine, Ordering::Relaxed, Owned, units::Cycles};
//! use std::rc::Rc;
//!
//! let chip = Chip::from_toml(include_str!("../../../chips/sample-host.toml"), "sample-host.toml")?;
//! let mut simulation = Simulation::new(&chip, &Options::default())?;
//! type Cell = <Simulated as Machine>::Atomic<u64>;
//! let sum = simulation.outside(|| Rc::new(Owned::<Simulated, Cell>::new(Atomic::new(0))));
//! for _ in 0..4 {
//!     let sum = sum.clone();
//!     simulation.spawn(Spawn::default(), move || {
//!         Simulated::work(Cycles(1000));
//!         sum.fetch_add(1, Relaxed);
//!     })?;
//! }
//! let outcome = simulation.run()?;
//! assert!(outcome.finished && outcome.cycles > Cycles(1000));
//! assert_eq!(simulation.outside(|| sum.load(Relaxed)), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | room | holds |
//! | --- | --- |
//! | `base` | events and their order, request tokens, clock ratios, random numbers: uses no other room |
//! | `guest` | guest memory: heap and stacks in one arena |
//! | `contexts`, `clock`, `core` | the shares of hardware contexts, a core's clock, its store buffer and window |
//! | [`device`] | devices on the network or on wires of their own |
//! | `power` | power states of CPUs |
//! | `os` | the operating system's state: CPUs, applications, futexes, the policy |
//! | `engine` | the simulated machine as one state, and its threads |
//! | `rate`, `waits`, `issue`, `kernel` | logic: clocks and modes change, waits, cores issue accesses, scheduling and the next event |
//! | [`machine`] | the machine trait's verbs |
//! | [`outcome`] | the result of a run |
//! | [`simulation`] | a simulation from the host's side |
//! | [`energy`] | time in states by watts, and events by joules |
//! | [`account`] | what a run's locks cost |
//!
//! Chip files and kinds of devices are a crate of their own, `baton-chipfile`; its [`config`] and [`peripheral`] can be
//! named from here, too. The memory system (caches of fixed latencies, or coherent ones on a network) is `baton-memory`.
//!
//! Arrows between rooms run only downward: the table in `docs/rooms.md`, which `crates/cli/tests/house/floors` checks.
//!
//! `docs/reference/chip.md` says what is modelled and what is not.

#![warn(missing_docs)]

pub mod account;
mod base;
mod clock;
mod contexts;
mod core;
pub mod device;
pub mod energy;
mod engine;
mod guest;
mod issue;
mod kernel;
pub mod machine;
mod os;
pub mod outcome;
mod power;
mod rate;
pub mod simulation;
mod waits;

pub use self::core::instructions::Instructions;
pub use self::core::window::{Share, Window};
pub use crate::machine::guest as act;
pub use crate::machine::guest::Guest;
pub use crate::machine::moving;
pub use crate::os::app::Spawn;
pub use base::counter::{Counter, Counters, Unit};
pub use base::stop::Stop;
pub use baton_chipfile::config::{Chip, ChipError, Prices, WindowSize};
pub use baton_chipfile::peripheral::port::Answer;
pub use baton_chipfile::{config, peripheral};
pub use baton_memory::{CoreCounts, MEMORY_PARTS, MemoryCounts, NetworkCounts};
pub use device::attached::{DeviceFigures, PortCounts};
pub use engine::locks::{LockLog, Stretch, WordChange};
pub use engine::reason::Reason;
pub use engine::stats::ThreadCounts;
pub use machine::Simulated;
pub use machine::device::{Device as DeviceVerbs, DeviceOf, Ticket, TicketOf};
pub use os::app::{AmpCounts, App, AppCounts, AppFigures, AppTimes, Application, Runs};
pub use os::arrivals::arrivals;
pub use os::cpu::{CpuCounts, CpuFigures};
pub use os::futex::protocol as futex;
pub use os::governor::ClockFigures;
pub use os::refused::Refused;
pub use os::signal::{Action, Death, Signal, SignalSet};
pub use outcome::{Outcome, Stuck, ThreadFigures};
pub use simulation::{Options, Simulation};
