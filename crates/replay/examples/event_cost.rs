//! Shows what an event of a recording costs `baton whatif`: reading it, turning it into steps, and
//! running the steps.
//!
//! `cargo run --release -p baton-replay --example event_cost open|read|compile|replay ROUNDS`
//! writes a recording of ROUNDS rounds and processes it up to the named stage. It prints the number
//! of the recording's events.

use baton_chip::Chip;
use baton_replay::compile::{Probes, compile};
use baton_replay::run::{Choice, Setup, run};
use baton_sync::lock;
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{Clock, How, Lock, Mode, OffReason, SiteId, Trace, What};
use std::error::Error;
use std::ffi::CString;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

const LOCK: Lock = Lock::mutex(64);
const MODE: Mode = Mode::Exclusive;
const SITE: SiteId = SiteId(1);
/// Ticks of a round.
const ROUND: u64 = 20_000;

/// The recorded run begins this many ticks in the future. So the time stamps of the recorder itself
/// lie before it, however slow the recorder is.
const AHEAD: u64 = 1 << 36;

/// Records two threads that take a lock by turns; in every fourth round, the second thread waits
/// for it. A third thread starts the two.
fn record(directory: &Path, rounds: u64) -> Result<(), Box<dyn Error>> {
    let session = Session::new();
    session.open(&CString::new(directory.as_os_str().as_encoded_bytes())?, Options::default())?;
    let start = baton_trace::clock::now(session.source()) + AHEAD;
    let pens = [ThreadWriter::new(), ThreadWriter::new(), ThreadWriter::new()];
    let put = |thread: usize, time: u64, what: What| pens[thread].post_at(&session, start + time, what);
    put(0, 0, What::ThreadStart { handle: 1 });
    for (thread, handle) in [(1, 2), (2, 3)] {
        let time = 100 * thread as u64;
        put(0, time, What::Create { site: SITE });
        put(0, time + 20, What::Created { handle, error: 0 });
        put(thread, time + 30, What::ThreadStart { handle });
    }
    for round in 0..rounds {
        let time = (round + 1) * ROUND;
        put(1, time, What::Acquire { lock: LOCK, mode: MODE, site: SITE });
        put(1, time + 3000, What::Release { lock: LOCK, mode: MODE, site: SITE });
        if round % 4 == 0 {
            waits(time, |time, what| put(2, time, what));
        } else {
            put(2, time + 8000, What::Acquire { lock: LOCK, mode: MODE, site: SITE });
            put(2, time + 9000 + round % 16, What::Release { lock: LOCK, mode: MODE, site: SITE });
        }
    }
    (0..3).for_each(|thread| put(thread, (rounds + 2) * ROUND, What::ThreadEnd { handle: 1 + thread as u64 }));
    pens.iter().for_each(ThreadWriter::finish);
    session.finish();
    Ok(())
}

/// Puts the events of an acquisition that sleeps: the thread's CPU times lie around the wait, and
/// its context switches are written afterwards.
fn waits(time: u64, put: impl Fn(u64, What)) {
    put(time + 100, What::Request { lock: LOCK, mode: MODE, site: SITE });
    put(time + 300, What::CpuTime { ns: time / 4 });
    put(time + 3500, What::Acquired { lock: LOCK, mode: MODE, how: How::OPAQUE });
    put(time + 3700, What::CpuTime { ns: time / 4 + 100 });
    put(time + 5000, What::Release { lock: LOCK, mode: MODE, site: SITE });
    put(time + 400, What::OffCpu { tid: 0, reason: OffReason::Blocked });
    put(time + 3400, What::OnCpu { tid: 0, cpu: 1 });
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let how_far = arguments.next().ok_or("open, read, compile or replay?")?;
    let rounds = arguments.next().ok_or("how many rounds?")?.parse()?;
    let directory = std::env::temp_dir().join(format!("baton-event-cost-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let trace = record(&directory, rounds).and_then(|()| Ok(Trace::open(&directory)?));
    std::fs::remove_dir_all(&directory)?;
    let mut trace = trace?;
    // The recorder measures the rate of its clock, which would differ from run to run. Here a tick
    // counts as a nanosecond instead.
    trace.clock = Clock::nanoseconds();
    let chip = Chip::from_toml_with(include_str!("../../../chips/sample-host.toml"), "sample-host.toml", &[])?;
    let program = || Arc::new(compile(&trace, &chip, Probes::Kept));
    match how_far.as_str() {
        "open" => {}
        "read" => trace.events().for_each(|event| _ = black_box(event)),
        "compile" => drop(black_box(program())),
        "replay" => {
            let wait = lock::info("spin-park")?.wait(None)?;
            let choice = Choice { lock: "spin-park".into(), wait };
            run(&program(), &chip, &Setup::new(choice, 2))?;
        }
        other => return Err(format!("`{other}` is not open, read, compile or replay").into()),
    }
    println!("{} events", trace.len());
    Ok(())
}
