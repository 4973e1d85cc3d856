//! Netrace's binary format (Hestness, Grot, Keckler, "Netrace: dependency-driven trace-based
//! network-on-chip simulation", NoCArc 2010).
//!
//! Fields are little endian and packed: magic u32, version f32, benchmark name of 30 bytes, nodes
//! u8, padding u8, cycles u64, packets u64, length of notes u32, regions u32, 8 meaningless bytes,
//! the notes, and for each region offset, cycles and packets as u64. Then come the packets: cycle
//! u64, id u32, address u32, type u8, source u8, destination u8, node types u8, number of
//! dependents u8, and that many ids u32.

use super::{Trace, TracePacket};
use crate::error::NocError;
use std::collections::BTreeMap;

pub(super) const MAGIC: u32 = 0x484a_5455;

struct Reader<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn fail(&self, message: String) -> NocError {
        NocError::Trace { file: self.file.into(), at: format!("byte {}", self.at), message }
    }

    fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], NocError> {
        let rest = &self.bytes[self.at..];
        if rest.len() < n {
            return Err(self.fail(format!("{what}: expected {n} bytes, the file ends after {}", rest.len())));
        }
        self.at += n;
        Ok(&rest[..n])
    }

    fn u8(&mut self, what: &str) -> Result<u8, NocError> {
        Ok(self.take(1, what)?[0])
    }

    fn u32(&mut self, what: &str) -> Result<u32, NocError> {
        let b = self.take(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&mut self, what: &str) -> Result<u64, NocError> {
        Ok(u64::from(self.u32(what)?) | u64::from(self.u32(what)?) << 32)
    }
}

/// Returns the length in bytes and the message class of a packet type, or `None` for a type that
/// Netrace does not use.
fn kind(packet_type: u8) -> Option<(u32, u8)> {
    Some(match packet_type {
        // Requests to read, upgrade, read exclusively, invalidate and downgrade.
        1 | 13 | 15 | 27 | 29 => (8, 0),
        // Writes and write-backs, which carry a block.
        4 | 6 => (72, 0),
        // Responses that carry a block: to read, read with invalidate, read exclusive, downgrade.
        2 | 3 | 16 | 30 => (72, 1),
        // Acknowledgements of write, upgrade, bad address, invalidate.
        5 | 14 | 25 | 28 => (8, 1),
        _ => return None,
    })
}

/// Reads an uncompressed Netrace trace. An error names `file` and the byte.
pub fn read_netrace(file: &str, bytes: &[u8]) -> Result<Trace, NocError> {
    let mut r = Reader { file, bytes, at: 0 };
    if r.u32("magic")? != MAGIC {
        r.at = 0;
        return Err(r.fail(format!("magic number: expected {MAGIC:#x}")));
    }
    let version = f32::from_bits(r.u32("version")?);
    if version != 1.0 {
        r.at = 4;
        return Err(r.fail(format!("version {version}: expected 1.0")));
    }
    let name = r.take(30, "benchmark name")?;
    let name = String::from_utf8_lossy(name.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
    let nodes = u32::from(r.u8("number of nodes")?);
    r.u8("padding")?;
    let (cycles, count) = (r.u64("cycles")?, r.u64("packets")?);
    let (notes, regions) = (r.u32("length of notes")?, r.u32("number of regions")?);
    r.take(8, "header")?;
    r.take(notes as usize, "notes")?;
    for _ in 0..regions {
        r.take(24, "regions")?;
    }
    let mut trace = Trace { name, nodes, cycles, ..Trace::default() };
    while r.at < bytes.len() {
        if trace.packets.len() as u64 == count {
            return Err(r.fail(format!("bytes after the last of {count} packets")));
        }
        let packet = packet(&mut r, nodes)?;
        trace.packets.push(packet);
    }
    if (trace.packets.len() as u64) < count {
        return Err(r.fail(format!("{count} packets announced, {} there: the trace is truncated", trace.packets.len())));
    }
    resolve(&mut r, &mut trace)?;
    Ok(trace)
}

fn packet(r: &mut Reader<'_>, nodes: u32) -> Result<TracePacket, NocError> {
    let start = r.at;
    let (cycle, id) = (r.u64("packet's cycle")?, r.u32("packet's id")?);
    r.u32("packet's address")?;
    let (packet_type, src, dst) = (r.u8("packet's type")?, r.u8("source")?, r.u8("destination")?);
    r.u8("node types")?;
    let dependents = r.u8("number of dependents")?;
    let at_start = |r: &Reader<'_>, message: String| Reader { at: start, ..*r }.fail(message);
    let Some((bytes, class)) = kind(packet_type) else {
        return Err(at_start(r, format!("packet {id}: type {packet_type} is none of Netrace's")));
    };
    for (what, node) in [("source", src), ("destination", dst)] {
        if u32::from(node) >= nodes {
            return Err(at_start(r, format!("packet {id}: {what} {node}, but nodes are 0 to {}", nodes.max(1) - 1)));
        }
    }
    let mut ids = Vec::with_capacity(usize::from(dependents));
    for _ in 0..dependents {
        ids.push(r.u32("dependent's id")?);
    }
    Ok(TracePacket { cycle, id, src: src.into(), dst: dst.into(), bytes, flits: 0, class, dependents: ids })
}

/// Replaces the packet ids in `dependents` by positions in the trace. Fails if an id occurs twice
/// or the order is wrong.
fn resolve(r: &mut Reader<'_>, trace: &mut Trace) -> Result<(), NocError> {
    r.at = 0;
    let mut places = BTreeMap::new();
    for (place, p) in trace.packets.iter().enumerate() {
        if places.insert(p.id, place as u32).is_some() {
            return Err(r.fail(format!("packet {} is there twice", p.id)));
        }
    }
    let late = trace.packets.windows(2).find(|w| w[0].cycle > w[1].cycle);
    if let Some(w) = late {
        return Err(r.fail(format!("packet {} of cycle {} comes after cycle {}", w[1].id, w[1].cycle, w[0].cycle)));
    }
    for place in 0..trace.packets.len() {
        let p = &mut trace.packets[place];
        let before = p.dependents.len();
        p.dependents = p.dependents.iter().filter_map(|id| places.get(id).copied()).collect();
        trace.dangling += (before - p.dependents.len()) as u64;
        let p = &trace.packets[place];
        if let Some(d) = p.dependents.iter().find(|d| **d as usize <= place) {
            let earlier = trace.packets[*d as usize].id;
            return Err(r.fail(format!("packet {}: its dependent {earlier} comes before it", p.id)));
        }
    }
    Ok(())
}
