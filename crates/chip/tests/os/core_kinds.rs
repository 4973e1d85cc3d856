//! Kinds of cores: how a chip file names them, what differs between them in a run, what cannot
//! differ, and what scheduling policies are told of them.

use baton_chip::config::keys::Value;
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::SeqCst, Owned, units::Cycles};
use baton_sched::{Affinity, Born, Cpu, Cpus, Decision, FULL_SPEED, Params, Scheduler, ThreadId, find};
use baton_units::{CoreId, CpuId, Hertz};
use std::cell::RefCell;
use std::rc::Rc;

const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

const KINDS: &str = r#"
[[core.kind]]
name = "big"
cores = "0-1"
width = 8
rob = 256

[[core.kind]]
name = "little"
count = 2
clock_hz = 500_000_000
fence = 90
"#;

fn text() -> String {
    format!("{OCOR}{KINDS}")
}

/// OCOR's chip with two big cores, two little ones, and four that no kind names.
fn chip(settings: &[&str]) -> Chip {
    let fixed = ["noise.start=0", "core.clock_change=100", "core.clocks=5:1_000_000_000"];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    let eight = ["network.width=4", "network.height=2", "core.count=8", "core.per_cluster=8", "home.banks=8"];
    let eight = eight.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>();
    let all = [eight, vec!["dram.controllers=4".to_owned()], all].concat();
    Chip::from_toml_with(&text(), "x.toml", &all).expect("a right chip")
}

/// Runs `f` on a core. Returns how many cycles of the reference that took.
fn took(chip: &Chip, core: u32, f: impl FnOnce() + 'static) -> u64 {
    let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
    let took = Rc::new(RefCell::new(0));
    let out = took.clone();
    let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
    let on_core = move || {
        let began = act::time();
        f();
        *out.borrow_mut() = (act::time() - began).0;
    };
    simulation.spawn(spawn, on_core).expect("there is a core");
    simulation.run().expect("it ends");
    took.take()
}

/// How long a thousand loads of one cell take on a core.
fn thousand_hits(chip: &Chip, core: u32) -> u64 {
    took(chip, core, || {
        let cell = Owned::<Simulated, <Simulated as Machine>::Atomic<u64>>::new(Atomic::new(0));
        (0..1000).for_each(|_| _ = cell.load(SeqCst));
    })
}

#[test]
fn a_chip_file_names_kinds_and_reads_back() {
    let chip = chip(&[]);
    assert_eq!(chip.core.kinds.of_cores(8), [1, 1, 2, 2, 0, 0, 0, 0]);
    assert_eq!(Chip::from_toml(&chip.to_toml(), "again"), Ok(chip.clone()));
    let expanded = chip.expanded();
    let of = |path: &str| expanded.iter().find(|(key, _)| key == path).map(|(_, value)| value.clone());
    assert_eq!(of("core.kind.big.width"), Some(Value::Whole(8)));
    assert_eq!(of("core.kind.big.cores"), Some(Value::Text("0-1".into())));
    assert_eq!(of("core.kind.little.count"), Some(Value::Whole(2)));
    assert_eq!(of("core.kind.little.width"), None, "it has the chip's");
    let set = self::chip(&["core.kind.big.rob=64", "core.kind.little.count=3"]);
    assert_eq!(set.core.kinds.of_cores(8), [1, 1, 2, 2, 2, 0, 0, 0]);
    assert!(set.to_toml().contains("rob = 64"), "{}", set.to_toml());
    let small = chip.resized(4).expect("four cores");
    assert_eq!(small.core.kinds.of_cores(4), [1, 1, 2, 0], "names stay, counts shrink");
    // The file of a chip without kinds says nothing of kinds.
    let plain = Chip::from_toml(OCOR, "ocor64").expect("reads");
    assert!(!plain.to_toml().contains("core.kind"));
    assert!(plain.expanded().iter().all(|(key, _)| !key.starts_with("core.kind")));
}

#[test]
fn what_is_wrong_names_line_and_key() {
    let refused = |from: &str, to: &str, says: &str| {
        let text = text();
        let at = text.rfind(from).expect(from);
        let text = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
        // Searches the last line with this text, which the file may have twice.
        let line = text.lines().collect::<Vec<_>>().iter().rposition(|line| *line == to).expect("the line") + 1;
        let error = Chip::from_toml(&text, "x.toml").expect_err(to).to_string();
        assert!(error.starts_with(&format!("x.toml:{line}: ")) && error.contains(says), "line {line}: {error}");
    };
    for (from, to, says) in [
        ("width = 8", "width = 80", "key `core.kind.width` is 80; expected a whole number from 0 to 64"),
        ("width = 8", "widht = 8", "unknown key `core.kind.widht`; did you mean `core.kind.width`?"),
        (
            "width = 8",
            "contexts = 2",
            "key `core.kind.contexts` cannot differ from kind to kind; expected one of name, cores, count",
        ),
        ("width = 8", "l1.ways = 8", "key `core.kind.l1.ways` cannot differ from kind to kind"),
        (
            "width = 8",
            "l1.size_bytes = 50_000",
            "key `core.kind.l1.size_bytes` is 50000; expected l1.ways times cache.line_bytes, 512 bytes, times a power of two",
        ),
        ("width = 8", "l1.latency = 0", "key `core.kind.l1.latency` is 0; expected at least 1"),
        ("width = 8", "l2.latency = 4", "key `core.kind.l2.latency` is 4; expected none: the chip has no [l2]"),
        (
            "cores = \"0-1\"",
            "cores = \"63-64\"",
            "key `core.kind.cores` is \"63-64\"; expected cores from 0 to 63 (core.count)",
        ),
        ("cores = \"0-1\"", "cores = \"one\"", "expected the cores as in \"0-3 8\""),
        ("count = 2", "cores = \"1-2\"", "key `core.kind.cores` is \"1-2\"; expected cores that no kind before it has"),
        ("count = 2", "count = 63", "key `core.kind.count` is 63; expected at most 62"),
        (
            "name = \"little\"",
            "name = \"big\"",
            "key `core.kind.name` is \"big\"; expected a name that no other kind has",
        ),
        ("name = \"little\"", "name = \"a b\"", "expected a name of letters"),
        (
            "clock_hz = 500_000_000",
            "clock_hz = 99_000_000_000",
            "key `core.kind.clock_hz` is 99000000000; expected a clock from",
        ),
        ("fence = 90", "store_buffer = 0", "key `core.kind.store_buffer` is 0; expected at least 1"),
    ] {
        refused(from, to, says);
    }
    let says = |text: &str, what: &str| {
        let error = Chip::from_toml(text, "x.toml").expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    says(&text().replace("name = \"little\"\n", ""), "key `core.kind.name` is missing");
    says(&text().replace("count = 2\n", ""), "key `core.kind.cores` is missing");
    says(
        &text().replace("count = 2\n", "count = 2\ncores = \"5\"\n"),
        "expected one of core.kind.cores and core.kind.count",
    );
    says(
        &format!("{OCOR}\n[core.kind]\nwidth = 3\n"),
        "key `core.kind` is a table; expected tables, each under [[core.kind]]",
    );
    let set = |setting: &str| Chip::from_toml_with(&text(), "x.toml", &[setting.to_owned()]).map(|_| ());
    let error = set("core.kind.medium.width=2").expect_err("no such kind").to_string();
    assert!(error.ends_with("key `core.kind` is \"medium\"; expected \"big\" or \"little\""), "{error}");
    assert_eq!(set("core.kind.little.cores=7 9-10"), Ok(()));
}

#[test]
fn cores_differ_as_their_kinds_say() {
    let chip = chip(&["os.wake_idle=0", "os.wake_polling=0"]);
    let reference = chip.core.clock.0;
    let work = |core| took(&chip, core, || Simulated::work(Cycles(100_000)));
    assert_eq!(work(0), 100_000);
    assert_eq!(work(2), 100_000 * reference / 500_000_000, "a little core's clock");
    assert_eq!(work(5), 100_000 * reference / 1_000_000_000, "core.clocks names it");
    assert_eq!(work(4), 100_000);
    let fences = |core| took(&chip, core, || (0..100).for_each(|_| Simulated::fence(SeqCst)));
    let fence = chip.core.fence.0;
    assert_eq!(fences(4), 100 * fence);
    assert_eq!(fences(2), 100 * 90 * reference / 500_000_000);
    // A core's width bounds the instructions between accesses.
    let hits = |core| thousand_hits(&chip, core);
    assert!(hits(0) < hits(4), "{} of 8 a cycle, {} of {}", hits(0), hits(4), chip.core.width);
    let one = self::chip(&["core.kind.big.width=1"]);
    assert!(
        took(&one, 0, || (0..1000).for_each(|_| _ = act::time()))
            == took(&one, 4, || (0..1000).for_each(|_| _ = act::time()))
    );
}

#[test]
fn kinds_have_private_caches_of_their_own() {
    // Each turn of a walk reads twice as many lines as the common first level holds, so only the
    // large first level keeps them.
    const LINES: usize = 512;
    let chip = chip(&[
        "core.kind.big.l1.size_bytes=131072",
        "core.kind.little.l1.latency=9",
        "core.kind.little.clock_hz=2_000_000_000",
    ]);
    assert_eq!(chip.core.clock.0, 2_000_000_000);
    let lines = chip.coherent.as_ref().unwrap().l1.size_bytes / u64::from(chip.cache.line_bytes);
    assert_eq!(lines * 2, LINES as u64);
    let walk = |core: u32, lines: usize| {
        took(&chip, core, move || {
            #[repr(align(128))]
            struct Line(<Simulated as Machine>::Atomic<u64>);
            let all = Owned::<Simulated, [Line; LINES]>::new(std::array::from_fn(|_| Line(Atomic::new(0))));
            let turn = || all[..lines].iter().for_each(|line| _ = line.0.load(SeqCst));
            (0..10).for_each(|_| turn());
        })
    };
    // From the second turn on, all accesses miss again on core 4, and hit on core 0.
    assert!(walk(0, LINES) * 2 < walk(4, LINES), "{} in 128 KB, {} in 32", walk(0, LINES), walk(4, LINES));
    let hits = |core| thousand_hits(&chip, core);
    let slower = hits(2) - hits(4);
    assert!((999 * 7..1001 * 7 + 20).contains(&slower), "{slower} cycles more for 1,000 loads of 9 cycles, not 2");
}

#[test]
fn a_second_level_belongs_to_a_kind_too() {
    let text = include_str!("../../../../chips/opteron6272x4.toml");
    let kind = |own: &str| {
        let text = format!("{text}\n[[core.kind]]\nname = \"k\"\ncount = 1\n{own}\n");
        Chip::from_toml(&text, "x.toml").map_err(|error| error.to_string())
    };
    let chip = kind("l2.size_bytes = 1_048_576\nl2.latency = 40").expect("a right chip");
    let kinds = baton_chip::config::CoresByKind::new(&chip);
    let of = |core| kinds.caches(CoreId(core)).l2.map(|l2| (l2.size_bytes, l2.latency.0));
    let l2 = chip.coherent.as_ref().unwrap().l2.unwrap();
    assert_eq!((of(0), of(1)), (Some((1 << 20, 40)), Some((l2.size_bytes, l2.latency.0))));
    let error = kind("l2.size_bytes = 1_024").expect_err("smaller than the first level");
    assert!(error.contains("key `core.kind.l2.size_bytes` is 1024; expected"), "{error}");
    let fixed = include_str!("../../../../chips/sample-host.toml");
    let fixed = format!("{fixed}\n[[core.kind]]\nname = \"k\"\ncount = 1\nl1.latency = 3\n");
    let error = Chip::from_toml(&fixed, "x.toml").expect_err("it has no caches").to_string();
    assert!(error.contains("key `core.kind.l1.latency` is 3; expected none: memory.model is \"fixed\""), "{error}");
}

/// The CPUs and the speeds that the simulator has given to the recording policy, which leaves
/// scheduling to the plain policy and passes no speeds on to it.
#[derive(Default)]
struct Heard {
    cpus: Vec<Cpu>,
    speeds: Vec<(u64, u32, u32)>,
}

struct Recorder {
    told: Rc<RefCell<Heard>>,
    plain: Box<dyn Scheduler>,
}

impl Scheduler for Recorder {
    fn fork(&mut self, now: Cycles, thread: ThreadId, born: &Born) {
        self.plain.fork(now, thread, born);
    }
    fn wake(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>) {
        self.plain.wake(now, thread, out);
    }
    fn block(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>) {
        self.plain.block(now, thread, out);
    }
    fn exit(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>) {
        self.plain.exit(now, thread, out);
    }
    fn yields(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>) {
        self.plain.yields(now, thread, out);
    }
    fn pick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) -> Option<ThreadId> {
        self.plain.pick(now, cpu, out)
    }
    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        self.plain.runs(now, cpu, out);
    }
    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        self.plain.tick(now, cpu, out);
    }
    fn set_affinity(&mut self, now: Cycles, thread: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>) {
        self.plain.set_affinity(now, thread, affinity, out);
    }
    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>) {
        self.plain.set_online(now, cpu, online, out);
    }
    fn set_speed(&mut self, now: Cycles, cpu: CpuId, speed: u32, _: &mut Vec<Decision>) {
        self.told.borrow_mut().speeds.push((now.0, cpu.0, speed));
    }
    fn place(&self, thread: ThreadId) -> CpuId {
        self.plain.place(thread)
    }
}

#[test]
fn policies_are_told_kinds_speeds_and_every_change() {
    let chip = chip(&["core.contexts=2", "core.result_latency=3", "core.clock_latency=500"]);
    let reference = chip.core.clock.0;
    let part = |clock: u64| (clock * u64::from(FULL_SPEED) / reference) as u32;
    let told = Rc::new(RefCell::new(Heard::default()));
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
    let here = told.clone();
    simulation.replace_policy(&move |cpus: &Cpus, params: &Params| {
        here.borrow_mut().cpus = cpus.0.clone();
        let plain = (find("sticky").expect("the plain policy").make)(cpus, params);
        Box::new(Recorder { told: here.clone(), plain })
    });
    {
        let told = told.borrow();
        let of = |cpu: usize| (told.cpus[cpu].kind, told.cpus[cpu].speed);
        assert_eq!(
            (of(0), of(8), of(1)),
            ((1, FULL_SPEED), (1, FULL_SPEED), (1, FULL_SPEED)),
            "contexts of one core are alike"
        );
        assert_eq!((of(2), of(11)), ((2, part(500_000_000)), (2, part(500_000_000))));
        assert_eq!((of(4), of(5)), ((0, FULL_SPEED), (0, part(1_000_000_000))));
        assert!(told.speeds.is_empty(), "nothing has changed yet");
    }
    // The host changes one clock and a guest another. Each change arrives `core.clock_latency`
    // later, at both contexts of its core.
    simulation.set_clock(Cycles(1_000), CoreId(0), Hertz(reference / 2)).expect("a clock");
    let asked = Rc::new(RefCell::new(0));
    let out = asked.clone();
    let spawn = Spawn { affinity: vec![CoreId(4)], ..Spawn::default() };
    let guest = move || {
        Simulated::work(Cycles(5_000));
        assert_eq!(act::set_clock(CoreId(2), Hertz(reference)), Ok(()));
        *out.borrow_mut() = act::time().0;
        // Asking for the clock that a core has already changes nothing.
        assert_eq!(act::set_clock(CoreId(3), Hertz(500_000_000)), Ok(()));
        Simulated::work(Cycles(10_000));
    };
    simulation.spawn(spawn, guest).expect("there is a core");
    simulation.run().expect("it ends");
    let second = asked.take() + 500;
    let half = FULL_SPEED / 2;
    let expected = [(1_500, 0, half), (1_500, 8, half), (second, 2, FULL_SPEED), (second, 10, FULL_SPEED)];
    assert_eq!(told.borrow().speeds, expected);
}
