//! The conversions, each read back by something other than what wrote it: the `parquet` crate's reader, decoders that `prost` makes
//! from the fields of pprof's and Perfetto's `.proto` files.

use crate::support;
use baton_report::{Profile, export};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// The fields of pprof's `profile.proto` that are used.
#[allow(unreachable_pub, reason = "the fields are read here only")]
mod pprof {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
    }
}

/// The fields of Perfetto's protos that are used.
#[allow(unreachable_pub, reason = "the fields are read here only")]
mod perfetto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub packet: Vec<Packet>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Packet {
        #[prost(uint64, tag = "8")]
        pub timestamp: u64,
        #[prost(uint32, tag = "10")]
        pub trusted_packet_sequence_id: u32,
        #[prost(message, optional, tag = "11")]
        pub track_event: Option<TrackEvent>,
        #[prost(message, optional, tag = "12")]
        pub interned_data: Option<InternedData>,
        #[prost(uint32, tag = "13")]
        pub sequence_flags: u32,
        #[prost(message, optional, tag = "60")]
        pub track_descriptor: Option<TrackDescriptor>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackEvent {
        #[prost(uint64, repeated, tag = "3")]
        pub category_iids: Vec<u64>,
        #[prost(int32, tag = "9")]
        pub r#type: i32,
        #[prost(uint64, tag = "10")]
        pub name_iid: u64,
        #[prost(uint64, tag = "11")]
        pub track_uuid: u64,
        #[prost(fixed64, repeated, tag = "47")]
        pub flow_ids: Vec<u64>,
        #[prost(fixed64, repeated, tag = "48")]
        pub terminating_flow_ids: Vec<u64>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct InternedData {
        #[prost(message, repeated, tag = "1")]
        pub event_categories: Vec<Text>,
        #[prost(message, repeated, tag = "2")]
        pub event_names: Vec<Text>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Text {
        #[prost(uint64, tag = "1")]
        pub iid: u64,
        #[prost(string, tag = "2")]
        pub name: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackDescriptor {
        #[prost(uint64, tag = "1")]
        pub uuid: u64,
        #[prost(message, optional, tag = "4")]
        pub thread: Option<Thread>,
        #[prost(uint64, tag = "5")]
        pub parent_uuid: u64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Thread {
        #[prost(int32, tag = "2")]
        pub tid: i32,
        #[prost(string, tag = "5")]
        pub thread_name: String,
    }
}

fn profile() -> Profile {
    Profile::of(support::trace(4, 200))
}

fn bytes(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[test]
fn pprof_holds_every_figure_of_the_sites() {
    let profile = profile();
    let zipped = bytes(|out| export::write_pprof(&profile, out).expect("memory"));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*zipped).read_to_end(&mut plain).expect("gzip");
    let read = pprof::Profile::decode(&*plain).expect("a profile");
    let text = |n: i64| read.string_table[n as usize].as_str();
    let types: Vec<(&str, &str)> = read.sample_type.iter().map(|t| (text(t.r#type), text(t.unit))).collect();
    let expected =
        [("contentions", "count"), ("wait", "nanoseconds"), ("hold", "nanoseconds"), ("blame", "nanoseconds")];
    assert_eq!(types, expected);
    assert_eq!(text(read.default_sample_type), "wait");
    assert_eq!(read.string_table[0], "");
    let totals = &profile.report.totals;
    assert_eq!(read.duration_nanos as u64, totals.span_ns.0);
    let sum = |i: usize| read.sample.iter().map(|s| s.value[i] as u64).sum::<u64>();
    let sites = &profile.report.sites;
    assert_eq!(sum(1), sites.iter().map(|s| s.wait_ns.0).sum::<u64>());
    assert_eq!(sum(2), totals.hold_ns.0);
    assert_eq!(sum(3), sites.iter().map(|s| s.blame_ns.0).sum::<u64>());
    assert!(sum(1) > totals.blocked_ns.0 && sum(3) > 0, "the barrier's waits are in it too");
    // The outermost frame of every stack is the object, and every number refers to an entry of its
    // table.
    let names: BTreeMap<u64, &str> = read.function.iter().map(|f| (f.id, text(f.name))).collect();
    let locations: BTreeMap<u64, &str> = read.location.iter().map(|l| (l.id, names[&l.line[0].function_id])).collect();
    let outer: BTreeSet<&str> = read.sample.iter().map(|s| locations[s.location_id.last().expect("a stack")]).collect();
    assert!(outer.contains("mutex table_lock") && outer.contains("barrier phase_barrier"), "{outer:?}");
}

#[test]
fn perfetto_nests_its_slices_and_joins_releases_with_acquisitions() {
    let profile = profile();
    let trace = bytes(|out| export::write_perfetto(&profile, out).expect("memory"));
    let trace = perfetto::Trace::decode(&*trace).expect("a trace");
    assert_eq!(trace.packet[0].sequence_flags, 1, "the first packet clears the interning tables");
    let (mut names, mut tracks) = (BTreeMap::new(), BTreeMap::new());
    let mut edges: BTreeMap<u64, Vec<(u64, usize, &perfetto::TrackEvent)>> = BTreeMap::new();
    for (number, packet) in trace.packet.iter().enumerate() {
        assert_eq!(packet.trusted_packet_sequence_id, 1);
        if let Some(data) = &packet.interned_data {
            for text in data.event_names.iter().chain(&data.event_categories) {
                assert!(names.insert(text.iid, text.name.as_str()).is_none(), "defined twice");
            }
        }
        if let Some(track) = &packet.track_descriptor {
            tracks.insert(track.uuid, track);
        }
        if let Some(event) = &packet.track_event {
            assert!(tracks.contains_key(&event.track_uuid), "an event before its track");
            assert!(event.r#type == 2 || names.contains_key(&event.name_iid), "a name before its definition");
            edges.entry(event.track_uuid).or_default().push((packet.timestamp, number, event));
        }
    }
    assert_eq!(tracks.values().filter(|t| t.thread.is_some()).count(), profile.report.threads.len());
    let mut time: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut begun, mut ended) = (BTreeMap::new(), BTreeMap::new());
    for events in edges.values_mut() {
        // Perfetto's importer sorts in this way: by time, and packets of the same time in the order
        // of the file.
        events.sort_by_key(|(time, number, _)| (*time, *number));
        let mut open: Vec<(u64, &str)> = Vec::new();
        for (at, _, event) in events {
            begun.extend(event.flow_ids.iter().map(|id| (*id, *at)));
            ended.extend(event.terminating_flow_ids.iter().map(|id| (*id, *at)));
            match event.r#type {
                1 => open.push((*at, names[&event.name_iid])),
                2 => {
                    let (since, name) = open.pop().expect("a slice ends that did not begin");
                    *time.entry(name).or_default() += *at - since;
                }
                3 => {}
                other => panic!("event of type {other}"),
            }
        }
        assert!(open.is_empty(), "slices that do not end: {open:?}");
    }
    let totals = &profile.report.totals;
    assert_eq!(time["competition overhead"], totals.overhead_ns.0);
    let waits: u64 =
        time.iter().filter(|(n, _)| n.starts_with("spin ") || n.starts_with("sleep ")).map(|(_, t)| t).sum();
    assert_eq!(waits, totals.blocked_ns.0);
    let holds: u64 = time.iter().filter(|(n, _)| n.starts_with("critical section ")).map(|(_, t)| t).sum();
    assert_eq!(holds, totals.hold_ns.0);
    assert!(begun.len() > 100 && begun.keys().eq(ended.keys()), "{} flows begin, {} end", begun.len(), ended.len());
    assert!(begun.iter().all(|(id, at)| *at <= ended[id]), "a flow from release to acquisition goes forward in time");
}

#[test]
fn parquet_and_csv_hold_the_same_rows() {
    let profile = profile();
    let parquet = bytes(|out| export::write_parquet(&profile, out).expect("memory"));
    let csv = String::from_utf8(bytes(|out| export::write_csv(&profile, out).expect("memory"))).expect("text");
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().expect("a head line").split(',').collect();
    let reader = SerializedFileReader::new(bytes::Bytes::from(parquet)).expect("Parquet");
    let columns: Vec<String> =
        reader.metadata().file_metadata().schema_descr().columns().iter().map(|c| c.name().to_owned()).collect();
    assert_eq!(columns, head);
    let at = |name: &str| columns.iter().position(|c| c == name).expect("a column");
    let (mut overhead, mut rows) = (0, 0);
    for (row, line) in reader.get_row_iter(None).expect("rows").zip(lines.by_ref()) {
        let row = row.expect("a row");
        let cells: Vec<&str> = line.split(',').collect();
        for (i, name) in columns.iter().enumerate() {
            let value =
                row.get_long(i).map(|n| n.to_string()).or_else(|_| row.get_string(i).cloned()).expect("a value");
            assert_eq!(value, cells[i], "{name} of row {rows}");
        }
        if row.get_string(at("doing")).expect("text") == "overhead" {
            overhead += row.get_long(at("duration_ns")).expect("number") as u64;
        }
        rows += 1;
    }
    assert!(lines.next().is_none() && rows > 1_000, "{rows} rows");
    assert_eq!(overhead, profile.report.totals.overhead_ns.0);
}

#[test]
fn csv_quotes_what_needs_it() {
    let mut builder = support::builder(2, 5);
    builder.name_object(support::TABLE, "table \"a,b\"");
    let profile = Profile::of(builder.build());
    let csv = String::from_utf8(bytes(|out| export::write_csv(&profile, out).expect("memory"))).expect("text");
    assert!(csv.contains(",\"table \"\"a,b\"\"\","), "{csv}");
}
