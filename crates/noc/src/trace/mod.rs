//! Recorded packets: Netrace's format, Baton's own format, and replay that respects dependencies.

mod netrace;
mod own;
mod replay;

pub use netrace::read_netrace;
pub use own::{read_own, write_own};
pub use replay::{Replay, ReplayResult};

use crate::error::NocError;
use std::io::Read;

/// A recorded packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePacket {
    /// Earliest cycle in which the packet may be injected.
    pub cycle: u64,
    /// Number of the packet in the trace.
    pub id: u32,
    /// Node of the sender.
    pub src: u32,
    /// Node of the receiver.
    pub dst: u32,
    /// Length in bytes (Netrace), or 0 if `flits` is given.
    pub bytes: u32,
    /// Length in flits, or 0 if `bytes` is given.
    pub flits: u32,
    /// Message class; in Netrace, 0 for requests and 1 for responses.
    pub class: u8,
    /// Packets that may not be injected before this one has arrived, by position in the trace.
    pub dependents: Vec<u32>,
}

/// The packets of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Name of the recorded program; empty if the trace has none.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of cycles that the trace claims to span, or 0 if it does not say.
    pub cycles: u64,
    /// Packets, in the order of their cycles.
    pub packets: Vec<TracePacket>,
    /// Number of dependencies that name a packet outside the trace (at the edge of a fragment);
    /// they hold back no packet.
    pub dangling: u64,
}

impl Trace {
    /// Number of dependencies, including those that name a packet outside the trace.
    pub fn dependencies(&self) -> u64 {
        self.packets.iter().map(|p| p.dependents.len() as u64).sum::<u64>() + self.dangling
    }
}

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
