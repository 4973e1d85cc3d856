//! Describes what is missing in a trace.

use crate::writer::StopReason;

/// One piece of data that is missing in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Name of the file.
    pub file: String,
    /// Offset in the file, in bytes, where the loss begins.
    pub offset: u64,
    /// Number of bytes that are lost; 0 if the loss is not about bytes.
    pub bytes: u64,
    /// Number of events or records that are lost, where it is known.
    pub events: u64,
    /// Which kind of data is missing, and why.
    pub kind: LossKind,
}

/// Why something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// The file is no events file, or is too short to tell.
    NotATrace,
    /// A newer program wrote the file in this version of the format, which this program cannot
    /// read.
    NewerVersion(u16),
    /// The file header does not match its checksum. The segments are read all the same, and the
    /// clock is computed from them.
    FileHeader,
    /// The end or the stop in the file header does not match its checksum, or contradicts the
    /// header's other times. The reader does not use it.
    Closing,
    /// A count of dropped events has an impossible value. The reader takes it as 0.
    Count,
    /// In a segment without a checksum, records have a time after that of later records, or after
    /// the run's end.
    Time,
    /// These bytes belong to no segment: no segment begins where one should.
    SegmentHeader,
    /// The file ends inside a segment.
    Truncated,
    /// A sealed segment does not match its checksum. Its records are read one by one; some may be
    /// wrong.
    Checksum,
    /// Records have a kind or a field that this version does not know.
    UnknownRecord,
    /// Records were begun and never finished: the thread was killed, or left a signal handler by a
    /// jump.
    Unfinished,
    /// The text of a definition (a name, a module) is not complete.
    CutDefinition,
    /// Events found no room, because the session had stopped.
    Dropped(StopReason),
    /// There are context switches of threads that have no other events.
    UnknownThread,
    /// The file could not be read, because of this error of the system.
    Io(std::io::ErrorKind),
    /// `meta.json` is a pipe, a device or a directory.
    NoFile,
    /// `meta.json` is damaged.
    Meta,
    /// A newer program wrote `meta.json` in this version, which this program cannot read.
    NewerMeta(u32),
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Loss { file, offset, bytes, events, kind } = self;
        match kind {
            LossKind::NotATrace => write!(f, "{file}: not an events file; left out"),
            LossKind::NewerVersion(v) => {
                write!(f, "{file}: format version {v}, this program reads up to {}; left out", crate::FORMAT_VERSION)
            }
            LossKind::FileHeader => write!(f, "{file}: damaged file header; clock taken from the segments"),
            LossKind::Closing => write!(f, "{file}: the end or the stop in the file header is damaged; not used"),
            LossKind::Count => write!(f, "{file}: a count of dropped events at {offset} is damaged; not used"),
            LossKind::Time => {
                write!(f, "{file}: segment at {offset}: {events} records with a time that cannot be; left out")
            }
            LossKind::SegmentHeader => write!(f, "{file}: {bytes} bytes at {offset} belong to no segment; left out"),
            LossKind::Truncated => write!(f, "{file}: ends {bytes} bytes too early, inside the segment at {offset}"),
            LossKind::Checksum => {
                write!(
                    f,
                    "{file}: segment at {offset}: checksum does not match; read record by record, some may be wrong"
                )
            }
            LossKind::UnknownRecord => write!(f, "{file}: segment at {offset}: {events} unknown records; left out"),
            LossKind::Unfinished => write!(f, "{file}: segment at {offset}: {events} records never finished"),
            LossKind::CutDefinition => {
                write!(f, "{file}: segment at {offset}: {events} incomplete definitions; left out")
            }
            LossKind::Dropped(reason) => write!(f, "{file}: {events} events dropped: {}", reason.text()),
            LossKind::UnknownThread => write!(f, "{file}: {events} context switches of threads without other events"),
            LossKind::Io(why) => write!(f, "{file}: cannot be read at {offset}: {why}"),
            LossKind::NoFile => write!(f, "{file}: not a regular file; the run's description is missing"),
            LossKind::Meta => write!(f, "{file}: damaged; the run's description is missing"),
            LossKind::NewerMeta(v) => write!(
                f,
                "{file}: version {v}, this program reads up to {}; the run's description is missing",
                crate::meta::META_VERSION
            ),
        }
    }
}
