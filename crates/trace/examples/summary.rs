//! Prints a summary of a trace in a few lines.
//!
//! `cargo run -p baton-trace --example summary DIRECTORY`

use baton_trace::Trace;
use baton_trace::analysis::{Analysis, CriticalPath, Window, relax};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: summary DIRECTORY")?;
    let trace = Trace::open(directory.as_ref())?;
    for loss in &trace.losses {
        println!("lost: {loss}");
    }
    let ns = |ticks: baton_trace::Ticks| trace.clock.nanos(ticks.0);
    let (begin, end) = trace.span();
    println!("{} events of {} threads in {}", trace.len(), trace.threads.len(), ns(end.since(begin)));
    for thread in &trace.threads {
        println!(
            "  thread {} {:?}: {} events, {} to {}",
            thread.tid,
            thread.name,
            thread.events,
            ns(thread.first),
            ns(thread.last)
        );
    }
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let path = CriticalPath::of(&trace, &analysis.window);
    let top: Vec<_> = analysis.locks.iter().take(8).map(|lock| lock.id).collect();
    let relaxed = relax(&trace, &top, &[]);
    for (lock, relaxed) in analysis.locks.iter().zip(&relaxed) {
        let s = &lock.stats;
        println!("{:?} at {:#x}", lock.object.kind, lock.object.address);
        println!(
            "  {} acquisitions, {} contended ({} spinning, {} sleeping, {} unknown), {} barged",
            s.acquisitions, s.contended, s.entered_spinning, s.entered_sleeping, s.entered_unknown, s.barged
        );
        println!(
            "  blocked {} = sections {} + overhead {} (+ own {}), residual {}",
            ns(s.blocked),
            ns(s.sections),
            ns(s.overhead),
            ns(s.own),
            s.residual()
        );
        println!(
            "  held {}, hand-off median {}, longest wait {}",
            ns(s.busy),
            ns(s.handoff.quantile(0.5)),
            ns(s.wait.max)
        );
        let share = path.objects.get(&lock.id).copied().unwrap_or_default();
        println!(
            "  on the critical path: {} in sections, {} in {} hand-offs",
            ns(share.sections.all()),
            ns(share.handoffs),
            share.hops
        );
        println!(
            "  run {}, without its overhead {}, without its exclusion {}",
            ns(relaxed.recorded),
            ns(relaxed.without_overhead),
            ns(relaxed.without_exclusion)
        );
        if s.anomalies != Default::default() {
            println!("  {:?}", s.anomalies);
        }
    }
    for waitable in &analysis.waitables {
        let s = &waitable.stats;
        println!(
            "{:?} at {:#x}: {} waits, {}, wake-up median {}",
            waitable.object.kind,
            waitable.object.address,
            s.wait.count,
            ns(s.wait.sum),
            ns(s.wake.quantile(0.5))
        );
    }
    Ok(())
}
