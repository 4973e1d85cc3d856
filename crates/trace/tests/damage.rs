//! A reader that survives anything: files cut anywhere, bytes changed in turn, rubbish.

use baton_trace::analysis::{Analysis, CriticalPath, Window, relax};
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{LossKind, ReadError, Trace, What};
use proptest::prelude::*;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MARKS: u64 = 700;

/// Two threads: one with a sealed and an open segment, one that ended in order. Gives the file's bytes.
fn sample() -> Vec<u8> {
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
    std::fs::read(file_in(directory.path())).unwrap()
}

fn file_in(directory: &Path) -> PathBuf {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.to_string_lossy().contains("events."))
        .unwrap()
}

/// Opens and reads through; gives how many marks there are.
fn read(directory: &Path) -> Result<(usize, Trace), ReadError> {
    let trace = Trace::open(directory)?;
    let marks = trace.events().filter(|e| matches!(e.what, What::Marker { name: 1, .. })).count();
    for loss in &trace.losses {
        assert!(!loss.to_string().is_empty());
    }
    let window = Window::whole(&trace);
    let analysis = Analysis::of(&trace, window.clone());
    let _ = CriticalPath::of(&trace, &window);
    let _ = relax(&trace, &analysis.locks.iter().map(|l| l.id).collect::<Vec<_>>());
    Ok((marks, trace))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.1.0");
    (directory, path)
}

/// Offsets in the sample: file header, first segment (8 KiB, sealed), second (16 KiB, open), third (8 KiB, sealed).
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
    // Downwards, so that each length is one cut of the file that is there; every length near a border, each eleventh elsewhere.
    for len in (0..bytes.len()).rev().filter(|len| len % 11 == 0 || len % 4096 < 70) {
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len as u64).unwrap();
        match read(directory.path()) {
            Ok((marks, trace)) => {
                assert!(marks <= fewer, "{len}: more marks in a shorter file");
                fewer = marks;
                let inside = !matches!(len, FIRST | SECOND | THIRD) && len > FIRST;
                // A piece of less than a segment's header is rubbish; an all-zero tail is not missed.
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
        // 8192 bytes less the header, the thread's name in three records.
        assert!(trace.losses.is_empty());
        (8192 - 64) / 16 - 3
    };
    // Every byte that a header or a record has; of the long stretches of records and of zeros, every seventh.
    for at in (0..bytes.len()).filter(|at| at % 4096 < 300 || at % 7 == 0) {
        // One bit, a different one each time; in headers, all of them at once too.
        let masks: &[u8] = if at % 4096 < 192 { &[0xff, 1 << (at % 8)] } else { &[1 << (at % 8)] };
        for mask in masks {
            file.write_all_at(&[bytes[at] ^ mask], at as u64).unwrap();
            let (marks, trace) = read(directory.path()).unwrap_or_else(|error| panic!("byte {at}: {error}"));
            let kinds: Vec<_> = trace.losses.iter().map(|l| l.kind).collect();
            match at {
                0..FIRST => assert_eq!(marks as u64, MARKS, "byte {at}: only the file header is hit"),
                FIRST..SECOND => {
                    assert!(marks as u64 >= MARKS - in_first, "byte {at}: {marks}");
                    let counter = (FIRST + 56..FIRST + 64).contains(&at);
                    assert!(counter || !kinds.is_empty(), "byte {at} of a sealed segment changed unnoticed");
                }
                // Records stand by themselves in an open segment: one is lost, or its argument changed. A header takes all.
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

/// Where the header's checksum stands (`docs/reference/trace-format.md`).
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
    assert!(said.contains("events.1.0: format version 9, this program reads up to 1; left out"), "{said}");

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
        // The super-user may read any file, but nobody the bytes at address 0.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", &path).unwrap();
    }
    let said = read(directory.path()).err().unwrap().to_string();
    assert!(said.contains("events.1.0: cannot be read at 0: "), "{said}");
}
