//! Chip files: they read back as written, and a mistake is answered with file, line, key and what
//! was expected.

use baton_chip::Chip;
use baton_chip::config::ChipText;
use baton_chip::config::keys::{KEYS, Key, Need, Value, ValueKind};
use std::path::PathBuf;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

/// Writes these chip files, each a name and a text, into a new folder.
fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    dir
}

/// The error of reading a chip file in a folder, without the folder's name.
fn refused_in(dir: &tempfile::TempDir, file: &str, folders: &[PathBuf]) -> String {
    let read = ChipText::open(&dir.path().join(file), folders).and_then(|text| text.chip(None, &[]));
    read.expect_err("must be refused").to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_file_has_the_keys_of_its_base_and_its_own_on_top() {
    let dir = written(&[
        ("sample.toml", SAMPLE),
        ("mine.toml", "base = \"sample\"\n[chip]\nname = \"mine\"\n[cache]\nhit = 9\n[os]\noff = \"1\"\n"),
        ("sub/deep.toml", "base = \"../mine.toml\"\nchip.name = \"deep\"\n[cache]\natomic = 77\n"),
    ]);
    let deep = Chip::open(&dir.path().join("sub/deep.toml"), &[]).unwrap();
    let set = ["chip.name=deep", "cache.hit=9", "cache.atomic=77", "os.off=1"].map(str::to_owned);
    let flat = Chip::from_toml_with(SAMPLE, "x", &set).unwrap();
    assert_eq!(deep.expanded(), flat.expanded());
    // The chip is written as a whole, and the text reads without the base.
    assert_eq!(Chip::from_toml(&deep.to_toml(), "again").map(|chip| chip.expanded()), Ok(deep.expanded()));
    // A key's place is that of the file that gave it last.
    assert!(deep.os.off.place.ends_with("/sub/../mine.toml:7"), "{}", deep.os.off.place);
    // The command line comes last: its settings replace those of all files, and its number of cores
    // scales the whole chip.
    let path = dir.path().join("sub/deep.toml");
    let four = Chip::open_with(&path, Some(4), &["cache.atomic=5".to_owned(), "os.off=2".to_owned()]).unwrap();
    assert_eq!((four.core.count, four.cache.hit.0, four.cache.atomic.0, four.os.off.text()), (4, 9, 5, "2".into()));
    let text = ChipText::open(&path, &[]).unwrap();
    assert!(
        text.text().starts_with(SAMPLE) && text.text().ends_with("atomic = 77\n") && text.file().ends_with("deep.toml")
    );
}

#[test]
fn a_base_is_a_path_from_the_file_or_a_name() {
    let base = |base: &str| format!("base = \"{base}\"\n[chip]\nname = \"mine\"\n");
    let dir = written(&[
        ("near/mine.toml", &base("sample")),
        ("near/path.toml", &base("../far/sample.toml")),
        ("near/deep/unknown.toml", &base("../sampel")),
        ("far/sample.toml", SAMPLE),
        ("far/other.toml", OCOR),
        ("near/typo.toml", &base("sampel")),
    ]);
    let far = [dir.path().join("none"), dir.path().join("far")];
    let open = |file: &str, folders: &[PathBuf]| {
        let read = ChipText::open(&dir.path().join(file), folders).and_then(|text| text.chip(None, &[]));
        read.map(|chip| chip.cache.hit.0)
    };
    assert_eq!((open("near/mine.toml", &far), open("near/path.toml", &[])), (Ok(4), Ok(4)));
    // If several folders have a file of this name, the one beside the file that names it counts.
    std::fs::write(dir.path().join("near/sample.toml"), SAMPLE.replace("hit = 4", "hit = 6")).unwrap();
    assert_eq!((open("near/mine.toml", &far), open("near/path.toml", &[])), (Ok(6), Ok(4)));
    std::fs::remove_file(dir.path().join("near/sample.toml")).unwrap();
    let expected = "expected a chip file: a path from this file's folder, or a name as of `baton chips list`";
    for (file, folders, says) in [
        (
            "near/typo.toml",
            &far[..],
            format!("near/typo.toml:1: key `base` is the text \"sampel\"; {expected}; did you mean `sample`?"),
        ),
        (
            "near/typo.toml",
            &[],
            format!("near/typo.toml:1: key `base` is the text \"sampel\"; {expected}; did you mean `mine`?"),
        ),
        ("near/deep/unknown.toml", &far, format!("{expected}; near/deep/../sampel is none")),
    ] {
        let error = refused_in(&dir, file, folders);
        assert!(error.contains(&says), "{error}\n{says}");
    }
}

#[test]
fn a_base_that_is_wrong_is_refused_with_its_file_and_line() {
    let named = "[chip]\nname = \"mine\"\n";
    let dir = written(&[
        ("a.toml", &format!("# A circle.\nbase = \"b\"\n{named}")),
        ("b.toml", &format!("base = \"c.toml\"\n{named}")),
        ("c.toml", &format!("base = \"./a.toml\"\n{named}")),
        ("self.toml", &format!("base = \"self\"\n{named}")),
        ("number.toml", &format!("base = 7\n{named}")),
        ("empty.toml", &format!("base = \"\"\n{named}")),
        ("table.toml", &format!("{named}[base]\nfile = \"sample\"\n")),
        ("sample.toml", SAMPLE),
        ("nameless.toml", "base = \"sample\"\n[cache]\nhit = 9\n"),
        ("typo.toml", &format!("bsae = \"sample\"\n{named}")),
        ("wrong.toml", "base = \"sample\"\n[cache]\nhit = -9\n"),
        ("broken.toml", &SAMPLE.replace("hit = 4", "hit = four")),
        ("on-broken.toml", &format!("base = \"broken\"\n{named}")),
        ("short.toml", &SAMPLE.replace("hit = 4\n", "")),
        ("on-short.toml", &format!("base = \"short\"\n{named}")),
        ("misfit.toml", &format!("base = \"sample\"\n{named}[core]\nper_cluster = 3\n")),
        ("misfit-below.toml", &format!("base = \"sample\"\n{named}[core]\ncount = 3\n")),
        ("other-model.toml", &format!("base = \"sample\"\n{named}[memory]\nmodel = \"coherent\"\n")),
    ]);
    std::fs::create_dir(dir.path().join("folder.toml")).unwrap();
    let line = |text: &str| 1 + SAMPLE.lines().position(|line| line.starts_with(text)).expect("the sample has it");
    for (file, says) in [
        ("a.toml", "c.toml:1: key `base` is the text \"./a.toml\"; expected a chip file that is not based on this one: a.toml → b.toml → c.toml → ./a.toml".to_owned()),
        ("self.toml", "self.toml:1: key `base` is the text \"self\"; expected a chip file that is not based on this one: self.toml → self.toml".into()),
        ("number.toml", "number.toml:1: key `base` is 7; expected a chip file".into()),
        ("empty.toml", "empty.toml:1: key `base` is the text \"\"; expected a chip file".into()),
        ("table.toml", "table.toml:3: key `base` is a table; expected a chip file".into()),
        ("nameless.toml", "nameless.toml: key `chip.name` is missing (what this chip is called in results: it is not its base)".into()),
        ("typo.toml", "typo.toml:1: unknown key `bsae`; did you mean `base`?".into()),
        ("wrong.toml", "wrong.toml:3: key `cache.hit` is -9; expected whole cycles".into()),
        ("on-broken.toml", format!("broken.toml:{}: not TOML", line("hit = 4"))),
        ("on-short.toml", "on-short.toml: key `cache.hit` is missing".into()),
        ("misfit.toml", "misfit.toml:5: key `core.per_cluster` is 3; expected a divisor of core.count, 2".into()),
        ("misfit-below.toml", format!("sample.toml:{}: key `core.per_cluster` is 2; expected a divisor of core.count, 3", line("per_cluster"))),
("other-model.toml", "other-model.toml: key `core.store_buffer` is missing".into()),
    ] {
        let error = refused_in(&dir, file, &[]).replace(&format!("{}/", dir.path().display()), "");
        assert!(error.starts_with(&says), "{file}: {error}\n{says}");
    }
    let text = format!("base = \"sample\"\n{named}");
    assert!(
        refused(&text)
            .starts_with("x.toml:1: key `base` is the text \"sample\"; expected none: this text is read by itself")
    );
    let set = Chip::from_toml_with(SAMPLE, "x.toml", &["base=sample".to_owned()]).unwrap_err().to_string();
    assert!(
        set.starts_with("--set: unknown key `base`; did you mean `") && !set.contains("did you mean `base`"),
        "{set}"
    );
}

#[test]
fn kinds_of_cores_are_those_of_the_base_or_the_files_own() {
    let kind = |name: &str, keys: &str| format!("[[core.kind]]\nname = \"{name}\"\n{keys}\n");
    let named = "[chip]\nname = \"mine\"\n";
    let below = SAMPLE.replace("[cache]\n", &format!("{}[cache]\n", kind("big", "count = 1\nwidth = 8")));
    let dir = written(&[
        ("below.toml", &below),
        ("same.toml", &format!("base = \"below\"\n{named}[core]\nfence = 99\n")),
        ("own.toml", &format!("base = \"below\"\n{named}{}", kind("small", "cores = \"1\"\nrob = 8"))),
        (
            "wrong.toml",
            &format!("base = \"below\"\n{named}{}", kind("small", "cores = \"1\"\nclock_hz = 9_000_000_000")),
        ),
    ]);
    let kinds = |file: &str| {
        let chip = Chip::open(&dir.path().join(file), &[]).unwrap_or_else(|error| panic!("{error}"));
        chip.core.kinds.0.iter().map(|kind| (kind.name.clone(), kind.own.len())).collect::<Vec<_>>()
    };
    assert_eq!((kinds("same.toml"), kinds("own.toml")), (vec![("big".to_owned(), 1)], vec![("small".to_owned(), 1)]));
    let error = refused_in(&dir, "wrong.toml", &[]);
    assert!(error.starts_with("wrong.toml:7: key `core.kind.clock_hz` is 9000000000; expected a clock"), "{error}");
}

fn sample() -> Chip {
    Chip::from_toml(SAMPLE, "sample-host.toml").expect("the sample reads")
}

fn refused(text: &str) -> String {
    Chip::from_toml(text, "x.toml").expect_err("must be refused").to_string()
}

#[test]
fn a_chip_reads_back_as_it_was_written() {
    let mut chip = sample();
    assert_eq!(Chip::from_toml(&chip.to_toml(), "again"), Ok(chip.clone()));
    let numbers = |key: &&Key| matches!(key.kind, ValueKind::Cycles | ValueKind::Count(..));
    // Not set here: keys of devices on a network, which do not go with dedicated wires; keys of
    // the translation of queue ids and of kinds of devices that the chip does not have; and the
    // price of a tick, which would take all of its period.
    let fits = |key: &&Key| {
        let not = ["device.flits", "device.mailbox.flits", "device.qimu", "device.qtlb", "os.tick_cost"];
        let absent = ["device.alarm.", "device.qmd."];
        !not.contains(&key.path) && !absent.iter().any(|table| key.path.starts_with(table))
    };
    for key in KEYS.iter().filter(|key| matches!(key.fixed, Need::May | Need::Table)).filter(numbers).filter(fits) {
        let least = if let ValueKind::Count(least, _) = key.kind { least } else { 0 };
        key.set(&mut chip, Value::Whole(least.max(7)));
    }
    chip.name = "odd \"name\" \\".into();
    assert_eq!(Chip::from_toml(&chip.to_toml(), "again"), Ok(chip));
}

#[test]
fn an_unknown_key_names_line_and_nearest() {
    let text = SAMPLE.replace("futex_wake_more = 2_500", "futex_wake_mroe = 2_500");
    let line = text.lines().position(|line| line.starts_with("futex_wake_mroe")).unwrap() + 1;
    assert_eq!(
        refused(&text),
        format!("x.toml:{line}: unknown key `os.futex_wake_mroe`; did you mean `os.futex_wake_more`?")
    );
    let text = SAMPLE.replace("[cache.upgrade]", "[cache.upgrades]");
    assert!(refused(&text).contains("unknown key `cache.upgrades`"), "{}", refused(&text));
}

#[test]
fn a_wrong_value_names_what_was_expected() {
    for (from, to, says) in [
        ("hit = 4", "hit = \"four\"", "key `cache.hit` is the text \"four\"; expected whole cycles"),
        ("hit = 4", "hit = -4", "key `cache.hit` is -4; expected whole cycles"),
        ("hit = 4", "hit = 0", "key `cache.hit` is 0; expected at least 1"),
        ("line_bytes = 64", "line_bytes = 48", "expected a power of two from 16 to 4096"),
        ("count = 2", "count = 2000", "key `core.count` is 2000; expected a whole number from 1 to 1024"),
        ("per_cluster = 2", "per_cluster = 3", "key `core.per_cluster` is 3; expected a divisor of core.count, 2"),
        ("latency = 0.05", "latency = nan", "key `noise.latency` is nan"),
        ("hit = 4", "hit = 99999999999999999999999", "expected whole cycles"),
        ("pause = 42", "pause = 42\n[wait.umwait]\nenter = 3", "key `wait.umwait.exit` is missing"),
        ("hit = 4", "hit = ", "not TOML"),
    ] {
        let text = SAMPLE.replace(from, to);
        assert!(refused(&text).contains(says), "{to}: {}", refused(&text));
        assert!(refused(&text).starts_with("x.toml:"), "{to}: {}", refused(&text));
    }
}

#[test]
fn every_required_key_is_asked_for() {
    for (key, sample) in KEYS
        .iter()
        .flat_map(|key| [(key.fixed, key, SAMPLE), (key.coherent, key, OCOR)])
        .filter_map(|(need, key, sample)| matches!(need, Need::Must | Need::Table).then_some((key, sample)))
    {
        let (table, name) = key.parts();
        if !sample.contains(&format!("[{table}]")) {
            continue;
        }
        let mut here = "";
        let text: String = sample
            .lines()
            .filter(|line| {
                if let Some(inner) = line.strip_prefix('[') {
                    here = inner.trim_end_matches(']');
                }
                !(here == table && line.split(" =").next() == Some(name))
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        let says = format!("key `{}` is missing", key.path);
        assert!(refused(&text).contains(&says), "{}: {}", key.path, refused(&text));
    }
}

#[test]
fn all_missing_keys_are_told_at_once() {
    let short = SAMPLE.lines().filter(|line| !line.starts_with("hit =") && !line.starts_with("count ="));
    let short: Vec<&str> = short.collect();
    let told = Chip::from_toml(&short.join("\n"), "x.toml").unwrap_err().to_string();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].starts_with("x.toml: key `core.count` is missing ("), "{told}");
    assert!(lines[1].starts_with("  key `cache.hit` is missing (") && lines[1].contains("; expected "), "{told}");
}

#[test]
fn the_command_line_replaces_keys() {
    let set = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|s| (*s).to_owned()).collect();
        Chip::from_toml_with(SAMPLE, "x.toml", &settings)
    };
    let chip = set(&["cache.hit=7", "chip.name=mine", "noise.latency=0", "wait.tpause = 90"]).unwrap();
    assert_eq!((chip.cache.hit.0, chip.name.as_str(), chip.noise.latency), (7, "mine", 0.0));
    assert_eq!(chip.wait.tpause.unwrap().0, 90);
    assert_eq!(
        set(&["cache.hti=7"]).unwrap_err().to_string(),
        "--set: unknown key `cache.hti`; did you mean `cache.hit`?"
    );
    assert!(set(&["cache.hit"]).unwrap_err().to_string().contains("expected key=value"));
    assert!(set(&["cache.hit=x y"]).is_err());
}

#[test]
fn a_missing_key_says_what_was_expected_and_not_what_its_absence_would_mean() {
    let text = include_str!("../../../../chips/ocor64.toml");
    let whole = Chip::from_toml(text, "ocor64.toml").unwrap().to_toml();
    let lines: Vec<&str> = whole.lines().collect();
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().join("\n");
    let errors = (0..lines.len()).filter_map(|at| Chip::from_toml(&without(at), "x.toml").err());
    let missing: Vec<String> = errors.map(|e| e.to_string()).filter(|e| e.contains("is missing")).collect();
    for error in &missing {
        assert!(!error.contains("absent") && error.contains("); expected "), "{error}");
    }
    let flush = "x.toml: key `core.flush` is missing (what the mis-speculated loads at the end of a spin cost); \
                 expected whole cycles from 0 to 1000000000000";
    let rob = "x.toml: key `core.rob` is missing (instructions under way at once; 0: one access at a time); \
               expected a whole number from 0 to 4096";
    for wanted in [flush, rob] {
        assert!(missing.iter().any(|error| error == wanted), "{wanted}\n{missing:#?}");
    }
}

#[test]
fn the_docs_name_every_key() {
    let docs = include_str!("../../../../docs/reference/chip-file.md");
    for key in KEYS.iter() {
        let (_, name) = key.parts();
        let line = format!("| `{}` |", key.path);
        assert!(docs.contains(&line), "docs/reference/chip-file.md has no line for {} ({name})", key.path);
    }
}

#[test]
fn every_chip_file_reads_and_reads_back() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        // `make demo` leaves a calibration in this folder, whose chip has another name than its
        // file.
        if stem.starts_with("this-host") {
            continue;
        }
        let chip = Chip::open(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(chip.name, stem, "{}", path.display());
        assert_eq!(Chip::from_toml(&chip.to_toml(), "again"), Ok(chip), "{stem}");
        files += 1;
    }
    assert!(files >= 2);
}

#[test]
fn a_coherent_chip_reads_as_it_stands() {
    let chip = Chip::from_toml(OCOR, "ocor64.toml").unwrap();
    let coherent = chip.coherent.unwrap();
    assert_eq!(coherent.l1.sets(chip.cache.line_bytes), 64);
    assert_eq!(coherent.shared.unwrap().bank.sets(128), 512);
    assert!(coherent.l2.is_none());
    assert_eq!((coherent.network.width, coherent.network.height, coherent.network.vcs), (8, 8, 2));
    assert_eq!(coherent.network.router.buffer, 4);
}

#[test]
fn impossible_geometry_is_refused() {
    for (from, to, says) in [
        ("size_bytes = 32_768", "size_bytes = 30_000", "key `l1.size_bytes` is 30000; expected l1.ways times"),
        ("size_bytes = 32_768", "size_bytes = 24_576", "times a power of two (the number of sets)"),
        ("width = 8\nheight", "width = 4\nheight", "key `network.width` is 4; expected network.width times"),
        ("banks = 64", "banks = 7", "key `home.banks` is 7; expected a divisor of core.count, 64"),
        ("controllers = 8", "controllers = 18", "key `dram.controllers` is 18; expected 1, or an even number up to 16"),
        ("placement = \"rows\"", "placement = \"corners\"", "expected 1, 2 or 4 with placement \"corners\""),
        ("placement = \"rows\"", "placement = \"1 2 99\"", "expected different nodes from 0 to 63"),
        (
            "placement = \"rows\"",
            "placement = \"row\"",
            "key `dram.placement` is the text \"row\"; expected \"corners\"",
        ),
        ("data_flits = 8", "data_flits = 7", "key `network.data_flits` is 7; expected flits of network.flit_bytes"),
        ("policy = \"blocking\"", "policy = \"nonblocking\"", "key `network.vcs` is 2; expected 1 with home.policy"),
        ("arbiter = \"round-robin\"", "arbiter = \"robin\"", "expected \"round-robin\" or \"matrix\""),
        ("kind = \"full\"", "kind = \"pointers(0)\"", "\"pointers(n)\" with n from 1 to 64"),
        ("atomics = \"llsc\"", "atomics = \"middle\"", "expected \"near\" or \"far\" or \"llsc\""),
        ("topology = \"mesh\"", "topology = \"bus\"", "key `network.width` is 8; expected none with topology \"bus\""),
        ("clock_hz = 2_000_000_000\n# Not given; an L1", "clock_hz = 1_500_000_000\n#", "a divisor of core.clock_hz"),
        (
            "atomic = 2\n\n[wait]",
            "atomic = 2\nhit = 3\n[wait]",
            "key `cache.hit` says nothing on a chip of `memory.model",
        ),
        ("[memory]\nmodel = \"coherent\"", "", "key `memory.model` is missing"),
        ("model = \"coherent\"", "model = \"fixed\"", "says nothing on a chip of `memory.model = \"fixed\"`"),
        ("mshrs = 32", "mshr = 32", "unknown key `l1.mshr`; did you mean `l1.mshrs`?"),
    ] {
        let text = OCOR.replacen(from, to, 1);
        assert_ne!(text, OCOR, "{from} is not in the file");
        assert!(refused(&text).contains(says), "{to}: {}", refused(&text));
        assert!(refused(&text).starts_with("x.toml:"), "{to}: {}", refused(&text));
    }
}

#[test]
fn a_directory_that_names_no_sharers_cannot_recall() {
    for recalls in ["core.atomics=far", "shared.inclusion=inclusive"] {
        let settings = ["directory.kind=owner".to_owned(), recalls.to_owned()];
        let refused = Chip::from_toml_with(OCOR, "x.toml", &settings).unwrap_err().to_string();
        assert!(refused.contains("key `directory.kind` is owner; expected \"full\" or"), "{refused}");
    }
    Chip::from_toml_with(OCOR, "x.toml", &["directory.kind=owner".to_owned()]).unwrap();
}

#[test]
fn the_plan_says_where_everything_hangs() {
    let plan = Chip::from_toml(OCOR, "ocor64.toml").unwrap().plan().unwrap();
    assert_eq!(plan.controllers, [2, 3, 4, 5, 58, 59, 60, 61]);
    assert_eq!((plan.nodes, plan.homes.len(), plan.homes[63], plan.cores[63]), (64, 64, 63, 63));
    assert_eq!((plan.network.vcs, plan.network.classes, plan.network.response_class), (6, 3, 2));
    plan.network.validate().unwrap();
    let set = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|s| (*s).to_owned()).collect();
        Chip::from_toml_with(OCOR, "x.toml", &settings).map(|chip| chip.plan().unwrap())
    };
    assert_eq!(set(&["dram.placement=corners", "dram.controllers=4"]).unwrap().controllers, [0, 63, 7, 56]);
    assert_eq!(set(&["dram.placement=7 9", "dram.controllers=2"]).unwrap().controllers, [7, 9]);
    assert_eq!(set(&["home.banks=16"]).unwrap().homes[15], 60);
    let dies = |links: &str| {
        let text = OCOR.replace(
            "topology = \"mesh\"\nwidth = 8\nheight = 8\nrouting = \"xy\"",
            &format!("topology = \"dies\"\nlinks = \"{links}\"\nrouting = \"up-down\""),
        );
        let text = text.replace("per_cluster = 64", "per_cluster = 16").replace("\"rows\"", "\"all\"");
        Chip::from_toml(&text, "x.toml").map(|chip| chip.plan().unwrap())
    };
    let plan = dies("0-1:4 1-2:4 2-3:64").unwrap();
    let graph = plan.network.topology.build().unwrap();
    assert_eq!((graph.routers, graph.nodes.len(), plan.nodes), (4, 136, 136));
    let router = |node: u32| graph.nodes[node as usize].from_router;
    assert_eq!([router(plan.cores[17]), router(plan.homes[17]), router(plan.controllers[7])], [1, 1, 3]);
    let refused = dies("0-1:4 2-3:4").unwrap_err().to_string();
    assert!(refused.contains("expected a way from die 0 to each of the 4 dies"), "{refused}");
    assert!(dies("0-1:4 1-4:4").unwrap_err().to_string().contains("dies from 0 to 3"));
}

#[test]
fn a_chip_shrinks_and_grows_by_the_rule() {
    let chip = Chip::from_toml(OCOR, "ocor64.toml").unwrap();
    for (cores, size, banks, controllers) in [
        (1, (1, 1), 1, 1),
        (4, (2, 2), 4, 1),
        (16, (4, 4), 16, 2),
        (32, (8, 4), 32, 4),
        (48, (8, 6), 48, 6),
        (64, (8, 8), 64, 8),
        (7, (7, 1), 7, 1),
        (1024, (32, 32), 1024, 64),
    ] {
        let resized = chip.resized(cores).unwrap();
        let coherent = resized.coherent.as_ref().unwrap();
        assert_eq!((coherent.network.width, coherent.network.height), size, "{cores}");
        assert_eq!((coherent.home.banks, coherent.dram.controllers), (banks, controllers), "{cores}");
        assert_eq!(resized.core.per_cluster, cores);
        assert_eq!(Chip::from_toml(&resized.to_toml(), "again"), Ok(resized.clone()), "{cores}");
    }
    assert_eq!(chip.resized(64), Ok(chip.clone()));
    for cores in [0, 1025] {
        let error = chip.resized(cores).unwrap_err().to_string();
        assert_eq!(error, format!("--cores: key `core.count` is {cores}; expected 1 to 1024"));
    }
    let settings = ["home.banks=4".to_owned()];
    let small = Chip::from_toml_at(OCOR, "ocor64.toml", Some(16), &settings).unwrap();
    assert_eq!(small.coherent.unwrap().home.banks, 4);
    let settings = ["home.banks=5".to_owned()];
    let error = Chip::from_toml_at(OCOR, "ocor64.toml", Some(16), &settings).unwrap_err().to_string();
    assert!(error.starts_with("ocor64.toml: key `home.banks` is 5; expected a divisor of core.count, 16"), "{error}");
}

#[test]
fn a_fixed_chip_keeps_its_clusters_whole() {
    let chip =
        Chip::from_toml_with(SAMPLE, "x", &["core.count=16".to_owned(), "core.per_cluster=4".to_owned()]).unwrap();
    let clusters = |cores: u32| chip.resized(cores).map(|chip| chip.core.per_cluster);
    assert_eq!((clusters(8), clusters(2), clusters(32)), (Ok(4), Ok(2), Ok(4)));
    assert!(clusters(6).unwrap_err().to_string().contains("expected a multiple of core.per_cluster, 4"));
    assert_eq!(sample().resized(64).unwrap().core.per_cluster, 64);
}

#[test]
fn marks_are_off_and_checked() {
    let set = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|s| (*s).to_owned()).collect();
        Chip::from_toml_with(OCOR, "ocor64.toml", &settings)
    };
    let off = set(&[]).unwrap().coherent.unwrap().mechanisms.ocor;
    assert!(!off.enabled && (off.levels, off.tries) == (8, 128));
    let on = set(&["ocor.enabled=true", "ocor.levels=128", "ocor.progress_full=saturate"]).unwrap();
    assert!(on.coherent.as_ref().unwrap().mechanisms.ocor.enabled);
    assert_eq!(Chip::from_toml(&on.to_toml(), "again"), Ok(on));
    let error = |setting: &[&str]| set(setting).unwrap_err().to_string();
    assert!(error(&["ocor.levels=9", "ocor.tries=8"]).contains("at most ocor.tries, 8"));
    assert!(error(&["ocor.levels=0"]).contains("a whole number from 1 to 128"));
    assert!(error(&["ocor.tries=0"]).contains("a whole number from 1"));
    assert!(error(&["ocor.enabled=1"]).contains("true or false"));
    assert!(Chip::from_toml_with(SAMPLE, "x.toml", &["ocor.enabled=true".to_owned()]).is_err());
}
