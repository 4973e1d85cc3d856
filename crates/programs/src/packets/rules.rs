//! A firewall's rules: one in each line, and the first rule that fits a packet decides.

use super::header::Fields;
use baton_workloads::inputs::{InputError, Problem, Spot, open, text};
use std::net::IpAddr;
use std::path::Path;

/// What a firewall does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The packet passes.
    Allow,
    /// The packet is dropped.
    Deny,
    /// The whole packet is inspected, and then dropped.
    Inspect,
}

/// A range of addresses, which begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    /// The common bits of the addresses; the other bits are 0.
    bits: u128,
    mask: u128,
    is_v6: bool,
}

/// A rule. A condition that a rule leaves open is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    action: Action,
    protocol: Option<u8>,
    source: Option<Network>,
    destination: Option<Network>,
    /// Ranges of destination ports: the first port and the last port.
    ports: Option<Vec<(u16, u16)>>,
}

/// Rules in their order. A packet that no rule fits is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

const PROTOCOLS: [(&str, u8); 6] = [("icmp", 1), ("tcp", 6), ("udp", 17), ("dccp", 33), ("icmp6", 58), ("sctp", 132)];
const ACTIONS: [(&str, Action); 3] = [("allow", Action::Allow), ("deny", Action::Deny), ("inspect", Action::Inspect)];

/// The largest number of rules that a file may have.
const MOST: usize = 65_536;

impl Rules {
    /// The rules for generated packets: suspicious packets are inspected, all other packets are
    /// allowed.
    pub fn usual() -> Rules {
        Rules::parse(b"inspect udp any any 666\nallow any any any any\n").expect("its rules are right")
    }

    /// Reads a file of rules.
    ///
    /// # Errors
    /// What is wrong with the file, and in which line.
    pub fn open(file: &Path) -> Result<Rules, InputError> {
        open(file, Rules::parse)
    }

    /// Number of rules.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Rules, Problem> {
        let mut rules = Vec::new();
        for (line, text) in (1..).zip(text(bytes)?.lines()) {
            let words: Vec<&str> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            rules.push(rule(&words).map_err(|problem| (Spot::Line(line), problem))?);
            if rules.len() > MOST {
                return Err((Spot::Line(line), format!("more than {MOST} rules")));
            }
        }
        if rules.is_empty() {
            let expected = "has no rules; expected one at least, as in `allow tcp any 10.0.0.0/8 80,443`";
            return Err((Spot::File, expected.to_owned()));
        }
        Ok(Rules(rules))
    }

    /// What the firewall does with a packet, and the number of the rule that says so, from 0.
    /// [`Rules::count`]: no rule fits.
    pub fn decide(&self, fields: &Fields) -> (Action, usize) {
        let fits = self.0.iter().position(|rule| rule.fits(fields));
        fits.map_or((Action::Deny, self.0.len()), |number| (self.0[number].action, number))
    }
}

impl Rule {
    fn fits(&self, fields: &Fields) -> bool {
        let network = |network: Option<Network>, address: Option<IpAddr>| {
            network.is_none_or(|network| address.is_some_and(|address| network.has(address)))
        };
        let port = |ports: &[(u16, u16)]| {
            fields.ports.is_some_and(|(_, to)| ports.iter().any(|(least, most)| (*least..=*most).contains(&to)))
        };
        self.protocol.is_none_or(|protocol| fields.protocol == Some(protocol))
            && network(self.source, fields.addresses.map(|(from, _)| from))
            && network(self.destination, fields.addresses.map(|(_, to)| to))
            && self.ports.as_deref().is_none_or(port)
    }
}

/// An address as a number whose first bit is the highest of 128.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Network {
    fn has(self, address: IpAddr) -> bool {
        self.is_v6 == address.is_ipv6() && bits(address) & self.mask == self.bits
    }
}

fn rule(words: &[&str]) -> Result<Rule, String> {
    let [action, protocol, source, destination, ports] = *words else {
        let expected = "ACTION PROTOCOL SOURCE DESTINATION PORTS, as in `allow tcp any 10.0.0.0/8 80,443`";
        let plural = if words.len() == 1 { "" } else { "s" };
        return Err(format!("{} word{plural}; expected 5: {expected}", words.len()));
    };
    let action = ACTIONS.iter().find(|known| known.0 == action).map(|known| known.1);
    let action = action.ok_or_else(|| format!("action `{}`; expected allow, deny or inspect", words[0]))?;
    Ok(Rule {
        action,
        protocol: open_or(protocol, one_protocol)?,
        source: open_or(source, |text| network("source", text))?,
        destination: open_or(destination, |text| network("destination", text))?,
        ports: open_or(ports, |text| text.split(',').map(|part| range(text, part)).collect())?,
    })
}

/// Reads `any` as `None`, and other text with `parse`.
fn open_or<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text == "any" { Ok(None) } else { parse(text).map(Some) }
}

fn one_protocol(text: &str) -> Result<u8, String> {
    let known = PROTOCOLS.iter().find(|known| known.0 == text).map(|known| known.1);
    known.or_else(|| text.parse().ok()).ok_or_else(|| {
        let names: Vec<&str> = PROTOCOLS.iter().map(|known| known.0).collect();
        format!("protocol `{text}`; expected any, {} or a number from 0 to 255", names.join(", "))
    })
}

fn network(which: &str, text: &str) -> Result<Network, String> {
    let bad = || format!("{which} `{text}`; expected any, an address, or a network as in 10.0.0.0/8 or 2001:db8::/32");
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let most = if address.is_ipv6() { 128 } else { 32 };
    let length = match length {
        None => most,
        Some(length) => length.parse().ok().filter(|length| *length <= most).ok_or_else(bad)?,
    };
    let mask = if length == 0 { 0 } else { u128::MAX << (128 - length) };
    if bits(address) & !mask != 0 {
        return Err(format!("{which} `{text}` has bits beyond its first {length}; expected zeros there"));
    }
    Ok(Network { bits: bits(address), mask, is_v6: address.is_ipv6() })
}

fn range(whole: &str, part: &str) -> Result<(u16, u16), String> {
    let (least, most) = part.split_once('-').unwrap_or((part, part));
    let range = least.parse().ok().zip(most.parse().ok()).filter(|(least, most): &(u16, u16)| least <= most);
    range.ok_or_else(|| format!("ports `{whole}`; expected any, or ports from 0 to 65535 as in 80,443,8000-8080"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(rules: &str, protocol: u8, from: &str, to: &str, port: Option<u16>) -> (Action, usize) {
        let addresses = Some((from.parse().unwrap(), to.parse().unwrap()));
        let fields = Fields { addresses, protocol: Some(protocol), ports: port.map(|port| (9, port)) };
        Rules::parse(rules.as_bytes()).unwrap().decide(&fields)
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = "# a comment\n\
                     deny any 10.1.0.0/16 any any\n\
                     \n\
                     inspect tcp any any 22,8000-8080 # remote shells\n\
                     allow tcp 10.0.0.0/8 any any\n\
                     allow 58 2001:db8::/32 ::1 any\n";
        let tcp = |from, port| decide(rules, 6, from, "192.168.0.1", port);
        assert_eq!(tcp("10.1.2.3", Some(22)), (Action::Deny, 0));
        assert_eq!(tcp("10.2.2.3", Some(22)), (Action::Inspect, 1));
        assert_eq!(tcp("10.2.2.3", Some(8080)), (Action::Inspect, 1));
        assert_eq!(tcp("10.2.2.3", Some(8081)), (Action::Allow, 2));
        assert_eq!(tcp("10.2.2.3", None), (Action::Allow, 2));
        assert_eq!(tcp("11.2.2.3", Some(80)), (Action::Deny, 4));
        assert_eq!(decide(rules, 58, "2001:db8::7", "::1", None), (Action::Allow, 3));
        assert_eq!(decide(rules, 58, "2001:db9::7", "::1", None), (Action::Deny, 4));
        // A packet without addresses fits only rules that leave addresses open.
        let none = Fields::default();
        assert_eq!(Rules::parse(rules.as_bytes()).unwrap().decide(&none), (Action::Deny, 4));
        assert_eq!(Rules::parse(b"allow any any any any").unwrap().decide(&none), (Action::Allow, 0));
        assert_eq!(decide("allow any 0.0.0.0/0 any any", 6, "1.2.3.4", "5.6.7.8", None).0, Action::Allow);
        assert_eq!(decide("allow any 0.0.0.0/0 any any", 6, "::1", "::2", None).0, Action::Deny);
    }

    #[test]
    fn each_broken_line_says_what_was_expected() {
        let refused = |line: &str| {
            let (spot, problem) = Rules::parse(format!("allow any any any any\n\n{line}\n").as_bytes()).unwrap_err();
            assert_eq!(spot, Spot::Line(3), "{line}");
            problem
        };
        assert!(refused("allow tcp any any").starts_with("4 words; expected 5: ACTION PROTOCOL SOURCE"));
        assert_eq!(refused("drop tcp any any 80"), "action `drop`; expected allow, deny or inspect");
        assert!(refused("allow tpc any any 80").starts_with("protocol `tpc`; expected any, icmp, tcp, udp"));
        assert!(refused("allow 256 any any 80").starts_with("protocol `256`; "));
        for bad in ["10.0.0/8", "10.0.0.0/33", "10.0.0.0/x", "::/129", "host", "10.0.0.0/"] {
            assert!(refused(&format!("allow tcp {bad} any 80")).starts_with(&format!("source `{bad}`; expected any")));
        }
        assert_eq!(
            refused("allow tcp any 10.0.0.1/8 80"),
            "destination `10.0.0.1/8` has bits beyond its first 8; expected zeros there"
        );
        for bad in ["80-70", "65536", "80,", "http", "-"] {
            assert!(refused(&format!("allow tcp any any {bad}")).starts_with(&format!("ports `{bad}`; expected any")));
        }
        assert_eq!(Rules::parse(b"# none\n").unwrap_err().0, Spot::File);
        assert_eq!(Rules::parse(b"allow any any any any\n\xff").unwrap_err().0, Spot::Line(2));
    }
}
