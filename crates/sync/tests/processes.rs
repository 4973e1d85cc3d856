//! Queues between processes: files are checked, and the queue works on when a process is killed.
//! `BATON_KILLS` sets the number of kills of each kind of queue and side
//! (`scripts/check/queue-kills`).

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the tests stand outside of the algorithms")]

use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Machine, Native};
use baton_sync::processes::{Kind, OpenError, Receiver, Refused, Sender, create};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const KINDS: [Kind; 2] = [Kind::OneToOne, Kind::ManyToMany];

/// Where the file has the seats of the holders of both locks, in two bytes each.
const SEATS_AT: [usize; 2] = [136, 264];

fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn soon(milliseconds: u64) -> Option<Deadline> {
    let clock = Clock::Monotonic;
    Some(Deadline { at: Native::now(clock) + Nanos(milliseconds * 1_000_000), clock })
}

#[test]
fn items_pass_in_order_and_a_queue_holds_its_capacity() {
    let folder = folder();
    for (kind, name) in KINDS.into_iter().zip(["one", "many"]) {
        let path = folder.path().join(name);
        create(&path, kind, 3, 5).unwrap();
        let (mut send, mut receive) = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
        assert_eq!((send.capacity(), receive.item_bytes(), send.kind()), (3, 5, kind));
        let mut item = [0; 5];
        assert_eq!(receive.try_receive(&mut item), Err(Refused::Empty));
        assert_eq!(receive.receive(&mut item, soon(2)), Err(Refused::Expired));
        for round in 0..4u8 {
            for n in 0..3 {
                send.try_send(&[round, n, 2, 3, 4]).unwrap();
            }
            assert_eq!(send.try_send(&item), Err(Refused::Full));
            assert_eq!(send.send(&item, soon(2)), Err(Refused::Expired));
            for n in 0..3 {
                receive.receive(&mut item, None).unwrap();
                assert_eq!(item, [round, n, 2, 3, 4]);
            }
        }
        assert_eq!(send.try_send(&[0; 4]), Err(Refused::Size { slice: 4, item: 5 }));
        assert_eq!(receive.try_receive(&mut [0; 6]), Err(Refused::Size { slice: 6, item: 5 }));
        send.try_send(&[9; 5]).unwrap();
        send.close();
        assert!(receive.is_closed() && send.try_send(&item) == Err(Refused::Closed));
        receive.receive(&mut item, None).unwrap();
        assert_eq!(receive.receive(&mut item, None), Err(Refused::Closed));
    }
}

#[test]
fn sleepers_of_both_sides_are_woken() {
    let folder = folder();
    let path = folder.path().join("queue");
    create(&path, Kind::ManyToMany, 2, 8).unwrap();
    let sum: u64 = std::thread::scope(|s| {
        let senders = [(); 2].map(|()| {
            let mut send = Sender::open(&path).unwrap();
            s.spawn(move || (1..=500u64).for_each(|n| send.send(&n.to_ne_bytes(), None).unwrap()))
        });
        let receivers = [(); 2].map(|()| {
            let mut receive = Receiver::open(&path).unwrap();
            s.spawn(move || {
                let (mut sum, mut item) = (0, [0; 8]);
                while receive.receive(&mut item, None) != Err(Refused::Closed) {
                    sum += u64::from_ne_bytes(item);
                }
                sum
            })
        });
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        Sender::open(&path).unwrap().close();
        receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum()
    });
    assert_eq!(sum, 2 * 125_250);
}

#[test]
fn what_cannot_be_a_queue_is_refused_with_its_reason() {
    let folder = folder();
    let path = folder.path().join("queue");
    let refused = |found: Result<(), OpenError>| found.unwrap_err().to_string();
    for (capacity, bytes, why) in [
        (0, 8, "its capacity is 0, not 1 to 2^30 items"),
        ((1 << 30) + 1, 8, "its capacity is 1073741825, not 1 to 2^30 items"),
        (1, 0, "its items have 0 bytes, not 1 to 2^30"),
    ] {
        assert_eq!(refused(create(&path, Kind::OneToOne, capacity, bytes)), format!("{}: {why}", path.display()));
    }
    create(&path, Kind::OneToOne, 4, 8).unwrap();
    assert!(refused(create(&path, Kind::OneToOne, 4, 8)).contains("File exists"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["queue"], "a temporary file was left");

    let first = Sender::open(&path).unwrap();
    let taken = Sender::open(&path).unwrap_err().to_string();
    assert!(taken.contains("another sender or receiver has the place"), "{taken}");
    drop(first);
    drop(Sender::open(&path).unwrap());

    let good = std::fs::read(&path).unwrap();
    let bad = |place: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[place..place + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, changed).unwrap();
        Receiver::open(&path).unwrap_err().to_string()
    };
    for (place, bytes, why) in [
        (0, &b"Button"[..], "it is no queue"),
        (8, &[9], "it is a queue of version 9, and this program knows version 1"),
        (12, &[7], "its kind is 7, not 0 or 1"),
        (16, &[0], "its capacity is 0, not"),
        (16, &[5], "bytes, and a queue of its capacity has"),
        (23, &[1], "not 1 to 2^30 items"),
        (24, &[9], "bytes, and a queue of its capacity has"),
    ] {
        let said = bad(place, bytes);
        assert!(said.starts_with(&path.display().to_string()) && said.contains(why), "{said}");
    }
    std::fs::write(&path, &good[..100]).unwrap();
    assert!(Receiver::open(&path).unwrap_err().to_string().contains("it has 100 bytes, a queue has at least"));
    assert!(Receiver::open(folder.path()).is_err() && Receiver::open(folder.path().join("none")).is_err());
}

/// Writes the seat of a holder into both locks of the file.
fn hold(path: &Path, seat: u16) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    SEATS_AT.iter().for_each(|&at| file.write_all_at(&seat.to_le_bytes(), at as u64).unwrap());
}

#[test]
fn a_lock_is_taken_over_from_the_dead_and_not_from_the_living() {
    let folder = folder();
    let path = folder.path().join("queue");
    create(&path, Kind::ManyToMany, 4, 8).unwrap();
    // The ends get the seats 1 and 2. No process has seat 77.
    let (mut send, mut receive) = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
    let mut item = [0; 8];
    hold(&path, 77);
    send.try_send(&[7; 8]).unwrap();
    receive.try_receive(&mut item).unwrap();
    assert_eq!(item, [7; 8]);
    // A process that died had the seat that this one got.
    hold(&path, 1);
    send.try_send(&[8; 8]).unwrap();
    hold(&path, 2);
    assert_eq!(send.send(&[9; 8], soon(60)), Err(Refused::Expired));
    receive.receive(&mut item, soon(60)).unwrap();
    assert_eq!(item, [8; 8]);
    drop(receive);
    send.try_send(&[9; 8]).unwrap();
}

/// The receiver's process lives, has seat 2, and seems to hold both locks: it was stopped there, say.
#[test]
fn a_try_does_not_wait_for_a_living_holder() {
    let folder = folder();
    let path = folder.path().join("queue");
    create(&path, Kind::ManyToMany, 4, 8).unwrap();
    let (mut send, mut receive) = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
    hold(&path, 2);
    assert_eq!(send.try_send(&[7; 8]), Err(Refused::Busy));
    assert_eq!(send.send(&[7; 8], soon(30)), Err(Refused::Expired));
    hold(&path, 1);
    assert_eq!(receive.try_receive(&mut [0; 8]), Err(Refused::Busy));
    hold(&path, 0);
    send.try_send(&[7; 8]).unwrap();
    receive.try_receive(&mut [0; 8]).unwrap();
}

/// The sender that died with the sender's lock had seat 2, which a receiver gets after it. The
/// receiver never takes that lock, and lives.
#[test]
fn a_seat_that_is_claimed_anew_holds_no_lock() {
    let folder = folder();
    let path = folder.path().join("queue");
    create(&path, Kind::ManyToMany, 4, 8).unwrap();
    hold(&path, 2);
    let (mut send, mut receive) = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
    send.send(&[5; 8], soon(1_000)).unwrap();
    let mut item = [0; 8];
    receive.receive(&mut item, soon(1_000)).unwrap();
    assert_eq!(item, [5; 8]);
}

#[test]
fn one_of_two_that_create_a_queue_at_once_has_made_it_whole() {
    let folder = folder();
    for round in 0..50 {
        let path = folder.path().join(format!("queue-{round}"));
        let made = std::thread::scope(|s| {
            [4, 8]
                .map(|capacity| {
                    s.spawn({
                        let path = &path;
                        move || create(path, Kind::OneToOne, capacity, 8).is_ok().then_some(capacity)
                    })
                })
                .map(|thread| thread.join().unwrap())
        });
        let made: Vec<usize> = made.into_iter().flatten().collect();
        assert_eq!(made, [Sender::open(&path).unwrap().capacity()]);
    }
}

/// Any bytes in the file make calls fail or pass, and nothing worse.
#[test]
fn no_bytes_of_a_file_panic_or_hang() {
    let folder = folder();
    let mut draw = Draw(7);
    for round in 0..300 {
        let path = folder.path().join(format!("queue-{round}"));
        create(&path, KINDS[round % 2], 4, 16).unwrap();
        let mut ends = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
        ends.0.try_send(&[1; 16]).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for _ in 0..=draw.below(6) {
            // The head is most of the file.
            file.write_at(&draw.next().to_ne_bytes()[..1 + draw.below(8) as usize], draw.below(bytes - 8)).unwrap();
        }
        let mut item = [0; 16];
        for _ in 0..3 {
            let _ = (ends.0.try_send(&item), ends.1.try_receive(&mut item));
        }
        let _ = (ends.0.send(&item, soon(1)), ends.1.receive(&mut item, soon(1)));
        drop(ends);
        if let (Ok(mut send), Ok(mut receive)) = (Sender::open(&path), Receiver::open(&path)) {
            let (mut sent, mut received) = (vec![0; send.item_bytes()], vec![0; receive.item_bytes()]);
            let _ = (send.try_send(&sent), receive.try_receive(&mut received));
            sent.push(0);
            assert!(matches!(send.try_send(&sent), Err(Refused::Size { .. })));
        }
    }
}

/// Marsaglia's xorshift64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A number in a file, by which a worker says which operation it has finished last.
struct Record(*const AtomicU64);

impl Record {
    fn open(path: &Path) -> Record {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(8).unwrap();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which is never unmapped, of a file that is never made shorter.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 8, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Record(start.cast())
    }

    fn number(&self) -> &AtomicU64 {
        // SAFETY: the mapping lives until the process ends.
        unsafe { &*self.0 }
    }
}

const FOLDER: &str = "BATON_TEST_WORKER";
const SIDE: &str = "BATON_TEST_SIDE";

/// Bytes of an item: so many that a worker is often killed in the middle of one.
const BYTES: usize = 4096;
const PLACES: usize = 64;

/// An item that has the number in all of its words.
fn item(n: u64) -> [u8; BYTES] {
    let mut item = [0; BYTES];
    item.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&n.to_ne_bytes()));
    item
}

/// Returns the number in an item, which must be whole.
fn number(found: &[u8; BYTES]) -> u64 {
    let n = u64::from_ne_bytes(found[..8].try_into().unwrap());
    assert!(*found == item(n), "a torn item");
    n
}

/// What a worker does until it is killed; no test without the environment variables.
#[test]
fn worker() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (path, record) = (folder.join("queue"), Record::open(&folder.join("record")));
    if std::env::var(SIDE).unwrap() == "sender" {
        let mut send = Sender::open(&path).unwrap();
        let mut n = 0;
        loop {
            n += 1;
            send.send(&item(n), None).unwrap();
            record.number().store(n, Ordering::Release);
        }
    }
    let (mut receive, mut found) = (Receiver::open(path).unwrap(), [0; BYTES]);
    loop {
        receive.receive(&mut found, None).unwrap();
        record.number().store(number(&found), Ordering::Release);
    }
}

fn start(folder: &Path, side: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker"]).env(FOLDER, folder).env(SIDE, side);
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// What came of the kills of one kind of worker.
#[derive(Default, Debug)]
struct Outcome {
    kills: usize,
    /// Workers that held a lock when they were killed.
    held: usize,
    /// Held locks that a thread of the same side, which had its own seat before, took over.
    taken_over: usize,
    /// Workers that were in the middle of an operation which had already happened.
    unfinished: usize,
    longest: Duration,
}

impl Outcome {
    /// Kills the worker. `early` says that another thread of its side has a seat. Returns what the
    /// worker has recorded.
    fn kill(&mut self, mut worker: Child, folder: &Path, early: bool) -> u64 {
        worker.kill().unwrap();
        worker.wait().unwrap();
        let queue = std::fs::read(folder.join("queue")).unwrap();
        let held = SEATS_AT.iter().any(|&at| queue[at] != 0 || queue[at + 1] != 0);
        self.held += usize::from(held);
        self.taken_over += usize::from(held && early);
        self.kills += 1;
        Record::open(&folder.join("record")).number().load(Ordering::Acquire)
    }

    fn went_on(&mut self, since: Instant, record: u64, happened: u64) {
        self.longest = self.longest.max(since.elapsed());
        assert!(
            happened == record || happened == record + 1,
            "{happened} operations, and the worker finished {record}"
        );
        self.unfinished += (happened - record) as usize;
    }
}

const MARK: u64 = u64::MAX;

fn spend(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Kills a sender while this process receives. What was sent comes whole, in order and without gaps,
/// and another sender goes on.
fn kill_a_sender(kind: Kind, delay: Duration, early: bool, outcome: &mut Outcome) {
    let folder = folder();
    let (folder, path) = (folder.path(), folder.path().join("queue"));
    create(&path, kind, PLACES, BYTES).unwrap();
    let mut receive = Receiver::open(&path).unwrap();
    // Opened before, it has another seat than the worker, whose lock it must take over. Opened
    // afterwards, it gets the worker's seat.
    let early = early.then(|| Sender::open(&path).unwrap());
    let worker = start(folder, "sender");
    let (mut last, mut found) = (0, [0; BYTES]);
    let mut next = |receive: &mut Receiver| {
        receive.receive(&mut found, soon(60_000)).unwrap();
        let n = number(&found);
        if n != MARK {
            assert_eq!(n, last + 1, "an item is missing");
            last = n;
        }
        n
    };
    // Afterwards there is room again, so that the worker is sending.
    (0..2 * PLACES).for_each(|_| _ = next(&mut receive));
    spend(delay);
    let killed = Instant::now();
    let record = outcome.kill(worker, folder, early.is_some());
    let mut send = early.unwrap_or_else(|| Sender::open(&path).unwrap());
    std::thread::scope(|s| {
        s.spawn(|| send.send(&item(MARK), soon(60_000)).unwrap());
        while next(&mut receive) != MARK {}
    });
    outcome.went_on(killed, record, last);
}

/// Kills a receiver while this process sends. At most one item is lost, and another receiver goes on.
fn kill_a_receiver(kind: Kind, delay: Duration, early: bool, outcome: &mut Outcome) {
    let folder = folder();
    let (folder, path) = (folder.path(), folder.path().join("queue"));
    create(&path, kind, PLACES, BYTES).unwrap();
    let mut send = Sender::open(&path).unwrap();
    let early = early.then(|| Receiver::open(&path).unwrap());
    let worker = start(folder, "receiver");
    let mut sent = 0;
    let mut next = |send: &mut Sender| {
        sent += 1;
        send.send(&item(sent), soon(60_000)).unwrap();
    };
    // Afterwards there are items, as the worker has received one half at most.
    (0..2 * PLACES).for_each(|_| next(&mut send));
    spend(delay);
    let killed = Instant::now();
    let record = outcome.kill(worker, folder, early.is_some());
    let (mut receive, mut found) = (early.unwrap_or_else(|| Receiver::open(&path).unwrap()), [0; BYTES]);
    let mut left = Vec::new();
    while receive.try_receive(&mut found).is_ok() {
        left.push(number(&found));
    }
    let received = left.first().map_or(sent, |first| first - 1);
    assert_eq!(left, Vec::from_iter(received + 1..=sent), "items are missing");
    send.send(&item(MARK), soon(60_000)).unwrap();
    receive.receive(&mut found, soon(60_000)).unwrap();
    assert_eq!(number(&found), MARK);
    outcome.went_on(killed, record, received);
}

#[test]
fn killed_processes_stop_nobody() {
    let kills: usize = std::env::var("BATON_KILLS").map_or(50, |text| text.parse().expect("BATON_KILLS is a number"));
    let mut draw = Draw(0x0ba7_0001);
    for kind in KINDS {
        for (side, kill) in
            [("sender", kill_a_sender as fn(Kind, Duration, bool, &mut Outcome)), ("receiver", kill_a_receiver)]
        {
            let mut outcome = Outcome::default();
            for round in 0..kills {
                let early = kind == Kind::ManyToMany && round % 2 == 0;
                kill(kind, Duration::from_nanos(draw.below(60_000)), early, &mut outcome);
            }
            println!("{kind:?} {side}: {outcome:?}");
            let reached = kind == Kind::OneToOne || outcome.taken_over != 0;
            assert!(reached || kills < 1_000, "no lock of a dead holder was taken over");
        }
    }
}
