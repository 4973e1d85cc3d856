//! The published JSON: what is written fits the schema, reads back, and is the same every time.

use crate::schema;
use crate::support;
use baton_report::model::Report;
use baton_report::{Profile, export};
use baton_trace::{Clock, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};
use serde_json::Value;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/schema/report.schema.json")).expect("the schema is JSON")
}

/// A trace whose report has locks, classes, threads, call sites, waitables, waiters and regions.
fn profile() -> Profile {
    let mut builder = support::builder(4, 60);
    builder.name_marker(1, "phase one");
    builder.push(Ticks(5_000), ThreadIndex(1), What::RoiBegin { name: 1 });
    builder.push(Ticks(50_000), ThreadIndex(1), What::RoiEnd { name: 1 });
    builder.push(Ticks(60), ThreadIndex(0), What::Note { address: support::TABLE, code: baton_trace::notes::ROBUST });
    // A release of a lock that no thread holds gives a doubt; a try that fails does not.
    let lock = baton_trace::Lock::mutex(support::ROWS);
    builder.push(Ticks(70), ThreadIndex(0), What::TryFail { lock, mode: Mode::Exclusive, site: SiteId(1) });
    builder.push(Ticks(80), ThreadIndex(0), What::Release { lock, mode: Mode::Exclusive, site: SiteId(1) });
    Profile::of(builder.build())
}

fn json(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    export::write_json(profile, &mut out).expect("memory takes everything");
    out
}

#[test]
fn what_is_written_fits_the_schema() {
    let value: Value = serde_json::from_slice(&json(&profile())).expect("JSON");
    assert_eq!(schema::violations(&schema(), &value), Vec::<String>::new());
    for list in ["locks", "classes", "threads", "sites", "waitables", "waiters", "regions"] {
        assert!(value[list].as_array().is_some_and(|l| !l.is_empty()), "{list} is empty: its schema was not tried");
    }
    assert!(value["locks"].as_array().into_iter().flatten().any(|l| l["doubts"][0].is_string()));
    assert_eq!(value["limits"]["notes"][0]["object"], "table_lock");
}

#[test]
fn what_does_not_fit_is_found() {
    let good: Value = serde_json::from_slice(&json(&profile())).expect("JSON");
    let spoil = |path: &str, with: Option<Value>| {
        let mut bad = good.clone();
        let (parent, name) = path.rsplit_once('/').expect("a path");
        let parent = bad.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        match with {
            Some(value) => parent.insert(name.to_owned(), value),
            None => parent.remove(name),
        };
        schema::violations(&schema(), &bad).len()
    };
    assert_eq!(spoil("/totals/span_ns", None), 1);
    assert_eq!(spoil("/totals/span_ns", Some("long".into())), 1);
    assert_eq!(spoil("/totals/more", Some(1.into())), 1);
    assert_eq!(spoil("/locks/0/wait_ns/p50_ns", Some((-1).into())), 1);
    assert_eq!(spoil("/schema", Some("baton-report/2".into())), 1);
}

/// Every integer or other number whose name does not end in `_ns` has a description that does not
/// speak of a time.
#[test]
fn durations_end_in_ns() {
    fn walk(value: &Value, count: &mut usize) {
        for (name, property) in value["properties"].as_object().into_iter().flatten() {
            let about = property["description"].as_str().unwrap_or_default();
            assert!(!about.is_empty(), "{name} has no description");
            if name.ends_with("_ns") {
                *count += 1;
            } else {
                let number =
                    property["type"].to_string().contains("integer") || property["type"].to_string().contains("number");
                let of_time = ["Time ", "How long", "longest", "duration"].iter().any(|w| about.contains(w));
                assert!(!(number && of_time), "{name} looks like a duration: {about}");
            }
        }
    }
    let schema = schema();
    let mut count = 0;
    walk(&schema, &mut count);
    for definition in schema["$defs"].as_object().into_iter().flatten() {
        walk(definition.1, &mut count);
    }
    assert!(count > 40, "{count}");
}

#[test]
fn it_reads_back_and_is_the_same_every_time() {
    let (first, second) = (json(&profile()), json(&profile()));
    assert_eq!(first, second);
    let back: Report = serde_json::from_slice(&first).expect("a report");
    let mut again = serde_json::to_vec_pretty(&back).expect("JSON");
    again.push(b'\n');
    assert_eq!(again, first);
}

/// Two threads with the program's name get their numbers behind it; a name that one thread alone
/// has stays as it is.
#[test]
fn threads_of_one_name_are_told_apart() {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (i, name) in ["app", "app", "logger"].into_iter().enumerate() {
        let thread = builder.thread(name);
        builder.push(Ticks(i as u64), thread, What::ThreadStart { handle: i as u64 });
    }
    let report = Profile::of(builder.build()).report;
    assert_eq!(report.threads.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["app 1", "app 2", "logger"]);
}
