//! A program that stands still, and orders of locks that could deadlock, in every form of a report.

use baton_report::terminal::{self, Style};
use baton_report::{Profile, html};
use baton_trace::{Clock, Lock, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};

const A: Lock = Lock::mutex(0x1000);
const B: Lock = Lock::mutex(0x2000);
const COND: u64 = 0x3000;
const SITE: SiteId = SiteId(1);
const SECOND: u64 = 1_000_000_000;

fn take(lock: Lock) -> What {
    What::Acquire { lock, mode: Mode::Exclusive, site: SITE }
}
fn want(lock: Lock) -> What {
    What::Request { lock, mode: Mode::Exclusive, site: SITE }
}
fn give(lock: Lock) -> What {
    What::Release { lock, mode: Mode::Exclusive, site: SITE }
}

fn profile(events: &[(u64, u32, What)]) -> Profile {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.name_object(A.address, "a_lock").name_object(B.address, "b_lock").name_object(COND, "ready_cond");
    trace.site(SITE, &[0x10]);
    for n in 0..3 {
        trace.push(Ticks(0), ThreadIndex(n), What::ThreadStart { handle: 100 + u64::from(n) });
    }
    for (time, thread, what) in events {
        trace.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    trace.ends(Ticks(SECOND));
    Profile::of(trace.build())
}

/// Threads 1 and 2 take `a_lock` and `b_lock` in opposite orders and deadlock; the main thread
/// waits to join one of them.
fn deadlock() -> Profile {
    let join = What::JoinBegin { handle: 101, site: SITE };
    let (a, b) = ((500_000, 1, take(A)), (510_000, 2, take(B)));
    profile(&[(10, 0, join), a, b, (520_000, 1, want(B)), (530_000, 2, want(A))])
}

fn text(profile: &Profile) -> String {
    let text = terminal::summary(&profile.report, Style::default());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_deadlock_comes_first_and_no_section_is_to_be_shortened() {
    let profile = deadlock();
    let text = text(&profile);
    for expected in [
        "Verdict: The program stands still since 530µs: deadlock: thread 1",
        "holds a_lock (taken at 0x10) and waits for b_lock (at 0x10); thread 2",
        "1 other thread waits too. It lived on to 1.00s.",
        "Could be won nothing can be said: the program stands still",
        "take a_lock and b_lock in one order",
        "baton report DIR --lock-order",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    assert!(!text.contains("shorter") && !text.contains("would take"), "{text}");
    let report = &profile.report;
    let still = report.standstill.as_ref().expect("it stands still");
    assert_eq!((still.kind.as_str(), &still.circles[..], still.moving), ("deadlock", &[vec![0, 1]][..], 0));
    assert_eq!((still.threads[0].why.as_str(), &still.threads[0].blockers[..]), ("held", &[2][..]));
    assert_eq!(report.verdict.limit, "standstill");
    // Both waits last to the process's end after one second; they begin at 520 and 530 µs.
    assert_eq!(report.totals.blocked_ns.0, 2 * SECOND - 520_000 - 530_000);
    assert!(html::page(&profile, &[]).contains("The program stands still since"));
}

#[test]
fn a_lost_wake_up_is_named_with_its_last_signal() {
    let (condition, site) = (COND, SITE);
    let profile = profile(&[
        (1_000, 0, What::CondSignal { condition, site }),
        (2_000, 0, What::JoinBegin { handle: 101, site }),
        (3_000, 1, take(A)),
        (4_000, 1, What::CondWait { condition, site }),
        (4_010, 1, give(A)),
        (5_000, 2, What::ThreadEnd { handle: 102 }),
    ]);
    let text = text(&profile);
    for expected in [
        "stands still since 5.00µs: nobody moves: thread 1",
        "waits at the condition variable ready_cond (at 0x10): lost wake-up: its last signal, at 1.00µs by thread 0",
        "set a value under the mutex before ready_cond is signalled",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    let still = profile.report.standstill.as_ref().expect("it stands still");
    let words: Vec<_> = still.threads.iter().map(|t| (t.waits_for.as_str(), t.why.as_str())).collect();
    assert_eq!((still.kind.as_str(), words), ("nobody-moves", vec![("join", "join"), ("condition", "lost-wake-up")]));
}

#[test]
fn lock_orders_are_listed_and_the_summary_points_at_them() {
    let nest = |at: u64, thread, first, second| {
        let acts = [take(first), take(second), give(second), give(first)];
        (0..).zip(acts).map(move |(n, what)| (at + n, thread, what)).collect::<Vec<_>>()
    };
    let ends = [1, 2].map(|n| (900, n, What::ThreadEnd { handle: 100 + u64::from(n) }));
    let profile = profile(&[nest(10, 1, A, B), nest(20, 2, B, A), nest(30, 1, A, B), ends.to_vec()].concat());
    assert!(profile.report.standstill.is_none());
    let [circle] = &profile.report.lock_orders[..] else { panic!("{:?}", profile.report.lock_orders) };
    assert_eq!((circle.happened, circle.steps[0].times, circle.steps[1].times), (false, 2, 1));
    let listed = terminal::lock_orders(&profile.report, Style::default());
    assert!(listed.contains("a_lock and b_lock") && listed.contains("then b_lock at 0x10 inside: 2 times"), "{listed}");
    assert!(text(&profile).contains("lock orders: taken in orders that could deadlock: a_lock and b_lock"));
    assert!(deadlock().report.lock_orders[0].happened);
}

#[test]
fn the_schema_knows_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/report.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let json = serde_json::to_value(deadlock().report).unwrap();
    assert_eq!(crate::schema::violations(&schema, &json), Vec::<String>::new());
    assert!(
        json["standstill"]["threads"][0]["holds"][0]["lock"].is_u64() && json["lock_orders"][0]["steps"].is_array()
    );
}

#[test]
fn the_page_shows_both_tables() {
    let name = "the_page_shows_both_tables";
    let chrome = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = baton_needs::first_of(&chrome, name) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let script = r##"
        const root = document.documentElement;
        const rows = (table) => document.querySelectorAll(`#${table} tbody tr`).length;
        root.dataset.rows = `${rows("standstill-table")} ${rows("order-table")}`;
    "##;
    let dom = crate::browser::dom(browser, folder.path(), 1200, &html::page(&deadlock(), &[]), script);
    assert_eq!(crate::browser::attribute(&dom, "rows"), Some("3 2"));
    assert_eq!(crate::browser::attribute(&dom, "error"), None);
}
