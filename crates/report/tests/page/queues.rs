//! The table of queues, and the stage that holds a pipeline up.

use crate::schema;
use baton_report::Profile;
use baton_report::export;
use baton_report::terminal::{self, Style};
use baton_trace::{Clock, SiteId, Stream, ThreadIndex, Ticks, TraceBuilder, Waitable, What};

const MS: u64 = 1_000_000;
const SITE: SiteId = SiteId(1);
/// The queue before the slow stage, and the one behind it.
const QUEUES: [u64; 2] = [0x1000, 0x2000];

/// Thread 0 puts ten tasks in, thread 1 needs 9 ms for each, thread 2 takes the results.
fn pipeline() -> TraceBuilder {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(SITE, &[0x1001]);
    let [reads, works, writes] = ["reads", "works", "writes"].map(|name| trace.thread(name));
    for (handle, thread) in (1..).zip([reads, works, writes]) {
        trace.push(Ticks(0), thread, What::ThreadStart { handle });
    }
    let [tasks, results] = QUEUES;
    for (queue, name) in [(tasks, "tasks"), (results, "results")] {
        trace.name_object(queue, name);
        trace.push(Ticks(1), reads, What::Init { sort: Waitable::Queue, address: queue, site: SITE });
        trace.push(Ticks(1), reads, What::QueueCapacity { queue, capacity: 1 });
    }
    let (put, take) = (|queue| What::Put { queue, items: 1 }, |queue| What::Take { queue, items: 1 });
    trace.push(Ticks(1000), reads, put(tasks));
    for turn in 0..10 {
        let (now, done) = (1000 + turn * 10 * MS, 1000 + turn * 10 * MS + 9 * MS);
        trace.push(Ticks(now + 10), works, take(tasks));
        if (1..=8).contains(&turn) {
            trace.push(Ticks(now + 20), reads, What::PutWaited { queue: tasks, gave_up: false });
        }
        if turn <= 8 {
            trace.push(Ticks(now + 20), reads, put(tasks));
        }
        if turn <= 7 {
            trace.push(Ticks(now + 30), reads, What::PutWait { queue: tasks, site: SITE });
        }
        trace.push(Ticks(now + 50), writes, What::TakeWait { queue: results, site: SITE });
        trace.push(Ticks(done), works, put(results));
        trace.push(Ticks(done + 10), writes, What::TakeWaited { queue: results, gave_up: false });
        trace.push(Ticks(done + 10), writes, take(results));
    }
    trace
}

fn json(profile: &Profile) -> serde_json::Value {
    let mut out = Vec::new();
    export::write_json(profile, &mut out).expect("memory takes everything");
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn the_queues_and_the_slow_stage_are_told() {
    let profile = Profile::of(pipeline().build());
    let report = &profile.report;
    let names: Vec<_> = report.queues.iter().map(|queue| (queue.name.as_str(), queue.takes.items)).collect();
    assert_eq!(names, [("results", 10), ("tasks", 10)]);
    let [results, tasks] = &report.queues[..] else { panic!("{:?}", report.queues) };
    assert!(tasks.puts.waited_ns.0 > 79 * MS && results.takes.waited_ns.0 > 89 * MS);
    assert_eq!((tasks.puts.threads[0].thread, results.takes.threads[0].thread, tasks.most_items), (0, 2, 1));
    let stage = report.slow_stage.as_ref().expect("a slow stage");
    assert_eq!((&stage.threads[..], stage.waiting_share), (&[1][..], 0.0));

    let text = terminal::summary(report, Style::default());
    let row = text.lines().find(|line| line.starts_with("tasks ")).unwrap_or_else(|| panic!("{text}"));
    assert!(row.contains("80.0ms"), "{row}");
    let told = text.lines().find(|line| line.starts_with("slow stage:")).unwrap_or_else(|| panic!("{text}"));
    assert!(told.contains("works takes from tasks and puts into results"), "{told}");

    let value = json(&profile);
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/report.schema.json")).expect("the schema is JSON");
    assert_eq!(schema::violations(&schema, &value), Vec::<String>::new());
    assert!(value["slow_stage"].is_object() && value["threads"][0]["queue_ns"].is_u64());
}

/// A thread takes ten items of a queue between processes, and waits for each. `puts` are in the recording too.
fn between_processes(puts: u32) -> TraceBuilder {
    let queue = Stream::Queue.address(77);
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(SITE, &[0x1001]);
    let [sends, receives] = ["sends", "receives"].map(|name| trace.thread(name));
    for (handle, thread) in (1..).zip([sends, receives]) {
        trace.push(Ticks(0), thread, What::ThreadStart { handle });
    }
    trace.push(Ticks(1), receives, What::QueueCapacity { queue, capacity: 4 });
    for turn in 0..10u32 {
        let now = u64::from(turn) * MS;
        trace.push(Ticks(now + 10), receives, What::TakeWait { queue, site: SITE });
        if turn < puts {
            trace.push(Ticks(now + MS / 2), sends, What::Put { queue, items: 1 });
        }
        trace.push(Ticks(now + MS - 10), receives, What::TakeWaited { queue, gave_up: false });
        trace.push(Ticks(now + MS - 10), receives, What::Take { queue, items: 1 });
    }
    trace
}

#[test]
fn a_side_of_a_queue_that_is_in_another_process_is_told() {
    for (puts, elsewhere) in [(0, true), (7, true), (10, false)] {
        let profile = Profile::of(between_processes(puts).build());
        let [queue] = &profile.report.queues[..] else { panic!("{:?}", profile.report.queues) };
        assert_eq!((queue.puts.items, queue.takes.items, queue.capacity), (u64::from(puts), 10, Some(4)));
        assert_eq!((queue.puts.elsewhere, queue.takes.elsewhere), (elsewhere, false), "{puts} puts");
        let text = terminal::summary(&profile.report, Style::default());
        let told = "elsewhere: a process that is not in the recording puts items into the queue between processes";
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(flat.contains(told), elsewhere, "{text}");
        assert!(!text.contains("items:"), "no bytes pass through it: {text}");
        let side = &json(&profile)["queues"][0]["puts"];
        assert_eq!(side.get("elsewhere").is_some(), elsewhere, "{side}");
    }
}

#[test]
fn a_program_without_queues_has_none_in_its_json() {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 1 });
    trace.push(Ticks(9), ThreadIndex(0), What::Exit);
    let value = json(&Profile::of(trace.build()));
    assert!(value.get("queues").is_none() && value.get("slow_stage").is_none());
    assert!(value["threads"][0].get("queue_ns").is_none());
}
