//! Figures of `baton sim` are declared once: the published schema and the page of figures say what `baton list figures` says.
//! `BLESS=1 cargo test -p baton-cli --test house figures::` writes both anew.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/sim.schema.json");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/figures.md");
/// The page's table begins with these lines and goes to the end of the page.
const HEAD: &str = "| figure | unit | meaning |\n| --- | --- | --- |\n";

fn list(more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_baton")).args(["list", "figures"]).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Fails if the file is not as it should be; with BLESS=1 writes it.
pub(super) fn settle(path: &str, wanted: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, wanted).unwrap();
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let name = Path::new(path).file_name().unwrap().to_string_lossy();
    assert!(found == wanted, "{name} is not what follows from the declarations; `make tables` writes it anew");
}

#[test]
fn the_schema_follows_from_the_declarations() {
    settle(SCHEMA, &list(&["--json"]));
}

#[test]
fn the_page_follows_from_the_declarations() {
    let listed = list(&[]);
    let (head, rows) = listed.split_once('\n').unwrap();
    let (unit, meaning) = (head.find("unit").unwrap(), head.find("meaning").unwrap());
    let row = |line: &str| {
        let [name, unit, meaning] = [&line[..unit], &line[unit..meaning], &line[meaning..]].map(str::trim);
        format!("| `{name}` | {} | {meaning} |\n", if unit.is_empty() { "-" } else { unit })
    };
    let table: String = rows.lines().map(row).collect();
    for known in
        ["| `memory.queueing_cycles` | cycles |", "| `measured.cycles_a_load` | cycles per load |", "| `seed` | - |"]
    {
        assert!(table.contains(known), "{known}\n{table}");
    }
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, _) = page.split_once(HEAD).expect("the page has its table");
    settle(PAGE, &format!("{before}{HEAD}{table}"));
}
