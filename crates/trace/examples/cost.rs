//! Measures the cost of recording an event, in nanoseconds: over ten million uncontended pairs of
//! lock and unlock, page faults included, while a second thread is alive.
//!
//! `cargo run --release -p baton-trace --example cost [DIRECTORY]`

use baton_trace::analysis::{Analysis, CriticalPath, Distribution, Window, relax};
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{Lock, Mode, SiteId, Trace, What};
use std::ffi::CString;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const PAIRS: u64 = 10_000_000;

thread_local! {
    static PEN: ThreadWriter = const { ThreadWriter::new() };
}
static SESSION: Session = Session::new();
static WORD: AtomicU32 = AtomicU32::new(0);

/// Takes and releases an uncontended lock with one atomic operation each; records both events if
/// `traced`.
#[inline(always)]
fn pair(traced: bool) {
    let lock = Lock::mutex(black_box(&WORD) as *const AtomicU32 as u64);
    let _ = WORD.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    if traced {
        PEN.with(|pen| {
            pen.post_ordered(&SESSION, What::Acquire { lock, mode: Mode::Exclusive, site: SiteId(1) });
            pen.post(&SESSION, What::Release { lock, mode: Mode::Exclusive, site: SiteId(2) });
        });
    }
    WORD.store(0, Ordering::Release);
}

fn time(traced: bool) -> f64 {
    let start = Instant::now();
    for _ in 0..PAIRS {
        pair(traced);
    }
    start.elapsed().as_secs_f64() * 1e9
}

/// Returns the median time from a release's stamp to the next acquisition's, in nanoseconds. The
/// lock is free at once here, so what exceeds the time of an unrecorded pair comes from recording.
/// Each recorded hand-off is longer by that excess.
fn bias(trace: &Trace) -> f64 {
    let mut gaps = Distribution::default();
    let mut released = None;
    for event in trace.events() {
        match event.what {
            What::Release { .. } => released = Some(event.time),
            What::Acquire { .. } => {
                if let Some(released) = released.take() {
                    gaps.add(event.time.since(released));
                }
            }
            _ => {}
        }
    }
    // Converts a thousand times the quantile, because the clock's conversion rounds to nanoseconds,
    // and a tick is shorter.
    trace.clock.nanos(gaps.quantile(0.5).0 * 1000).0 as f64 / 1000.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = std::env::temp_dir().join(format!("baton-trace-cost-{}", std::process::id()));
    let directory = std::env::args_os().nth(1).map_or(scratch, Into::into);
    std::fs::create_dir_all(&directory)?;
    SESSION.open(&CString::new(directory.as_os_str().as_encoded_bytes())?, Options::default())?;
    let (stop, second) = std::sync::mpsc::channel::<()>();
    let second = std::thread::spawn(move || second.recv());
    let bare = time(false);
    let traced = time(true);
    drop(stop);
    let _ = second.join();
    PEN.with(ThreadWriter::finish);
    SESSION.finish();
    let events = 2.0 * PAIRS as f64;
    println!("bare pair {:.1} ns, traced pair {:.1} ns", bare / PAIRS as f64, traced / PAIRS as f64);
    println!("{:.1} ns an event", (traced - bare) / events);
    let start = Instant::now();
    let trace = baton_trace::Trace::open(&directory)?;
    println!("opened {} events in {:?}, {} losses", trace.len(), start.elapsed(), trace.losses.len());
    let start = Instant::now();
    println!("read {} events in {:?}", trace.events().count(), start.elapsed());
    let start = Instant::now();
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    println!("analysed in {:?}: {} acquisitions", start.elapsed(), analysis.locks[0].stats.acquisitions);
    let start = Instant::now();
    let path = CriticalPath::of(&trace, &analysis.window);
    println!("critical path in {:?}: {} stretches", start.elapsed(), path.segments.len());
    let start = Instant::now();
    let relaxed = relax(&trace, &[analysis.locks[0].id], &[]);
    println!("relaxed in {:?}: {} ticks recorded", start.elapsed(), relaxed[0].recorded.0);
    println!("bias of a hand-off: {:.1} ns", bias(&trace) - bare / PAIRS as f64);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
