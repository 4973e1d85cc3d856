//! Recorded packets: Netrace's format, Baton's own format, and replay that respects dependencies.

mod netrace;
mod own;
mod recorded;
mod replay;

pub use netrace::read_netrace;
pub use own::{read_own, write_own};
pub use recorded::{Trace, TracePacket};
pub use replay::{Replay, ReplayResult};

use crate::error::NocError;
use std::io::Read;

/// Largest number of bytes that is read, after decompression.
const MOST: u64 = 8 << 30;

/// Reads a trace of either format, with or without bzip2 compression, which its first bytes tell.
/// An error names `file` and the place.
pub fn read(file: &str, bytes: &[u8]) -> Result<Trace, NocError> {
    let fail = |message: String| NocError::Trace { file: file.into(), at: "byte 0".into(), message };
    let mut plain = vec![];
    let bytes = if bytes.starts_with(b"BZh") {
        let mut reader = bzip2::read::MultiBzDecoder::new(bytes).take(MOST);
        reader.read_to_end(&mut plain).map_err(|e| fail(format!("bzip2 stream is damaged: {e}")))?;
        &plain
    } else {
        bytes
    };
    if bytes.starts_with(own::MAGIC.as_bytes()) {
        return read_own(file, bytes);
    }
    if bytes.starts_with(&netrace::MAGIC.to_le_bytes()) {
        return read_netrace(file, bytes);
    }
    Err(fail(format!("neither a Netrace trace nor one that begins with `{}`", own::MAGIC)))
}
