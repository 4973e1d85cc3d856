//! The recipes of docs/extend.md come true: each is carried out on a copy of the tree, a file and a line, and all are built once,
//! as part of the command in `examples/out-of-tree`, which adds parts of its own to these.
//!
//! The copy lies under the target folder at a fixed place and shares what is built of other people's crates, so that a second
//! run builds little.

use crate::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../../docs/extend.md");
/// The command outside of the tree.
const TEMPLATE: &str = "examples/out-of-tree";
/// An empty test of that command, in the copy.
const TEST: &str = "is_built";
/// The most lines of a recipe's file.
const MOST: usize = 60;
/// What a recipe is for, as the page's headings have it.
const WHAT: [&str; 14] = [
    "A lock",
    "A barrier",
    "An event",
    "A wait policy",
    "A workload",
    "A scheduler",
    "A mechanism",
    "A device",
    "A study",
    "An arbiter",
    "A counter",
    "A chip",
    "A command",
    "An OpenMP construct",
];
/// Recipes without a file, which have a second line.
const WITHOUT_FILE: [&str; 1] = ["A counter"];
/// Recipes without a line: the file is found by its place.
const WITHOUT_LINE: [&str; 1] = ["A chip"];
/// Recipes with a second line, which declares the file's module. Their commands are for a shell, not for `baton`.
const OF_LIBRARY: [&str; 1] = ["An OpenMP construct"];
/// The section about parts that lie elsewhere, and the command that has them.
const OUTSIDE: (&str, &str) = ("Parts outside of the tree", "my-baton");

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
    let expected = match what.trim() {
        what if WITHOUT_FILE.contains(&what) => [0, 2, 1],
        what if WITHOUT_LINE.contains(&what) => [1, 0, 1],
        what if OF_LIBRARY.contains(&what) => [1, 2, 1],
        _ => [1, 1, 1],
    };
    assert_eq!([files.len(), lines.len(), commands.len()], expected, "{what}: files, lines, blocks of commands");
    Recipe {
        what: what.trim().to_owned(),
        file: files.into_iter().next().map(|(named, text)| (format!("{}/{}", named[0], named[1]), text)),
        lines: lines
            .into_iter()
            .map(|(named, text)| Line { file: named[0].clone(), below: named[1].clone(), text })
            .collect(),
        commands: commands_of(what, &commands[0].1),
    }
}

/// The lines of a block of commands: each command, and what it shows.
fn commands_of(what: &str, block: &str) -> Vec<(String, String)> {
    let command = |line: &str| {
        let (command, shows) = line.split_once(" # ").unwrap_or_else(|| panic!("{what}: `{line}` says what it shows"));
        (command.trim().to_owned(), shows.trim().to_owned())
    };
    block.lines().map(command).collect()
}

fn sections() -> impl Iterator<Item = &'static str> {
    PAGE.split("\n## ").skip(1)
}

fn recipes() -> Vec<Recipe> {
    sections()
        .filter(|section| section.contains("One file in ") || section.contains("One line in "))
        .map(recipe)
        .collect()
}

/// The commands of the section about parts that lie elsewhere.
fn outside() -> Vec<(String, String)> {
    let section = sections().find(|section| section.starts_with(OUTSIDE.0)).expect("the page has the section");
    let (_, block) = section.split_once("It runs:\n\n```sh\n").expect("the section ends with commands");
    commands_of(OUTSIDE.0, block.split("```").next().unwrap())
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

/// The manifest of the copy's workspace, of which the command outside of the tree is a member here: so what is built of other
/// people's crates has the same features as for this test, and is not built again.
fn manifest(root: &Path) -> String {
    let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (members, excluded) = (r#"members = ["crates/*"]"#, format!(r#""{TEMPLATE}", "#));
    assert!(text.contains(members) && text.contains(&excluded), "the workspace has members, and excludes {TEMPLATE}");
    text.replace(members, &format!(r#"members = ["crates/*", "{TEMPLATE}"]"#)).replace(&excluded, "")
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
    changed.push(("Cargo.toml".into(), manifest(&root).into_bytes()));
    // Cargo builds a package's commands for its tests.
    changed.push((Path::new(TEMPLATE).join("tests").join(TEST).with_extension("rs"), Vec::new()));
    let distinct: BTreeSet<&PathBuf> = changed.iter().map(|(path, _)| path).collect();
    assert_eq!(distinct.len(), changed.len(), "two recipes change one file");
    for path in wanted.iter().filter(|path| !distinct.contains(path)) {
        write(&tree.join(path), &fs::read(root.join(path)).unwrap());
        fs::set_permissions(tree.join(path), fs::metadata(root.join(path)).unwrap().permissions()).unwrap();
    }
    for (path, bytes) in &changed {
        write(&tree.join(path), bytes);
    }
    files(tree, Path::new(""), &mut there);
    for gone in there.iter().filter(|path| !wanted.contains(*path) && !distinct.contains(path)) {
        fs::remove_file(tree.join(gone)).unwrap();
    }
}

/// Builds the command outside of the tree against the tree, as this test was built: so other people's crates are there already. The tree's
/// crates are not optimised.
fn build(tree: &Path) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folder = here.parent().and_then(Path::parent).expect("a test program lies in target/PROFILE/deps");
    let profile = if folder.ends_with("release") { "release" } else { "test" };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree).env("CARGO_TARGET_DIR", folder.parent().unwrap());
    command.args(["test", "--quiet", "--offline", "--no-run", "--profile", profile, "--workspace", "--test", TEST]);
    for ours in fs::read_dir(tree.join("crates")).unwrap() {
        let name = ours.unwrap().file_name().into_string().unwrap();
        command.args(["--config", &format!("profile.{profile}.package.baton-{name}.opt-level=0")]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    folder.join(OUTSIDE.1)
}

/// Runs each command in a shell at the top of the tree, whose own target folder gets what is built, and looks for what it shows.
fn run_in_shell(tree: &Path, what: &str, commands: &[(String, String)]) {
    if ["gcc", "nm"].iter().any(|program| !baton_needs::has(program, "extend")) {
        return;
    }
    for (command, shows) in commands {
        let mut shell = Command::new("sh");
        shell.current_dir(tree).args(["-c", command]).env_remove("CARGO_TARGET_DIR").env("CARGO_NET_OFFLINE", "true");
        found(what, command, &shell.output().unwrap(), shows);
    }
}

/// Checks that a command succeeded and printed `shows`.
fn found(what: &str, command: &str, output: &Output, shows: &str) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: `{command}`\n{err}");
    assert!(out.contains(shows), "{what}: `{command}` does not show {shows}\n{out}");
}

/// Runs each command with the program in the place of `name`, and looks for what it shows.
fn run(program: &Path, tree: &Path, what: &str, name: &str, commands: &[(String, String)]) {
    for (command, shows) in commands {
        let line = command.strip_prefix(name).unwrap_or_else(|| panic!("{what}: `{command}` begins with {name}"));
        let output =
            Command::new(program).current_dir(tree).args(line.replace('\'', "").split_whitespace()).output().unwrap();
        found(what, command, &output, shows);
    }
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
        if OF_LIBRARY.contains(&recipe.what.as_str()) {
            run_in_shell(&tree, &recipe.what, &recipe.commands);
        } else {
            run(&program, &tree, &recipe.what, "baton", &recipe.commands);
        }
    }
    run(&program, &tree, OUTSIDE.0, OUTSIDE.1, &outside());
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
