//! Captures in the classic pcap format (tcpdump, Wireshark): a header of 24 bytes, then packets,
//! each behind a header of 16 bytes. The format:
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>.

use super::header::LinkType;
use super::traffic::Packet;
use baton_workloads::inputs::{Problem, Spot};

/// Bytes of the header of a file, and of the header of a packet.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Largest number of bytes of a packet: tcpdump's own limit.
const LONGEST: u32 = 262_144;

/// A capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The protocol with which the packets begin.
    pub link: LinkType,
    /// The packets.
    pub packets: Vec<Packet>,
}

/// The byte order of the numbers in a file.
#[derive(Clone, Copy)]
enum Endian {
    Little,
    Big,
}

impl Endian {
    /// Reads four bytes; the caller has checked that they are there.
    fn word(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Endian::Little => u32::from_le_bytes(four),
            Endian::Big => u32::from_be_bytes(four),
        }
    }

    /// The byte order from the magic number. Times in microseconds and in nanoseconds are both
    /// accepted, because times are not used.
    fn of(magic: [u8; 4]) -> Result<Endian, String> {
        match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => Ok(Endian::Little),
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => Ok(Endian::Big),
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                Err("is a pcapng file; expected classic pcap: `editcap -F pcap IN OUT` converts it".to_owned())
            }
            [0x1f, 0x8b, ..] => Err("is compressed; expected classic pcap: unpack it with gunzip".to_owned()),
            [a, b, c, d] => Err(format!(
                "begins with {a:02x} {b:02x} {c:02x} {d:02x}; expected a pcap file: a1b2c3d4 or a1b23c4d in either byte order"
            )),
        }
    }
}

/// Reads a capture; keeps the first `most` bytes of each packet.
pub(crate) fn parse(bytes: &[u8], most: usize) -> Result<Capture, Problem> {
    let short = |what: &str| (Spot::File, format!("has {} bytes; expected {what}", bytes.len()));
    let magic = bytes.first_chunk::<4>().ok_or_else(|| short("a pcap file, whose header has 24 bytes"))?;
    let endian = Endian::of(*magic).map_err(|problem| (Spot::Byte(0), problem))?;
    if bytes.len() < FILE_HEADER {
        return Err(short("24 bytes of header at least"));
    }
    let version = endian.word(bytes, 4);
    let major = match endian {
        Endian::Little => version & 0xffff,
        Endian::Big => version >> 16,
    };
    if major != 2 {
        return Err((Spot::Byte(4), format!("version {major} of pcap; expected 2")));
    }
    // The upper bits say whether a packet ends in a checksum, at which this reader does not look.
    let number = endian.word(bytes, 20) & 0xffff;
    let link = LinkType::of(number).ok_or_else(|| {
        (Spot::Byte(20), format!("link type {number}; expected {}", LinkType::KNOWN.map(|(name, _)| name).join(", ")))
    })?;
    let (mut packets, mut at) = (Vec::new(), FILE_HEADER);
    while at < bytes.len() {
        let bad = |problem| (Spot::Packet(packets.len() + 1, at), problem);
        let left = bytes.len() - at;
        if left < PACKET_HEADER {
            return Err(bad(format!("the file ends {left} bytes into a packet's header; expected 16")));
        }
        let (kept, length) = (endian.word(bytes, at + 8), endian.word(bytes, at + 12));
        if kept > LONGEST {
            return Err(bad(format!("a packet of {kept} bytes; expected at most {LONGEST}")));
        }
        let (from, held) = (at + PACKET_HEADER, left - PACKET_HEADER);
        let kept = kept as usize;
        if held < kept {
            return Err(bad(format!("the file ends {held} bytes into a packet; expected {kept}")));
        }
        packets.push(Packet { bytes: bytes[from..from + kept.min(most)].into(), length });
        at = from + kept;
    }
    if packets.is_empty() {
        return Err((Spot::File, "has no packets; expected one at least".to_owned()));
    }
    Ok(Capture { link, packets })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGICS: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

    /// The bytes of a file with these packets.
    fn file(magic: u32, big: bool, packets: &[&[u8]]) -> Vec<u8> {
        let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut out = [&word(magic)[..], &half(2), &half(4), &word(0), &word(0), &word(65_535), &word(1)].concat();
        for packet in packets {
            let length = word(packet.len() as u32);
            out.extend([word(1), word(2), length, word(packet.len() as u32 + 4)].concat());
            out.extend_from_slice(packet);
        }
        out
    }

    fn refused(bytes: &[u8]) -> String {
        let (spot, problem) = parse(bytes, 100).unwrap_err();
        baton_workloads::inputs::InputError { file: "x.pcap".to_owned(), spot, problem }.to_string()
    }

    #[test]
    fn both_byte_orders_and_both_units_of_time_are_read() {
        for (magic, big) in MAGICS.into_iter().flat_map(|magic| [(magic, false), (magic, true)]) {
            let read = parse(&file(magic, big, &[b"first", b"second one"]), 6).unwrap();
            assert_eq!(read.link, LinkType::Ethernet);
            assert_eq!(read.packets[0], Packet { bytes: b"first"[..].into(), length: 9 });
            assert_eq!(read.packets[1], Packet { bytes: b"second"[..].into(), length: 14 });
        }
    }

    #[test]
    fn each_broken_file_says_where() {
        let good = file(MAGICS[0], false, &[b"first", b"second one"]);
        assert_eq!(refused(b""), "x.pcap: has 0 bytes; expected a pcap file, whose header has 24 bytes");
        assert_eq!(refused(&good[..20]), "x.pcap: has 20 bytes; expected 24 bytes of header at least");
        assert!(refused(b"GIF89a").starts_with("x.pcap: at byte 0: begins with 47 49 46 38; expected a pcap file"));
        assert!(
            refused(&[0x0a, 0x0d, 0x0d, 0x0a]).contains("is a pcapng file; expected classic pcap: `editcap -F pcap")
        );
        assert!(refused(&[0x1f, 0x8b, 8, 0]).contains("is compressed"));
        assert_eq!(refused(&good[..24]), "x.pcap: has no packets; expected one at least");
        assert_eq!(
            refused(&good[..50]),
            "x.pcap: packet 2, at byte 45: the file ends 5 bytes into a packet's header; expected 16"
        );
        assert_eq!(
            refused(&good[..good.len() - 1]),
            "x.pcap: packet 2, at byte 45: the file ends 9 bytes into a packet; expected 10"
        );
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            refused(&bytes)
        };
        assert_eq!(with(4, 3), "x.pcap: at byte 4: version 3 of pcap; expected 2");
        assert_eq!(
            with(20, 9),
            "x.pcap: at byte 20: link type 9; expected Ethernet (1), raw IP (101), Linux cooked (113)"
        );
        assert_eq!(
            with(24 + 11, 0xff),
            "x.pcap: packet 1, at byte 24: a packet of 4278190085 bytes; expected at most 262144"
        );
    }
}
