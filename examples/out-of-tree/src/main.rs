//! A `baton` command with added parts: all subcommands find these parts by their names.

mod arbiter;
mod device;
mod lock;
mod scheduler;
mod wait;
mod workload;

use baton_cli::{Registry, chip::Simulated, machine::Native};

fn main() -> std::process::ExitCode {
    let parts = Registry::new()
        .lock::<lock::Flag<Simulated>, lock::Flag<Native>>()
        .wait(wait::INFO, wait::steps)
        .scheduler(scheduler::POLICY)
        .arbiter::<arbiter::Youngest>()
        .device(device::KIND)
        .workload::<workload::Fences>();
    baton_cli::main_with(parts)
}
