//! Verdicts on causes that another lock cannot cure: futile wake-ups, polling, starvation, nested
//! locks, and locks without waiters.

use baton_report::Profile;
use baton_report::model::{Report, Verdict};
use baton_report::terminal::{self, Style};
use baton_trace::{Clock, How, Lock, Mode, OffReason, SiteId, ThreadIndex, Ticks, TraceBuilder, WakeReason, What};

pub(crate) const A: Lock = Lock::mutex(0x1000);
pub(crate) const B: Lock = Lock::mutex(0x2000);
const TABLE: Lock = Lock::rwlock(0x5000);
pub(crate) const MORE: u64 = 0x3000;
pub(crate) const DONE: u64 = 0x4000;
pub(crate) const SITE: SiteId = SiteId(1);
pub(crate) const OTHER: SiteId = SiteId(2);
pub(crate) const BROADCAST: SiteId = SiteId(3);
pub(crate) const X: Mode = Mode::Exclusive;
const S: Mode = Mode::Shared;
pub(crate) const US: u64 = 1_000;

/// Builds a trace of four threads; each method adds the events that its name says.
pub(crate) struct Run(pub(crate) TraceBuilder);

impl Run {
    pub(crate) fn new() -> Run {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        trace.site(SITE, &[0x10]).site(OTHER, &[0x20]).site(BROADCAST, &[0x30]);
        for (address, name) in [(A.address, "a_lock"), (B.address, "b_lock"), (TABLE.address, "table_lock")] {
            trace.name_object(address, name);
        }
        trace.name_object(MORE, "more").name_object(DONE, "done");
        for n in 0..4 {
            trace.push(Ticks(0), ThreadIndex(n), What::ThreadStart { handle: 100 + u64::from(n) });
        }
        Run(trace)
    }

    pub(crate) fn at(&mut self, us: u64, thread: u32, what: What) -> &mut Run {
        self.at_ns(us * US, thread, what)
    }

    pub(crate) fn at_ns(&mut self, ns: u64, thread: u32, what: What) -> &mut Run {
        self.0.push(Ticks(ns), ThreadIndex(thread), what);
        self
    }

    pub(crate) fn take(&mut self, us: u64, thread: u32, lock: Lock, mode: Mode, site: SiteId) -> &mut Run {
        self.at(us, thread, What::Acquire { lock, mode, site })
    }

    pub(crate) fn want(&mut self, us: u64, thread: u32, lock: Lock, mode: Mode) -> &mut Run {
        self.at(us, thread, What::Request { lock, mode, site: SITE })
    }

    pub(crate) fn got(&mut self, us: u64, thread: u32, lock: Lock, mode: Mode) -> &mut Run {
        self.at(us, thread, What::Acquired { lock, mode, how: How::sleeping(1) })
    }

    pub(crate) fn give(&mut self, us: u64, thread: u32, lock: Lock, mode: Mode) -> &mut Run {
        self.at(us, thread, What::Release { lock, mode, site: SITE })
    }

    /// The thread waits at a condition variable and releases `a_lock` for it.
    pub(crate) fn wait(&mut self, us: u64, thread: u32, condition: u64) -> &mut Run {
        self.at(us, thread, What::CondWait { condition, site: SITE });
        self.at(us, thread, What::CondMutex { mutex: A.address }).give(us, thread, A, X)
    }

    pub(crate) fn wake(&mut self, us: u64, thread: u32, condition: u64) -> &mut Run {
        self.at(us, thread, What::CondWake { condition, reason: WakeReason::Woken }).take(us, thread, A, X, SITE)
    }

    pub(crate) fn end(&mut self, us: u64) -> Report {
        self.profile(us).report
    }

    pub(crate) fn profile(&mut self, us: u64) -> Profile {
        for n in (0..4).rev() {
            self.at(us + u64::from(4 - n), n, What::ThreadEnd { handle: 100 + u64::from(n) });
        }
        let trace = std::mem::replace(&mut self.0, TraceBuilder::new(Clock::nanoseconds()));
        Profile::of(trace.build())
    }
}

fn text(report: &Report) -> String {
    let text = terminal::summary(report, Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn has(verdict: &Verdict, limit: &str, headline: &[&str]) {
    assert_eq!(verdict.limit, limit, "{verdict:?}");
    for part in headline {
        assert!(verdict.headline.contains(part), "no {part:?} in {verdict:?}");
    }
}

/// Thread 0 hands out one job in each of 20 rounds, and thread 3 does it. With `wakes_all`, a
/// broadcast also wakes threads 1 and 2 before, for nothing; otherwise a signal wakes thread 3
/// alone.
fn jobs(wakes_all: bool) -> Report {
    let mut run = Run::new();
    for thread in 1..4 {
        let at = u64::from(thread);
        run.take(at, thread, A, X, SITE).wait(at, thread, MORE);
    }
    for round in 0..20u64 {
        let at = 100 + round * 100;
        run.take(at, 0, A, X, SITE);
        if wakes_all {
            run.at(at, 0, What::CondBroadcast { condition: MORE, site: BROADCAST });
        } else {
            run.at(at, 0, What::CondSignal { condition: MORE, site: BROADCAST });
        }
        run.wait(at + 1, 0, DONE);
        if wakes_all {
            run.wake(at + 20, 1, MORE).wait(at + 24, 1, MORE).wake(at + 40, 2, MORE).wait(at + 44, 2, MORE);
        }
        run.wake(at + 65, 3, MORE).at(at + 66, 3, What::CondSignal { condition: DONE, site: OTHER });
        run.wait(at + 67, 3, MORE).wake(at + 70, 0, DONE).give(at + 71, 0, A, X);
    }
    run.at(2200, 0, What::CondBroadcast { condition: MORE, site: BROADCAST });
    for thread in 1..4 {
        let at = 2200 + u64::from(thread);
        run.wake(at, thread, MORE).give(at, thread, A, X);
    }
    run.end(2210)
}

#[test]
fn futile_wake_ups_are_counted_and_limit_the_program() {
    let report = jobs(true);
    let condition = report.waitables.iter().find(|w| w.name == "more").unwrap();
    assert_eq!((condition.woken, condition.futile), (63, 40));
    let counted = ["Threads were woken 63 times by broadcasts of more in 0x30, 40 of them for nothing"];
    has(&report.verdict, "futile-wake-ups", &counted);
    assert!(report.verdict.gains.iter().any(|gain| gain.starts_with("if each wake-up at more found something")));
    let step = &report.verdict.next[0].text;
    assert!(step.starts_with("wake only as many threads") && step.contains("if one thread is enough"), "{step}");
    assert!(text(&report).contains("cost of futile wake-ups at more"), "{}", text(&report));
}

#[test]
fn signals_to_the_right_thread_are_no_futile_wake_ups() {
    let report = jobs(false);
    let condition = report.waitables.iter().find(|w| w.name == "more").unwrap();
    assert_eq!((condition.woken, condition.futile), (3, 0));
    has(&report.verdict, "waiting", &[]);
}

#[test]
fn polling_under_a_lock_limits_the_program() {
    let mut run = Run::new();
    for turn in 0..200u64 {
        run.take(10 + turn * 10, 3, A, X, SITE).give(18 + turn * 10, 3, A, X);
    }
    run.take(2012, 0, A, X, OTHER).give(2014, 0, A, X);
    run.take(2020, 3, A, X, SITE).give(2028, 3, A, X);
    // The thread that polls is the last to end, so that the path runs along it.
    for n in 0..3 {
        run.at(2030, n, What::ThreadEnd { handle: 100 + u64::from(n) });
    }
    run.at(2050, 3, What::ThreadEnd { handle: 103 });
    let report = Profile::of(std::mem::replace(&mut run.0, TraceBuilder::new(Clock::nanoseconds())).build()).report;
    assert_eq!(report.sites.iter().map(|site| site.polls).sum::<u64>(), 201);
    has(&report.verdict, "polling", &["Polling under a_lock limits it", "until a value changes in 0x10"]);
    assert!(report.verdict.next[0].text.starts_with("wait at a condition variable"), "{:?}", report.verdict);
    assert!(text(&report).contains("cost of polling under a_lock"));
}

/// Threads 1 and 2 read in turns without a gap. Thread 0 wants to write from 50 µs on, and gets the
/// lock after `turns` turns.
fn read_by_turns(turns: u64) -> Report {
    let mut run = Run::new();
    run.take(1, 1, TABLE, S, OTHER).want(50, 0, TABLE, X);
    for turn in 0..turns {
        let (now, next) = (1 + (turn % 2) as u32, 1 + ((turn + 1) % 2) as u32);
        run.take(100 + turn * 100, next, TABLE, S, OTHER).give(110 + turn * 100, now, TABLE, S);
    }
    let end = 100 + turns * 100;
    run.give(end, 1 + (turns % 2) as u32, TABLE, S).got(end + 2, 0, TABLE, X).give(end + 4, 0, TABLE, X);
    run.end(end + 5)
}

#[test]
fn a_starving_writer_is_no_matter_of_shorter_sections() {
    let report = read_by_turns(40);
    let counted =
        "Writers of table_lock starve: in 1 wait, 40 readers that came later took it first, up to 40 in one wait";
    has(&report.verdict, "starvation", &[counted]);
    let next = &report.verdict.next;
    assert!(next[0].text.contains("PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP"), "{next:?}");
    assert!(next.iter().all(|step| !step.text.contains("shorter")), "{next:?}");
    // A writer that only five readers overtake does not starve.
    has(&read_by_turns(5).verdict, "sections", &[]);
}

/// Thread 0 takes `b_lock` inside of `a_lock`, and threads 1 to 3 want only `a_lock`: the headline
/// and the advice name `b_lock`.
#[test]
fn what_is_done_under_an_inner_lock_is_told() {
    let mut run = Run::new();
    for turn in 0..20u64 {
        let at = 10 + turn * 100;
        run.take(at, 0, A, X, SITE).take(at + 1, 0, B, X, OTHER);
        for thread in 1..4 {
            run.want(at + 2, thread, A, X);
        }
        run.give(at + 90, 0, B, X).give(at + 91, 0, A, X);
        for thread in 1..4 {
            let begin = at + 91 + u64::from(thread) * 2;
            run.got(begin, thread, A, X).give(begin + 1, thread, A, X);
        }
    }
    let report = run.end(2100);
    has(
        &report.verdict,
        "sections",
        &["inside of a_lock's", "most of that is done under b_lock", "inside of it in 0x20"],
    );
    let next = &report.verdict.next[0].text;
    assert!(next.starts_with("make b_lock's critical section in 0x20 shorter, or take it out of a_lock's"), "{next}");
    let nested = &report.critical_path.nested[0];
    assert_eq!((report.locks[nested.outer as usize].name.as_str(), nested.total_ns.0), ("a_lock", 20 * 89 * US));
}

/// The path has a hold of 900 µs without a waiter, which is the program's own work, and one of 20
/// µs for which thread 1 waits.
#[test]
fn sections_without_waiters_are_own_work() {
    let mut run = Run::new();
    run.take(1, 0, A, X, OTHER).give(901, 0, A, X).take(902, 0, A, X, OTHER).want(903, 1, A, X);
    run.give(922, 0, A, X).got(923, 1, A, X).give(924, 1, A, X);
    let report = run.end(930);
    has(&report.verdict, "running", &[]);
    assert!(report.verdict.next.iter().all(|step| !step.text.contains("a_lock")), "{:?}", report.verdict);
    let part = report.critical_path.parts.iter().find(|part| part.kind == "critical-section").unwrap();
    assert!(part.total_ns.0 > 900 * US && part.waited_for_ns.0 <= 21 * US, "{part:?}");
}

/// The holder of `a_lock` loses its CPU while thread 1 waits: the advice is to look at priorities,
/// which are not recorded.
#[test]
fn a_holder_without_a_cpu_asks_for_the_priorities() {
    let mut run = Run::new();
    run.take(1, 0, A, X, SITE).want(10, 1, A, X);
    run.at(20, 0, What::OffCpu { tid: 0, reason: OffReason::Preempted }).at(900, 0, What::OnCpu { tid: 0, cpu: 0 });
    run.give(910, 0, A, X).got(912, 1, A, X).give(950, 1, A, X);
    let verdict = run.end(960).verdict;
    has(&verdict, "ready", &[]);
    let step = verdict.next.iter().find(|step| step.text.contains("different priorities")).expect("the step");
    assert!(step.text.contains("a_lock") && step.text.contains("PTHREAD_PRIO_INHERIT"), "{step:?}");
}

/// Other programs used half of the CPUs. On two CPUs the program's own threads 2 and 3 kept the holder
/// off them, so that its priority matters. With eight CPUs, some of which other programs had, these may be
/// the reason.
#[test]
fn priorities_are_asked_for_on_a_busy_machine_where_the_own_threads_had_the_cpus() {
    let asked = |cpus: u32| {
        let mut run = Run::new();
        let mut meta = baton_trace::Meta { elapsed_ns: 960 * US, ..Default::default() };
        meta.host.cpus = cpus;
        meta.extra.insert(baton_trace::disturbance::OTHERS.into(), (480 * US * u64::from(cpus)).into());
        run.0.meta(meta);
        run.take(1, 0, A, X, SITE).want(10, 1, A, X);
        run.at(20, 0, What::OffCpu { tid: 0, reason: OffReason::Preempted }).at(900, 0, What::OnCpu { tid: 0, cpu: 0 });
        run.give(910, 0, A, X).got(912, 1, A, X).give(950, 1, A, X);
        let verdict = run.end(960).verdict;
        assert_eq!(verdict.doubts.len(), 1, "{verdict:?}");
        verdict.next.iter().any(|step| step.text.contains("different priorities"))
    };
    assert_eq!((asked(2), asked(8)), (true, false));
}

/// If several threads run for long, the advice says that false sharing was not looked at; if only
/// one thread does, the advice does not say so.
#[test]
fn own_work_of_several_threads_may_share_cache_lines() {
    let not_looked_at = |verdict: &Verdict| verdict.next.iter().any(|step| step.text.contains("was not looked at"));
    let report = Run::new().end(1000);
    has(&report.verdict, "running", &[]);
    assert!(not_looked_at(&report.verdict), "{:?}", report.verdict);
    // Threads 1 to 3 end after 10 µs of 1,000.
    let mut run = Run::new();
    for thread in 1..4 {
        run.at(10, thread, What::ThreadEnd { handle: 100 + u64::from(thread) });
    }
    run.at(1000, 0, What::ThreadEnd { handle: 100 });
    let trace = std::mem::replace(&mut run.0, TraceBuilder::new(Clock::nanoseconds())).build();
    let verdict = Profile::of(trace).report.verdict;
    assert!(!not_looked_at(&verdict), "{verdict:?}");
}
