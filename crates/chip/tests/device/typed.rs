//! Devices by their protocols, through the machine's extension trait: one source that uses a device
//! where there is one and does without where there is none.

use baton_chip::device::mailbox::{Mail, MailRefusal, MailRequest};
use baton_chip::device::{Port, Request, Taken, Typed, TypedDevice};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Devices;
use baton_machine::Native;
use baton_machine::device::{Device, Payload, Protocol, Ticket, Words};
use std::cell::RefCell;
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");

/// The sample chip with a mailbox.
fn chip() -> Chip {
    let clock = ["device.clock_hz=1_000_000_000"];
    let settings = clock.iter().chain(&crate::MAILBOX).chain(&crate::WIRES).map(|setting| (*setting).to_owned());
    Chip::from_toml_with(SAMPLE, "x.toml", &settings.collect::<Vec<_>>()).expect("a right chip")
}

/// Runs `f` as a guest, and returns what `f` returns.
fn as_guest<T: 'static>(simulation: &mut Simulation, f: impl FnOnce() -> T + 'static) -> T {
    let result = Rc::new(RefCell::new(None));
    let out = result.clone();
    simulation.spawn(Spawn::default(), move || *out.borrow_mut() = Some(f())).expect("there is a core");
    simulation.run().expect("it ends");
    result.take().expect("the guest has ended")
}

/// Sends a letter through the machine's mailbox, if it has one.
fn through_a_mailbox<M: Devices>(letter: u64) -> Option<u64> {
    let mailbox = M::first::<Mail>()?;
    assert_eq!(mailbox.call(MailRequest::Open { room: 65, rings: None }), Err(MailRefusal::NoRoom));
    assert_eq!(mailbox.call(MailRequest::Open { room: 4, rings: Some(1 << 40) }), Err(MailRefusal::NoCpu));
    assert_eq!(mailbox.request(MailRequest::Open { room: 4, rings: None }).wait(), Err(MailRefusal::Refused));
    let to = mailbox.call(MailRequest::Open { room: 4, rings: None }).ok()?;
    assert_eq!(mailbox.request(MailRequest::Send { to, letter }).wait(), Ok(0));
    let ticket = mailbox.request(MailRequest::Receive { from: to });
    assert!(!ticket.is_here(), "the way takes its time");
    ticket.wait().ok()
}

#[test]
fn one_source_uses_a_device_where_there_is_one() {
    let mut simulation = Simulation::new(&chip(), &Options::default()).expect("the host has memory");
    assert_eq!(as_guest(&mut simulation, || through_a_mailbox::<Simulated>(7)), Some(7));
    assert_eq!(through_a_mailbox::<Native>(7), None);
    assert_eq!(<Native as Devices>::count(), 0);
}

/// A protocol whose requests and answers have three words. A request names three numbers; the
/// answer gives their sum, the largest, and how many numbers the device has added so far.
enum Adding {}

impl Protocol for Adding {
    const KIND: &'static str = "adder";
    type Request = Add;
    type Answer = Sum;
}

#[derive(Clone, Copy)]
struct Add(u64, u64, u64);

impl Payload for Add {
    fn to_words(self) -> Words {
        Words::new(1, [self.0, self.1, self.2])
    }

    fn from_words(words: Words) -> Option<Add> {
        let [a, b, c] = words.words;
        (words.tag == 1).then_some(Add(a, b, c))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sum {
    sum: u64,
    largest: u64,
    so_far: u64,
}

impl Payload for Sum {
    fn to_words(self) -> Words {
        Words::new(0, [self.sum, self.largest, self.so_far])
    }

    fn from_words(words: Words) -> Option<Sum> {
        let [sum, largest, so_far] = words.words;
        (words.tag == 0).then_some(Sum { sum, largest, so_far })
    }
}

/// A device that a test defines: it is simulated at one place, and counts the numbers added.
struct Adder(u64);

impl TypedDevice for Adder {
    type Protocol = Adding;

    fn take(&mut self, request: &Request, asked: Option<Add>, port: &mut Port<'_>) -> Taken {
        let Add(a, b, c) = asked.expect("only additions come here");
        self.0 += 3;
        port.reply(request, port.now() + 2, Sum { sum: a + b + c, largest: a.max(b).max(c), so_far: self.0 });
        Taken::Yes
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("added", self.0)]
    }
}

#[test]
fn a_device_of_a_tests_own_speaks_its_own_protocol() {
    let mut simulation = Simulation::new(&chip(), &Options::default()).expect("the host has memory");
    simulation.replace_devices(vec![Box::new(Typed(Adder(0)))]);
    let answers = as_guest(&mut simulation, || {
        assert!(Simulated::first::<Mail>().is_none(), "it is no mailbox any more");
        assert!(Simulated::at::<Adding>(1).is_none(), "there is one device");
        let adder = Simulated::at::<Adding>(0).expect("the device speaks that protocol");
        let first = adder.request(Add(1, 5, 3));
        let second = adder.request(Add(10, 20, 30));
        [second.wait(), first.wait()]
    });
    let sums = [Sum { sum: 60, largest: 30, so_far: 6 }, Sum { sum: 9, largest: 5, so_far: 3 }];
    assert_eq!(answers, sums);
}
