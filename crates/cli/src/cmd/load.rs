//! `--load-pid`: load generators beside a program under `baton profile`. The CPU time that they use
//! is told, and does not count as that of other programs.

use crate::error::BadInput;
use crate::ui;
use baton_host::launch::clients::{self, Client, Clients};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The least time between two looks for clients.
const LOOK: Duration = Duration::from_millis(50);
/// Looks may take this part of a CPU's time: one in a hundred.
const COST: u32 = 100;
/// The most clients that a note names.
const NAMED: usize = 3;

/// Options for load generators.
#[derive(clap::Args, Clone, Default)]
pub(super) struct LoadArgs {
    /// A process that gives the program its work, with those that it starts: its CPU time is not that of a disturbing program.
    /// Processes of this machine that talk to the program by TCP are found without it. May be repeated.
    #[arg(long, value_name = "PID")]
    load_pid: Vec<u32>,
}

impl LoadArgs {
    /// # Errors
    /// Fails if a process does not exist.
    pub(super) fn check(&self) -> Result<(), BadInput> {
        match self.load_pid.iter().find(|pid| !clients::exists(**pid)) {
            Some(pid) => Err(BadInput::new(format!("--load-pid {pid}: there is no such process")).hint(
                "start the load before the program, or leave the option out: clients by TCP are found without it",
            )),
            None => Ok(()),
        }
    }
}

/// A thread of Baton's own that looks for the program's clients again and again.
pub(super) struct Loads {
    end: Sender<u32>,
    thread: JoinHandle<Vec<Client>>,
}

impl Loads {
    /// Starts the thread. It waits for [`Loads::started`].
    pub(super) fn begin(args: &LoadArgs) -> Loads {
        let (end, told) = channel::<u32>();
        let named = args.load_pid.clone();
        let thread = std::thread::spawn(move || {
            let Ok(pid) = told.recv() else { return Vec::new() };
            let mut clients = Clients::of(pid, &named);
            let mut wait = LOOK;
            while told.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let began = Instant::now();
                clients.look();
                wait = LOOK.max(began.elapsed() * COST);
            }
            clients.look();
            clients.used()
        });
        Loads { end, thread }
    }

    /// Begins to look for clients of the program with this process number.
    pub(super) fn started(&self, pid: u32) {
        // If the thread has ended, the number need not be sent.
        let _ = self.end.send(pid);
    }

    /// Ends the thread. Returns the CPU time that the clients used, and says which they are.
    pub(super) fn end(self, all: Duration) -> Duration {
        drop(self.end);
        let clients = self.thread.join().unwrap_or_default();
        let used: Duration = clients.iter().map(|client| client.used).sum();
        if !clients.is_empty() {
            ui::note(said(&clients, used, all));
        }
        used
    }
}

/// Says which clients used CPU time: `used` of `all`, the time of all CPUs.
fn said(clients: &[Client], used: Duration, all: Duration) -> String {
    let names: Vec<String> = clients.iter().take(NAMED).map(|one| format!("{} ({})", one.name, one.pid)).collect();
    let more = match clients.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let share = 100.0 * used.as_secs_f64() / all.as_secs_f64().max(1e-9);
    format!("the load used {share:.0}% of the CPUs meanwhile: {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_clients_are_named() {
        let client = |pid| Client { pid, name: "wrk".into(), used: Duration::from_secs(1) };
        let all = Duration::from_secs(20);
        assert_eq!(said(&[client(7)], Duration::from_secs(5), all), "the load used 25% of the CPUs meanwhile: wrk (7)");
        let text = said(&[1, 2, 3, 4, 5].map(client), Duration::from_secs(5), all);
        assert!(text.ends_with("wrk (1), wrk (2), wrk (3) and 2 more"), "{text}");
    }
}
