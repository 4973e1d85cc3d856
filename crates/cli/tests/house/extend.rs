//! The recipes of docs/extend.md come true: each is carried out on a copy of the tree, a file and a line, and all are built once.
//!
//! The copy lies under the target folder at a fixed place and shares what is built of other people's crates, so that a second
//! run builds little.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/extend.md");
/// The most lines of a template.
const MOST: usize = 60;
/// What a recipe is for, as the page's headings have it.
const WHAT: [&str; 9] = [
    "A lock",
    "A wait policy",
    "A workload",
    "A scheduler",
    "A mechanism",
    "A device",
    "A study",
    "An arbiter",
    "A counter",
];
/// Those that are no file, but a second line.
const WITHOUT_FILE: [&str; 1] = ["A counter"];

/// A line of a recipe, with its comment.
#[derive(Debug)]
struct Line {
    file: String,
    below: String,
    text: String,
}

/// A recipe: a file, a line, and what then works.
#[derive(Debug)]
struct Recipe {
    what: String,
    /// Path and text.
    file: Option<(String, String)>,
    lines: Vec<Line>,
    /// Commands, and what each must print.
    commands: Vec<(String, String)>,
}

/// The words in backquotes of a line.
fn words(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// The recipe of a section: "One file in `FOLDER`, `NAME`:" and "One line in `FILE`, below `LINE`:", each before a block of code, and
/// a block of commands with what they print behind a #. Without a file there are two lines.
fn recipe(section: &str) -> Recipe {
    let (what, body) = section.split_once('\n').unwrap();
    let blocks = |start: &str| -> Vec<(Vec<String>, String)> {
        let block = |found: &str| {
            let (head, rest) =
                found.split_once("\n\n```").unwrap_or_else(|| panic!("{what}: a block behind `{start}`"));
            let (_, code) = rest.split_once('\n').unwrap();
            (words(head), code.split_once("```").unwrap().0.to_owned())
        };
        body.split(start).skip(1).map(block).collect()
    };
    let files = blocks("One file in ");
    let lines = blocks("One line in ");
    let commands = blocks("It runs:");
    let without = WITHOUT_FILE.contains(&what.trim());
    let expected = if without { [0, 2, 1] } else { [1, 1, 1] };
    assert_eq!([files.len(), lines.len(), commands.len()], expected, "{what}: files, lines, blocks of commands");
    let commands = commands[0].1.lines().map(|line| {
        let (command, shows) = line.split_once(" # ").unwrap_or_else(|| panic!("{what}: `{line}` says what it shows"));
        (command.trim().to_owned(), shows.trim().to_owned())
    });
    Recipe {
        what: what.trim().to_owned(),
        file: files.into_iter().next().map(|(named, text)| (format!("{}/{}", named[0], named[1]), text)),
        lines: lines
            .into_iter()
            .map(|(named, text)| Line { file: named[0].clone(), below: named[1].clone(), text })
            .collect(),
        commands: commands.collect(),
    }
}

fn recipes() -> Vec<Recipe> {
    PAGE.split("\n## ").skip(1).filter(|section| section.contains("One line in ")).map(recipe).collect()
}

fn root() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// The files of a tree, with paths from its top, without what is built or belongs to git.
fn files(top: &Path, folder: &Path, out: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(top.join(folder)).unwrap().map(Result::unwrap) {
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", "demo"].contains(&entry.file_name().to_str().unwrap()) {
                files(top, &path, out);
            }
        } else if entry.file_type().unwrap().is_file() {
            out.insert(path);
        }
    }
}

/// Writes a file, unless it is there with the same text: what did not change is not built again.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(bytes) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

/// A file's text with the recipe's line in it.
fn with_line(text: &str, what: &str, line: &Line) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let places: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].contains(&line.below)).collect();
    assert_eq!(places.len(), 1, "{what}: `{}` stands once in {}", line.below, line.file);
    let mut lines: Vec<String> = lines.into_iter().map(ToOwned::to_owned).collect();
    lines.insert(places[0] + 1, line.text.trim_end().to_owned());
    lines.join("\n") + "\n"
}

/// Copies the tree and carries the recipes out.
fn carry_out(recipes: &[Recipe], tree: &Path) {
    let (root, mut wanted, mut there) = (root(), BTreeSet::new(), BTreeSet::new());
    files(&root, Path::new(""), &mut wanted);
    let mut changed: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for recipe in recipes {
        if let Some((file, text)) = &recipe.file {
            assert!(!wanted.contains(Path::new(file)), "{}: {file} is there already", recipe.what);
            changed.push((file.into(), text.clone().into_bytes()));
        }
        for line in &recipe.lines {
            let text = fs::read_to_string(root.join(&line.file)).unwrap_or_else(|e| panic!("{}: {e}", line.file));
            changed.push((line.file.clone().into(), with_line(&text, &recipe.what, line).into_bytes()));
        }
    }
    // Another name, so that the program does not take the place of the one that the other tests run.
    let manifest = fs::read_to_string(root.join("crates/cli/Cargo.toml")).unwrap();
    let manifest =
        manifest.replace("name = \"baton\"\n", "name = \"baton-extended\"\n").replace("default-run = \"baton\"\n", "");
    changed.push(("crates/cli/Cargo.toml".into(), manifest.into_bytes()));
    let distinct: BTreeSet<&PathBuf> = changed.iter().map(|(path, _)| path).collect();
    assert_eq!(distinct.len(), changed.len(), "two recipes change one file");
    for path in wanted.iter().filter(|path| !distinct.contains(path)) {
        write(&tree.join(path), &fs::read(root.join(path)).unwrap());
    }
    for (path, bytes) in &changed {
        write(&tree.join(path), bytes);
    }
    files(tree, Path::new(""), &mut there);
    for gone in there.iter().filter(|path| !wanted.contains(*path) && !distinct.contains(path)) {
        fs::remove_file(tree.join(gone)).unwrap();
    }
}

/// Builds the command of the tree, as this test was built: so crates of others are there already. Ours are not optimised.
fn build(tree: &Path) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folder = here.parent().and_then(Path::parent).expect("a test program lies in target/PROFILE/deps");
    let profile = if folder.ends_with("release") { "release" } else { "test" };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree).env("CARGO_TARGET_DIR", folder.parent().unwrap());
    command.args(["build", "--quiet", "--locked", "-p", "baton-cli", "--profile", profile]);
    // Ours by name: a pattern for the others would build their build scripts anew. Those of ours are not optimised anyway; that they
    // differ in their units keeps them, and what they say, from the place of this tree's, which would be built anew after that.
    for ours in fs::read_dir(tree.join("crates")).unwrap() {
        let name = ours.unwrap().file_name().into_string().unwrap();
        for key in ["opt-level=0", "codegen-units=16"] {
            command.args(["--config", &format!("profile.{profile}.package.baton-{name}.{key}")]);
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    folder.join("baton-extended")
}

#[test]
fn the_page_has_a_recipe_for_each() {
    let recipes = recipes();
    let found: Vec<&str> = recipes.iter().map(|recipe| recipe.what.as_str()).collect();
    assert_eq!(found, WHAT);
    for recipe in &recipes {
        let template = recipe.file.as_ref().map_or(0, |(_, text)| text.lines().count());
        assert!(template <= MOST, "{}: a template of more than {MOST} lines", recipe.what);
        assert!(!recipe.commands.is_empty(), "{}", recipe.what);
        for line in &recipe.lines {
            let code = line.text.lines().filter(|line| !line.trim_start().starts_with("///"));
            assert_eq!(code.count(), 1, "{}: {line:?}", recipe.what);
            assert!(root().join(&line.file).is_file(), "{}: {line:?}", recipe.what);
        }
    }
}

#[test]
fn each_recipe_is_a_file_and_a_line_and_what_it_adds_runs() {
    let (recipes, tree) = (recipes(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("extend"));
    carry_out(&recipes, &tree);
    let program = build(&tree);
    for recipe in &recipes {
        for (command, shows) in &recipe.commands {
            let line = command.strip_prefix("baton ").unwrap_or_else(|| panic!("{}: `{command}`", recipe.what));
            let output = Command::new(&program)
                .current_dir(&tree)
                .args(line.replace('\'', "").split_whitespace())
                .output()
                .unwrap();
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{}: `{command}`\n{err}", recipe.what);
            assert!(out.contains(shows.as_str()), "{}: `{command}` does not show {shows}\n{out}", recipe.what);
        }
    }
}

#[test]
fn a_section_is_read() {
    let read = recipe(
        "A thing\n\nWords.\n\nOne file in `crates/x/src`, `y.rs`:\n\n```rust\nfn y() {}\n```\n\n\
         One line in `crates/x/src/lib.rs`, below `mod a;`:\n\n```rust\nmod y;\n```\n\nIt runs:\n\n```sh\nbaton list x # y\n```\n",
    );
    assert_eq!(read.file, Some(("crates/x/src/y.rs".to_owned(), "fn y() {}\n".to_owned())));
    assert_eq!(with_line("mod a;\nmod b;\n", &read.what, &read.lines[0]), "mod a;\nmod y;\nmod b;\n");
    assert_eq!(read.commands, [("baton list x".to_owned(), "y".to_owned())]);
}
