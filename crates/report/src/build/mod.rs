//! Makes the report from a trace and its analysis: figures in nanoseconds, and names for
//! everything.

mod bound;
mod cannot_tell;
mod classes;
mod cpu_limit;
mod doubts;
mod figures;
mod heaviest;
mod hot;
mod kinds;
mod libc_code;
mod limits;
mod names;
mod nested;
mod new_threads;
mod openmp;
mod orders;
mod origins;
mod outside;
mod own_locks;
mod path;
mod queues;
mod requests;
mod run;
mod second;
mod serving;
mod sites;
mod spinners;
mod spins;
mod standstill;
mod starved;
mod throughput;
mod uneven;
mod unseen;
mod unwaited;
mod vain;
mod verdict;

use crate::intervals::Numbering;
use crate::model::{self, Report, SCHEMA, Totals};
use crate::symbols::Symbols;
use baton_trace::analysis::{self, Analysis, CriticalPath, Ending, LockReport, ObjectKind, Orders, ThreadOffCpu};
use baton_trace::{Address, ProcessIndex, SiteId, Ticks, Trace};
use figures::{distribution, nanos, pid, usage};
use names::Names;
use origins::Origins;
use std::collections::BTreeMap;

/// The numbers that the report gave to locks and other objects.
pub(crate) struct Numbers {
    objects: BTreeMap<(ProcessIndex, Address, Ticks), (u32, bool)>,
    /// The class of each lock, by the lock's number.
    classes: Vec<u32>,
    sites: BTreeMap<sites::Key, u32>,
}

impl Numbering for Numbers {
    fn object(&self, process: ProcessIndex, address: Address, born: Ticks) -> Option<u32> {
        self.objects.get(&(process, address, born)).map(|(number, _)| *number)
    }

    fn site(&self, process: ProcessIndex, site: SiteId, object: Option<u32>, is_lock: bool) -> Option<u32> {
        let object = object?;
        let of =
            if is_lock { sites::Of::Class(*self.classes.get(object as usize)?) } else { sites::Of::Waitable(object) };
        self.sites.get(&(process, site, of)).copied()
    }
}

/// Makes the report. `place` is the profile's directory as the user's commands name it.
pub(crate) fn build(
    trace: &Trace,
    analysis: &Analysis,
    ending: &Ending,
    off_cpu: &[ThreadOffCpu],
    place: &str,
) -> (Report, Numbers) {
    let mut names = Names { trace, symbols: Symbols::new() };
    let Named { mut locks, classes, class_of, origins } = named(&mut names, analysis);
    let ends_when_told = analysis::background(trace);
    path::relaxed(trace, analysis, &ends_when_told, &mut locks);
    let mut waitables: Vec<model::Waitable> = analysis.waitables.iter().map(|w| waitable(&mut names, w)).collect();
    queues::number(&mut waitables);
    let queues = queues::queues(&mut names, analysis, &waitables);
    let (sites, site_numbers) = sites::sites(&mut names, analysis, &class_of);
    let object_names = object_names(analysis, &locks, &waitables);
    let name_of = |process: ProcessIndex, address: Address| {
        object_names.get(&(process, address)).cloned().unwrap_or_else(|| format!("{address:#x}"))
    };
    let path = CriticalPath::with(trace, &analysis.window, off_cpu, &ends_when_told, &analysis.vain);
    let libc_code = libc_code::on_path(&mut names, trace, analysis, &path);
    let run = run::run(trace, &path);
    let (parallel, tasks) = (openmp::regions(&mut names, analysis), openmp::tasks(&mut names, analysis));
    let spins = spins::on_path(&mut names, trace, &path);
    let spinning = spins.iter().map(|(_, time)| *time).sum();
    let mut critical_path = path::path(trace, analysis, &path, path::Sampled { libc_code, spinning });
    critical_path.beside = path::beside(&mut names, &path, spins);
    let outside = outside::outside(&mut names, trace, off_cpu, &path);
    let requests = requests::requests(&mut names, analysis, off_cpu, &locks, &classes, &waitables);
    let threads = run::threads(trace, analysis, off_cpu);
    let mut scene = standstill::Scene::new(&mut names, analysis, &locks, &waitables, &threads);
    let still = standstill::standstill(&mut scene, ending);
    let orders = Orders::of(trace);
    let lock_orders = orders::orders(&mut scene, analysis, &orders, still.as_ref());
    let unexplained = unseen::unexplained(trace, off_cpu, &analysis.window);
    let seen = limits::Seen { name_of: &name_of, symbols: names.symbols.problems(), threads: &threads, unexplained };
    let mut limits = limits::limits(trace, analysis, &run, seen);
    if orders.cut {
        limits.unseen.push("more orders of locks: there were too many to look at all".to_owned());
    }
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        slow_stage: queues::slow_stage(&queues, &threads, nanos(&trace.clock, analysis.window.length())),
        queues,
        totals: totals(trace, analysis),
        verdict: model::Verdict::default(),
        standstill: still,
        threads,
        waiters: waiters(trace, analysis),
        critical_path,
        outside,
        background: ends_when_told.iter().map(|one| background(trace, one)).collect(),
        lock_orders,
        parallel,
        tasks,
        requests: requests.requests,
        progress: requests.progress,
        regions: run::regions(trace),
        run,
        locks,
        classes,
        origins,
        sites,
        waitables,
        limits,
    };
    report.verdict = verdict::verdict(&report, place);
    doubts::add(trace, &mut report);
    (report, Numbers { objects: object_numbers(analysis), classes: class_of, sites: site_numbers })
}

/// The locks and their classes for the report, with their names.
struct Named {
    locks: Vec<model::Lock>,
    classes: Vec<model::Class>,
    /// The class of each lock, by the lock's number.
    class_of: Vec<u32>,
    origins: Vec<model::Origin>,
}

fn named(names: &mut Names, analysis: &Analysis) -> Named {
    let trace = names.trace;
    let origins = Origins::of(names, &analysis.locks);
    let (classes, lock_names) = classes::classes(names, analysis, &origins);
    let mut class_of = vec![0u32; analysis.locks.len()];
    for (number, class) in (0..).zip(&classes) {
        class.locks.iter().for_each(|lock| class_of[*lock] = number);
    }
    let all = analysis.locks.iter().zip(lock_names).enumerate();
    let locks = all.map(|(at, (lock, name))| lock_of(trace, name, class_of[at], origins.number(at), lock));
    let class = |class: classes::Class| model::Class {
        name: class.name,
        kind: names::kind(class.kind).to_owned(),
        locks: class.locks.len() as u32,
        usage: usage(&trace.clock, &class.stats),
    };
    Named {
        locks: locks.collect(),
        classes: classes.into_iter().map(class).collect(),
        class_of,
        origins: origins.published(),
    }
}

fn background(trace: &Trace, from: &analysis::Background) -> model::Background {
    model::Background {
        thread: from.thread.0,
        joiner: from.joiner.0,
        joined_ns: nanos(&trace.clock, from.came),
        ended_ns: nanos(&trace.clock, from.ended),
        joined: from.joined,
    }
}

fn lock_of(trace: &Trace, name: String, class: u32, origin: Option<u32>, lock: &LockReport) -> model::Lock {
    model::Lock {
        name,
        class,
        origin,
        kind: names::kind(lock.object.kind).to_owned(),
        pid: pid(trace, lock.object.process),
        address: format!("{:#x}", lock.object.address),
        process_shared: lock.is_shared,
        usage: usage(&trace.clock, &lock.stats),
        owners: lock.stats.threads.values().filter(|t| t.acquisitions > 0).count() as u32,
        others: lock.stats.acquisitions
            - lock.stats.threads.values().map(|thread| thread.acquisitions).max().unwrap_or_default(),
        doubts: figures::doubts(&lock.stats.anomalies),
        program_without_overhead_ns: None,
        program_without_exclusion_ns: None,
    }
}

fn waitable(names: &mut Names, from: &baton_trace::analysis::WaitableReport) -> model::Waitable {
    let clock = &names.trace.clock;
    let used_most = from.stats.sites.iter().max_by_key(|(_, (waits, _))| *waits).map(|(site, _)| *site);
    let busiest = used_most.map(|(_, site)| site);
    model::Waitable {
        kind: names::kind(from.object.kind).to_owned(),
        pid: pid(names.trace, from.object.process),
        address: format!("{:#x}", from.object.address),
        waits: from.stats.wait.count,
        signals: from.stats.signals,
        broadcasts: from.stats.broadcasts,
        timeouts: from.stats.timeouts,
        woken: from.stats.futile.woken,
        futile: from.stats.futile.futile,
        broadcast_at: names.broadcasts_at(from),
        construct: from.stats.construct.map(|construct| openmp::construct(construct).to_owned()),
        rounds: from.stats.rounds,
        last: openmp::came_last(&from.stats.last),
        wait_ns: distribution(clock, &from.stats.wait),
        wake_ns: distribution(clock, &from.stats.wake),
        at: names.waits_at(&from.object, busiest),
        name: match from.stats.construct {
            Some(construct) => names.construct(&from.object, construct, busiest),
            None => names.waitable(&from.object, used_most),
        },
    }
}

fn totals(trace: &Trace, analysis: &Analysis) -> Totals {
    let sum = |of: fn(&LockReport) -> u64| analysis.locks.iter().map(of).sum::<u64>();
    let (blocked, sections, overhead) = analysis.totals();
    let ns = |ticks| nanos(&trace.clock, ticks);
    Totals {
        span_ns: ns(analysis.window.length()),
        events: trace.len(),
        acquisitions: sum(|l| l.stats.acquisitions),
        contended: sum(|l| l.stats.contended),
        hold_ns: ns(Ticks(sum(|l| l.stats.hold.sum.0))),
        blocked_ns: ns(blocked),
        sections_ns: ns(sections),
        overhead_ns: ns(overhead),
        free_while_wanted_ns: ns(analysis.free_while_wanted),
    }
}

fn waiters(trace: &Trace, analysis: &Analysis) -> Vec<model::WaiterEdge> {
    let mut edges = Vec::new();
    for (number, lock) in analysis.locks.iter().enumerate() {
        for ((waiter, holder), time) in &lock.stats.waited_for {
            let wait_ns = nanos(&trace.clock, *time);
            edges.push(model::WaiterEdge { waiter: waiter.0, holder: holder.0, lock: number as u32, wait_ns });
        }
    }
    edges.sort_by_key(|e| (std::cmp::Reverse(e.wait_ns), e.waiter, e.holder, e.lock));
    edges
}

fn object_numbers(analysis: &Analysis) -> BTreeMap<(ProcessIndex, Address, Ticks), (u32, bool)> {
    let locks = analysis.locks.iter().map(|l| &l.object).enumerate();
    let waitables = analysis.waitables.iter().map(|w| &w.object).enumerate();
    locks
        .chain(waitables)
        .map(|(number, o)| ((o.process, o.address, o.born), (number as u32, matches!(o.kind, ObjectKind::Lock(_)))))
        .collect()
}

fn object_names(
    analysis: &Analysis,
    locks: &[model::Lock],
    waitables: &[model::Waitable],
) -> BTreeMap<(ProcessIndex, Address), String> {
    let locks = analysis.locks.iter().map(|l| &l.object).zip(locks.iter().map(|l| &l.name));
    let waitables = analysis.waitables.iter().map(|w| &w.object).zip(waitables.iter().map(|w| &w.name));
    locks.chain(waitables).map(|(object, name)| ((object.process, object.address), name.clone())).collect()
}
