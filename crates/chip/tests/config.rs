//! Chip files: they read back as written, and a mistake is answered with file, line, key and what was expected.

use baton_chip::Chip;
use baton_chip::config::keys::KEYS;

const SAMPLE: &str = include_str!("../../../chips/sample-host.toml");

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
    for key in KEYS.iter().filter(|key| !key.required) {
        (key.set)(&mut chip, baton_chip::config::keys::Value::Whole(77));
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
    for key in KEYS.iter().filter(|key| key.required) {
        let (table, name) = key.parts();
        let mut here = "";
        let text: String = SAMPLE
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
fn the_docs_name_every_key() {
    let docs = include_str!("../../../docs/chip-file.md");
    for key in KEYS {
        let (_, name) = key.parts();
        let line = format!("| `{}` |", key.path);
        assert!(docs.contains(&line), "docs/chip-file.md has no line for {} ({name})", key.path);
    }
}
