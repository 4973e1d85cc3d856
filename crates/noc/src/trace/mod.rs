//! Recorded packets: Netrace's format and Baton's own, and their replay with dependencies.

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
    /// Earliest cycle of its injection.
    pub cycle: u64,
    /// Its id in the trace.
    pub id: u32,
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Length in bytes (Netrace), or 0 where `flits` is given.
    pub bytes: u32,
    /// Length in flits, or 0 where `bytes` is given.
    pub flits: u32,
    /// Message class: 0 requests, 1 responses in Netrace.
    pub class: u8,
    /// Packets, by position in the trace, that may not be injected before this one has arrived.
    pub dependents: Vec<u32>,
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Name of the program.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Cycles that the trace says it spans; 0 if it does not say.
    pub cycles: u64,
    /// Packets, in the order of their cycles.
    pub packets: Vec<TracePacket>,
    /// Dependencies that name a packet outside the trace (a fragment's edge); they hold nothing up.
    pub dangling: u64,
}

impl Trace {
    /// Dependencies, those to packets outside the trace included.
    pub fn dependencies(&self) -> u64 {
        self.packets.iter().map(|p| p.dependents.len() as u64).sum::<u64>() + self.dangling
    }
}

/// Largest size that is read, after decompression.
const MOST: u64 = 8 << 30;

/// Reads a trace of either format, compressed by bzip2 or not; recognised by their first bytes.
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
