//! OpenMP's regions and tasks in every form of a report.

use baton_report::terminal::{self, Style};
use baton_report::{Profile, html};
use baton_trace::{Clock, Construct, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};

const REGION: u64 = 0x1234;
const OPENS: SiteId = SiteId(1);

/// Four regions of two threads. The worker arrives last at the end of three regions, and the master
/// at that of the fourth. In each region the worker creates a task, and runs it while it waits for
/// it.
fn trace() -> Trace {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(OPENS, &[REGION]);
    let mut push = |time, thread, what| {
        trace.push(Ticks(time), ThreadIndex(thread), what);
    };
    push(0, 0, What::ThreadStart { handle: 1 });
    push(5, 1, What::ThreadStart { handle: 2 });
    push(6, 0, What::Construct { barrier: REGION, construct: Construct::Region });
    for n in 0..4 {
        let at = 1_000 + n * 100_000;
        push(at, 0, What::Fork { region: REGION, site: OPENS });
        push(at + 100, 0, What::TeamBegin { region: REGION, threads: 2, idled: false });
        push(at + 200, 1, What::TeamBegin { region: REGION, threads: 2, idled: n > 0 });
        push(at + 1_000, 1, What::TaskCreate { task: n, site: OPENS });
        push(at + 2_000, 1, What::TaskWaitBegin { site: OPENS });
        push(at + 3_000, 1, What::TaskBegin { task: n });
        push(at + 9_000, 1, What::TaskEnd { task: n });
        push(at + 9_500, 1, What::TaskWaitEnd);
        let (first, last) = if n == 3 { (1, 0) } else { (0, 1) };
        push(at + 10_000, first, What::BarrierArrive { barrier: REGION, site: OPENS });
        push(at + 50_000, last, What::BarrierArrive { barrier: REGION, site: OPENS });
        push(at + 50_001, 1, What::BarrierLeave { barrier: REGION, serial: false });
        push(at + 50_001, 1, What::IdleBegin { region: REGION });
        push(at + 50_100, 0, What::BarrierLeave { barrier: REGION, serial: false });
    }
    push(500_000, 0, What::ThreadEnd { handle: 1 });
    trace.build()
}

#[test]
fn regions_say_who_came_last_and_how_long_others_waited() {
    let profile = Profile::of(trace());
    let report = &profile.report;
    let [region] = &report.parallel[..] else { panic!("one region: {:?}", report.parallel) };
    assert_eq!((region.time_ns.count, region.least_threads, region.most_threads, region.ends), (4, 2, 2, 4));
    assert_eq!(region.latest(), Some((1, 0.75)));
    assert!(
        (0.35..0.45).contains(&region.imbalance),
        "each waits four fifths of half the regions: {}",
        region.imbalance
    );
    let kinds: Vec<_> = report.tasks.iter().map(|site| (site.kind.as_str(), site.time_ns.count)).collect();
    assert_eq!(kinds, [("wait", 4), ("task", 4)]);
    let worker = &report.threads[1];
    assert!(worker.idle_ns.0 > 0 && worker.task_wait_ns.0 == 4 * 1_500, "{worker:?}");
    let [barrier] = &report.waitables[..] else { panic!("one barrier") };
    assert_eq!((barrier.construct.as_deref(), barrier.rounds), (Some("region"), 4));
    assert!(barrier.name.starts_with("region end"), "{}", barrier.name);

    let text = terminal::summary(report, Style::default());
    for expected in ["Parallel regions", "came last", "75", "Tasks, and waits for them", "idle"] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    let page = html::page(&profile, &[]);
    assert!(page.contains("openmp-table") && page.contains("\"parallel\":[{"));
}

/// The JSON of a report with regions and tasks fits the published schema.
#[test]
fn the_schema_knows_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/report.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let json = serde_json::to_value(Profile::of(trace()).report).unwrap();
    assert_eq!(crate::schema::violations(&schema, &json), Vec::<String>::new());
}
