//! Tests that the reader survives all damage: files cut at any length, single changed bytes,
//! rubbish.

use baton_trace::analysis::{Analysis, CriticalPath, Window, relax};
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{Event, FORMAT_VERSION, Kinds, LossKind, ReadError, Trace, What};
use proptest::prelude::*;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MARKS: u64 = 700;

/// Records a session with two threads, and returns the bytes of its file. The first thread has a
/// sealed and an open segment, the second has ended properly. The session is not closed.
fn sample() -> Vec<u8> {
    sample_with(|_| ())
}

/// The same as [`sample`] for a session that was closed properly.
fn closed_sample() -> Vec<u8> {
    sample_with(Session::finish)
}

fn sample_with(end: impl Fn(&Session)) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let session = Session::new();
    let path = CString::new(directory.path().as_os_str().as_bytes()).unwrap();
    session.open(&path, Options::default()).unwrap();
    let pen = ThreadWriter::new();
    pen.name_thread(&session, b"a thread with a name");
    for value in 0..MARKS {
        pen.post(&session, What::Marker { name: 1, value });
    }
    let other = ThreadWriter::new();
    other.define_site(&session, baton_trace::SiteId(1), &[1, 2, 3]);
    other.post(&session, What::Marker { name: 2, value: 1 });
    other.finish();
    end(&session);
    std::fs::read(file_in(directory.path())).unwrap()
}

fn file_in(directory: &Path) -> PathBuf {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.to_string_lossy().contains("events."))
        .unwrap()
}

/// Opens the trace, reads all of it and analyses it. Returns the number of marks.
fn read(directory: &Path) -> Result<(usize, Trace), ReadError> {
    let trace = Trace::open(directory)?;
    let marks = trace.events().filter(|e| matches!(e.what, What::Marker { name: 1, .. })).count();
    // Counts what the trace really holds, because a changed byte can have turned a mark into
    // another event.
    let is_switch = |event: &Event| matches!(event.what, What::OffCpu { .. } | What::OnCpu { .. });
    let is_affinity = |event: &Event| matches!(event.what, What::Affinity { .. });
    assert!(trace.events_of(Kinds::SWITCHES).eq(trace.events().filter(is_switch)));
    assert!(trace.events_of(Kinds::AFFINITY).eq(trace.events().filter(is_affinity)));
    for loss in &trace.losses {
        assert!(!loss.to_string().is_empty());
    }
    let window = Window::whole(&trace);
    let analysis = Analysis::of(&trace, window.clone());
    let _ = CriticalPath::of(&trace, &window);
    let _ = relax(&trace, &analysis.locks.iter().map(|l| l.id).collect::<Vec<_>>(), &[]);
    Ok((marks, trace))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.1.0");
    (directory, path)
}

/// Where the parts of the sample begin: after the file header a first segment (8 KiB, sealed), a
/// second (16 KiB, open) and a third (8 KiB, sealed).
const FIRST: usize = 4096;
const SECOND: usize = FIRST + 8192;
const THIRD: usize = SECOND + 16384;

#[test]
fn the_sample_is_what_these_tests_take_it_for() {
    let bytes = sample();
    assert_eq!(bytes.len(), THIRD + 8192);
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let (marks, trace) = read(directory.path()).unwrap();
    assert_eq!((marks as u64, trace.losses.len(), trace.threads.len()), (MARKS, 0, 2));
    let sealed = |at: usize| u32::from_le_bytes(bytes[at + 48..][..4].try_into().unwrap());
    assert_eq!((sealed(FIRST), sealed(SECOND)), (8192, 0));
    assert!(sealed(THIRD) > 0);
}

#[test]
fn cut_anywhere_it_reads_what_is_left_and_says_so() {
    let bytes = sample();
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let mut fewer = MARKS as usize;
    // Cuts the file shorter and shorter, so that each length is a cut of the file there is. Tries
    // every length near a border, and each eleventh elsewhere.
    for len in (0..bytes.len()).rev().filter(|len| len % 11 == 0 || len % 4096 < 70) {
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len as u64).unwrap();
        match read(directory.path()) {
            Ok((marks, trace)) => {
                assert!(marks <= fewer, "{len}: more marks in a shorter file");
                fewer = marks;
                let inside = !matches!(len, FIRST | SECOND | THIRD) && len > FIRST;
                // A piece of a segment shorter than the segment's header counts as rubbish; one
                // that is all zero is not missed.
                let told = trace.losses.iter().any(|l| matches!(l.kind, LossKind::Truncated | LossKind::SegmentHeader));
                assert_eq!(inside, told, "{len}: {:?}", trace.losses);
            }
            Err(error) => {
                assert!(len < FIRST, "{len}: {error}");
                assert!(error.to_string().contains("events.1.0"), "{error}");
            }
        }
        if len >= THIRD {
            assert_eq!(fewer as u64, MARKS, "{len}: the cut is behind these");
        }
    }
    assert_eq!(fewer, 0);
}

#[test]
fn any_byte_changed_costs_one_segment_at_most() {
    use std::os::unix::fs::FileExt;
    let bytes = sample();
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let in_first = {
        let trace = Trace::open(directory.path()).unwrap();
        // The first segment has 8192 bytes: a header of 64, and records of 16, of which three hold
        // the thread's name.
        assert!(trace.losses.is_empty());
        (8192 - 64) / 16 - 3
    };
    // Tries every byte of each header and of the first records behind it; every seventh byte of the
    // rest.
    for at in (0..bytes.len()).filter(|at| at % 4096 < 300 || at % 7 == 0) {
        // Flips one bit, another one in the next byte; in headers also all bits of a byte at once.
        let masks: &[u8] = if at % 4096 < 192 { &[0xff, 1 << (at % 8)] } else { &[1 << (at % 8)] };
        for mask in masks {
            file.write_all_at(&[bytes[at] ^ mask], at as u64).unwrap();
            let (marks, trace) = read(directory.path()).unwrap_or_else(|error| panic!("byte {at}: {error}"));
            let kinds: Vec<_> = trace.losses.iter().map(|l| l.kind).collect();
            match at {
                0..FIRST => assert_eq!(marks as u64, MARKS, "byte {at}: only the file header is hit"),
                FIRST..SECOND => {
                    assert!(marks as u64 >= MARKS - in_first, "byte {at}: {marks}");
                    assert!(!kinds.is_empty(), "byte {at} of a sealed segment changed unnoticed");
                }
                // In an open segment each record stands alone: a changed byte costs one mark, or
                // turns another event into one. A damaged header costs all of the segment's marks.
                SECOND..THIRD if at < SECOND + 64 => assert!(marks as u64 >= in_first, "byte {at}: {marks}"),
                SECOND..THIRD => assert!((MARKS - 1..=MARKS + 1).contains(&(marks as u64)), "byte {at}: {marks}"),
                _ => assert_eq!(marks as u64, MARKS, "byte {at}: another thread's segment is hit"),
            }
        }
        file.write_all_at(&[bytes[at]], at as u64).unwrap();
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut bytes = sample();
    bytes[8] = 9;
    let crc = crc32fast::hash(&bytes[..72]);
    bytes[72..76].copy_from_slice(&crc.to_le_bytes());
    let (directory, path) = place();
    std::fs::write(path, bytes).unwrap();
    let error = read(directory.path()).map(drop).unwrap_err().to_string();
    assert!(error.contains("version 9"), "{error}");
}

#[test]
fn no_directory_and_an_empty_one_are_errors_that_name_it() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().to_string_lossy().into_owned();
    for path in [directory.path().to_owned(), directory.path().join("nowhere")] {
        let error = Trace::open(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains(&name), "{error}");
    }
}

proptest! {
    #![proptest_config(baton_needs::property!(100))]

    #[test]
    fn rubbish_is_no_trace_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
        let (directory, path) = place();
        std::fs::write(path, bytes).unwrap();
        prop_assert!(read(directory.path()).is_err());
    }

    #[test]
    fn rubbish_in_the_middle_of_a_trace_is_no_panic(rubbish in prop::collection::vec((0usize..THIRD + 8192, any::<u64>()), 1..60)) {
        let mut bytes = sample();
        for (at, value) in rubbish {
            let at = at.min(bytes.len() - 8);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let (directory, path) = place();
        std::fs::write(path, bytes).unwrap();
        let _ = read(directory.path());
    }
}

/// Offset of the header's checksum (`docs/reference/trace-format.md`).
const HEADER_CRC: usize = 72;

#[test]
fn what_a_newer_program_wrote_is_named_by_its_version() {
    let (directory, path) = place();
    let mut bytes = sample();
    bytes[8..10].copy_from_slice(&9u16.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..HEADER_CRC]);
    bytes[HEADER_CRC..HEADER_CRC + 4].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let said = read(directory.path()).err().unwrap().to_string();
    let expected = format!("events.1.0: format version 9, this program reads up to {FORMAT_VERSION}; left out");
    assert!(said.contains(&expected), "{said}");

    std::fs::write(&path, sample()).unwrap();
    for (meta, expected) in [
        (r#"{"version": 9}"#, "meta.json: version 9, this program reads up to 1; the run's description is missing"),
        (r#"{"version": 1, "command": 5}"#, "meta.json: damaged; the run's description is missing"),
    ] {
        std::fs::write(directory.path().join("meta.json"), meta).unwrap();
        let (marks, trace) = read(directory.path()).unwrap();
        let said: Vec<String> = trace.losses.iter().map(ToString::to_string).collect();
        assert!(marks == MARKS as usize && trace.meta.is_none() && said.contains(&expected.to_owned()), "{said:?}");
    }
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path) = place();
    std::fs::write(&path, sample()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        // The super-user may read any file. This one fails for the super-user, too: its bytes at
        // address 0 cannot be read.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", &path).unwrap();
    }
    let said = read(directory.path()).err().unwrap().to_string();
    assert!(said.contains("events.1.0: cannot be read at 0: "), "{said}");
}

/// Offsets in the file header (`docs/reference/trace-format.md`).
const STOP: usize = 140;
const DROPPED: usize = 152;
const END_TICKS: usize = 160;
const STOP_TICKS: usize = 176;
const CLOSING: std::ops::Range<usize> = 128..192;

/// Returns the nanoseconds from the trace's first event to its last.
fn length(trace: &Trace) -> u64 {
    let (begin, end) = trace.span();
    trace.clock.nanos(end.0 - begin.0).0
}

fn kinds(trace: &Trace) -> Vec<LossKind> {
    trace.losses.iter().map(|loss| loss.kind).collect()
}

#[test]
fn a_bit_of_the_headers_end_costs_the_end_and_makes_no_path_longer() {
    let bytes = closed_sample();
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let (_, whole) = read(directory.path()).unwrap();
    assert!(whole.processes[0].finished && whole.losses.is_empty() && length(&whole) > 0);
    for bit in CLOSING.start * 8..CLOSING.end * 8 {
        let (at, mut changed) = (bit / 8, bytes.clone());
        changed[at] ^= 1 << (bit % 8);
        std::fs::write(&path, &changed).unwrap();
        let (marks, trace) = read(directory.path()).unwrap();
        assert_eq!(marks as u64, MARKS, "bit {bit}");
        // Without the end time, the reader takes the clock's rate from the header, where it was
        // measured over only half a millisecond. So the length may come out twice as long.
        assert!(length(&trace) <= length(&whole) * 2 + 1_000_000, "bit {bit}: {} ns", length(&trace));
        // The reader does not use these fields: the offset of the next segment, the number of
        // threads, and the mark that the end is complete.
        let unused = at < STOP || (148..DROPPED).contains(&at);
        let told = kinds(&trace).iter().any(|kind| matches!(kind, LossKind::Closing | LossKind::Count));
        assert_eq!(told, !unused, "bit {bit}: {:?}", trace.losses);
        assert!(trace.complete_until().is_none(), "bit {bit}: no event is left out for a stop that was not");
    }
}

/// Returns the closed sample as a recorder of format version 1 would have written it: without
/// checksums of end and stop.
fn of_version_1() -> Vec<u8> {
    let mut bytes = closed_sample();
    bytes[8] = 1;
    bytes[184..192].fill(0);
    let crc = crc32fast::hash(&bytes[..HEADER_CRC]);
    bytes[HEADER_CRC..HEADER_CRC + 4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn version_1_is_read_and_its_unchecked_times_are_compared() {
    let bytes = of_version_1();
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let (marks, whole) = read(directory.path()).unwrap();
    assert!(marks as u64 == MARKS && whole.processes[0].finished && whole.losses.is_empty());
    for at in [END_TICKS + 5, END_TICKS + 7, END_TICKS + 8 + 5, END_TICKS + 8 + 7, STOP_TICKS + 7] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x80;
        std::fs::write(&path, &changed).unwrap();
        let (marks, trace) = read(directory.path()).unwrap();
        assert_eq!(marks as u64, MARKS);
        assert!(length(&trace) <= length(&whole) * 2 + 1_000_000, "byte {at}: {} ns", length(&trace));
        assert_eq!(kinds(&trace), [LossKind::Closing], "byte {at}");
    }
    // In version 1 the count of dropped events is a plain number.
    let mut stopped = bytes;
    stopped[STOP] = 1;
    stopped.copy_within(END_TICKS..END_TICKS + 8, STOP_TICKS);
    stopped[DROPPED] = 5;
    std::fs::write(&path, &stopped).unwrap();
    assert_eq!(read(directory.path()).unwrap().1.processes[0].dropped, 5);
}

#[test]
fn a_records_time_that_cannot_be_costs_the_record() {
    let bytes = closed_sample();
    let (directory, path) = place();
    std::fs::write(&path, &bytes).unwrap();
    let (_, whole) = read(directory.path()).unwrap();
    // In the open segment, changes the first, the middle and the last record: each bit of its time
    // that stands for 2²⁸ ticks (about 0.1 s) or more.
    let used = (SECOND + 64..THIRD).step_by(16).take_while(|at| bytes[*at] != 0).collect::<Vec<_>>();
    for at in [used[0], used[used.len() / 2], used[used.len() - 1]] {
        for bit in 28..47 {
            let mut changed = bytes.clone();
            changed[at + 1 + bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            let (marks, trace) = read(directory.path()).unwrap();
            assert!(marks as u64 >= MARKS - 1, "record at {at}, bit {bit}");
            assert!(
                length(&trace) <= length(&whole) * 2 + 100_000_000,
                "record at {at}, bit {bit}: {}",
                length(&trace)
            );
        }
    }
}

#[test]
fn a_sparse_file_of_200_gigabytes_is_passed_over() {
    let (directory, path) = place();
    std::fs::write(&path, closed_sample()).unwrap();
    let grow = || std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(200 << 30).unwrap();
    grow();
    let (marks, trace) = read(directory.path()).unwrap();
    assert!(marks as u64 == MARKS && kinds(&trace) == [LossKind::SegmentHeader], "{:?}", trace.losses);
    // The file is only a hole, behind a header without a valid checksum: nothing in it can be used.
    std::fs::write(&path, [1; 64]).unwrap();
    grow();
    assert!(read(directory.path()).is_err());
}

#[test]
fn a_description_that_is_a_pipe_is_not_waited_for() {
    let (directory, path) = place();
    std::fs::write(&path, closed_sample()).unwrap();
    let pipe = CString::new(directory.path().join("meta.json").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let (marks, trace) = read(directory.path()).unwrap();
    assert!(marks as u64 == MARKS && kinds(&trace) == [LossKind::NoFile], "{:?}", trace.losses);
}
