//! The real programs and kernels on this machine, with pthread mutexes and condition variables:
//! something to profile.
//!
//! `cargo build --release -p baton-programs --example program`, then
//!
//! `baton profile -o sort.baton -- target/release/examples/program sort --threads 4`
//! `baton whatif sort.baton --lock mcs,spin-park`
//!
//! `baton sim --workload sort --help` explains the options `--size N` and `--grain N`. `--rounds N`
//! runs a program N times (1 if absent); for a kernel it is the option `--iterations` of `baton
//! sim`. A kernel's threads meet at a barrier of `sync`. What the threads compute is compared with
//! a plain run; a wrong result is exit code 1.
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::{Native, Wait};
use baton_programs::kernels::Kernel;
use baton_programs::monitor::Kit;
use baton_programs::real::{Program, Scale};
use baton_sync::barrier::central::Central;
use baton_workloads::Team;
use std::cell::UnsafeCell;
use std::process::ExitCode;

/// Monitors of pthread mutexes and condition variables.
#[derive(Clone)]
struct Pthread;

/// A mutex and its condition. Boxed: neither may move once it is used.
struct Monitor(Box<Both>);

struct Both {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: pthread mutexes and condition variables are made to be used by several threads.
unsafe impl Send for Monitor {}
// SAFETY: as above.
unsafe impl Sync for Monitor {}

/// Panics unless a pthread call returned 0. With the arguments in this file no call returns
/// anything else.
fn well(what: &str, code: i32) {
    assert_eq!(code, 0, "{what}");
}

// SAFETY: a pthread mutex lets in one thread at a time, and its unlock happens before the next lock
// returns.
unsafe impl Kit<Native> for Pthread {
    type Monitor = Monitor;
    type Token = ();

    fn monitor(&self, _: u32) -> Monitor {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        Monitor(Box::new(Both { mutex, condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER) }))
    }
    // Inlined, so that each place that enters has a call of its own: a trace tells places apart by
    // the address of the call.
    #[inline(always)]
    fn enter(&self, monitor: &Monitor) {
        // SAFETY: the mutex is initialised, and the calling thread does not hold it.
        well("pthread_mutex_lock", unsafe { libc::pthread_mutex_lock(monitor.0.mutex.get()) });
    }
    unsafe fn leave(&self, monitor: &Monitor, (): ()) {
        // SAFETY: by contract the calling thread holds the mutex.
        well("pthread_mutex_unlock", unsafe { libc::pthread_mutex_unlock(monitor.0.mutex.get()) });
    }
    unsafe fn wait(&self, monitor: &Monitor, (): ()) {
        let Both { mutex, condition } = &*monitor.0;
        // SAFETY: by contract the calling thread holds the mutex, the only one that is used with
        // this condition.
        well("pthread_cond_wait", unsafe { libc::pthread_cond_wait(condition.get(), mutex.get()) });
    }
    fn notify_all(&self, monitor: &Monitor) {
        // SAFETY: the condition variable is initialised.
        well("pthread_cond_broadcast", unsafe { libc::pthread_cond_broadcast(monitor.0.condition.get()) });
    }
    fn policy(&self) -> Wait {
        Wait::Futex
    }
}

/// A real program or a kernel, found by its name.
#[derive(Clone, Copy)]
enum What {
    Program(Program),
    Kernel(Kernel),
}

/// The options on the command line; `None`: the usual value.
#[derive(Default)]
struct Asked {
    threads: Option<u32>,
    size: Option<u32>,
    grain: Option<u32>,
    rounds: Option<u32>,
}

impl What {
    fn named(name: &str) -> Option<What> {
        Program::named(name).map(What::Program).or_else(|| Kernel::named(name).map(What::Kernel))
    }

    fn names() -> String {
        let programs = Program::ALL.iter().map(|program| program.info().name);
        let all: Vec<&str> = programs.chain(Kernel::ALL.iter().map(|kernel| kernel.info().name)).collect();
        all.join(", ")
    }

    /// Returns the teams to run one after the other: a program's team for each round, or the one
    /// team of a kernel.
    fn teams(self, asked: &Asked) -> Result<Vec<Team>, String> {
        let threads = asked.threads.unwrap_or(4);
        match self {
            What::Program(program) => {
                let usual = program.info().usual;
                let scale = |round| Scale {
                    size: asked.size.unwrap_or(usual.size),
                    grain: asked.grain.unwrap_or(usual.grain),
                    seed: u64::from(round) + 1,
                };
                let team = |round| program.team::<Native, _>(threads, scale(round), &Pthread);
                (0..asked.rounds.unwrap_or(1)).map(|round| team(round).map_err(|bad| bad.to_string())).collect()
            }
            What::Kernel(kernel) => {
                let mut scale = kernel.usual();
                scale.size = asked.size.unwrap_or(scale.size);
                scale.grain = asked.grain.unwrap_or(scale.grain);
                scale.rounds = asked.rounds.unwrap_or(scale.rounds);
                let team = kernel.team::<Native, _, Central<Native>>(threads, scale, &Pthread);
                Ok(vec![team.map_err(|bad| bad.to_string())?])
            }
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let usage = || format!("expected a program, one of {}, and --threads, --size, --grain, --rounds", What::names());
    let what = words.first().and_then(|name| What::named(name)).ok_or_else(usage)?;
    let mut asked = Asked::default();
    for option in words[1..].chunks(2) {
        let [name, value] = option else { return Err(usage()) };
        let number: u32 = value.parse().map_err(|_| format!("{name}: `{value}` is no whole number"))?;
        match name.as_str() {
            "--threads" if (1..=1024).contains(&number) => asked.threads = Some(number),
            "--threads" => return Err(format!("--threads is {number}; expected 1 to 1024")),
            "--size" => asked.size = Some(number),
            "--grain" => asked.grain = Some(number),
            "--rounds" => asked.rounds = Some(number),
            _ => return Err(usage()),
        }
    }
    for team in what.teams(&asked)? {
        let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned()))?;
        (team.verify)()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("program: {why}");
            ExitCode::FAILURE
        }
    }
}
