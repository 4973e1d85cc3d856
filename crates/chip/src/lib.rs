//! The simulated many-core: [`Simulated`] implements [`Machine`](baton_machine::Machine), so that every algorithm of
//! `sync` runs on it as it is.
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
//! | [`config`] | what a chip is: the chip file |
//! | `clock` | clocks that differ from the reference |
//! | `core` | what a core keeps to itself: store buffers, its window, the guest's own instructions |
//! | [`device`] | devices on the network or on wires of their own |
//! | [`energy`] | states times watts and events times joules |
//! | `engine` | time, threads, the event queue, waits that watch a line |
//! | `memory` | the memory system behind one trait; now caches of fixed latencies |
//! | `os` | cores with run queues, time slices, futexes |
//! | `guest` | guest memory: heap and stacks in one arena |
//! | [`machine`] | the machine trait's verbs |
//! | [`account`] | what a run's locks cost |
//! | [`simulation`] | a simulation from the host's side |
//! | [`outcome`] | what comes out |
//!
//! `docs/chip.md` tells what is modelled and what is not.

pub mod account;
mod clock;
pub mod config;
mod contexts;
mod core;
pub mod device;
pub mod energy;
mod engine;
mod guest;
pub mod machine;
mod memory;
mod os;
pub mod outcome;
mod random;
pub mod simulation;

pub use self::core::instructions::{self, Instructions};
pub use self::core::size::WindowSize;
pub use self::core::window::{Share, Window};
pub use config::{Chip, ChipError, Prices};
pub use device::attached::DeviceFigures;
pub use device::port::Answer;
pub use engine::locks::{LockLog, Stretch, WordChange};
pub use engine::thread::{REASONS, Reason};
pub use machine::Simulated;
pub use machine::device::{Device as DeviceVerbs, Ticket};
pub use machine::guest::{self as act, Guest, Spawn};
pub use memory::{CoreCounts, MEMORY_PARTS, MemoryCounts};
pub use os::app::{App, AppFigures, Application, Runs};
pub use os::cpu::{CpuCounts, CpuFigures};
pub use os::futex::protocol as futex;
pub use outcome::{Outcome, Stuck, ThreadFigures};
pub use simulation::{Options, Refused, Simulation};
