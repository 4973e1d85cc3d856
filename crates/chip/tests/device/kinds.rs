//! Devices of several kinds, each with its own keys; values that do not fit; and requests that name
//! a CPU which the chip lacks.

use baton_chip::config::keys::{Value, ValueKind, find};
use baton_chip::device::{KINDS, alarm, mailbox};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, units::Cycles};
use baton_units::CoreId;
use std::cell::RefCell;
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

const DEVICES: &str = r#"
[device]
kind = "mailbox alarm mailbox"
count = 3
clock_hz = CLOCK
latency = 10
words = 64
outstanding = 8
link = "dedicated"
way = 25
call = 300
interrupt = 700

[device.alarm]
clock_hz = HALF
latency = 7
way = 5
call = 900
interrupt = 400
places = 2
"#;

/// The sample chip without noise, with two mailboxes and an alarm beside it.
fn text() -> String {
    let clock = Chip::from_toml(SAMPLE, "sample").expect("reads").core.clock.0;
    let devices = DEVICES.replace("CLOCK", &clock.to_string()).replace("HALF", &(clock / 2).to_string());
    format!("{SAMPLE}{devices}")
}

fn chip(settings: &[&str]) -> Chip {
    let fixed = ["noise.latency=0", "noise.start=0", "os.wake_idle=3000", "os.wake_polling=3000"];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(&text(), "x.toml", &all).expect("a right chip")
}

fn on_core_0(chip: &Chip, cpus: Option<u32>, f: impl FnOnce() + 'static) {
    let options = Options { cpus, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("the host has memory");
    let spawn = Spawn { affinity: vec![CoreId(0)], ..Spawn::default() };
    simulation.spawn(spawn, f).expect("there is a core");
    simulation.run().expect("it ends");
}

#[test]
fn a_kind_has_its_own_and_inherits_the_rest() {
    let chip = chip(&[]);
    assert_eq!(Chip::from_toml(&chip.to_toml(), "again"), Ok(chip.clone()));
    let devices = chip.devices.clone().expect("devices");
    let (letters, clocks) = (devices.one(2), devices.one(1));
    assert_eq!(
        (letters.settings.whole("latency"), letters.attachment.places, letters.attachment.way),
        (Some(10), None, Some(Cycles(25)))
    );
    assert_eq!(
        (clocks.settings.whole("latency"), clocks.attachment.places, clocks.settings.whole("words")),
        (Some(7), Some(2), None)
    );
    let times = Rc::new(RefCell::new(Vec::new()));
    let out = times.clone();
    on_core_0(&chip, None, move || {
        let [first, clock, second] = [0, 1, 2].map(|number| Simulated::device(number).expect("three devices"));
        let timed = |f: &dyn Fn()| {
            // Waits for an even cycle: a clock of half the speed has its edges there.
            Simulated::work(Cycles(2 - act::time().0 % 2));
            let began = act::time().0;
            f();
            out.borrow_mut().push(act::time().0 - began);
        };
        for mail in [first, second] {
            timed(&|| assert_eq!(mail.call(mailbox::OPEN, [4, 0]).status, 0));
            timed(&|| assert_eq!(mail.request(mailbox::SEND, [0, 7]).wait().status, 0));
        }
        timed(&|| assert_eq!(clock.call(alarm::SET, [1_000, 0]).status, 0));
        timed(&|| assert_eq!(clock.request(alarm::SET, [1_000, 0]).wait().status, 0));
        timed(&|| clock.interrupt());
    });
    // A request takes a cycle to set out, the way to the device, the wait for the next edge, the
    // latency and the way back. A system call pays its price before that.
    let (mail, ring) = (1 + 25 + 10 + 25, 1 + 5 + 2 * 7 + 5);
    let times = times.take();
    assert_eq!(times[..4], [300 + mail, mail, 300 + mail, mail]);
    assert_eq!(times[4..6], [900 + ring, ring]);
    // The last time is that of the wait for the alarm's interrupt, which costs at least the price
    // of a system call.
    assert!(times[6] > 900, "{times:?}");
}

#[test]
fn every_kind_has_the_keys_of_a_link_and_its_own() {
    for kind in KINDS {
        let link = ["clock_hz", "places", "way", "flits", "call", "interrupt"];
        for name in link.into_iter().chain(kind.keys.iter().map(|key| key.name)) {
            let own = find(&format!("device.{}.{name}", kind.name)).expect(name);
            let mut chip = chip(&[]);
            let value = match own.kind {
                ValueKind::Choice(words) => Value::Text(words[0].to_owned()),
                _ => Value::Whole(7_000_000),
            };
            own.set(&mut chip, value.clone());
            assert_eq!(own.get(&chip), Some(value), "{} {name}", kind.name);
            let Some(all) = find(&format!("device.{name}")) else { continue };
            assert_eq!(format!("{:?}", own.kind), format!("{:?}", all.kind), "{} {name}", kind.name);
            assert_ne!(all.get(&chip), own.get(&chip), "{} {name} is its own", kind.name);
        }
    }
    assert!(find("device.alarm.words").is_none(), "an alarm keeps no words");
}

/// A key that the kind of a device needs must be given; a key that no device's kind needs may be
/// left out.
#[test]
fn a_kinds_keys_are_asked_of_chips_that_have_one() {
    let without = |line: &str, kind: &str| text().replace(line, "").replace("mailbox alarm mailbox", kind);
    let error = Chip::from_toml(&without("words = 64\n", "mailbox alarm mailbox"), "x.toml").expect_err("no words");
    assert!(error.to_string().contains("key `device.words` is missing (words of eight bytes"), "{error}");
    let alarms = Chip::from_toml(&without("words = 64\n", "alarm"), "x.toml").expect("an alarm needs no words");
    assert!(!alarms.to_toml().contains("words ="));
}

#[test]
fn what_does_not_fit_names_file_line_and_key() {
    let refused = |from: &str, to: &str| {
        let all = text();
        assert!(all.contains(from), "{from}");
        // The tables of devices are at the end of the file, so the last occurrence is replaced.
        let at = all.rfind(from).expect("it is there");
        let text = format!("{}{to}{}", &all[..at], &all[at + from.len()..]);
        let error = Chip::from_toml(&text, "x.toml").expect_err(to).to_string();
        let line = text.lines().position(|line| line == to).expect("the line") + 1;
        assert!(error.starts_with(&format!("x.toml:{line}: ")), "line {line}: {error}");
        error
    };
    for (from, to, says) in [
        ("places = 2", "places = 0", "key `device.alarm.places` is 0; expected a whole number from 1 to 65536"),
        ("places = 2", "places = \"two\"", "key `device.alarm.places` is the text \"two\""),
        ("places = 2", "plaecs = 2", "unknown key `device.alarm.plaecs`; did you mean `device.alarm.places`?"),
        ("places = 2", "flits = 2", "key `device.alarm.flits` is given; expected none with device.link \"dedicated\""),
        ("way = 25", "places = 0", "key `device.places` is 0; expected a whole number from 1 to 65536"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(says), "{to}: {error}");
    }
    let clock = Chip::from_toml(SAMPLE, "sample").expect("reads").core.clock.0;
    let error = refused(&format!("clock_hz = {}", clock / 2), "clock_hz = 99_000_000_000");
    assert!(error.contains("key `device.alarm.clock_hz` is 99000000000; expected at most core.clock_hz"), "{error}");
    // A table of a kind that the chip has no device of, a kind that is not known, and a kind's
    // table without `[device]`.
    let says = |text: &str, what: &str| {
        let error = Chip::from_toml(text, "x.toml").expect_err(what).to_string();
        assert!(error.starts_with("x.toml:") && error.contains(what), "{error}");
    };
    says(
        &text().replace("mailbox alarm mailbox", "mailbox"),
        "key `device.alarm.clock_hz` is given; expected no [device.alarm]: device.kind, \"mailbox\", has no such device",
    );
    says(&text().replace("[device.alarm]", "[device.post]"), "unknown key `device.post`");
    says(&format!("{SAMPLE}\n[device.alarm]\nlatency = 5\n"), "key `device.kind` is missing");
    let set = |settings: &[&str]| {
        let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Chip::from_toml_with(&text(), "x.toml", &all).map(|_| ()).map_err(|error| error.to_string())
    };
    let error = set(&["device.alarm.places=99999"]).expect_err("too many");
    assert!(error.starts_with("--set: key `device.alarm.places` is 99999"), "{error}");
    assert_eq!(set(&["device.mailbox.way=3", "device.mailbox.places=4"]), Ok(()));
}

/// A device refuses a request that names a CPU which the chip lacks.
#[test]
fn a_cpu_that_the_chip_lacks_is_refused() {
    let settings = |link: [&str; 2]| {
        let fixed = [
            "device.kind=mailbox alarm",
            "device.count=2",
            "device.clock_hz=1_000_000_000",
            "device.latency=10",
            "device.words=64",
            "device.outstanding=8",
            "device.call=300",
            "device.interrupt=700",
        ];
        fixed.into_iter().chain(link).map(str::to_owned).collect::<Vec<_>>()
    };
    for link in [["device.link=network", "device.flits=1"], ["device.link=dedicated", "device.way=25"]] {
        let chip = Chip::from_toml_at(OCOR, "x.toml", Some(4), &settings(link)).expect("a right chip");
        for (cpus, in_use) in [(None, 4), (Some(2), 2)] {
            on_core_0(&chip, cpus, move || {
                let [mail, clock] = [0, 1].map(|number| Simulated::device(number).expect("two devices"));
                for cpu in [in_use, in_use + 1, 1 << 32, 1 << 33 | 1, u64::MAX - 1] {
                    assert_eq!(mail.call(mailbox::OPEN, [4, cpu + 1]).status, mailbox::NO_CPU, "CPU {cpu}");
                    assert_eq!(clock.request(alarm::SET, [100, cpu]).wait().status, alarm::NO_CPU, "CPU {cpu}");
                }
                assert_eq!(clock.request(alarm::SET, [100, u64::MAX]).wait().status, alarm::NO_CPU);
                for after in [0, alarm::FARTHEST + 1, u64::MAX] {
                    assert_eq!(clock.request(alarm::SET, [after, 0]).wait().status, alarm::REFUSED);
                }
                // The greatest number that names a CPU, and 0, which names none.
                assert_eq!(mail.call(mailbox::OPEN, [4, in_use]).status, 0);
                assert_eq!(mail.call(mailbox::OPEN, [4, 0]).status, 0);
                assert_eq!(mail.request(mailbox::SEND, [0, 7]).wait().status, 0);
                mail.interrupt();
                assert_eq!(clock.request(alarm::SET, [100, in_use - 1]).wait().status, 0);
                clock.interrupt();
            });
        }
    }
}
