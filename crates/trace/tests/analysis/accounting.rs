//! Tests the accounting of waits: against an oracle that goes over random traces tick by tick, and
//! on cases worked out by hand.

use baton_trace::analysis::{Analysis, Window};
use baton_trace::{
    Clock, How, Lock, LockKind, Mode, OffReason, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What,
};
use proptest::prelude::*;

const A: ThreadIndex = ThreadIndex(0);
const B: ThreadIndex = ThreadIndex(1);
const C: ThreadIndex = ThreadIndex(2);
const M: Lock = Lock::mutex(0x1000);
const RW: Lock = Lock::rwlock(0x2000);
use Mode::{Exclusive, Shared};

fn site(thread: ThreadIndex) -> SiteId {
    SiteId(100 + thread.0)
}

/// Builds a trace from events, with short names for the most common ones.
struct Script(TraceBuilder);

impl Script {
    fn new() -> Script {
        Script(TraceBuilder::new(Clock::nanoseconds()))
    }
    fn at(&mut self, time: u64, thread: ThreadIndex, what: What) -> &mut Self {
        self.0.push(Ticks(time), thread, what);
        self
    }
    fn acquire(&mut self, time: u64, thread: ThreadIndex, lock: Lock, mode: Mode) -> &mut Self {
        self.at(time, thread, What::Acquire { lock, mode, site: site(thread) })
    }
    fn request(&mut self, time: u64, thread: ThreadIndex, lock: Lock, mode: Mode) -> &mut Self {
        self.at(time, thread, What::Request { lock, mode, site: site(thread) })
    }
    fn acquired(&mut self, time: u64, thread: ThreadIndex, lock: Lock, mode: Mode) -> &mut Self {
        self.at(time, thread, What::Acquired { lock, mode, how: How::spinning(1) })
    }
    fn release(&mut self, time: u64, thread: ThreadIndex, lock: Lock, mode: Mode) -> &mut Self {
        self.at(time, thread, What::Release { lock, mode, site: SiteId::UNKNOWN })
    }
    fn build(self) -> Trace {
        self.0.build()
    }
    fn analyse(self) -> Analysis {
        let trace = self.build();
        Analysis::of(&trace, Window::whole(&trace))
    }
}

/// Checks equation 1 of the OCOR paper on the paper's own picture: three threads ask for the lock
/// at 0 and get it one after the other, and each hand-off costs time.
#[test]
fn equation_one_of_the_ocor_paper() {
    let mut s = Script::new();
    s.request(0, A, M, Exclusive).request(0, B, M, Exclusive).request(0, C, M, Exclusive);
    s.acquired(1, A, M, Exclusive).release(11, A, M, Exclusive); // COH1 = 1, CS1 = 10
    s.acquired(13, B, M, Exclusive).release(33, B, M, Exclusive); // COH2 = 2, CS2 = 20
    s.acquired(37, C, M, Exclusive).release(67, C, M, Exclusive); // COH3 = 4
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    let of = |t: ThreadIndex| (stats.threads[&t].blocked.0, stats.threads[&t].sections.0, stats.threads[&t].overhead.0);
    assert_eq!(of(A), (1, 0, 1));
    assert_eq!(of(B), (13, 10, 1 + 2));
    assert_eq!(of(C), (37, 10 + 20, 1 + 2 + 4));
    assert_eq!((stats.blocked.0, stats.residual()), (51, 0));
    // The lock was free for 1 + 2 + 4 ticks while threads waited, and held for 10 + 20 + 30. Only
    // the last two hand-offs began with a release: they took 2 and 4.
    assert_eq!((stats.idle_contended.0, stats.busy.0), (7, 60));
    assert_eq!((stats.handoff.count, stats.handoff.sum.0), (2, 6));
    // Blame: A held the lock for 10 ticks while two threads waited, B for 20 while one waited.
    assert_eq!(stats.sites[&site(A)].blame.0, 20);
    assert_eq!(stats.sites[&site(B)].blame.0, 20);
    assert_eq!(stats.waited_for[&(C, B)].0, 20);
    assert_eq!(stats.queue.iter().map(|(n, t)| (*n, t.0)).collect::<Vec<_>>(), [(1, 24), (2, 12), (3, 1)]);
}

#[test]
fn time_in_which_locks_are_free_and_wanted_together_counts_once() {
    let other = Lock::mutex(0x3000);
    let run = || {
        let mut s = Script::new();
        s.acquire(0, A, M, Exclusive).acquire(1, A, other, Exclusive);
        s.request(5, B, M, Exclusive).request(6, C, other, Exclusive);
        // M is free and wanted from 10 to 20, `other` from 15 to 30: together 20 ticks. From 40 on
        // M is free, but no thread waits for it.
        s.release(10, A, M, Exclusive).release(15, A, other, Exclusive);
        s.acquired(20, B, M, Exclusive).acquired(30, C, other, Exclusive);
        s.release(40, B, M, Exclusive).release(50, C, other, Exclusive);
        s.build()
    };
    let trace = run();
    assert_eq!(Analysis::of(&trace, Window::whole(&trace)).free_while_wanted.0, 20);
    let part = Window::between(&trace, &[(Ticks(12), Ticks(18)), (Ticks(25), Ticks(45))]);
    assert_eq!(Analysis::of(&trace, part).free_while_wanted.0, 6 + 5);
}

#[test]
fn a_failed_try_is_no_wait() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).at(5, B, What::TryFail { lock: M, mode: Exclusive, site: site(B) });
    s.release(10, A, M, Exclusive);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.try_fails, stats.blocked.0, stats.acquisitions, stats.contended), (1, 0, 1, 0));
}

#[test]
fn a_recursive_hold_lasts_to_its_outermost_release() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).acquire(2, A, M, Exclusive).request(3, B, M, Exclusive);
    s.release(4, A, M, Exclusive)
        .release(10, A, M, Exclusive)
        .acquired(12, B, M, Exclusive)
        .release(13, B, M, Exclusive);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.acquisitions, stats.recursive, stats.hold.max.0), (2, 1, 10));
    assert_eq!((stats.sections.0, stats.overhead.0, stats.residual()), (7, 2, 0));
    assert!(stats.anomalies.is_clean());
}

#[test]
fn a_condition_wait_gives_the_mutex_up_and_takes_it_again() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).at(2, A, What::CondWait { condition: 9, site: site(A) });
    s.at(2, A, What::CondMutex { mutex: M.address }).release(3, A, M, Exclusive);
    s.acquire(5, B, M, Exclusive).at(6, B, What::CondSignal { condition: 9, site: site(B) });
    s.at(8, A, What::CondWake { condition: 9, reason: baton_trace::WakeReason::Woken });
    s.request(8, A, M, Exclusive)
        .release(10, B, M, Exclusive)
        .acquired(14, A, M, Exclusive)
        .release(15, A, M, Exclusive);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.blocked.0, stats.sections.0, stats.overhead.0), (6, 2, 4));
    // A held the lock at 0–3 and 14–15. While it waited at the condition variable, it did not hold
    // the lock.
    assert_eq!(stats.threads[&A].held.0, 4);
    let condition = &analysis.waitables[0].stats;
    assert_eq!((condition.wait.sum.0, condition.wake.sum.0, condition.signals), (6, 2, 1));
    assert_eq!(analysis.threads[0].conditions.0, 6);
}

#[test]
fn a_writer_waits_for_all_readers_once() {
    let mut s = Script::new();
    s.acquire(0, A, RW, Shared).acquire(2, B, RW, Shared).request(4, C, RW, Exclusive);
    s.release(8, A, RW, Shared).release(12, B, RW, Shared).acquired(15, C, RW, Exclusive).release(20, C, RW, Exclusive);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.blocked.0, stats.sections.0, stats.overhead.0, stats.residual()), (11, 8, 3, 0));
    // At 4–8 both readers hold the lock and share the blame for C's wait; at 8–12 only B holds it.
    assert_eq!((stats.sites[&site(A)].blame.0, stats.sites[&site(B)].blame.0), (2, 6));
    assert_eq!((stats.shared, stats.busy.0), (2, 17));
}

#[test]
fn an_upgrade_blocks_on_itself() {
    let mut s = Script::new();
    s.acquire(0, A, RW, Shared).request(3, A, RW, Exclusive).at(9, A, What::Timeout { lock: RW, mode: Exclusive });
    s.release(10, A, RW, Shared);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.blocked.0, stats.own.0, stats.timeouts, stats.residual()), (6, 6, 1, 0));
}

#[test]
fn a_lost_release_is_named_and_bounded() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).request(5, B, M, Exclusive).acquired(9, B, M, Exclusive).release(12, B, M, Exclusive);
    s.release(20, C, M, Exclusive);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.anomalies.overlaps, stats.anomalies.unmatched_releases), (1, 1));
    assert_eq!((stats.hold.max.0, stats.residual()), (9, 0));
    assert!(!stats.anomalies.is_clean());
}

#[test]
fn a_wait_that_never_ends_counts_to_the_end() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).request(5, B, M, Exclusive).at(30, A, What::Marker { name: 0, value: 0 });
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.blocked.0, stats.sections.0, stats.anomalies.unfinished_waits, stats.wait.count), (25, 25, 1, 0));
}

#[test]
fn a_reused_address_is_another_lock_of_the_same_class() {
    let mut s = Script::new();
    for (life, begin) in [0, 100].into_iter().enumerate() {
        s.at(begin, A, What::LockInit { lock: M, site: SiteId(7) });
        s.acquire(begin + 1, A, M, Exclusive).release(begin + 2 + life as u64, A, M, Exclusive);
        s.at(begin + 10, A, What::LockDestroy { lock: M });
    }
    let analysis = s.analyse();
    assert_eq!(analysis.locks.len(), 2);
    let [class] = analysis.classes.as_slice() else { panic!("{:?}", analysis.classes) };
    assert_eq!((class.locks.len(), class.stats.acquisitions, class.stats.hold.sum.0), (2, 2, 3));
}

#[test]
fn opaque_waits_are_told_apart_by_cpu_time() {
    let mut s = Script::new();
    let opaque = |s: &mut Script, begin: u64, cpu: u64| {
        s.acquire(begin, A, M, Exclusive).request(begin + 1, B, M, Exclusive);
        s.at(begin + 2, B, What::CpuTime { ns: 1_000_000 }).release(begin + 50_000, A, M, Exclusive);
        s.at(begin + 60_000, B, What::Acquired { lock: M, mode: Exclusive, how: How::OPAQUE });
        s.at(begin + 60_001, B, What::CpuTime { ns: 1_000_000 + cpu }).release(begin + 60_002, B, M, Exclusive);
    };
    opaque(&mut s, 0, 59_000);
    opaque(&mut s, 100_000, 9_000);
    let analysis = s.analyse();
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.entered_spinning, stats.entered_sleeping, stats.entered_unknown), (1, 1, 0));
    assert_eq!(stats.wait_cpu_ns, 68_000);
    // In each wait, 59,999 ns pass between the two records of CPU time. Between the two waits the
    // thread uses no CPU time, because the second wait begins with a lower CPU time than the first
    // ended with.
    let between = 100_002 - 60_001;
    assert_eq!(analysis.threads[1].off_cpu_inferred.0, 999 + between + (59_999 - 9_000));
}

#[test]
fn opaque_waits_are_told_apart_by_context_switches() {
    let mut s = Script::new();
    // Without this event, the trace would not show that B's context switches are recorded.
    s.at(0, B, What::OnCpu { tid: 0, cpu: 1 });
    let wait = |s: &mut Script, begin: u64, off: Option<(u64, u64)>| {
        s.acquire(begin, A, M, Exclusive).request(begin + 1, B, M, Exclusive);
        if let Some((from, to)) = off {
            s.at(begin + from, B, What::OffCpu { tid: 0, reason: OffReason::Blocked });
            s.at(begin + to, B, What::OnCpu { tid: 0, cpu: 1 });
        }
        s.release(begin + 50_000, A, M, Exclusive);
        s.at(begin + 60_001, B, What::Acquired { lock: M, mode: Exclusive, how: How::OPAQUE });
        s.release(begin + 60_002, B, M, Exclusive);
    };
    wait(&mut s, 10, None);
    wait(&mut s, 100_000, Some((1_000, 55_000)));
    // B sleeps outside of a wait for the lock: no wait must count this time.
    s.at(170_000, B, What::OffCpu { tid: 0, reason: OffReason::Blocked });
    s.at(190_000, B, What::OnCpu { tid: 0, cpu: 1 });
    wait(&mut s, 200_000, None);
    let stats = s.analyse().locks[0].stats.clone();
    assert_eq!((stats.entered_spinning, stats.entered_sleeping, stats.entered_unknown), (2, 1, 0));
    assert_eq!(stats.wait_cpu_ns, 60_000 + 6_000 + 60_000);
}

#[test]
fn a_region_clips_waits_holds_and_hand_offs() {
    let mut s = Script::new();
    s.acquire(0, A, M, Exclusive).request(5, B, M, Exclusive).at(8, C, What::RoiBegin { name: 1 });
    s.release(10, A, M, Exclusive).acquired(20, B, M, Exclusive).at(22, C, What::RoiEnd { name: 1 });
    s.release(40, B, M, Exclusive);
    s.0.name_marker(1, "inner");
    let trace = s.build();
    let analysis = Analysis::of(&trace, Window::region(&trace, ProcessIndex(0), "inner").unwrap());
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.blocked.0, stats.sections.0, stats.overhead.0, stats.residual()), (12, 2, 10, 0));
    assert_eq!((stats.busy.0, stats.acquisitions, stats.contended), (2 + 2, 1, 1));
    assert_eq!((stats.threads[&A].held.0, stats.threads[&B].held.0), (2, 2));
    let error = Window::region(&trace, ProcessIndex(0), "outer").unwrap_err().to_string();
    assert!(error.contains("outer") && error.contains("inner"), "{error}");
}

#[test]
fn a_region_of_another_process_of_that_name_is_another_region() {
    let mut s = Script::new();
    s.0.thread("first");
    let child = s.0.child(7);
    s.0.name_marker(1, "inner");
    s.at(0, A, What::RoiBegin { name: 1 }).at(5, child, What::RoiBegin { name: 1 });
    s.at(10, A, What::RoiEnd { name: 1 }).at(30, child, What::RoiEnd { name: 1 });
    let trace = s.build();
    let stretches = |process| Window::region(&trace, ProcessIndex(process), "inner").unwrap().stretches().to_vec();
    assert_eq!((stretches(0), stretches(1)), (vec![(Ticks(0), Ticks(10))], vec![(Ticks(5), Ticks(30))]));
}

/// Generates a random but possible history of one lock: in each step a thread does what its state
/// allows.
fn history(kind: LockKind) -> impl Strategy<Value = Vec<(u64, ThreadIndex, What)>> {
    let lock = Lock { address: 0x3000, kind };
    prop::collection::vec((0u32..5, 0u64..4, any::<bool>(), any::<bool>()), 1..120).prop_map(move |steps| {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            Idle,
            Waits(Mode),
            Holds(Mode, u32),
        }
        let mut states = [State::Idle; 5];
        let mut now = 0;
        let mut events = Vec::new();
        for (who, pause, read, extra) in steps {
            now += pause;
            let thread = ThreadIndex(who);
            let mode = if read && kind == LockKind::RwLock { Shared } else { Exclusive };
            let free_for = |mode: Mode| {
                states.iter().enumerate().all(|(i, s)| match s {
                    State::Holds(held, _) if i != who as usize => *held == Shared && mode == Shared,
                    _ => true,
                })
            };
            let site = SiteId(who);
            let what = match states[who as usize] {
                State::Idle if free_for(mode) && !extra => {
                    states[who as usize] = State::Holds(mode, 1);
                    What::Acquire { lock, mode, site }
                }
                State::Idle => {
                    states[who as usize] = State::Waits(mode);
                    What::Request { lock, mode, site }
                }
                State::Waits(mode) if free_for(mode) => {
                    states[who as usize] = State::Holds(mode, 1);
                    What::Acquired { lock, mode, how: How::spinning(1) }
                }
                State::Waits(mode) if extra => {
                    states[who as usize] = State::Idle;
                    What::Timeout { lock, mode }
                }
                State::Waits(_) => continue,
                State::Holds(mode, depth) if extra && kind == LockKind::Mutex && depth < 3 => {
                    states[who as usize] = State::Holds(mode, depth + 1);
                    What::Acquire { lock, mode, site }
                }
                State::Holds(mode, depth) => {
                    states[who as usize] = if depth == 1 { State::Idle } else { State::Holds(mode, depth - 1) };
                    What::Release { lock, mode, site }
                }
            };
            events.push((now, thread, what));
        }
        events.push((now + 3, ThreadIndex(0), What::Marker { name: 0, value: 0 }));
        events
    })
}

/// Computes blocked time, sections and overhead in the windows tick by tick: a waiter's tick counts
/// as sections if another thread holds the lock, as overhead if no thread does.
fn oracle(events: &[(u64, ThreadIndex, What)], windows: &[(u64, u64)]) -> [u64; 3] {
    let last = events.last().unwrap().0;
    let mut totals = [0; 3];
    let (mut held, mut waits) = ([0u32; 5], [false; 5]);
    let mut next = events.iter().peekable();
    for tick in 0..last {
        while let Some((_, thread, what)) = next.next_if(|(time, ..)| *time <= tick) {
            let i = thread.index();
            match what {
                What::Acquire { .. } => held[i] += 1,
                What::Request { .. } => waits[i] = true,
                What::Acquired { .. } => (held[i], waits[i]) = (1, false),
                What::Timeout { .. } => waits[i] = false,
                What::Release { .. } => held[i] -= 1,
                _ => {}
            }
        }
        if !windows.iter().any(|(begin, end)| (*begin..*end).contains(&tick)) {
            continue;
        }
        for i in (0..5).filter(|i| waits[*i]) {
            totals[0] += 1;
            if (0..5).any(|j| j != i && held[j] > 0) {
                totals[1] += 1;
            } else if held[i] == 0 {
                totals[2] += 1;
            }
        }
    }
    totals
}

fn check(events: Vec<(u64, ThreadIndex, What)>, windows: Vec<(u64, u64)>) -> Result<(), TestCaseError> {
    let expected = oracle(&events, &windows);
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in &events {
        builder.push(Ticks(*time), *thread, *what);
    }
    let trace = builder.build();
    let stretches: Vec<_> = windows.iter().map(|(a, b)| (Ticks(*a), Ticks(*b))).collect();
    let analysis = Analysis::of(&trace, Window::between(&trace, &stretches));
    let Some(lock) = analysis.locks.first() else { return Ok(()) };
    let stats = &lock.stats;
    prop_assert_eq!([stats.blocked.0, stats.sections.0, stats.overhead.0], expected);
    prop_assert_eq!(stats.residual(), 0);
    prop_assert!(stats.anomalies.is_clean());
    // The figures of the sites must add up to the lock's figures, and all blame to the lock's
    // sections.
    let by_site =
        stats.sites.values().fold([0; 3], |t, s| [t[0] + s.blocked.0, t[1] + s.sections.0, t[2] + s.overhead.0]);
    prop_assert_eq!(by_site, expected);
    let blame: u64 = stats.sites.values().map(|s| s.blame.0).sum();
    prop_assert_eq!(blame, stats.sections.0);
    prop_assert_eq!(stats.threads.values().map(|s| s.blame.0).sum::<u64>(), blame);
    prop_assert_eq!(stats.waited_for.values().map(|t| t.0).sum::<u64>(), blame);
    let queue: u64 = stats.queue.iter().map(|(n, t)| u64::from(*n) * t.0).sum();
    prop_assert_eq!(queue, stats.blocked.0);
    Ok(())
}

proptest! {
    #![proptest_config(baton_needs::property!(300))]

    #[test]
    fn mutex_accounts_match_the_oracle(events in history(LockKind::Mutex)) {
        check(events, vec![(0, u64::MAX)])?;
    }

    #[test]
    fn rwlock_accounts_match_the_oracle(events in history(LockKind::RwLock)) {
        check(events, vec![(0, u64::MAX)])?;
    }

    #[test]
    fn windows_clip_as_the_oracle_does(events in history(LockKind::RwLock), cuts in prop::collection::btree_set(0u64..250, 2..6)) {
        let cuts: Vec<u64> = cuts.into_iter().collect();
        check(events, cuts.chunks_exact(2).map(|c| (c[0], c[1])).collect())?;
    }
}
