//! A server's requests in every form of a report, and points that the user named.

use crate::schema;
use baton_report::terminal::{self, Style};
use baton_report::{Profile, export, html};
use baton_trace::point::call;
use baton_trace::{
    Clock, How, Lock, Meta, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, TraceBuilder, What,
};

const LOCK: Lock = Lock::mutex(0x1000);
const SITE: SiteId = SiteId(1);
const THREADS: u64 = 4;
/// How long a request holds the lock, in nanoseconds.
const HELD: u64 = 20_000;

fn called(name: &str, file: u64, ticks: u32) -> What {
    let file = Some(file as u16);
    let call = SystemCall { number: call(name).unwrap(), outcome: Outcome::Done, file, ticks };
    What::Called { call, site: SITE }
}

/// A server with four connections, each with a thread of its own. In each round all four have a
/// request, and each request takes the same lock.
fn server(rounds: u64, meta: Meta) -> Profile {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.name_object(LOCK.address, "cache_lock").site(SITE, &[0x10]).name_marker(1, "served").meta(meta);
    let mode = Mode::Exclusive;
    for thread in 0..THREADS {
        trace.push(Ticks(0), ThreadIndex(thread as u32), What::ThreadStart { handle: 100 + thread });
        trace.push(Ticks(10), ThreadIndex(thread as u32), What::OffCpu { tid: 0, reason: OffReason::Blocked });
    }
    for round in 0..rounds {
        for thread in 0..THREADS {
            let (came, id) = (1_000 + round * THREADS * (HELD + 200), ThreadIndex(thread as u32));
            let mut push = |time: u64, what: What| {
                trace.push(Ticks(time), id, what);
            };
            let got = came + 100 + thread * (HELD + 100);
            push(came, What::OnCpu { tid: 0, cpu: 0 });
            push(came + 10, called("read", 5 + thread, 500));
            match thread {
                0 => push(got, What::Acquire { lock: LOCK, mode, site: SITE }),
                _ => {
                    push(came + 110, What::Request { lock: LOCK, mode, site: SITE });
                    push(got, What::Acquired { lock: LOCK, mode, how: How::sleeping(1) });
                }
            }
            push(got + HELD, What::Release { lock: LOCK, mode, site: SITE });
            push(got + HELD + 40, called("write", 5 + thread, 10));
            push(got + HELD + 41, What::Marker { name: 1, value: 0 });
            push(got + HELD + 50, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        }
    }
    Profile::of(trace.build())
}

/// A server whose threads work on CPUs for `start_up` nanoseconds before the first request comes. Then
/// each of its four connections has a request a millisecond, which takes 20 µs.
fn light(start_up: u64) -> Profile {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(SITE, &[0x10]).meta(killed());
    for thread in 0..THREADS {
        let id = ThreadIndex(thread as u32);
        let mut push = |time: u64, what: What| {
            trace.push(Ticks(time), id, what);
        };
        push(0, What::ThreadStart { handle: 100 + thread });
        push(0, What::OnCpu { tid: 0, cpu: 0 });
        push(start_up, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        for round in 0..100 {
            let came = start_up + 1_000_000 * (round + 1);
            push(came, What::OnCpu { tid: 0, cpu: 0 });
            push(came + 10, called("read", 5 + thread, 500));
            push(came + 20_000, called("write", 5 + thread, 10));
            push(came + 20_050, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        }
    }
    Profile::of(trace.build())
}

/// What a server does before its first request does not make the CPUs a limit of its requests.
#[test]
fn work_before_the_first_request_takes_no_cpu_from_requests() {
    for start_up in [1_000, 100_000_000] {
        let report = light(start_up).report;
        let requests = report.requests.as_ref().expect("requests");
        // In the last round the span ends with the answer.
        assert_eq!((requests.span_ns.0, requests.running_ns.0), (99_020_000, 400 * 20_050 - 4 * 50));
        assert_eq!(report.verdict.limit, "clients", "{}", report.verdict.headline);
    }
}

fn killed() -> Meta {
    Meta { command: vec!["./server".into()], exit_signal: Some(15), ..Meta::default() }
}

fn named(point: &str) -> Profile {
    let mut meta = killed();
    meta.extra.insert(baton_report::model::PROGRESS.to_owned(), point.into());
    server(10, meta)
}

fn text(profile: &Profile) -> String {
    let text = terminal::summary(&profile.report, Style::default());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_limits_a_server_is_said_in_requests() {
    let profile = server(100, killed());
    let requests = profile.report.requests.as_ref().expect("requests");
    assert_eq!((requests.count, requests.connections, requests.together), (400, 4, true));
    assert_eq!(requests.per_second.map(f64::round), Some(49_507.0));
    assert_eq!(requests.latency_ns.p50_ns.0, 20_140 + 20_100);
    assert_eq!((requests.latency_ns.max_ns.0, requests.slowest.len()), (20_140 + 3 * 20_100, 5));
    let lock = requests.parts.iter().find(|part| part.kind == "lock").expect("waits for the lock");
    assert!((lock.share - 0.6).abs() < 0.01, "{lock:?}");
    let text = text(&profile);
    for expected in [
        "Verdict: cache_lock limits the throughput: it is held or waited for during",
        "a request spends 30.1µs waiting for cache_lock",
        "It answers 49.5k requests a second, half of them within 40.2µs, 99% within 80.4µs.",
        "cache_lock is held or waited for during 99.4% of the time: as it is, it allows at most 49.8k requests a second",
        "baton whatif DIR --shrink cache_lock=0.5",
        "Requests: 49.5k a second (400 in 8.08ms, read..write)",
        "4 connections of a client that waits for all answers",
    ] {
        assert!(text.contains(expected), "`{expected}` is not in: {text}");
    }
    assert!(html::page(&profile, &[]).contains("\"requests\""));
}

#[test]
fn the_json_has_requests_and_progress() {
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/report.schema.json")).unwrap();
    for profile in [server(10, killed()), named("mark:served"), named("mark:nowhere"), named("read..write")] {
        let mut out = Vec::new();
        export::write_json(&profile, &mut out).unwrap();
        let value = serde_json::from_slice(&out).unwrap();
        assert_eq!(schema::violations(&schema, &value), Vec::<String>::new());
    }
}

/// A point that is passed is counted. A point that never came, or that cannot be followed, has a
/// row that says so.
#[test]
fn named_points_are_counted_or_said_not_to_have_come() {
    let progress = |point: &str| named(point).report.progress.expect("a point");
    let one = progress("mark:served");
    assert_eq!((one.count, one.threads, one.remark), (40, 4, None));
    assert!(one.per_second.is_some_and(|rate| (rate - 50_000.0).abs() < 3_000.0), "{:?}", one.per_second);
    assert_eq!(progress("lock:cache_lock").count, 40);
    for (point, remark) in [
        ("accept", "it never came"),
        ("lock:other", "no lock of the recording is called `other`"),
        ("cond:other", "no condition variable of the recording is called `other`"),
        ("mark:other", "the program passed no marker `other`"),
        ("read@nowhere.c:1", "no call of the recording is at `nowhere.c:1`"),
        ("func:handle", "a recording has no event for the entries of `handle`"),
        ("write..accept", "no request ended"),
    ] {
        let said = progress(point);
        assert_eq!((said.count, said.per_second), (0, None), "{point}");
        assert!(said.remark.as_ref().is_some_and(|text| text.contains(remark)), "{point}: {said:?}");
        assert!(text(&named(point)).contains("Progress:"), "{point}");
    }
    let requests = named("lock:cache_lock..mark:served").report.requests.expect("requests");
    assert_eq!((requests.count, requests.named, requests.latency_ns.p50_ns.0), (40, true, 20_041));
}

/// Eight requests give the report no section on requests. Forty give it one, but are too few for
/// the verdict on a server.
#[test]
fn few_requests_do_not_make_a_server() {
    assert!(server(2, killed()).report.requests.is_none());
    let short = server(10, killed());
    assert!(short.report.requests.is_some() && !short.report.verdict.headline.contains("throughput"));
}
