//! The command that ran, its threads, and the regions that the program marked.

use super::figures::{nanos, pid};
use crate::model;
use baton_trace::analysis::{Analysis, CriticalPath, Doing, Known, OffCpu, Recording, ThreadOffCpu, Window, dilation};
use baton_trace::disturbance::ALONE;
use baton_trace::{ProcessIndex, Source, Ticks, Trace, What};
use baton_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(trace: &Trace, path: &CriticalPath) -> model::ProgramRun {
    let meta = trace.meta.clone().unwrap_or_default();
    let mut run = model::ProgramRun {
        command: meta.command,
        directory: meta.directory,
        recorder: meta.recorder,
        started_realtime_ns: Nanos(meta.started_realtime_ns),
        elapsed_ns: (meta.elapsed_ns > 0).then_some(Nanos(meta.elapsed_ns)),
        exit_code: meta.exit_code,
        exit_signal: meta.exit_signal,
        lock: meta.lock,
        host: model::Host {
            processor: meta.host.processor,
            cpus: meta.host.cpus,
            threads_per_core: meta.host.threads_per_core,
            nodes: meta.host.nodes,
            kernel: meta.host.kernel,
            libc: meta.host.libc,
        },
        clock: model::Clock { source: source(trace.clock.source).to_owned(), frequency_hz: trace.clock.frequency() },
        probe_event_ns: None,
        probe_contended_ns: None,
        dilation: None,
        processes: Vec::new(),
    };
    if run.started_realtime_ns == Nanos(0) {
        run.started_realtime_ns =
            Nanos(trace.processes.iter().map(|p| p.realtime_ns).filter(|t| *t > 0).min().unwrap_or(0));
    }
    run.processes =
        trace.processes.iter().map(|p| model::Process { pid: p.pid, parent: p.parent, finished: p.finished }).collect();
    let recording = Recording::of(trace, path);
    (run.probe_event_ns, run.probe_contended_ns) = (recording.event_ns, recording.contended_ns);
    run.dilation = dilation_of(trace, path, &recording);
    run
}

fn dilation_of(trace: &Trace, path: &CriticalPath, recording: &Recording) -> Option<model::Dilation> {
    if trace.clock.source == Source::Simulated {
        return None;
    }
    recording.event_ns?;
    let meta = trace.meta.as_ref();
    let recorder_ns = recording.on_path;
    let on_path = |of: &dyn Fn(&Doing) -> bool| nanos(&trace.clock, path.time(of));
    let running = on_path(&|doing| *doing == Doing::Running);
    let ready = on_path(&|doing| *doing == Doing::OffCpu(OffCpu::Ready));
    // If CPUs are short, the recorder's work also makes waits for CPUs longer, in proportion.
    let waited = recorder_ns.0 as f64 * ready.0 as f64 / running.0.max(1) as f64;
    let estimated = dilation(on_path(&|_| true), Nanos(recorder_ns.0 + (waited as u64).min(ready.0)));
    let alone_ns = meta.and_then(|meta| meta.extra.get(ALONE)?.as_u64()).filter(|ns| *ns > 0).map(Nanos);
    let measured = alone_ns.zip(meta).map(|(alone, meta)| meta.elapsed_ns as f64 / alone.0 as f64);
    Some(model::Dilation { times: measured.unwrap_or(estimated), estimated, recorder_ns, alone_ns })
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Tsc => "tsc",
        Source::Monotonic => "monotonic",
        Source::Counter => "counter",
        Source::Simulated => "simulated",
    }
}

pub(super) fn threads(trace: &Trace, analysis: &Analysis, off_cpu: &[ThreadOffCpu]) -> Vec<model::Thread> {
    let ns = |ticks| nanos(&trace.clock, ticks);
    let affinities = trace.main_affinities();
    // Most programs give their threads no names; then all threads have the program's name.
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    for name in trace.threads.iter().filter_map(|t| t.name.as_deref()) {
        *bearers.entry(name).or_default() += 1;
    }
    let name_of = |number: usize, thread: &baton_trace::Thread| match thread.name.as_deref() {
        Some(name) if bearers.get(name) == Some(&1) => name.to_owned(),
        Some(name) => format!("{name} {}", thread.tid),
        None => format!("thread {number}"),
    };
    let one = |(number, (thread, report)): (usize, (&baton_trace::Thread, &baton_trace::analysis::ThreadReport))| {
        let futexes = report.futexes + report.libc_locks;
        let (others, queues) = (
            [report.conditions, report.barriers, report.semaphores, report.joins, report.idle, report.tasks, futexes],
            report.room + report.items,
        );
        let waited = report.locks.blocked.0 + queues.0 + others.iter().map(|ticks| ticks.0).sum::<u64>();
        let work = ns(report.lifetime).0.saturating_sub(ns(baton_trace::Ticks(waited)).0);
        let off = &off_cpu[number];
        // Running gets what is left, so errors of rounding and time that overlapping waits count
        // twice change it alone.
        let mut left = work;
        let mut take = |why| {
            let time = ns(off.time(why, &analysis.window)).0.min(left);
            left -= time;
            Nanos(time)
        };
        let blocked_ns = take(OffCpu::Blocked) + take(OffCpu::Call) + take(OffCpu::Recorder);
        let (ready_ns, off_ns) = (take(OffCpu::Ready), take(OffCpu::Unknown));
        model::Thread {
            name: name_of(number, thread),
            pid: pid(trace, thread.process),
            tid: thread.tid,
            first_ns: ns(thread.first),
            last_ns: ns(report.last),
            acquisitions: report.locks.acquisitions,
            contended: report.locks.contended,
            wait_ns: ns(report.locks.blocked),
            overhead_ns: ns(report.locks.overhead),
            hold_ns: ns(report.locks.held),
            condition_ns: ns(report.conditions),
            barrier_ns: ns(report.barriers),
            semaphore_ns: ns(report.semaphores),
            queue_ns: ns(queues),
            join_ns: ns(report.joins),
            idle_ns: ns(report.idle),
            task_wait_ns: ns(report.tasks),
            futex_ns: ns(futexes),
            longest_wait_ns: ns(report.locks.longest_wait),
            cpus: affinities[number].as_ref().map(|(cpus, _)| crate::format::ranges(cpus)),
            migrations: report.migrations,
            work_ns: Nanos(work),
            running_ns: Nanos(left),
            ready_ns,
            blocked_ns,
            off_ns,
            off_cpu_known: known(off.known).to_owned(),
            blame_ns: ns(report.locks.blame),
            off_cpu_ns: ns(report.off_cpu),
        }
    };
    trace.threads.iter().zip(&analysis.threads).enumerate().map(one).collect()
}

fn known(known: Known) -> &'static str {
    match known {
        Known::All => "all",
        Known::HowMuch => "how-much",
        Known::Nothing => "nothing",
    }
}

/// The regions that the program marked. Each is analysed in its process, and only the locks of that
/// process count.
pub(super) fn regions(trace: &Trace) -> Vec<model::Region> {
    let mut names = BTreeSet::new();
    for event in trace.events() {
        if let What::RoiBegin { name } = event.what {
            let process = trace.process_of(event.thread);
            let known = trace.marker_name(process, name);
            names.insert((known.map_or_else(|| name.to_string(), str::to_owned), process));
        }
    }
    let region = |(name, process): (String, ProcessIndex)| {
        let window = Window::region(trace, process, &name).ok()?;
        let (times, total) = (window.stretches().len() as u64, window.length());
        let analysis = Analysis::of(trace, window);
        let locks = analysis.locks.iter().filter(|lock| lock.object.process == process);
        let (blocked, overhead) = locks.fold((Ticks(0), Ticks(0)), |(blocked, overhead), lock| {
            (blocked + lock.stats.blocked, overhead + lock.stats.overhead)
        });
        let ns = |ticks| nanos(&trace.clock, ticks);
        Some(model::Region {
            name,
            pid: pid(trace, process),
            times,
            total_ns: ns(total),
            wait_ns: ns(blocked),
            overhead_ns: ns(overhead),
        })
    };
    names.into_iter().filter_map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::{Clock, How, Lock, Mode, SiteId, TraceBuilder};

    /// Two processes have a region `load` open at the same time, for 20 ns each. Only the child
    /// waits for a lock, from 6 to 10, so only its region has a wait.
    #[test]
    fn a_region_has_the_waits_of_its_own_process() {
        let mut builder = TraceBuilder::new(Clock::nanoseconds());
        let parent = builder.thread("parent");
        let child = builder.child(7);
        builder.name_marker(1, "load");
        let (lock, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
        builder.push(Ticks(0), parent, What::RoiBegin { name: 1 });
        builder.push(Ticks(5), child, What::RoiBegin { name: 1 });
        builder.push(Ticks(6), child, What::Request { lock, mode, site });
        builder.push(Ticks(10), child, What::Acquired { lock, mode, how: How::OPAQUE });
        builder.push(Ticks(20), parent, What::RoiEnd { name: 1 });
        builder.push(Ticks(25), child, What::RoiEnd { name: 1 });
        let regions = regions(&builder.build());
        let figures: Vec<_> = regions.iter().map(|one| (one.pid, one.total_ns.0, one.wait_ns.0)).collect();
        assert_eq!(figures, [(0, 20, 0), (7, 20, 4)]);
    }
}
