//! The walk over a trace that keeps the ledger of every lock, and the results of that walk.

use super::causes::{Causes, WaitKind};
use super::classes::{ClassReport, classes};
use super::free::FreeWhileWanted;
use super::futile::Wakes;
use super::ledger::Ledger;
use super::objects::{Object, ObjectId, ObjectKind, Objects};
use super::polls::Polls;
use super::regained::Mutexes;
use super::regions::{RegionReport, Regions, TaskReport, TaskWaitReport};
use super::slept::OffInWait;
use super::stats::{LockStats, ThreadLockStats};
use super::vain::Vain;
use super::waits::{WaitableReport, WaitableStats};
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Address, Event, How, SiteId, ThreadIndex, Waitable, What};
use crate::notes;
use crate::process::ProcessIndex;
use crate::trace::Trace;
use baton_units::Nanos;

/// Results of the analysis of a trace's locks and waits.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The part of the run that was analysed.
    pub window: Window,
    /// All locks, in the order of descending blocked time.
    pub locks: Vec<LockReport>,
    /// Classes of locks, in the order of descending blocked time.
    pub classes: Vec<ClassReport>,
    /// Objects other than locks, in the order of their first events.
    pub waitables: Vec<WaitableReport>,
    /// Parallel regions of OpenMP, by call site.
    pub regions: Vec<RegionReport>,
    /// Waits for tasks, by call site.
    pub task_waits: Vec<TaskWaitReport>,
    /// Tasks, by the call site that creates them.
    pub tasks: Vec<TaskReport>,
    /// The threads, in the order of [`Trace::threads`].
    pub threads: Vec<ThreadReport>,
    /// Notes about objects: process, address and code of each, without duplicates.
    pub notes: Vec<(ProcessIndex, u64, u32)>,
    /// Time that the recorder took in pauses ([`What::Pause`]), summed over threads.
    pub pauses: Ticks,
    /// Time in which at least one lock was free while a thread waited for it: the most that other
    /// locks can win.
    pub free_while_wanted: Ticks,
    /// When threads were awake in vain: woken for nothing, or polling.
    pub vain: Vain,
}

/// A lock and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockReport {
    /// The lock's number, the same in every analysis of one trace.
    pub id: ObjectId,
    /// Process, address and kind of the lock.
    pub object: Object,
    /// Whether other processes may take the lock, too: a process-shared mutex.
    pub is_shared: bool,
    /// Figures of the lock.
    pub stats: LockStats,
}

/// A thread's time inside the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadReport {
    /// Time inside the window from the thread's first event to [`ThreadReport::last`].
    pub lifetime: Ticks,
    /// Time of the last event; of the process's or the window's end if the thread still waits then.
    pub last: Ticks,
    /// Figures of all locks together. Where holds are nested, each hold counts in full.
    pub locks: ThreadLockStats,
    /// Time that the thread waited at condition variables.
    pub conditions: Ticks,
    /// Time that the thread waited at barriers.
    pub barriers: Ticks,
    /// Time that the thread waited for semaphores.
    pub semaphores: Ticks,
    /// Time that the thread waited for room in queues.
    pub room: Ticks,
    /// Time that the thread waited for items of queues.
    pub items: Ticks,
    /// Time that the thread waited, in joins, for other threads' ends.
    pub joins: Ticks,
    /// Time that the thread waited for its team's next parallel region.
    pub idle: Ticks,
    /// Time that the thread waited for tasks.
    pub tasks: Ticks,
    /// Time that the thread waited in futexes of the program's own.
    pub futexes: Ticks,
    /// Time that the thread waited for locks inside of the C library.
    pub libc_locks: Ticks,
    /// Time that the thread was off the CPU, if context switches were recorded.
    pub off_cpu: Ticks,
    /// Time off the CPU according to CPU time: for each interval between two records of CPU time,
    /// the elapsed time in which the thread used no CPU. Other intervals are not covered.
    pub off_cpu_inferred: Ticks,
    /// How often an event showed the thread on another CPU than before.
    pub migrations: u64,
}

impl ThreadReport {
    fn add(&mut self, kind: WaitKind, waited: Ticks) {
        match kind {
            WaitKind::Condition => self.conditions += waited,
            WaitKind::Barrier => self.barriers += waited,
            WaitKind::Semaphore => self.semaphores += waited,
            WaitKind::Join => self.joins += waited,
            WaitKind::Idle => self.idle += waited,
            WaitKind::Tasks => self.tasks += waited,
            WaitKind::Futex => self.futexes += waited,
            WaitKind::LibcLock => self.libc_locks += waited,
            WaitKind::Room => self.room += waited,
            WaitKind::Item => self.items += waited,
            WaitKind::Lock | WaitKind::Start => {}
        }
    }
}

impl Analysis {
    /// Analyses the trace in one walk over its events.
    pub fn of(trace: &Trace, window: Window) -> Analysis {
        let mut walk = Walk::new(trace, &window);
        for event in trace.interpreted_events() {
            walk.step(&event);
        }
        walk.finish()
    }

    /// Returns the blocked time (BT), sections (ΣCS) and overhead (ΣCOH) of all locks together.
    pub fn totals(&self) -> (Ticks, Ticks, Ticks) {
        let sum = |of: fn(&LockStats) -> Ticks| self.locks.iter().map(|l| of(&l.stats)).sum();
        (sum(|s| s.blocked), sum(|s| s.sections), sum(|s| s.overhead))
    }
}

/// A border of a part of the window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    Open,
    Close,
}

struct Walk<'a> {
    trace: &'a Trace,
    window: &'a Window,
    borders: std::iter::Peekable<std::vec::IntoIter<(Ticks, Border)>>,
    counted: bool,
    objects: Objects<'a>,
    causes: Causes<()>,
    mutexes: Mutexes<()>,
    books: Vec<Book>,
    threads: Vec<ThreadState>,
    reports: Vec<ThreadReport>,
    notes: std::collections::BTreeSet<(ProcessIndex, u64, u32)>,
    pauses: Ticks,
    free: FreeWhileWanted,
    polls: Polls,
    wakes: Wakes,
    regions: Regions,
    end: Ticks,
}

enum Book {
    Lock(Box<Ledger>),
    Waitable(Box<WaitableStats>),
}

#[derive(Clone, Default)]
struct ThreadState {
    /// The lock that the thread waits for.
    waits_for: Option<ObjectId>,
    /// The thread's CPU time at the start of the wait in progress, if it was recorded there.
    cpu_ns: Option<u64>,
    /// The wait that ended last, if the thread's next CPU time is to classify it: the lock, the
    /// wait's length, the CPU time at its start, and whether it is unknown if the thread slept.
    to_classify: Option<(ObjectId, Ticks, u64, bool)>,
    off: OffInWait,
    /// The latest record of the thread's CPU time, with the time of the record.
    clocked: Option<(Ticks, u64)>,
    cpu: Option<u32>,
    /// The call site of the wait in progress.
    waits_at: SiteId,
    ended: bool,
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, window: &'a Window) -> Walk<'a> {
        let stretches = window.stretches().iter();
        let borders: Vec<_> = stretches.flat_map(|(a, b)| [(*a, Border::Open), (*b, Border::Close)]).collect();
        Walk {
            trace,
            window,
            borders: borders.into_iter().peekable(),
            counted: false,
            objects: Objects::new(trace),
            causes: Causes::new(),
            mutexes: Mutexes::default(),
            books: Vec::new(),
            threads: vec![ThreadState::default(); trace.threads.len()],
            reports: vec![ThreadReport::default(); trace.threads.len()],
            notes: std::collections::BTreeSet::new(),
            pauses: Ticks(0),
            free: FreeWhileWanted::default(),
            polls: Polls::default(),
            wakes: Wakes::new(&trace.clock),
            regions: Regions::default(),
            end: Ticks(0),
        }
    }

    fn step(&mut self, event: &Event) {
        // An event at the very beginning or end of a part of the window counts as inside that part.
        while let Some((at, border)) =
            self.borders.next_if(|(at, border)| *at < event.time || (*at == event.time && *border == Border::Open))
        {
            self.cross(at, border);
        }
        self.end = self.end.max(event.time);
        let process = self.trace.process_of(event.thread);
        let object = self.objects.follow(event, process);
        self.new_books(event.time);
        let ended = self.causes.step(event, process, object, || ());
        self.wakes.step(event, self.causes.number(), object, ended.as_ref());
        if let Some(regained) = self.mutexes.step(event, object, ended.as_ref(), || self.causes.cause(event, ())) {
            self.free.add(regained.free, (regained.signalled, event.time), self.window);
        }
        if let Some(ended) = ended {
            let report = &mut self.reports[event.thread.index()];
            let waited = match object.or(ended.object).map(|id| &mut self.books[id.index()]) {
                Some(Book::Waitable(stats)) => stats.ended(event.time, (process, event.thread), &ended, self.window),
                _ => ended.begin.map_or(Ticks(0), |begin| self.window.overlap(begin, event.time)),
            };
            report.add(ended.kind, waited);
        }
        match object {
            Some(id) => self.at_object(event, id),
            None => self.elsewhere(event, process),
        }
        self.regions.step(event, process, self.window);
        self.follow_polls(event, process, object);
    }

    fn cross(&mut self, at: Ticks, border: Border) {
        self.counted = border == Border::Open;
        for book in &mut self.books {
            match (book, border) {
                (Book::Lock(ledger), Border::Open) => ledger.open_window(at),
                (Book::Lock(ledger), Border::Close) => ledger.close_window(at),
                _ => {}
            }
        }
    }

    fn new_books(&mut self, now: Ticks) {
        while let Some(object) = self.objects.all.get(self.books.len()) {
            self.books.push(match object.kind {
                ObjectKind::Lock(_) => Book::Lock(Box::new(Ledger::new(now))),
                ObjectKind::Waitable(Waitable::Queue) => {
                    Book::Waitable(Box::new(WaitableStats { queue: Some(Box::default()), ..WaitableStats::default() }))
                }
                ObjectKind::Waitable(_) => Book::Waitable(Box::default()),
            });
        }
    }

    fn at_object(&mut self, event: &Event, id: ObjectId) {
        let (now, thread, counted) = (event.time, event.thread, self.counted);
        let state = &mut self.threads[thread.index()];
        let ledger = match &mut self.books[id.index()] {
            Book::Lock(ledger) => ledger,
            Book::Waitable(stats) => {
                if let Some(queue) = &mut stats.queue {
                    queue.step(event, counted, self.window);
                }
                match event.what {
                    What::BarrierArrive { .. } => stats.meet(thread, true, counted),
                    What::BarrierLeave { .. } => stats.meet(thread, false, counted),
                    What::Construct { construct, .. } => stats.construct = Some(construct),
                    _ if counted => stats.count(&event.what),
                    _ => {}
                }
                return;
            }
        };
        let before = ledger.is_free_while_wanted();
        match event.what {
            What::Acquire { mode, site, .. } => {
                ledger.acquire(now, thread, mode, Some(site), counted);
            }
            What::Request { mode, site, .. } => {
                ledger.request(now, thread, mode, site, counted);
                state.waits_for = Some(id);
                state.cpu_ns = None;
                state.off.begin();
            }
            What::Acquired { mode, how, .. } => {
                state.waits_for = None;
                match ledger.acquire(now, thread, mode, None, counted) {
                    None => ledger.stats.anomalies.unmatched_waits += 1,
                    Some(_) if !counted => {}
                    Some(waited) => {
                        classify(&mut ledger.stats, state, id, waited, how);
                        let used = state.off.used(waited).filter(|_| state.to_classify.is_none());
                        if let Some(used) = used {
                            let clock = &self.trace.clock;
                            ledger.stats.used(clock, waited, clock.nanos(used.0), !how.known);
                        }
                    }
                }
            }
            What::Timeout { .. } => {
                state.waits_for = None;
                if !ledger.give_up(now, thread, counted) {
                    ledger.stats.anomalies.unmatched_waits += 1;
                }
                ledger.stats.timeouts += u64::from(counted);
            }
            What::TryFail { .. } => ledger.stats.try_fails += u64::from(counted),
            What::Release { .. } => ledger.release(now, thread, counted),
            _ => {}
        }
        self.free.change(now, before, ledger.is_free_while_wanted(), self.window);
    }

    /// Passes the event to the search for loops that take a lock until a value changes.
    fn follow_polls(&mut self, event: &Event, process: ProcessIndex, object: Option<ObjectId>) {
        let thread = event.thread;
        let site = match (event.what, object) {
            (What::Acquire { site, .. }, _) => site,
            (What::Acquired { .. }, _) => self.threads[thread.index()].waits_at,
            (What::Request { site, .. }, _) => {
                self.threads[thread.index()].waits_at = site;
                return;
            }
            (What::Release { .. } | What::TryFail { .. }, _) => return,
            (What::ThreadEnd { .. } | What::Create { .. } | What::JoinBegin { .. }, _) | (_, Some(_)) => {
                return self.polls.acted(thread);
            }
            _ => return,
        };
        match (object, self.trace.site(process, site).first()) {
            (Some(id), Some(&place)) if self.counted => self.polls.acquired(thread, id, site, place, event.time),
            _ => self.polls.acted(thread),
        }
    }

    fn elsewhere(&mut self, event: &Event, process: ProcessIndex) {
        let state = &mut self.threads[event.thread.index()];
        let report = &mut self.reports[event.thread.index()];
        match event.what {
            What::CpuTime { ns } => {
                if let Some((then, before)) = state.clocked.replace((event.time, ns))
                    && self.window.overlap(then, event.time) == event.time.since(then)
                {
                    let used = Ticks(self.trace.clock.ticks(Nanos(ns.saturating_sub(before))));
                    report.off_cpu_inferred += event.time.since(then).since(used);
                }
                state.cpu_ns = Some(ns);
                let Some((id, waited, before, unknown)) = state.to_classify.take() else { return };
                if let Book::Lock(ledger) = &mut self.books[id.index()] {
                    let used = Nanos(ns.saturating_sub(before));
                    ledger.stats.used(&self.trace.clock, waited, used, unknown);
                }
            }
            What::OffCpu { .. } | What::OnCpu { .. } => {
                if let Some((since, until)) = state.off.step(event.time, &event.what) {
                    report.off_cpu += self.window.overlap(since, until);
                }
            }
            What::Cpu { cpu } => {
                let moved = state.cpu.replace(cpu).is_some_and(|before| before != cpu);
                report.migrations += u64::from(moved && self.counted);
            }
            What::Pause { ticks } if self.counted => self.pauses += Ticks(ticks),
            What::Note { address, code } => {
                self.notes.insert((process, address, code));
                self.noted(process, address, code, event.time);
            }
            What::ThreadEnd { .. } => {
                state.ended = true;
                // A thread that has ended cannot wait: the end of its wait was lost.
                if let Some(id) = state.waits_for.take()
                    && let Book::Lock(ledger) = &mut self.books[id.index()]
                {
                    let before = ledger.is_free_while_wanted();
                    ledger.give_up(event.time, event.thread, self.counted);
                    self.free.change(event.time, before, ledger.is_free_while_wanted(), self.window);
                    ledger.stats.anomalies.unfinished_waits += 1;
                }
            }
            _ => {}
        }
    }

    /// Notes that a lock is shared with other processes: while no thread of this one holds it, a thread
    /// of another may.
    fn noted(&mut self, process: ProcessIndex, address: Address, code: u32, now: Ticks) {
        let id = self.objects.living(process, address).filter(|_| code == notes::PROCESS_SHARED);
        if let Some(Book::Lock(ledger)) = id.and_then(|id| self.books.get_mut(id.index())) {
            let before = ledger.is_free_while_wanted();
            ledger.is_shared = true;
            self.free.change(now, before, ledger.is_free_while_wanted(), self.window);
        }
    }

    /// Charges the waits that threads are in when the trace ends, up to the end of their process or
    /// of the window. The ledgers have charged the waits for locks.
    fn carry(&mut self) {
        for (number, state) in (0..).zip(&self.threads).filter(|(_, state)| !state.ended) {
            let (thread, report) = (ThreadIndex(number), &mut self.reports[number as usize]);
            let open = self.causes.open(thread);
            let process = self.trace.process_of(thread);
            let end = self.window.end().min(self.trace.lived_until(process));
            if state.waits_for.is_some() || !open.is_empty() {
                report.last = end;
            }
            for (kind, begun) in open {
                let waited = self.window.overlap(begun.time, end);
                report.add(kind, waited);
                if let Some(Book::Waitable(stats)) = begun.object.map(|id| &mut self.books[id.index()]) {
                    stats.carried(kind, thread, (process, begun.site), waited);
                }
            }
        }
    }

    /// Enters polls and futile wake-ups into the books. Returns when threads were awake in vain.
    fn vain(&mut self) -> Vain {
        // If the number of CPUs is not known, no number of threads takes them all.
        let cpus = self.trace.meta.as_ref().map_or(usize::MAX, |meta| meta.host.cpus as usize);
        let mut vain = Vain::default();
        let found = std::mem::take(&mut self.polls).finish();
        for ((id, site), count) in found.counts {
            if let Book::Lock(ledger) = &mut self.books[id.index()] {
                ledger.stats.sites.entry(site).or_default().polls += count;
            }
        }
        for (id, stretches) in found.stretches {
            if let Book::Lock(ledger) = &self.books[id.index()]
                && ledger.stats.polls() * 2 > ledger.stats.acquisitions
            {
                vain.add(id, Some(id), &stretches, cpus);
            }
        }
        for (id, numbers) in std::mem::take(&mut self.wakes).finish(self.window, &mut vain, cpus) {
            if let Book::Waitable(stats) = &mut self.books[id.index()] {
                stats.futile = numbers;
            }
        }
        vain
    }

    fn finish(mut self) -> Analysis {
        while let Some((at, border)) = self.borders.next() {
            self.cross(at, border);
        }
        let vain = self.vain();
        self.carry();
        let mut locks = Vec::new();
        let mut waitables = Vec::new();
        let objects = std::mem::take(&mut self.objects.all).into_iter().enumerate();
        for ((number, object), book) in objects.zip(self.books) {
            let id = ObjectId(number as u32);
            match book {
                Book::Lock(mut ledger) => {
                    ledger.stats.anomalies.unfinished_waits += ledger.waiting() as u64;
                    locks.push(LockReport { id, object, is_shared: ledger.is_shared, stats: ledger.stats });
                }
                Book::Waitable(mut stats) => {
                    if let Some(queue) = &mut stats.queue {
                        queue.finish(self.window.end(), self.window);
                    }
                    waitables.push(WaitableReport { id, object, stats: *stats });
                }
            }
        }
        for lock in &locks {
            for (thread, stats) in &lock.stats.threads {
                self.reports[thread.index()].locks.merge(stats);
            }
        }
        for ((number, thread), report) in (0..).zip(&self.trace.threads).zip(&mut self.reports) {
            report.last = report.last.max(thread.last);
            report.lifetime = self.window.overlap(thread.first, report.last);
            // A worker that waits for a region at the trace's end is idle up to its last event.
            if let Some(since) = self.causes.idle_since(ThreadIndex(number)) {
                report.idle += self.window.overlap(since, thread.last.max(since));
            }
        }
        // A stable sort: locks that were never waited for stay in the order of their first events.
        locks.sort_by_key(|lock| std::cmp::Reverse(lock.stats.blocked));
        Analysis {
            window: self.window.clone(),
            classes: classes(&locks),
            locks,
            waitables,
            regions: self.regions.regions.into_values().collect(),
            task_waits: self.regions.waits.into_values().collect(),
            tasks: self.regions.tasks.into_values().collect(),
            threads: self.reports,
            notes: self.notes.into_iter().collect(),
            pauses: self.pauses,
            free_while_wanted: self.free.until(self.end, self.window),
            vain,
        }
    }
}

/// Counts how the wait of a contended acquisition ended. If glibc did the waiting, the thread's
/// next record of CPU time decides whether it slept.
fn classify(stats: &mut LockStats, state: &mut ThreadState, id: ObjectId, waited: Ticks, how: How) {
    stats.tries += u64::from(how.tries);
    match (how.known, how.slept) {
        (true, true) => stats.entered_sleeping += 1,
        (true, false) => stats.entered_spinning += 1,
        (false, _) => stats.entered_unknown += 1,
    }
    state.to_classify = state.cpu_ns.take().map(|before| (id, waited, before, !how.known));
}
