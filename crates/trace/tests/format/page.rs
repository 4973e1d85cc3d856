//! Checks that `docs/reference/trace-format.md` lists exactly the kinds of records that exist,
//! under their names.

use baton_trace::What;
use baton_trace::record::{LOCK, Raw};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/reference/trace-format.md");

/// Returns number and event name from each row of the table under `heading`.
fn rows(heading: &str) -> BTreeMap<u8, String> {
    let section = PAGE.split(heading).nth(1).unwrap().split("\n#").next().unwrap();
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (numbers, name) = (cells.next().unwrap(), cells.next().unwrap());
        let name = name.split('`').nth(1).unwrap();
        for number in numbers.split(", ") {
            assert_eq!(rows.insert(number.parse().unwrap(), name.to_owned()), None, "{line}");
        }
    }
    rows
}

fn decoded(codes: impl Iterator<Item = u8>) -> BTreeMap<u8, String> {
    // Some kinds are not valid with an argument of 0, so that 1 is tried, too.
    let decoded = |code| [0, 1].into_iter().find_map(|arg| What::decode(Raw { code, object: 1, arg }));
    let name = |code| decoded(code).map(|what| format!("{what:?}"));
    let first_word = |text: String| text.split([' ', '{']).next().unwrap().to_owned();
    codes.filter_map(|code| Some((code, first_word(name(code)?)))).collect()
}

#[test]
fn the_page_lists_every_kind() {
    assert_eq!(rows("### Other kinds"), decoded(1..LOCK));
    let operations = decoded(LOCK..LOCK + 16);
    assert_eq!(
        rows("### Kinds of lock events"),
        operations.into_iter().map(|(code, name)| (code - LOCK, name)).collect()
    );
}

#[test]
fn the_page_is_of_this_version() {
    assert!(PAGE.starts_with(&format!("# The trace format, version {}\n", baton_trace::FORMAT_VERSION)));
}
