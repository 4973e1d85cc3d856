//! Programs that run on the simulated chip, and record the events that a profiled program would
//! record.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_machine::units::{Cycles, Hertz};
use baton_machine::{Machine, Owned, Slot, Wait};
use baton_replay::change::{Change, Life, Part, Treatment};
use baton_replay::{Ask, predict};
use baton_sync::lock::RawLock;
use baton_sync::lock::futex::Futex;
use baton_trace::{How, Lock, Mode, ProcessIndex, SiteId, Ticks, Trace, What};
use std::cell::Cell;
use std::rc::Rc;

/// Returns the sample chip, changed by these settings.
pub fn chip(settings: &[&str]) -> Chip {
    let sample = include_str!("../../../../chips/sample-host.toml");
    let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(sample, "sample-host.toml", &settings).expect("the sample and the settings are right")
}

/// What the threads of the recorded program do.
#[derive(Clone, Copy)]
pub struct Work {
    pub threads: u32,
    pub rounds: u32,
    pub think: u64,
    pub critical: u64,
    /// Number of data lines that each holder of the lock writes.
    pub lines: usize,
    /// After how many rounds a thread sleeps, and for how many cycles; `None` if it never sleeps.
    pub sleep: Option<(u32, u64)>,
}

#[repr(C, align(128))]
struct Data([<Simulated as Machine>::Slot<[u8; 128]>; 8]);

const WAIT: Wait = Wait::Futex;

/// Runs the program with the lock that is recorded (`futex`). Returns the trace, and the time that
/// the run took.
pub fn record(chip: &Chip, work: Work, seed: u64) -> (Trace, Cycles) {
    let options = Options { seed, record: true, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, Futex<Simulated>>::new(Futex::new())));
    let data = simulation
        .outside(|| Rc::new(Owned::<Simulated, Data>::new(Data(std::array::from_fn(|_| Slot::new([0; 128]))))));
    let busy = Rc::new(Cell::new(0));
    let chip_hz = chip.core.clock;
    in_threads(simulation, work.threads, move |i| {
        let (lock, data, busy) = (lock.clone(), data.clone(), busy.clone());
        move || worker(chip_hz, work, i, &lock, &data, &busy)
    })
}

/// Runs a program whose first thread starts `threads` other threads at one place in the code, and
/// waits for their ends. Returns the trace and the duration of the run. `body` makes the code of
/// each thread from the thread's number.
pub fn in_threads<F: FnOnce() + 'static>(
    mut simulation: Simulation,
    threads: u32,
    body: impl Fn(u32) -> F + 'static,
) -> (Trace, Cycles) {
    let main = move || {
        note(What::ThreadStart { handle: 1 });
        let start = |number| {
            let (handle, body) = (2 + u64::from(number), body(number));
            note(What::Create { site: SiteId(9) });
            let guest = act::spawn(Spawn::default(), move || {
                note(What::ThreadStart { handle });
                body();
                note(What::ThreadEnd { handle });
            });
            note(What::Created { handle, error: 0 });
            (handle, guest)
        };
        let guests: Vec<_> = (0..threads).map(start).collect();
        for (handle, guest) in guests {
            note(What::JoinBegin { handle, site: SiteId::UNKNOWN });
            act::join(guest);
            note(What::JoinEnd { handle, error: 0 });
        }
        note(What::ThreadEnd { handle: 1 });
    };
    simulation.spawn(Spawn::default(), main).unwrap();
    let outcome = simulation.run().unwrap();
    (simulation.into_trace(), outcome.cycles)
}

/// The address of the lock whose work [`foretold`] changes.
pub const HOT: u64 = 0x1000;

/// Returns the times of replays, in nanoseconds, in which the work under [`HOT`] takes `factors` times as long,
/// and the reasons not to trust them. One tick of the trace is a nanosecond.
pub fn foretold<const N: usize>(trace: &Trace, factors: [f64; N]) -> ([f64; N], Vec<String>) {
    let change = |factor: f64| {
        let life = Life { process: ProcessIndex(0), address: HOT, time: Ticks(0)..Ticks(u64::MAX) };
        let part = Part { name: "hot".into(), locks: vec![life], treatment: Treatment::Shrink(factor) };
        Change { text: format!("x{factor}"), parts: vec![part], ..Change::default() }
    };
    let chip = chip(&["core.clock_hz=1000000000", "core.count=4", "noise.start=0", "noise.latency=0"]);
    let ask = Ask { changes: factors.map(change).into(), seeds: 1, cpus: Some(4), ..Ask::default() };
    let prediction = predict(trace, &chip, &ask, &|| {}).expect("each replay ends");
    (std::array::from_fn(|row| prediction.results[row + 1].time_ns.median as f64), prediction.reasons)
}

/// Records an event of the running thread, with the present time.
pub fn note(what: What) {
    act::record(act::time(), what);
}

fn cpu_ns(hertz: Hertz) -> u64 {
    hertz.nanos(act::cpu_time()).0
}

fn worker(chip_hz: Hertz, work: Work, i: u32, lock: &Futex<Simulated>, data: &Data, busy: &Cell<u32>) {
    for round in 0..work.rounds {
        Simulated::work(Cycles(work.think + u64::from((i * 7 + round * 13) % 50)));
        if let Some((every, cycles)) = work.sleep
            && round % every == every - 1
        {
            // Records what perf's context switches would show: the wake-up is a part of the time
            // off the CPU.
            note(What::OffCpu { tid: 0, reason: baton_trace::OffReason::Blocked });
            act::delay(Cycles(cycles));
            note(What::OnCpu { tid: 0, cpu: act::core().0 });
        }
        let at = act::time();
        let waits = busy.get() != 0;
        busy.set(busy.get() + 1);
        let (name, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
        if waits {
            act::record(at, What::Request { lock: name, mode, site });
            note(What::CpuTime { ns: cpu_ns(chip_hz) });
        }
        lock.lock(WAIT);
        note(What::Cpu { cpu: act::core().0 });
        if waits {
            note(What::Acquired { lock: name, mode, how: How::OPAQUE });
            note(What::CpuTime { ns: cpu_ns(chip_hz) });
        } else {
            note(What::Acquire { lock: name, mode, site });
        }
        Simulated::work(Cycles(work.critical));
        for line in &data.0[..work.lines] {
            // SAFETY: this guest holds the lock, under which alone the lines are accessed.
            unsafe { line.write(|bytes| (*bytes)[0] = (*bytes)[0].wrapping_add(1)) };
        }
        note(What::Release { lock: name, mode, site });
        busy.set(busy.get() - 1);
        // SAFETY: this guest took the lock above, with the same wait policy.
        unsafe { lock.unlock((), WAIT) };
    }
    note(What::CpuTime { ns: cpu_ns(chip_hz) });
}
