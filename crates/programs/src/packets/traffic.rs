//! The packets that a run sends: those of a capture, or generated packets.

use super::buffers::ROOM;
use super::header::{LinkType, fields};
use super::pcap::{self, Capture};
use baton_workloads::Refused;
use baton_workloads::flows::FlowShares;
use baton_workloads::inputs::{InputError, Inputs, open};
use baton_workloads::work::mix;
use std::path::Path;
use std::sync::Arc;

/// Number of flows that packets can have.
pub(crate) const FLOWS: usize = 1 << 16;

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The first bytes of the packet.
    pub bytes: Box<[u8]>,
    /// Length of the packet on the wire.
    pub length: u32,
}

/// The source of packets. A packet is known by its number, so that any thread can make it.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// The packets of a capture, over and over.
    Captured(Arc<Capture>),
    /// Generated packets: UDP between addresses of a private network. They are no measurement of
    /// any network.
    Made {
        /// Seed of the packets.
        seed: u64,
        /// The reciprocal of the share of packets that go to [`SUSPICIOUS_PORT`]; 0: none.
        suspicious: u32,
    },
    /// Generated packets of flows. All packets of a flow have the same addresses and ports.
    OfFlows {
        /// Seed of the packets.
        seed: u64,
        /// The reciprocal of the share of flows that go to [`SUSPICIOUS_PORT`]; 0: none.
        suspicious: u32,
        /// The share of the packets that each flow has.
        shares: Arc<FlowShares>,
    },
}

/// The destination port of suspicious generated packets: the "special value" in a header of CAF's
/// paper. Port 666 is Doom's.
pub const SUSPICIOUS_PORT: u16 = 666;

/// Lengths of generated packets on the wire. All lengths are equally frequent (the sizes are those
/// of the simple IMIX, the shares are not).
const LENGTHS: [u16; 3] = [64, 594, 1518];

impl Traffic {
    /// The packets of a capture.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(file: &Path) -> Result<Traffic, InputError> {
        open(file, |bytes| pcap::parse(bytes, ROOM)).map(|capture| Traffic::Captured(Arc::new(capture)))
    }

    /// The protocol with which the packets begin.
    pub fn link(&self) -> LinkType {
        match self {
            Traffic::Captured(capture) => capture.link,
            Traffic::Made { .. } | Traffic::OfFlows { .. } => LinkType::Ethernet,
        }
    }

    /// Number of packets that a run sends if nothing else is asked for: a capture is sent once.
    pub fn usual(&self) -> u64 {
        match self {
            Traffic::Captured(capture) => capture.packets.len() as u64,
            Traffic::Made { .. } | Traffic::OfFlows { .. } => 1000,
        }
    }

    /// Calls `f` with packet `number` and its length.
    pub(crate) fn with<R>(&self, number: u64, f: impl FnOnce(&[u8], u32) -> R) -> R {
        match self {
            Traffic::Captured(capture) => {
                let packet = &capture.packets[(number % capture.packets.len() as u64) as usize];
                f(&packet.bytes, packet.length)
            }
            Traffic::Made { seed, suspicious } => {
                let own = mix(*seed, number);
                let (bytes, length) = made(*suspicious, own, own);
                f(&bytes[..usize::from(length)], u32::from(length))
            }
            Traffic::OfFlows { seed, suspicious, shares } => {
                let own = mix(*seed, number);
                let flow = shares.flow(mix(own, FLOW) as u32);
                let (bytes, length) = made(*suspicious, own, mix(mix(*seed, FLOW), u64::from(flow)));
                f(&bytes[..usize::from(length)], u32::from(length))
            }
        }
    }

    /// Packets of the number of flows and with the shares that a run asks for; a capture's packets
    /// have flows of their own.
    ///
    /// # Errors
    /// There cannot be flows with these shares.
    pub(crate) fn of_flows(self, inputs: &Inputs<'_>) -> Result<Traffic, Refused> {
        let Inputs { flows, zipf, elephant, .. } = *inputs;
        match self {
            Traffic::Made { seed, suspicious } | Traffic::OfFlows { seed, suspicious, .. } => {
                let shares = Arc::new(FlowShares::new(flows, zipf, elephant)?);
                Ok(Traffic::OfFlows { seed, suspicious, shares })
            }
            Traffic::Captured(_) if zipf != 0.0 || elephant != 0.0 => Err(Refused::because(
                "--zipf and --elephant say which flows made packets have; the packets of --packets have their own",
            )),
            captured @ Traffic::Captured(_) => Ok(captured),
        }
    }

    /// The flow of packet `number`.
    pub(crate) fn flow(&self, number: u64) -> u16 {
        self.with(number, |bytes, _| fields(self.link(), bytes).flow())
    }
}

/// A generated packet. Only its first bytes count, as many as the packet's length.
type Made = [u8; LENGTHS[2] as usize];

/// The turn of a packet's draws that gives its flow.
const FLOW: u64 = u64::MAX;

/// A UDP packet over IPv4 in an Ethernet frame; the checksums are 0. Its addresses and ports are
/// drawn by `flow`, the rest by `own`.
fn made(suspicious: u32, own: u64, flow: u64) -> (Made, u16) {
    let dice = |turn: u64| mix(if (1..=4).contains(&turn) { flow } else { own }, turn);
    let length = LENGTHS[(dice(0) % 3) as usize];
    let is_suspicious = suspicious != 0 && dice(1).is_multiple_of(u64::from(suspicious));
    // Ports begin at 1024, so that no packet is suspicious by chance.
    let port = if is_suspicious { SUSPICIOUS_PORT } else { 1024 + (dice(2) % 60_000) as u16 };
    let mut out: Made = [0; LENGTHS[2] as usize];
    // A frame: addresses of stations that were made up (the second bit of the first byte says so),
    // then the type.
    out[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    out[14..24].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17]);
    out[16..18].copy_from_slice(&(length - 14).to_be_bytes());
    let [a, b, c, d, e, f, ..] = dice(3).to_le_bytes();
    out[26..34].copy_from_slice(&[10, a, b, c, 10, d, e, f]);
    out[34..36].copy_from_slice(&(1024 + (dice(4) % 60_000) as u16).to_be_bytes());
    out[36..38].copy_from_slice(&port.to_be_bytes());
    out[38..40].copy_from_slice(&(length - 34).to_be_bytes());
    for (turn, eight) in (5..).zip(out[42..usize::from(length)].chunks_mut(8)) {
        eight.copy_from_slice(&dice(turn).to_le_bytes()[..eight.len()]);
    }
    (out, length)
}

#[cfg(test)]
mod tests {
    use super::super::header::fields;
    use super::*;

    #[test]
    fn so_many_made_packets_are_suspicious_and_all_can_be_read() {
        let traffic = Traffic::Made { seed: 3, suspicious: 8 };
        let read = |number| {
            traffic.with(number, |bytes, length| (fields(traffic.link(), bytes), bytes.len() as u32 == length))
        };
        let all: Vec<_> = (0..4000).map(read).collect();
        assert!(all.iter().all(|(fields, whole)| *whole && fields.protocol == Some(17) && fields.ports.is_some()));
        let suspicious = all.iter().filter(|(fields, _)| fields.ports.unwrap().1 == SUSPICIOUS_PORT).count();
        // 500 suspicious packets are expected; 4 standard deviations are 84.
        assert!((416..584).contains(&suspicious), "{suspicious}");
        let none = Traffic::Made { seed: 3, suspicious: 0 };
        let port = |number| none.with(number, |bytes, _| fields(none.link(), bytes).ports.unwrap().1);
        assert!((0..4000).all(|number| port(number) != SUSPICIOUS_PORT));
    }

    #[test]
    fn a_packet_is_known_by_its_number_and_seed() {
        let bytes = |seed, number| Traffic::Made { seed, suspicious: 8 }.with(number, |bytes, _| bytes.to_vec());
        assert_eq!(bytes(1, 7), bytes(1, 7));
        assert_ne!(bytes(1, 7), bytes(2, 7));
        assert_ne!(bytes(1, 7), bytes(1, 8));
    }
}
