//! What limits a server: a lock that requests wait for, one thread that serves, or what the trace does
//! not show.

use baton_report::Profile;
use baton_report::model::Report;
use baton_trace::meta::Host;
use baton_trace::point::call;
use baton_trace::{
    Clock, FutexEnd, How, Lock, Meta, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, TraceBuilder,
    What,
};

const LOCK: Lock = Lock::rwlock(0x1000);
const FUTEX: u64 = 0x2000;
const SITE: SiteId = SiteId(1);
const X: Mode = Mode::Exclusive;
const S: Mode = Mode::Shared;

fn called(name: &str, file: u32) -> What {
    let (file, outcome) = (Some(file as u16), Outcome::Done);
    What::Called { call: SystemCall { number: call(name).unwrap(), outcome, file, ticks: 10 }, site: SITE }
}

/// A server with four connections, each with a thread of its own and a request every 10 µs, which is
/// ended by a signal.
struct Server(TraceBuilder);

impl Server {
    fn new(cpus: u32) -> Server {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let host = Host { cpus, ..Host::default() };
        trace.name_object(LOCK.address, "config_lock").site(SITE, &[0x10]);
        trace.meta(Meta { command: vec!["./server".into()], exit_signal: Some(15), host, ..Meta::default() });
        Server(trace)
    }

    fn at(&mut self, time: u64, thread: u32, what: What) -> &mut Server {
        self.0.push(Ticks(time), ThreadIndex(thread), what);
        self
    }

    /// The thread gets a CPU at `time` and reads a request.
    fn read(&mut self, time: u64, thread: u32) -> &mut Server {
        self.at(time, thread, What::OnCpu { tid: 0, cpu: 0 }).at(time + 10, thread, called("read", 5 + thread))
    }

    /// The thread answers at `time`, and blocks in its next read.
    fn answer(&mut self, time: u64, thread: u32) -> &mut Server {
        let off = What::OffCpu { tid: 0, reason: OffReason::Blocked };
        self.at(time, thread, called("write", 5 + thread)).at(time + 20, thread, off)
    }

    fn report(self) -> Report {
        Profile::of(self.0.build()).report
    }
}

/// Readers that hold a lock all the time keep no reader out, and one call of the administrator that
/// waits for it does not limit the requests.
#[test]
fn a_lock_that_requests_do_not_wait_for_limits_no_server() {
    let mut server = Server::new(16);
    for round in 0..100u64 {
        for thread in 0..4u32 {
            let at = 1_000 + round * 10_000 + u64::from(thread) * 100;
            server.read(at, thread).at(at + 20, thread, What::Acquire { lock: LOCK, mode: S, site: SITE });
            server.at(at + 9_700, thread, What::Release { lock: LOCK, mode: S, site: SITE }).answer(at + 9_710, thread);
        }
    }
    server.at(500_000, 4, What::Request { lock: LOCK, mode: X, site: SITE });
    server.at(500_950, 4, What::Acquired { lock: LOCK, mode: X, how: How::sleeping(1) });
    server.at(500_960, 4, What::Release { lock: LOCK, mode: X, site: SITE });
    let report = server.report();
    let lock = &report.locks[0];
    assert!(lock.usage.contended == 1 && lock.usage.busy_ns.0 > 900_000, "{lock:?}");
    assert_eq!(report.requests.as_ref().unwrap().busiest, None);
    assert!(!report.verdict.headline.contains("config_lock"), "{:?}", report.verdict);
    assert!(report.verdict.gains.iter().all(|gain| !gain.contains("config_lock")), "{:?}", report.verdict);
}

/// What a lock is used for before the first request does not count.
#[test]
fn a_lock_is_in_use_only_while_there_are_requests() {
    let mut server = Server::new(16);
    server.at(0, 0, What::Acquire { lock: LOCK, mode: X, site: SITE });
    server.at(500_000, 0, What::Release { lock: LOCK, mode: X, site: SITE });
    for round in 0..100u64 {
        let at = 501_000 + round * 10_000;
        for thread in 0..2u32 {
            let (begin, of) = (at + 100 * u64::from(thread), u64::from(thread));
            server.read(begin, thread);
            match thread {
                0 => server.at(at + 50, 0, What::Acquire { lock: LOCK, mode: X, site: SITE }),
                _ => server.at(at + 150, 1, What::Request { lock: LOCK, mode: X, site: SITE }).at(
                    at + 1_100,
                    1,
                    What::Acquired { lock: LOCK, mode: X, how: How::sleeping(1) },
                ),
            };
            server.at(at + 1_050 + of * 1_050, thread, What::Release { lock: LOCK, mode: X, site: SITE });
            server.answer(at + 1_060 + of * 1_050, thread);
        }
    }
    let report = server.report();
    let busiest = report.requests.as_ref().unwrap().busiest.expect("the lock");
    assert_eq!(busiest.in_use_ns.0, 100 * (1_000 + 50 + 1_000), "{busiest:?}");
    assert_ne!(report.verdict.limit, "sections", "{:?}", report.verdict);
}

/// Four threads take a lock made of a futex by turns, `holds` nanoseconds each.
fn by_futex(holds: u64, by_others: bool) -> Report {
    let mut server = Server::new(16);
    for round in 0..100u64 {
        let at = 1_000 + round * 10_000;
        for thread in 0..4u32 {
            let got = at + 60 + u64::from(thread) * (holds + 20);
            server.read(at, thread);
            if thread > 0 {
                server.at(at + 30, thread, What::FutexWait { futex: FUTEX, site: SITE });
                server.at(got, thread, What::FutexWaitEnd { futex: FUTEX, end: FutexEnd::Woken });
            }
            let by = if by_others { 9 } else { thread };
            if thread < 3 {
                server.at(got + holds, by, What::FutexWake { futex: FUTEX, site: SITE });
                server.at(got + holds + 1, by, What::FutexWoke { futex: FUTEX, asked: 1, woken: 1 });
            }
            server.answer(got + holds + 10, thread);
        }
    }
    server.report()
}

#[test]
fn a_futex_that_requests_wait_for_limits_the_server() {
    let report = by_futex(2_400, false);
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "futex", "{verdict:?}");
    assert!(
        verdict.headline.starts_with("The futex in 0x10 limits the throughput: it is waited for during 7"),
        "{verdict:?}"
    );
    assert!(verdict.headline.contains("a request spends 3.65µs waiting at the futex in 0x10"), "{verdict:?}");
    assert!(verdict.gains.iter().any(|gain| gain.starts_with("without waiting at the futex in 0x10")), "{verdict:?}");
    assert!(verdict.gains.iter().all(|gain| !gain.contains("nothing")), "{verdict:?}");
    assert_eq!(report.requests.unwrap().parts[0].kind, "futex");
}

/// A futex that another thread wakes may be an event: the trace does not show what requests wait for
/// there.
#[test]
fn what_requests_wait_for_at_an_event_is_not_known() {
    let verdict = by_futex(2_400, true).verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.starts_with("Cannot tell what limits the throughput: a request spends"), "{verdict:?}");
    assert!(verdict.next[0].command.as_ref().is_some_and(|command| command.contains("--perfetto")), "{verdict:?}");
}

/// One thread serves eight connections and is never off its CPU, as it does not wait in `epoll_wait`.
fn polls() -> Report {
    let mut server = Server::new(4);
    server.at(0, 0, What::ThreadStart { handle: 1 }).at(10, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked });
    server.at(990, 0, What::OnCpu { tid: 0, cpu: 0 });
    for request in 0..800u64 {
        let (at, file) = (1_000 + request * 1_000, 5 + (request % 8) as u32);
        server.at(at, 0, called("epoll_wait", 0)).at(at + 10, 0, called("read", file)).at(
            at + 200,
            0,
            called("write", file),
        );
    }
    server.report()
}

/// One thread serves eight connections and is never off its CPU: the clients wait for it, although
/// each connection is idle most of the time.
#[test]
fn one_thread_that_is_on_a_cpu_all_the_time_limits_the_server() {
    let serves = |idle: u64| {
        let mut server = Server::new(4);
        server.at(0, 0, What::ThreadStart { handle: 1 }).at(10, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        server.at(990, 0, What::OnCpu { tid: 0, cpu: 0 });
        for round in 0..100u64 {
            for connection in 0..8u32 {
                let at = 1_000 + (round * 8 + u64::from(connection)) * 1_000;
                server.at(at, 0, called("epoll_wait", 0)).at(at + 10, 0, called("read", 5 + connection));
                server.at(at + 900 - idle, 0, called("write", 5 + connection));
                if idle > 0 {
                    server.at(at + 905 - idle, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked });
                    server.at(at + 995, 0, What::OnCpu { tid: 0, cpu: 0 });
                }
            }
        }
        server.report()
    };
    let report = serves(0);
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "serving-threads", "{verdict:?}");
    assert!(verdict.headline.starts_with("One thread limits the throughput: it alone serves"), "{verdict:?}");
    let more = "by more threads that serve: at most 4.0 times as many requests, on 4 CPUs";
    assert!(verdict.gains.iter().any(|gain| gain == more), "{verdict:?}");
    assert!(verdict.next[0].text.contains("another event loop"), "{verdict:?}");
    assert_eq!(serves(700).verdict.limit, "clients");
    // The thread asks for requests again and again without a pause.
    assert_eq!(polls().verdict.limit, "clients");
}
