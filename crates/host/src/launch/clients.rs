//! Load generators: processes that the user names, and processes of this machine that talk to the
//! program by TCP. The CPU time that they use is no disturbance of the program: they are what it
//! works for.

use super::listening::inodes;
use super::still::family;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A process that gives the program work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub pid: u32,
    /// The process's name, as the kernel has it.
    pub name: String,
    /// CPU time that the process has used since the program was started.
    pub used: Duration,
}

/// The clients of a program, looked for now and then while it runs.
pub struct Clients {
    server: u32,
    named: Vec<u32>,
    /// The kernel's time, in ticks since boot, at which the watch began.
    began: u64,
    found: BTreeMap<u32, Found>,
    /// Sockets at the clients' ends of which the process has been looked for.
    known: BTreeSet<u64>,
}

struct Found {
    name: String,
    /// CPU time that the process had used before the watch began.
    before: Duration,
    last: Duration,
}

impl Clients {
    /// Begins to look for clients of the program with the process number `server`. The processes
    /// `named`, and those that they start, are clients.
    pub fn of(server: u32, named: &[u32]) -> Clients {
        let mut clients =
            Clients { server, named: named.to_vec(), began: now(), found: BTreeMap::new(), known: BTreeSet::new() };
        // What a named process has used before does not count, so it is looked at now. Connections are
        // looked for later: the program has none yet, and needs the CPUs for its start.
        if !named.is_empty() {
            clients.look();
        }
        clients
    }

    /// Looks for clients, and at the CPU time that each has used.
    pub fn look(&mut self) {
        for (pid, found) in &mut self.found {
            found.last = used(*pid).map_or(found.last, |used| used.max(found.last));
        }
        let named: Vec<u32> = self.named.iter().flat_map(|pid| family(*pid)).collect();
        let talking = self.talking();
        for pid in named.into_iter().chain(talking).filter(|pid| *pid != std::process::id()) {
            if self.found.contains_key(&pid) {
                continue;
            }
            let (Some(last), Some((name, started))) = (used(pid), stat(pid)) else { continue };
            let before = if started >= self.began { Duration::ZERO } else { last };
            self.found.insert(pid, Found { name, before, last });
        }
    }

    /// The processes at the other ends of the program's new connections.
    fn talking(&mut self) -> Vec<u32> {
        let connections = connections();
        let servers = family(self.server);
        let own: BTreeSet<u64> = servers.iter().flat_map(|pid| inodes(*pid)).collect();
        let ends: BTreeSet<(&str, &str)> =
            connections.iter().filter(|one| own.contains(&one.inode)).map(|one| (&*one.there, &*one.here)).collect();
        let theirs = connections.iter().filter(|one| ends.contains(&(&*one.here, &*one.there)));
        let new: BTreeSet<u64> = theirs.map(|one| one.inode).filter(|inode| !own.contains(inode)).collect();
        let new: BTreeSet<u64> = new.difference(&self.known).copied().collect();
        if new.is_empty() {
            return Vec::new();
        }
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let has_one = |pid: &u32| inodes(*pid).iter().any(|inode| new.contains(inode));
        let pids = numbers.filter(|pid| !servers.contains(pid)).filter(has_one).collect();
        self.known.extend(new);
        pids
    }

    /// The clients that have used CPU time since the watch began, the busiest first.
    pub fn used(&self) -> Vec<Client> {
        let client = |(pid, found): (&u32, &Found)| Client {
            pid: *pid,
            name: found.name.clone(),
            used: found.last.saturating_sub(found.before),
        };
        let mut clients: Vec<Client> = self.found.iter().map(client).filter(|one| !one.used.is_zero()).collect();
        clients.sort_by_key(|one| (std::cmp::Reverse(one.used), one.pid));
        clients
    }
}

/// Whether there is a process with this number.
pub fn exists(pid: u32) -> bool {
    used(pid).is_some()
}

/// A TCP connection: the addresses and ports of both ends, as /proc writes them, and the socket's
/// number.
struct Connection {
    here: String,
    there: String,
    inode: u64,
}

/// All TCP connections of this process's network namespace.
fn connections() -> Vec<Connection> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let texts = [read("/proc/net/tcp"), read("/proc/net/tcp6")];
    texts.iter().flat_map(|text| text.lines().skip(1).filter_map(connection)).collect()
}

fn connection(line: &str) -> Option<Connection> {
    let mut words = line.split_whitespace().skip(1);
    let (here, there) = (words.next()?, words.next()?);
    let inode = words.nth(6)?.parse().ok()?;
    Some(Connection { here: plain(here), there: plain(there), inode })
}

/// An address without the prefix by which an IPv6 socket writes an IPv4 address.
fn plain(address: &str) -> String {
    address.strip_prefix("0000000000000000FFFF0000").unwrap_or(address).to_owned()
}

/// CPU time that a process has used; `None` if there is no such process.
fn used(pid: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: both calls fill the value whose address they get.
    unsafe {
        if libc::clock_getcpuclockid(pid as i32, &mut clock) != 0 {
            return None;
        }
        let mut time: libc::timespec = std::mem::zeroed();
        let failed = libc::clock_gettime(clock, &mut time) != 0;
        (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

/// A process's name, and when it was started, in ticks since boot.
fn stat(pid: u32) -> Option<(String, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses, and may contain anything.
    let (begin, end) = (text.find('(')?, text.rfind(')')?);
    let started = text[end..].split_whitespace().nth(20)?.parse().ok()?;
    Some((text[begin + 1..end].to_owned(), started))
}

/// The time since boot in the kernel's ticks.
fn now() -> u64 {
    // SAFETY: both calls get a number, and the second one fills `time`.
    unsafe {
        let hertz = libc::sysconf(libc::_SC_CLK_TCK).max(1) as u64;
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time);
        time.tv_sec as u64 * hertz + time.tv_nsec as u64 * hertz / 1_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_are_found_by_their_addresses() {
        let v4 = "   0: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0";
        let v6 = "   0: 0000000000000000FFFF00000100007F:C001 0000000000000000FFFF00000100007F:1F90 01 0:0 00:0 0  1000  0 4712 1 0";
        let (server, client) = (connection(v4).unwrap(), connection(v6).unwrap());
        assert_eq!((server.here, server.there), (client.there, client.here));
        assert_eq!((server.inode, client.inode), (4711, 4712));
    }

    #[test]
    fn a_process_is_known_by_its_number() {
        let me = std::process::id();
        assert!(exists(me) && used(me).is_some());
        let (name, started) = stat(me).unwrap();
        assert!(!name.is_empty() && started > 0 && started <= now());
        // A process that is named when the watch begins has used its time before.
        assert!(Clients::of(0, &[]).used().is_empty());
    }
}
