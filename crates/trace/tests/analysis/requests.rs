//! Tests for requests, found at sockets and between named points, and for the parts that their time
//! consists of.

use baton_trace::analysis::requests::{Asked, Clients, Counted, Part, Request, Requests};
use baton_trace::point::call;
use baton_trace::{
    Clock, How, Lock, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, Trace, TraceBuilder,
    WakeReason, What,
};

const LOCK: Lock = Lock::mutex(0x1000);
const SITE: SiteId = SiteId::UNKNOWN;

fn trace(mut events: Vec<(u64, u32, What)>) -> Trace {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.name_marker(1, "begin").name_marker(2, "end");
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        trace.push(Ticks(time), ThreadIndex(thread), what);
    }
    trace.build()
}

fn called(name: &str, file: u16, outcome: Outcome, ticks: u32) -> What {
    let number = call(name).unwrap();
    What::Called { call: SystemCall { number, outcome, file: Some(file), ticks }, site: SITE }
}

fn read(file: u16, ticks: u32) -> What {
    called("read", file, Outcome::Done, ticks)
}

fn write(file: u16) -> What {
    called("write", file, Outcome::Done, 5)
}

fn off(reason: OffReason) -> What {
    What::OffCpu { tid: 0, reason }
}

const ON: What = What::OnCpu { tid: 0, cpu: 0 };

fn found(trace: &Trace) -> Requests {
    Requests::of(trace, &Asked::Find)
}

fn part(request: &Request, part: Part) -> u64 {
    request.parts.iter().find(|(of, _)| *of == part).map_or(0, |(_, length)| length.0)
}

fn lock_of(request: &Request) -> u64 {
    request.parts.iter().filter(|(of, _)| matches!(of, Part::Lock(_))).map(|(_, length)| length.0).sum()
}

/// A request begins when its data has woken the reader, and its parts add up to its time.
#[test]
fn a_request_lasts_from_its_data_to_its_answer() {
    let exclusive = Mode::Exclusive;
    let trace = trace(vec![
        (0, 0, What::ThreadStart { handle: 1 }),
        (110, 0, off(OffReason::Blocked)),
        (1_000, 0, ON),
        (1_010, 0, read(7, 910)),
        (1_100, 0, What::Request { lock: LOCK, mode: exclusive, site: SITE }),
        (1_110, 0, off(OffReason::Blocked)),
        (1_390, 0, ON),
        (1_400, 0, What::Acquired { lock: LOCK, mode: exclusive, how: How::sleeping(1) }),
        (1_500, 0, What::Release { lock: LOCK, mode: exclusive, site: SITE }),
        (1_600, 0, off(OffReason::Preempted)),
        (1_800, 0, ON),
        (1_850, 0, off(OffReason::Blocked)),
        (1_900, 0, ON),
        (2_000, 0, write(7)),
        // The next request's data has come before it is read, and comes in two pieces.
        (2_050, 0, read(7, 20)),
        (2_060, 0, read(7, 5)),
        (2_100, 0, write(7)),
        (2_130, 0, write(7)),
        (2_200, 0, called("read", 7, Outcome::Nothing, 5)),
        (2_300, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let requests = found(&trace);
    let [first, second] = &requests.all[..] else { panic!("{requests:?}") };
    assert_eq!((first.begin, first.end), (Ticks(1_000), Ticks(2_000)));
    let parts = [Part::Cpu, Part::Ready, Part::Outside].map(|of| part(first, of));
    assert_eq!((parts, lock_of(first)), ([450, 200, 50], 300));
    assert_eq!(first.parts.iter().map(|(_, length)| length.0).sum::<u64>(), first.latency().0);
    assert_eq!((second.begin, second.end), (Ticks(2_030), Ticks(2_130)));
    assert_eq!((requests.calls, requests.unfinished, requests.connections.len()), (Some(("read", "write")), 0, 1));
}

/// A socket that is written first is a client's and makes no request. After an accept of the same
/// number, the socket is a server's.
#[test]
fn a_client_makes_no_request_of_its_own() {
    let trace = trace(vec![
        (10, 0, write(5)),
        (20, 0, read(5, 5)),
        (30, 0, write(5)),
        (40, 0, read(5, 5)),
        (50, 1, called("accept", 5, Outcome::Done, 5)),
        (60, 1, read(5, 5)),
        (70, 1, write(5)),
        (80, 1, read(5, 5)),
        (85, 1, called("read", 6, Outcome::WouldWait, 5)),
    ]);
    let requests = found(&trace);
    assert_eq!((requests.all.len(), requests.unfinished), (1, 1), "{requests:?}");
    assert_eq!((requests.all[0].thread, requests.all[0].begin), (ThreadIndex(1), Ticks(55)));
}

/// One thread serves several sockets: each request's time counts from the moment at which its data
/// was ready, although the thread was busy with another request.
#[test]
fn a_request_waits_behind_those_of_its_thread() {
    let trace = trace(vec![
        (
            100,
            0,
            What::Called {
                call: SystemCall { number: call("epoll_wait").unwrap(), outcome: Outcome::Done, file: None, ticks: 50 },
                site: SITE,
            },
        ),
        (110, 0, read(5, 5)),
        (200, 0, write(5)),
        (210, 0, read(6, 5)),
        (300, 0, write(6)),
    ]);
    let requests = found(&trace);
    let of: Vec<(u64, u64)> = requests.all.iter().map(|one| (one.latency().0, part(one, Part::Behind))).collect();
    assert_eq!(of, [(100, 5), (200, 105)]);
}

/// Another thread answers a request than the one that read it. The time up to the second thread's
/// wake-up counts as the way between the two.
#[test]
fn a_request_is_passed_along() {
    let trace = trace(vec![
        (0, 1, What::CondWait { condition: 0x50, site: SITE }),
        (100, 0, read(5, 10)),
        (150, 0, What::CondSignal { condition: 0x50, site: SITE }),
        (180, 1, What::CondWake { condition: 0x50, reason: WakeReason::Woken }),
        (260, 1, write(5)),
    ]);
    let requests = found(&trace);
    let one = &requests.all[0];
    assert_eq!((one.thread, one.answered_by, one.latency()), (ThreadIndex(0), ThreadIndex(1), Ticks(170)));
    assert_eq!((part(one, Part::Passed), part(one, Part::Cpu)), (90, 80));
}

#[test]
fn named_points_begin_and_end_requests_and_one_alone_is_counted() {
    let marker = |name| What::Marker { name, value: 0 };
    let trace = trace(vec![
        (10, 0, marker(2)),
        (20, 0, marker(1)),
        (50, 0, marker(2)),
        (60, 0, marker(1)),
        (70, 0, marker(1)),
        (90, 0, marker(2)),
        (95, 1, marker(1)),
    ]);
    let named = |name: &str| Counted::Marker(name.to_owned());
    let requests = Requests::of(&trace, &Asked::Request(named("begin"), named("end")));
    let times: Vec<(u64, u64)> = requests.all.iter().map(|one| (one.begin.0, one.end.0)).collect();
    assert_eq!((times, requests.begun_twice, requests.unfinished), (vec![(20, 50), (70, 90)], 1, 1));
    let alone = Requests::of(&trace, &Asked::Point(named("begin")));
    assert_eq!((alone.passages.values().map(Vec::len).sum::<usize>(), alone.span()), (4, (Ticks(20), Ticks(95))));
    let none = Requests::of(&trace, &Asked::Point(named("nowhere")));
    assert_eq!((none.passages.len(), none.span()), (0, (Ticks(0), Ticks(0))));
}

/// A trace of four connections with 20 requests each. The next request of a connection comes after
/// its own answer, or, with `together`, after the answers of all four.
fn rounds(together: bool) -> Trace {
    let mut events = Vec::new();
    for round in 0..20u64 {
        for client in 0..4u64 {
            let thread = client as u32;
            let begin = if together { 1_000 * round + client } else { 400 * round + 100 * client };
            events.push((begin + 10, thread, read(client as u16, 10)));
            events.push((begin + 300, thread, write(client as u16)));
        }
    }
    trace(events)
}

#[test]
fn clients_that_wait_for_all_answers_are_told_from_others() {
    let clients = Clients::of(&found(&rounds(true)));
    assert_eq!((clients.connections, clients.together, clients.think.len()), (4, true, 76));
    assert_eq!((clients.quantile(0.0), clients.quantile(1.0)), (Ticks(697), Ticks(700)));
    let clients = Clients::of(&found(&rounds(false)));
    assert_eq!((clients.connections, clients.together, clients.quantile(0.5)), (4, false, Ticks(100)));
    let none = Clients::of(&Requests::default());
    assert_eq!((none.connections, none.together, none.quantile(0.99)), (0, false, Ticks(0)));
}
