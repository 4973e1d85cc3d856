//! The real machine: guests are threads of the host.

use super::{Crowd, Guest, Scenario, World};
use baton_machine::Wait;
use baton_machine::units::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// The world whose guests are threads of the host, on the machine [`baton_machine::Native`].
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// Time after which guests count as stuck. It is long, because the host may be busy with other
/// things.
const STUCK: Duration = Duration::from_secs(120);

impl World for Native {
    type M = baton_machine::Native;
    // More threads than a small host has CPUs, but few enough that pure spinning ends.
    const CROWDS: &'static [Crowd] = &[Crowd { guests: 2, rounds: 60 }, Crowd { guests: 4, rounds: 15 }];
    const WAITS: &'static [Wait] = &[Wait::Pause, Wait::Futex, Wait::SpinPark(20)];
    const TEAMS: &'static [usize] = &[2, 5];
    const COMERS: usize = 3;
    const SOON: Nanos = Nanos(20_000_000);
    const QUEUE_DEVICE: bool = false;

    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        let (waves, finally, _) = plan().into_parts();
        waves.into_iter().for_each(run_wave);
        finally();
    }
}

/// Runs guests until all have ended or one has panicked; the guests that then still run are left
/// behind.
fn run_wave(guests: Vec<Guest>) {
    let (ended, all) = mpsc::channel();
    let threads: Vec<_> = guests
        .into_iter()
        .map(|guest| {
            let ended = ended.clone();
            std::thread::spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(guest));
                // The runner may be gone already, because another guest panicked.
                let _ = ended.send(result);
            })
        })
        .collect();
    for left in (1..=threads.len()).rev() {
        match all.recv_timeout(STUCK) {
            Ok(Ok(())) => {}
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => panic!("{left} of {} guests are stuck: none has ended for {STUCK:?}", threads.len()),
        }
    }
    for thread in threads {
        // The guest has reported its end; joining its thread also ends its storage.
        let _ = thread.join();
    }
}
