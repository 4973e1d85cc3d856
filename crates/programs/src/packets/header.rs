//! The fields of a packet at which a firewall looks: addresses, protocol and ports.

use baton_workloads::work::mix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The protocol with which the packets of a capture begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, with or without tags of 802.1Q and 802.1ad.
    Ethernet,
    /// The packet begins with its IPv4 or IPv6 header: there is no frame around it.
    Raw,
    /// The frame of Linux's "any" device.
    Cooked,
}

impl LinkType {
    /// The link types that can be read, with their numbers in a capture.
    pub(crate) const KNOWN: [(&str, u32); 3] =
        [("Ethernet (1)", 1), ("raw IP (101)", 101), ("Linux cooked (113)", 113)];

    /// The link type with that number.
    pub(crate) fn of(number: u32) -> Option<LinkType> {
        match number {
            1 => Some(LinkType::Ethernet),
            101 => Some(LinkType::Raw),
            113 => Some(LinkType::Cooked),
            _ => None,
        }
    }
}

/// The fields that rules ask for. A field is `None` if the packet does not have it, or if it lies
/// beyond the bytes at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Source address and destination address.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// The number of the protocol above IP.
    pub protocol: Option<u8>,
    /// Source port and destination port.
    pub ports: Option<(u16, u16)>,
}

impl Fields {
    /// The packet's flow: a hash of all fields, as network cards compute one. Packets without
    /// addresses have one flow together.
    pub fn flow(&self) -> u16 {
        let address = |address: IpAddr| match address {
            IpAddr::V4(four) => u64::from(four.to_bits()),
            IpAddr::V6(six) => mix(six.to_bits() as u64, (six.to_bits() >> 64) as u64),
        };
        let (from, to) = self.addresses.map_or((0, 0), |(from, to)| (address(from), address(to)));
        let (source, destination) = self.ports.unwrap_or_default();
        let rest = u64::from(self.protocol.unwrap_or(0)) << 32 | u64::from(source) << 16 | u64::from(destination);
        mix(mix(from, to), rest) as u16
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Types of tags that stand before the packet's type: 802.1Q and 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// Protocols with ports at the beginning of their header: TCP, UDP, DCCP, SCTP.
const WITH_PORTS: [u8; 4] = [6, 17, 33, 132];
/// Extension headers of IPv6 that are skipped: hop by hop, routing, destination.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
/// The extension header of a fragment.
const FRAGMENT: u8 = 44;

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads the fields out of a packet's first bytes.
pub fn fields(link: LinkType, bytes: &[u8]) -> Fields {
    let (kind, at) = match link {
        LinkType::Ethernet => {
            let mut at = 12;
            while half(bytes, at).is_some_and(|kind| TAGS.contains(&kind)) {
                at += 4;
            }
            (half(bytes, at), at + 2)
        }
        LinkType::Cooked => (half(bytes, 14), 16),
        LinkType::Raw => {
            let version = bytes.first().map(|byte| byte >> 4);
            (
                version
                    .and_then(|version| [(4, IPV4), (6, IPV6)].into_iter().find(|known| known.0 == version))
                    .map(|k| k.1),
                0,
            )
        }
    };
    let packet = bytes.get(at..).unwrap_or_default();
    match kind {
        Some(IPV4) => version4(packet),
        Some(IPV6) => version6(packet),
        _ => None,
    }
    .unwrap_or_default()
}

fn version4(bytes: &[u8]) -> Option<Fields> {
    let words = usize::from(bytes.first()? & 0xf);
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?)));
    let (protocol, addresses) = (*bytes.get(9)?, (address(12)?, address(16)?));
    // Only the first fragment of a packet has ports.
    let first = half(bytes, 6)? & 0x1fff == 0;
    let ports = if first && words >= 5 { ports(protocol, bytes, words * 4) } else { None };
    Some(Fields { addresses: Some(addresses), protocol: Some(protocol), ports })
}

fn version6(bytes: &[u8]) -> Option<Fields> {
    let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?)));
    let addresses = (address(8)?, address(24)?);
    let (mut protocol, mut at, mut first) = (bytes[6], 40, true);
    while EXTENSIONS.contains(&protocol) || protocol == FRAGMENT {
        let Some(header) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else {
            return Some(Fields { addresses: Some(addresses), protocol: None, ports: None });
        };
        let length = if protocol == FRAGMENT {
            first &= u16::from_be_bytes([header[2], header[3]]) & 0xfff8 == 0;
            8
        } else {
            8 + 8 * usize::from(header[1])
        };
        (protocol, at) = (header[0], at + length);
    }
    let ports = if first { ports(protocol, bytes, at) } else { None };
    Some(Fields { addresses: Some(addresses), protocol: Some(protocol), ports })
}

fn ports(protocol: u8, bytes: &[u8], at: usize) -> Option<(u16, u16)> {
    if !WITH_PORTS.contains(&protocol) {
        return None;
    }
    Some((half(bytes, at)?, half(bytes, at + 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header of 20 bytes, without the packet behind it.
    fn ipv4(protocol: u8, offset: u16) -> Vec<u8> {
        let mut out = vec![0x45, 0, 0, 40, 0, 0];
        out.extend(offset.to_be_bytes());
        out.extend([64, protocol, 0, 0, 10, 0, 0, 1, 192, 168, 0, 9]);
        out
    }

    const PORTS: [u8; 4] = [0x12, 0x34, 0, 80];

    #[test]
    fn ports_are_found_behind_tags_and_options() {
        let expected = Fields {
            addresses: Some((Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(192, 168, 0, 9).into())),
            protocol: Some(6),
            ports: Some((0x1234, 80)),
        };
        let plain = [&ipv4(6, 0)[..], &PORTS].concat();
        assert_eq!(fields(LinkType::Raw, &plain), expected);
        let ethernet = [&[0; 12][..], &[8, 0], &plain].concat();
        assert_eq!(fields(LinkType::Ethernet, &ethernet), expected);
        let tagged = [&[0; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 8, 0], &plain].concat();
        assert_eq!(fields(LinkType::Ethernet, &tagged), expected);
        assert_eq!(fields(LinkType::Cooked, &[&[0; 14][..], &[8, 0], &plain].concat()), expected);
        let mut options = [&ipv4(6, 0)[..], &[1; 8], &PORTS].concat();
        options[0] = 0x47;
        assert_eq!(fields(LinkType::Raw, &options), expected);
        // A later fragment has addresses and no ports; a packet with a bad header length has no
        // ports either.
        assert_eq!(fields(LinkType::Raw, &[&ipv4(6, 5)[..], &PORTS].concat()), Fields { ports: None, ..expected });
        options[0] = 0x42;
        assert_eq!(fields(LinkType::Raw, &options), Fields { ports: None, ..expected });
        assert_eq!(fields(LinkType::Raw, &plain[..22]), Fields { ports: None, ..expected });
    }

    #[test]
    fn extension_headers_are_passed_over() {
        let mut head = vec![0x60, 0, 0, 0, 0, 20, 0, 64];
        head.extend([0; 15].iter().chain(&[1]).chain(&[0; 15]).chain(&[2]));
        let hops = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let whole = [&head[..], &hops, &PORTS].concat();
        let found = fields(LinkType::Raw, &whole);
        assert_eq!((found.protocol, found.ports), (Some(17), Some((0x1234, 80))));
        assert_eq!(found.addresses, Some((IpAddr::V6(Ipv6Addr::from(1)), IpAddr::V6(Ipv6Addr::from(2)))));
        let cut = fields(LinkType::Raw, &whole[..44]);
        assert_eq!((cut.protocol, cut.ports, cut.addresses), (None, None, found.addresses));
        head[6] = FRAGMENT;
        let later = [&head[..], &[17, 0, 0, 8, 0, 0, 0, 0], &PORTS].concat();
        assert_eq!(fields(LinkType::Raw, &later).ports, None);
    }

    #[test]
    fn what_is_no_ip_has_no_fields() {
        let arp = [&[0xff; 12][..], &[8, 6], &[0; 28]].concat();
        assert_eq!(fields(LinkType::Ethernet, &arp), Fields::default());
        for link in [LinkType::Ethernet, LinkType::Raw, LinkType::Cooked] {
            for length in 0..30 {
                assert_eq!(fields(link, &vec![0x81; length]), Fields::default());
            }
        }
    }
}
