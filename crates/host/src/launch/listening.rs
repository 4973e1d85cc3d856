//! Finds the sockets at which processes listen, from /proc. A connection made only to find out
//! would count as one of the server's.

use std::collections::BTreeSet;
use std::path::Path;

/// A socket that waits for connections, or takes datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener {
    /// The kernel's number of the socket.
    inode: u64,
    /// The port; `None` for a Unix socket, which has a name instead.
    pub port: Option<u16>,
}

/// States of a socket, as /proc/net/tcp and /proc/net/udp number them.
const LISTENS: &str = "0A";
const TIME_WAIT: &str = "06";
const UNCONNECTED: &str = "07";
/// The flag, in /proc/net/unix, of a socket that waits for connections.
const ACCEPTS: u32 = 0x10000;

/// Every socket of this process's network namespace at which some process listens.
fn all() -> Vec<Listener> {
    let mut found = Vec::new();
    for (file, state) in [("tcp", LISTENS), ("tcp6", LISTENS), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)] {
        let of_state = sockets(file).into_iter().filter(|socket| socket.state == state);
        found.extend(of_state.map(|socket| Listener { inode: socket.inode, port: Some(socket.port) }));
    }
    found.extend(read("unix").lines().filter_map(named));
    found
}

/// The sockets at which these processes listen.
pub fn of(processes: &BTreeSet<u32>) -> Vec<Listener> {
    let theirs: BTreeSet<u64> = processes.iter().flat_map(|pid| inodes(*pid)).collect();
    all().into_iter().filter(|listener| theirs.contains(&listener.inode)).collect()
}

/// Whether any process in this process's network namespace listens at this port.
pub fn is_taken(port: u16) -> bool {
    all().iter().any(|listener| listener.port == Some(port))
}

/// The number of connections of this port that have ended and still keep the port busy.
pub fn still_ending(port: u16) -> usize {
    let ends = |file| sockets(file).into_iter().filter(|s| s.state == TIME_WAIT && s.port == port).count();
    ends("tcp") + ends("tcp6")
}

/// A line of /proc/net/tcp or /proc/net/udp.
struct Socket {
    port: u16,
    state: String,
    inode: u64,
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new("/proc/net").join(file)).unwrap_or_default()
}

fn sockets(file: &str) -> Vec<Socket> {
    read(file).lines().filter_map(socket).collect()
}

fn socket(line: &str) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let port = u16::from_str_radix(words.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    Some(Socket { port, state: (*words.get(3)?).to_owned(), inode: words.get(9)?.parse().ok()? })
}

/// Reads a line of /proc/net/unix, if it describes a socket that waits for connections.
fn named(line: &str) -> Option<Listener> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let flags = u32::from_str_radix(words.get(3)?, 16).ok()?;
    let inode = words.get(6)?.parse().ok()?;
    (flags & ACCEPTS != 0).then_some(Listener { inode, port: None })
}

/// The kernel's numbers of the sockets that a process has open.
pub(super) fn inodes(pid: u32) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let inode = |target: &Path| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    entries.filter_map(|entry| inode(&std::fs::read_link(entry.ok()?.path()).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_of_this_process_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = BTreeSet::from([std::process::id()]);
        assert!(of(&me).iter().any(|found| found.port == Some(port)));
        assert!(is_taken(port) && of(&BTreeSet::new()).is_empty());
        let _client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (served, _) = listener.accept().unwrap();
        drop(listener);
        assert!(!is_taken(port), "a connection is no listener");
        // The side that closes first keeps its port busy for a while: here the server's side.
        drop(served);
        drop(_client);
        for _ in 0..200 {
            if still_ending(port) > 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no connection that ends");
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let tcp = "   1: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   107        0 34567 1 0000 100 0 0 10 0";
        let read = socket(tcp).unwrap();
        assert_eq!((read.port, read.state.as_str(), read.inode), (11211, LISTENS, 34567));
        assert!(
            socket("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
                .is_none()
        );
        let unix = "0000000000000000: 00000002 00000000 00010000 0001 01 22334 /run/x.sock";
        assert_eq!(named(unix), Some(Listener { inode: 22334, port: None }));
        assert_eq!(named("0000000000000000: 00000003 00000000 00000000 0001 03 22335"), None);
    }
}
