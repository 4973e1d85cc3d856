#!/usr/bin/env python3
"""Makes sample inputs for `baton sim`: sample-inputs.py DIR writes a capture, rules and rows into DIR.

  sample.pcap   300 packets: TCP, UDP, ICMP, IPv6, a VLAN tag, ARP, a fragment (classic pcap, microseconds)
  rules.txt     rules for a firewall; one in some eight of the packets is inspected
  rows.csv      270 rows of 13 attributes and a label, drawn from a logistic model

All of it is made: no packet was on a wire, no row is of a patient. The same files come each time.
"""

import math
import pathlib
import random
import socket
import struct
import sys

PACKETS = 300
ROWS, ATTRIBUTES = 270, 13


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(protocol, source, destination, payload, fragment=0):
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, fragment, 64, protocol, 0,
        socket.inet_aton(source), socket.inet_aton(destination),
    )
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(protocol, source, destination, payload):
    addresses = [socket.inet_pton(socket.AF_INET6, address) for address in (source, destination)]
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), protocol, 64, *addresses) + payload


def tcp(source, destination, payload):
    return struct.pack("!HHIIBBHHH", source, destination, 1, 1, 5 << 4, 0x18, 65535, 0, 0) + payload


def udp(source, destination, payload):
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def frame(kind, payload, tag=None):
    tagged = b"" if tag is None else struct.pack("!HH", 0x8100, tag)
    return bytes.fromhex("020000000002" "020000000001") + tagged + struct.pack("!H", kind) + payload


def packet(draw):
    """One frame."""
    inside = f"10.0.{draw.randrange(4)}.{draw.randrange(1, 255)}"
    outside = f"198.51.100.{draw.randrange(1, 255)}"
    port = draw.randrange(32768, 61000)
    payload = draw.randbytes(draw.choice([0, 18, 512, 1400]))
    kind = draw.randrange(32)
    if kind < 4:
        return frame(0x0800, ipv4(17, outside, inside, udp(port, 666, payload)))
    if kind < 16:
        return frame(0x0800, ipv4(6, outside, inside, tcp(port, draw.choice([80, 443]), payload)))
    if kind < 22:
        return frame(0x0800, ipv4(17, inside, outside, udp(port, 53, payload[:40])))
    if kind < 24:
        return frame(0x0800, ipv4(6, outside, inside, tcp(port, 22, payload)))
    if kind < 26:
        return frame(0x0800, ipv4(1, outside, inside, bytes.fromhex("0800000000010001") + payload[:56]))
    if kind < 28:
        return frame(0x86DD, ipv6(6, "2001:db8::1", "2001:db8::2", tcp(port, 443, payload)))
    if kind < 29:
        return frame(0x0800, ipv4(6, outside, inside, tcp(port, 80, payload)), tag=7)
    if kind < 30:
        return frame(0x0800, ipv4(17, outside, inside, payload, fragment=64))
    addresses = bytes.fromhex("020000000001") + socket.inet_aton(inside) + bytes(6) + socket.inet_aton("10.0.0.1")
    return frame(0x0806, struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + addresses)


def capture(draw):
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for number in range(PACKETS):
        data = packet(draw)
        out.append(struct.pack("<IIII", number // 1000, number % 1000 * 1000, len(data), len(data)) + data)
    return b"".join(out)


RULES = """\
# ACTION PROTOCOL SOURCE DESTINATION PORTS; the first line that fits decides, and what none fits is denied.
inspect udp  any           any         666
deny    tcp  any           any         22
allow   tcp  any           10.0.0.0/16 80,443,8000-8080
allow   tcp  2001:db8::/32 any         443
allow   udp  10.0.0.0/16   any         53
allow   icmp any           any         any
"""


def rows(draw):
    """Rows as of the Statlog (Heart) data in number and width, with labels 1 and 2 as there."""
    weights = [draw.uniform(-2, 2) for _ in range(ATTRIBUTES)]
    lines = [",".join([f"attribute{n}" for n in range(1, ATTRIBUTES + 1)] + ["label"])]
    for _ in range(ROWS):
        row = [round(draw.gauss(0, 1), 4) for _ in range(ATTRIBUTES)]
        odds = sum(value * weight for value, weight in zip(row, weights))
        label = 2 if draw.random() < 1 / (1 + math.exp(-odds)) else 1
        # Each attribute in a unit of its own, as ages and pressures are.
        lines.append(",".join([f"{10 * (n + 1) + (n + 1) * value:g}" for n, value in enumerate(row)] + [str(label)]))
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        asked = len(sys.argv) == 2 and sys.argv[1] in ("-h", "--help")
        print(__doc__.strip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    folder = pathlib.Path(sys.argv[1])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sample.pcap").write_bytes(capture(random.Random(1)))
        (folder / "rules.txt").write_text(RULES)
        (folder / "rows.csv").write_text(rows(random.Random(2)))
    except OSError as error:
        print(f"sample-inputs.py: {error}", file=sys.stderr)
        return 2
    print(f"wrote sample.pcap, rules.txt and rows.csv into {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
