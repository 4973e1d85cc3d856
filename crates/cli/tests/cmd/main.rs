//! The command: its answers, its errors, signals and exit codes.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../report/tests/support/schema.rs"]
mod schema;

mod background;
mod bench;
mod cases;
mod coz_examples;
mod cpu_limit;
mod full;
mod fuzz;
mod launch;
mod litmus;
mod litmus_queues;
mod load;
mod named;
mod noc;
mod noc_page;
mod openmp;
mod packets;
mod plugin;
mod sched;
mod sched_locks;
mod sim;
mod standstill;
mod sweep;
mod sweep_commands;
mod terminal;
mod r#try;
mod try_server;
mod whatif_server;
mod wrapped;
mod write_out;
mod wrong_input;
