//! Runs episodes of barriers and waits for events, for counting instructions: `meeting
//! barrier|event NAME N`. `meeting list` prints kind, name and tenths of instructions of each, from
//! the registries.
//!
//! One thread plays all participants in turn, on a machine that never waits
//! ([`Unwaited`](baton_machine::Unwaited)).

use baton_machine::{Alone, Native, Unwaited, Wait};
use baton_sync::barrier::{self, BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::event::{self, EVENTS, EventVisitor, RawEvent};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::process::ExitCode;

/// The promise for the objects of this program.
struct Played;
// SAFETY: the program has one thread, and its barriers and events guard nothing.
unsafe impl Alone for Played {}

type Counting = Unwaited<Native, Played>;

/// Number of participants of a barrier.
const PARTICIPANTS: NonZeroU32 = NonZeroU32::new(8).unwrap();

/// How many episodes or waits to run.
struct Times(u64);

impl BarrierVisitor<Counting> for Times {
    type Out = ();
    #[inline(never)]
    fn visit<B: RawBarrier<Counting>>(self) {
        let (barrier, wait) = (B::new(PARTICIPANTS), black_box(Wait::Pause));
        for _ in 0..self.0 {
            let barrier = black_box(&barrier);
            for index in 0..black_box(PARTICIPANTS.get()) {
                black_box(barrier.wait(index, wait));
            }
        }
    }
}

impl EventVisitor<Counting> for Times {
    type Out = ();
    #[inline(never)]
    fn visit<E: RawEvent<Counting>>(self) {
        let (event, wait) = (E::new(), black_box(Wait::Pause));
        for _ in 0..self.0 {
            let event = black_box(&event);
            let waiter = event.prepare(wait);
            event.notify_one(wait);
            // SAFETY: the waiter is prepared above, and retired once.
            unsafe {
                let _ = black_box(event.sleep(waiter, wait, None));
                black_box(event.retire(waiter, wait));
            }
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        let barriers = BARRIERS.iter().map(|barrier| ("barrier", barrier.name, barrier.counted));
        let events = EVENTS.iter().map(|event| ("event", event.name, event.counted));
        for (kind, name, counted) in barriers.chain(events) {
            println!("{kind} {name} {}", (counted.instructions * 10.0).round());
        }
        return ExitCode::SUCCESS;
    }
    let [kind, name, times] = arguments.as_slice() else { return usage() };
    let Ok(times) = times.parse() else { return usage() };
    let done = match kind.as_str() {
        "barrier" => barrier::visit::<Counting, _>(name, Times(times)).map_err(|unknown| unknown.to_string()),
        "event" => event::visit::<Counting, _>(name, Times(times)).map_err(|unknown| unknown.to_string()),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(unknown) => {
            eprintln!("{unknown}");
            usage()
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: meeting barrier|event NAME N, or meeting list");
    ExitCode::FAILURE
}
