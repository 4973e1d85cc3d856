//! Prints what the preload library reports while the program runs. A program may have thousands of
//! processes that all report the same, so only the first message of each subject is printed, and
//! the processes that send one are counted.
//!
//! The library sends datagrams to the socket that `BATON_SAY` names. The name lies outside of the
//! file system, so that a process without rights, root directory or disk space can send too. A
//! process that cannot reach the socket (it is in another network namespace) writes to its own
//! standard error.

use crate::error::Failed;
use std::collections::{BTreeMap, BTreeSet};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

/// The environment variable that holds the socket's name.
pub const VARIABLE: &str = "BATON_SAY";
/// The messages of how many processes are kept, for each subject. Further processes are only
/// counted.
const KEPT: usize = 3;

/// The messages of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectMessages {
    /// The number of processes that sent a message. Processes of one number, in other namespaces or
    /// one after the other, count as one.
    pub processes: u64,
    /// The first messages of the first few processes.
    pub first: Vec<String>,
}

/// Messages by subject, as the library names the subjects: `unrecorded`, `condition`, `spare`,
/// `counters`, `stalled`.
pub type AllMessages = BTreeMap<String, SubjectMessages>;

/// Listens for messages until [`end`](Self::end) is called.
pub struct Messages {
    name: String,
    listener: JoinHandle<AllMessages>,
}

impl Messages {
    /// Begins to listen. A thread calls `say` with the first message of each subject.
    ///
    /// # Errors
    /// If no socket or no thread can be created.
    pub fn begin(say: impl Fn(&str) + Send + 'static) -> Result<Messages, Failed> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let failed = |what: &str| Failed::because(format!("cannot {what} for the messages of the preload library"));
        let name = format!("baton.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let socket = SocketAddr::from_abstract_name(&name).and_then(|address| UnixDatagram::bind_addr(&address));
        let socket = socket.map_err(failed("make a socket"))?;
        let listener = std::thread::Builder::new().name("messages".into()).spawn(move || listen(&socket, say));
        Ok(Messages { name, listener: listener.map_err(failed("start a thread"))? })
    }

    /// The value of [`VARIABLE`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stops listening and returns the messages.
    pub fn end(self) -> AllMessages {
        let address = SocketAddr::from_abstract_name(&self.name);
        // An empty datagram marks the end: it is queued behind everything that the processes have
        // sent.
        let told = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"", &address));
        if told.is_err() { AllMessages::new() } else { self.listener.join().unwrap_or_default() }
    }
}

fn listen(socket: &UnixDatagram, say: impl Fn(&str)) -> AllMessages {
    let mut all = AllMessages::new();
    let mut heard = BTreeSet::new();
    let mut buffer = [0; 1024];
    while let Ok(length) = socket.recv(&mut buffer) {
        if length == 0 {
            break;
        }
        // Any program on this machine may send, so each control character becomes `?` before text
        // reaches the terminal.
        let text: String = String::from_utf8_lossy(&buffer[..length])
            .chars()
            .map(|c| if c.is_control() && c != '\n' { '?' } else { c })
            .collect();
        // The first line has the subject and the number of the process.
        let Some((head, text)) = text.split_once('\n') else { continue };
        if !heard.insert(head.to_owned()) {
            continue;
        }
        let subject = head.split(' ').next().unwrap_or(head);
        let said = all.entry(subject.to_owned()).or_default();
        said.processes += 1;
        if said.processes == 1 {
            say(text);
        }
        if said.first.len() < KEPT {
            said.first.push(text.to_owned());
        }
    }
    all
}

/// The lines to print at the end, one for each subject of which more than one process has spoken.
pub fn repeated(all: &AllMessages) -> Vec<String> {
    let more = all.iter().filter(|(_, said)| said.processes > 1);
    more.map(|(subject, said)| {
        let what = match subject.as_str() {
            "unrecorded" => "processes ran unrecorded",
            "condition" => "processes had a condition wait refused",
            "spare" => "processes had threads served by a plain lock",
            "counters" => "processes could not leave their counters",
            "stalled" => "processes made no progress",
            _ => "processes said the like",
        };
        format!("{} {what} in all", said.processes)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_of_a_subject_is_said_and_all_are_counted() {
        let (sender, heard) = channel();
        let messages = Messages::begin(move |text| sender.send(text.to_owned()).unwrap()).unwrap();
        let address = SocketAddr::from_abstract_name(messages.name()).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        for i in 0..100 {
            socket.send_to_addr(format!("unrecorded {i}\nprocess {i}\x1b[2J").as_bytes(), &address).unwrap();
        }
        // One process sends two messages of a subject, say, because it can leave neither its
        // counters nor its progress. Only the first is said and counted.
        socket.send_to_addr(b"counters 7\nfull", &address).unwrap();
        socket.send_to_addr(b"counters 7\nfull too", &address).unwrap();
        let all = messages.end();
        assert_eq!(heard.into_iter().collect::<Vec<_>>(), ["process 0?[2J", "full"]);
        assert_eq!((all["unrecorded"].processes, all["unrecorded"].first.len()), (100, KEPT));
        assert_eq!(repeated(&all), ["100 processes ran unrecorded in all"]);
    }
}
