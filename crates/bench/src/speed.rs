//! Measures the speed of the engine. Threads of a simulated chip contend for one lock; if LOCK is
//! `qmd`, each thread puts items into a queue of its own and takes them out. The chip's scheduler
//! places the threads. The program prints guest operations, simulated cycles and events, the host
//! time, and operations and cycles per second. `scripts/check/chip-instructions` counts the
//! program's instructions.
//!
//! `cargo run --release -p baton-bench -- CHIP LOCK WAIT THREADS ITERATIONS [KEY=VALUE…]`
//!
//! CHIP is the path of a chip file, and each KEY=VALUE changes a setting of it. ITERATIONS counts
//! those of each thread. With `qmd`, WAIT has no effect.
#![allow(clippy::disallowed_types, reason = "the speed of the host is what is measured")]

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Devices;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRequest};
use baton_machine::{Machine, Owned, Wait, units::Cycles};
use baton_sync::lock::{RawLock, mcs::Mcs, spin_park::SpinPark, tas::Tas};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

type Failed = Box<dyn std::error::Error>;

/// Starts `threads` threads that each take and release one lock `iterations` times.
fn contend<L: RawLock<Simulated> + 'static>(
    simulation: &mut Simulation,
    wait: Wait,
    threads: u64,
    iterations: u64,
) -> Result<(), Failed> {
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
    for _ in 0..threads {
        let lock = lock.clone();
        simulation.spawn(Spawn::default(), move || {
            for _ in 0..iterations {
                let token = lock.lock(wait);
                Simulated::work(Cycles(100));
                // SAFETY: this thread took the lock just above, with the same policy.
                unsafe { lock.unlock(token, wait) };
                Simulated::work(Cycles(1000));
            }
        })?;
    }
    Ok(())
}

/// Starts `threads` threads, each with its own queue of the chip's queue device. Each puts an item
/// in and takes it out `iterations` times; that is two requests, each with its answer.
fn items(simulation: &mut Simulation, threads: u64, iterations: u64) -> Result<(), Failed> {
    for _ in 0..threads {
        simulation.spawn(Spawn::default(), move || {
            let Some(device) = Simulated::first::<QueueDevice>() else { return };
            let asked =
                QueueRequest::Allocate { entries: 16, queues: 1, enqueue_credits: false, dequeue_credits: false };
            let Ok(own) = device.call(asked) else { return };
            let at = Operand::of(QueueId(own as u32));
            for item in 0..iterations {
                let put = device.request(QueueRequest::Enqueue { to: at, item }).wait();
                let got = device.request(QueueRequest::Dequeue { from: at }).wait();
                assert_eq!((put, got), (Ok(0), Ok(item)), "its own queue");
            }
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chip, lock, wait, threads, iterations, settings @ ..] = &arguments[..] else {
        return Err("usage: speed CHIP LOCK WAIT THREADS ITERATIONS [KEY=VALUE...]".into());
    };
    let (threads, iterations) = (threads.parse::<u64>()?, iterations.parse::<u64>()?);
    let wait: Wait = wait.parse()?;
    let mut simulation = Simulation::new(&Chip::open(Path::new(chip), settings)?, &Options::default())?;
    match lock.as_str() {
        "mcs" => contend::<Mcs<Simulated>>(&mut simulation, wait, threads, iterations)?,
        "tas" => contend::<Tas<Simulated>>(&mut simulation, wait, threads, iterations)?,
        "spin-park" => contend::<SpinPark<Simulated>>(&mut simulation, wait, threads, iterations)?,
        "qmd" => items(&mut simulation, threads, iterations)?,
        other => return Err(format!("{other}: expected mcs, tas, spin-park or qmd").into()),
    }
    let start = Instant::now();
    let outcome = simulation.run()?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} guest operations, {} cycles, {} events, {seconds:.3} s, {:.1} M operations/s, {:.1} M cycles/s",
        outcome.guest_operations,
        outcome.cycles.0,
        outcome.events,
        outcome.guest_operations as f64 / seconds / 1e6,
        outcome.cycles.0 as f64 / seconds / 1e6,
    );
    Ok(())
}
