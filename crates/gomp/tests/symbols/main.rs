//! Checks that the linker's map and script and the tables of `docs/reference/omp.md` agree with
//! `symbols.txt` and `kmp.txt`. `BLESS=1 cargo test -p baton-gomp --test symbols` writes them anew.

mod kmp;

use std::fmt::Write;
use std::path::{Path, PathBuf};

const DECLARED: &str = include_str!("../../symbols.txt");
/// The lines of the page between which the tables stand.
const MARKS: [&str; 2] =
    ["<!-- symbols: made from crates/gomp/symbols.txt and kmp.txt by `make tables` -->", "<!-- end of the symbols -->"];

struct Symbol<'a> {
    name: &'a str,
    /// Suffixes of the Fortran forms.
    forms: Vec<&'a str>,
    file: &'a str,
    versioned_in_source: bool,
}

struct Node<'a> {
    name: &'a str,
    after: Option<&'a str>,
    symbols: Vec<Symbol<'a>>,
}

/// Reads the declarations. The error names the line and says what was expected.
fn read(text: &str) -> Result<Vec<Node<'_>>, String> {
    let mut nodes: Vec<Node> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad = |expected: &str| Err(format!("symbols.txt:{}: `{line}`: expected {expected}", at + 1));
        if words.is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            let after = match words[1..] {
                [] => None,
                ["after", after] if nodes.iter().any(|node| node.name == after) => Some(after),
                _ => return bad("`NODE` or `NODE after EARLIER_NODE`"),
            };
            nodes.push(Node { name: words[0], after, symbols: Vec::new() });
            continue;
        }
        let Some(node) = nodes.last_mut() else { return bad("a version node before its symbols") };
        let (name, forms, file, versioned_in_source) = match words[..] {
            [name, forms, file] => (name, forms, file, false),
            [name, forms, file, "versioned-in-source"] => (name, forms, file, true),
            _ => return bad("`NAME FORMS FILE` or `NAME FORMS FILE versioned-in-source`"),
        };
        let forms = match forms {
            "-" => Vec::new(),
            forms if forms.split(',').all(|form| ["_", "_8_"].contains(&form)) => forms.split(',').collect(),
            _ => return bad("`-`, `_` or `_,_8_` as the Fortran forms"),
        };
        if node.symbols.last().is_some_and(|last| last.name >= name) {
            return bad("the symbols of a node in order");
        }
        node.symbols.push(Symbol { name, forms, file, versioned_in_source });
    }
    Ok(nodes)
}

impl Symbol<'_> {
    /// The names of the C function and of its Fortran forms.
    fn names(&self) -> impl Iterator<Item = String> {
        std::iter::once(&"").chain(&self.forms).map(|form| format!("{}{form}", self.name))
    }
}

fn map(nodes: &[Node], kmp: &[kmp::Part]) -> String {
    let mut map = String::from(
        "/* Made from symbols.txt and kmp.txt by `make tables`. Symbols that are versioned in source, or by libomp.ld, are not\n   \
         here: a `local: *` in their node would hide them. */\n",
    );
    writeln!(map, "{} {{\n  global:", kmp::VERSION).unwrap();
    kmp::served(kmp).iter().for_each(|name| writeln!(map, "    {name};").unwrap());
    writeln!(map, "}};").unwrap();
    for (at, node) in nodes.iter().enumerate() {
        writeln!(map, "{} {{\n  global:", node.name).unwrap();
        let mapped = node.symbols.iter().filter(|symbol| !symbol.versioned_in_source);
        let mut names: Vec<String> = mapped.flat_map(Symbol::names).collect();
        names.sort();
        names.iter().for_each(|name| writeln!(map, "    {name};").unwrap());
        let local = if at + 1 == nodes.len() { "  local: *;\n" } else { "" };
        writeln!(map, "{local}}}{};", node.after.map(|after| format!(" {after}")).unwrap_or_default()).unwrap();
    }
    map
}

fn tables(nodes: &[Node], kmp: &[kmp::Part]) -> String {
    let mut tables = String::new();
    for node in nodes {
        write!(tables, "\n### {}\n\n| symbol | Fortran forms | source |\n| --- | --- | --- |\n", node.name).unwrap();
        for symbol in &node.symbols {
            let forms: Vec<String> = symbol.forms.iter().map(|form| format!("`{}{form}`", symbol.name)).collect();
            writeln!(tables, "| `{}` | {} | `{}.rs` |", symbol.name, forms.join(", "), symbol.file).unwrap();
        }
    }
    tables + &kmp::text(kmp) + "\n"
}

/// Returns the page with new tables between the marks.
fn with_tables(page: &str, tables: &str) -> String {
    let parts = page.split_once(MARKS[0]).and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?.1)));
    let (before, after) = parts.expect("docs/reference/omp.md has both marks around the tables of symbols");
    format!("{before}{}\n{tables}{}{after}", MARKS[0], MARKS[1])
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_or_becomes(path: &Path, wanted: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, wanted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    } else {
        assert!(text(path) == wanted, "{} is stale: BLESS=1 cargo test -p baton-gomp --test symbols", path.display());
    }
}

#[test]
fn the_map_and_the_page_say_what_is_declared() {
    let (nodes, kmp) = (read(DECLARED).unwrap(), kmp::read(kmp::DECLARED).unwrap());
    is_or_becomes(&here("libgomp.map"), &map(&nodes, &kmp));
    is_or_becomes(&here("libomp.ld"), &kmp::script(&kmp));
    let page = here("../../docs/reference/omp.md");
    is_or_becomes(&page, &with_tables(&text(&page), &tables(&nodes, &kmp)));
}

/// Whether a source has a name as a word.
fn has(source: &str, name: &str) -> bool {
    source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[test]
fn each_symbol_stands_in_the_file_that_is_declared() {
    for symbol in read(DECLARED).unwrap().iter().flat_map(|node| &node.symbols) {
        let source = text(&here("src").join(symbol.file).with_extension("rs"));
        assert!(has(&source, symbol.name), "{} is not in src/{}.rs", symbol.name, symbol.file);
    }
    for part in kmp::read(kmp::DECLARED).unwrap() {
        let kmp::Kind::Served { file } = part.kind else { continue };
        let source = text(&here("src").join(file).with_extension("rs"));
        part.names().for_each(|(name, _)| assert!(has(&source, &name), "{name} is not in src/{file}.rs"));
    }
}

/// Each symbol that LLVM's library exports at `VERSION` is declared once, and no other one is.
#[test]
fn each_symbol_of_libomp_is_served_or_absent_by_name() {
    let Some(clang) = baton_needs::first_of(&["clang-19", "clang"], "symbols") else { return };
    if !baton_needs::has("readelf", "symbols") {
        return;
    }
    let output = |command: &mut std::process::Command| String::from_utf8(command.output().unwrap().stdout).unwrap();
    let library = output(std::process::Command::new(clang).arg("-print-file-name=libomp.so.5"));
    let symbols = output(std::process::Command::new("readelf").args(["-W", "--dyn-syms", library.trim()]));
    let at = format!("@@{}", kmp::VERSION);
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(7)?.strip_suffix(&at));
    let theirs: Vec<&str> = names.collect();
    assert!(theirs.len() > 800, "{} symbols in {library}", theirs.len());
    let parts = kmp::read(kmp::DECLARED).unwrap();
    let mut declared: Vec<String> = parts.iter().flat_map(kmp::Part::names).map(|(name, _)| name).collect();
    declared.sort();
    assert!(declared.windows(2).all(|two| two[0] != two[1]), "a symbol stands twice in kmp.txt");
    let undeclared: Vec<_> = theirs.iter().filter(|name| !declared.iter().any(|known| known == *name)).collect();
    assert!(undeclared.is_empty(), "{library} has, kmp.txt has not: {undeclared:?}");
}

#[test]
fn a_bad_declaration_is_named() {
    let error = |text: &str| read(text).err().expect("an error");
    assert_eq!(
        error("A\n    f - locks\nB after C\n"),
        "symbols.txt:3: `B after C`: expected `NODE` or `NODE after EARLIER_NODE`"
    );
    assert!(error("    f - locks\n").contains("expected a version node"));
    assert!(error("A\n    f locks\n").starts_with("symbols.txt:2: `    f locks`: expected `NAME FORMS FILE`"));
    assert!(error("A\n    f __ locks\n").contains("Fortran forms"));
    assert!(error("A\n    g - locks\n    f - locks\n").contains("in order"));
    let error = |text: &str| kmp::read(text).err().expect("an error");
    assert_eq!(
        error("served sync\n    a b\n"),
        "kmp.txt:2: `    a b`: expected `NAME`, or `NAME OTHER` in the part `same`"
    );
    assert!(error("sarved sync\n").contains("expected `served FILE`"));
    assert!(error("    a\n").contains("a part before its symbols"));
}
