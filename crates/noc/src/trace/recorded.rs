//! A recorded run and its packets.

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
    /// Packets that may not be injected before this packet has arrived, by position in the trace.
    pub dependents: Vec<u32>,
}

/// The packets of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Name of the recorded program; empty if the trace has none.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of cycles that a Netrace trace claims to span; in Baton's own format, the cycle of
    /// the last packet.
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
