use super::*;
use crate::hash::Pieces;
use crate::space::{Looked, Space};
use crate::store::{Format, SpaceText, Store, StoreError, Writer};
use crate::subject::{Failure, Figure, Job, PointSettings, Subject, Why};
use crate::value::{Kind, Value};
use baton_needs::property;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// A command with the options x and y, whose figures follow from these and the seed.
#[derive(Default)]
struct Toy {
    runs: AtomicUsize,
    prepared: AtomicUsize,
    /// The number of points with x = 19 that run.
    slow: Arc<AtomicUsize>,
    version: &'static str,
}

fn option(settings: PointSettings<'_>, name: &str) -> f64 {
    settings.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.number()).unwrap_or(0.0)
}

impl Subject for Toy {
    fn command(&self) -> &str {
        "toy"
    }

    fn version(&self) -> String {
        format!("toy {}", self.version)
    }

    fn check(&self, name: &str) -> Result<(), String> {
        if ["x", "y", "z", "name"].contains(&name) {
            Ok(())
        } else {
            Err(format!("unknown setting `{name}` of `baton toy`"))
        }
    }

    fn lookup(&self, known: PointSettings<'_>, name: &str) -> Looked {
        match name {
            "size" if option(known, "x") == 13.0 => Looked::Invalid("there is no size 13".into()),
            "size" if option(known, "x") == 15.0 => panic!("x is 15"),
            "size" if option(known, "x") == 17.0 => Looked::Value(Value::Number(1.5)),
            "size" => Looked::Value(Value::Whole(100)),
            _ => Looked::Unknown(vec!["size".into()]),
        }
    }

    fn figure(&self, name: &str) -> Result<Figure, Vec<String>> {
        match name {
            "sum" | "deep.noise" | "deep.exact" => Ok(Figure {
                path: name.into(),
                kind: if name == "sum" { Kind::Whole } else { Kind::Number },
                unit: "apples".into(),
                what: "What a test counts.".into(),
            }),
            _ => Err(vec!["sum".into()]),
        }
    }

    fn usual(&self, _: PointSettings<'_>) -> Vec<String> {
        vec!["sum".into()]
    }

    fn prepare(&self, settings: PointSettings<'_>, seed: u64) -> Result<Job, Failure> {
        let (x, y) = (option(settings, "x"), option(settings, "y"));
        match x as i64 {
            7 => return Err(Failure::new(Why::Invalid, "x is 7")),
            14 => panic!("x is 14"),
            _ => {}
        }
        let pieces = Pieces::default().and(self.version()).and(seed.to_string());
        if x == 16.0 || settings.iter().any(|(_, value)| value.to_string().starts_with("same")) {
            // Points with a setting `same…` share one key per seed; with x = 16 each preparation
            // gives another key, as if an input had changed.
            let times = if x == 16.0 { self.prepared.fetch_add(1, SeqCst) } else { 0 };
            let run = || {
                std::thread::sleep(Duration::from_millis(20));
                Ok(serde_json::json!({ "sum": 0 }))
            };
            return Ok(Job { key: pieces.and(times.to_string()).key(), cost: 1.0, memory: 0, run: Box::new(run) });
        }
        let key = settings.iter().fold(pieces, |all, (name, value)| all.and(name).and(value.to_string())).key();
        let slow = self.slow.clone();
        let run = move || match x as i64 {
            8 => Err(Failure::new(Why::Deadlock, "x is 8")),
            9 => panic!("x is 9"),
            10 => {
                std::thread::sleep(Duration::from_secs(30));
                Ok(serde_json::json!({ "sum": 10 }))
            }
            18 => Ok(serde_json::json!({ "sum": slow.load(SeqCst) })),
            19 => {
                slow.fetch_add(1, SeqCst);
                std::thread::sleep(Duration::from_secs(3));
                slow.fetch_sub(1, SeqCst);
                Ok(serde_json::json!({ "sum": 19 }))
            }
            _ => {
                let noise = (seed % 100 * 7919 % 100) as f64 / 100.0;
                // Most of these values need all 17 digits.
                let exact = (x * 7.3 + y + noise).exp2() / 3.0;
                Ok(
                    serde_json::json!({ "sum": x as i64 + y as i64, "deep": { "noise": 10.0 + y * noise, "exact": exact } }),
                )
            }
        };
        let memory = match (x as i64, y as i64) {
            (11, _) => 1 << 40,
            (_, 60) => 60 << 20,
            _ => 1 << 20,
        };
        Ok(Job { key, cost: x, memory, run: Box::new(run) })
    }

    fn repeat(&self, settings: PointSettings<'_>, seed: u64) -> String {
        self.runs.fetch_add(1, SeqCst);
        settings.iter().fold(format!("toy --seed={seed}"), |all, (name, value)| format!("{all} --{name}={value}"))
    }
}

/// A watch that ignores all.
struct Quiet;

impl Watch for Quiet {
    fn row(&mut self, _: &crate::store::Row, _: &SweepProgress) {}
    fn tick(&mut self, _: &SweepProgress) {}
}

fn space(text: &str) -> Space {
    Space::from_toml(&format!("command = \"toy\"\n{text}"), "toy.toml", Path::new("."), &Vec::new).unwrap()
}

fn plan(text: &str) -> Arc<Plan> {
    Arc::new(Plan::new(space(text), Arc::new(Toy::default())).unwrap())
}

fn open(plan: &Plan, folder: &Path) -> Result<Writer, StoreError> {
    Writer::open(folder, &plan.manifest(SpaceText::default()), &plan.until())
}

/// Sweeps, and leaves the journal as a killed process would.
fn killed(plan: &Arc<Plan>, folder: &Path, workers: usize) -> (End, SweepProgress) {
    let mut writer = open(plan, folder).unwrap();
    sweep(plan, &mut writer, &Options { workers, stop: &|| false, only: None }, &mut Quiet).unwrap()
}

fn whole(plan: &Arc<Plan>, folder: &Path) -> (End, SweepProgress) {
    let mut writer = open(plan, folder).unwrap();
    let ended = sweep(plan, &mut writer, &Options { workers: 2, stop: &|| false, only: None }, &mut Quiet).unwrap();
    writer.close().unwrap();
    ended
}

fn csv(folder: &Path) -> String {
    let table = Store::open(folder).unwrap().table(None, None).unwrap();
    let mut out = Vec::new();
    table.write(Format::Csv, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The rows of a store as texts: these columns, joined by blanks, with `-` for null.
fn rows(folder: &Path, names: &[&str]) -> Vec<String> {
    let table = Store::open(folder).unwrap().table(Some(names), None).unwrap();
    let cells = |row| table.row(row).map(|value| value.map_or("-".into(), |value: Value| value.to_string()));
    (0..table.len()).map(|row| cells(row).collect::<Vec<String>>().join(" ")).collect()
}

mod given_up;
mod plans;

/// The combinations that are named run, those that a constraint excludes are left out, and the whole sweep goes on behind them.
#[test]
fn only_the_named_combinations_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&format!("constraints = [\"x != 2\"]\n{GRID}"));
    let mut writer = open(&plan, folder.path()).unwrap();
    let options = Options { workers: 2, stop: &|| false, only: Some(&[4, 0, 2]) };
    let (end, state) = sweep(&plan, &mut writer, &options, &mut Quiet).unwrap();
    writer.close().unwrap();
    assert_eq!((end, state.added), (End::Done, 4));
    assert_eq!(rows(folder.path(), &["x", "y", "seed"]), ["1 0.5 2", "1 0.5 5", "3 0.5 2", "3 0.5 5"]);
    let keys: Vec<String> = plan.keys(4, &[2, 5]).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(rows(folder.path(), &["key"])[2..], keys);
    assert!(plan.keys(2, &[2]).unwrap().is_empty());
    assert_eq!(whole(&plan, folder.path()).1.added, 4);
}

const GRID: &str = "seeds = [2, 5]\n[axes]\nx = [1, 2, 3]\ny = [0.5, 4]\n[set]\nz = \"= size / x\"\n";

#[test]
fn a_sweep_fills_the_store_and_runs_no_point_twice() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a/toy.store");
    let plan = plan(GRID);
    let (end, state) = whole(&plan, &store);
    assert_eq!((end, state.added, state.whole, state.failed), (End::Done, 12, 12, 0));
    let found = rows(&store, &["x", "y", "z", "seed", "sum", "failure", "command"]);
    assert_eq!(found.len(), 12);
    assert_eq!(found[0], "1 0.5 100 2 1 - toy --seed=2 --x=1 --y=0.5 --z=100");
    assert_eq!(found[11], "3 4 33.333333333333336 5 7 - toy --seed=5 --x=3 --y=4 --z=33.333333333333336");
    let (end, state) = whole(&plan, &store);
    assert_eq!((end, state.added, state.before), (End::Done, 0, 12));
    // A larger space goes on in the same store.
    let (_, state) = whole(&self::plan(&GRID.replace("[1, 2, 3]", "[1, 2, 3, 4]")), &store);
    assert_eq!((state.added, state.before), (4, 12));
    let columns = Store::open(&store).unwrap().columns();
    let sum = columns.iter().find(|column| column.name == "sum").unwrap();
    assert_eq!((sum.unit.as_str(), sum.what.as_str()), ("apples", "What a test counts."));
}

/// A merge of the store's files keeps all digits of a seed that a double cannot hold.
#[test]
fn large_seeds_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let large = (1_u64 << 53) + 1;
    let text = format!("seeds = [{large}]\n[axes]\nx = [1, 8]\n");
    whole(&plan(&text), folder.path());
    let store = Store::open(folder.path()).unwrap();
    // To remove failures, the store writes the other rows into a new file.
    assert_eq!(store.forget_failures(&plan(&text).manifest(SpaceText::default())).unwrap(), 1);
    assert_eq!(rows(folder.path(), &["seed"]), [large.to_string()]);
}

/// A second run may name axes and metrics in another order than the run that made the store.
#[test]
fn values_go_into_the_columns_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = "metrics = [\"sum\", \"deep.noise\"]\n";
    whole(&plan(&format!("{metrics}[axes]\nx = [1]\ny = [20, 50]\n")), folder.path());
    let other = plan("metrics = [\"deep.noise\", \"sum\"]\n[axes]\ny = [70]\nx = [2]\n");
    whole(&other, folder.path());
    assert_eq!(rows(folder.path(), &["x", "y", "sum", "deep.noise"]), ["1 20 21 13.8", "1 50 51 19.5", "2 70 72 23.3"]);
}

#[test]
fn combinations_with_one_key_share_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let (end, state) = whole(&plan("[axes]\nname = [\"same\", \"same 2\", \"same 3\"]\n"), folder.path());
    assert_eq!((end, state.added, state.before), (End::Done, 1, 2));
}

#[test]
fn a_metric_that_cannot_be_computed_is_null() {
    let folder = tempfile::tempdir().unwrap();
    let share = "{ name = \"share\", value = \"= 10 / sum\" }";
    whole(&plan(&format!("metrics = [\"sum\", {share}]\n[axes]\nx = [0, 5]\n")), folder.path());
    assert_eq!(rows(folder.path(), &["x", "sum", "share", "failure"]), ["0 0 - -", "5 5 2 -"]);
}

#[test]
fn a_failing_point_is_a_row_and_never_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(
        "limits = { seconds = 2, memory_mib = 100 }\n[axes]\nx = [6, 7, 8, 9, 10, 11, 13, 14, 15, 16]\n[set]\ny = \"= size\"\n",
    );
    let (end, state) = whole(&plan, folder.path());
    assert_eq!((end, state.added, state.failed), (End::Done, 10, 9));
    assert_eq!(
        rows(folder.path(), &["x", "sum", "failure", "reason"]),
        [
            "6 106 - -",
            "7 - invalid x is 7",
            "8 - deadlock x is 8",
            "9 - panic x is 9",
            "10 - time ran longer than 2 s",
            "11 - memory needs about 1048576 MiB of memory; the limit is 100 MiB",
            "13 - invalid there is no size 13",
            "14 - invalid Baton panicked while it prepared the point: x is 14",
            "15 - invalid Baton panicked while it prepared the point: x is 15",
            "16 - failed an input changed while the point waited; sweep again",
        ]
    );
    // Nine points have their rows; that of x = 16 has another key now, and runs again.
    assert_eq!(whole(&plan, folder.path()).1.added, 1, "a failed point is not run again");
    let store = Store::open(folder.path()).unwrap();
    let other = self::plan("[axes]\nx = [1]\n").manifest(SpaceText::default());
    assert!(store.forget_failures(&other).unwrap_err().to_string().contains("is of another space"));
    assert_eq!(rows(folder.path(), &["x"]).len(), 11, "a sweep that the store refuses removes nothing");
    assert_eq!(store.forget_failures(&plan.manifest(SpaceText::default())).unwrap(), 10);
    assert_eq!(rows(folder.path(), &["x"]), ["6"]);
    assert_eq!(whole(&plan, folder.path()).1.added, 9);
}

#[test]
fn points_are_repeated_until_their_intervals_are_narrow() {
    let text = "seeds = { least = 3, most = 12 }\nuntil = { noise = \"3%\" }\nmetrics = [{ name = \"noise\", value = \"deep.noise\" }]\n[axes]\nx = [1]\ny = [0, 1, 20]\n";
    let folder = tempfile::tempdir().unwrap();
    let (_, state) = whole(&plan(text), folder.path());
    let count = |store: &Path, y: &str| rows(store, &["y"]).iter().filter(|row| *row == y).count();
    assert_eq!((count(folder.path(), "0"), count(folder.path(), "20")), (3, 12));
    let middle = count(folder.path(), "1");
    assert!((4..12).contains(&middle), "{middle}");
    assert_eq!(state.whole, state.added);
    let parts = tempfile::tempdir().unwrap();
    let stepwise = plan(&format!("budget = {{ points = 2 }}\n{text}"));
    while whole(&stepwise, parts.path()).0 == End::Budget {}
    assert_eq!(csv(parts.path()), csv(folder.path()));
}

#[test]
fn two_sweeps_share_a_store_and_share_the_points() {
    let folder = tempfile::tempdir().unwrap();
    let toy = Arc::new(Toy::default());
    let text = "[axes]\nx = { from = 100, to = 139, step = 1 }\ny = { from = 1, to = 10, step = 1 }\n";
    let plan = Arc::new(Plan::new(space(text), toy.clone()).unwrap());
    let added: u64 = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| whole(&plan, folder.path()).1.added)).collect();
        both.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!((added, toy.runs.load(SeqCst)), (400, 400));
    assert_eq!(rows(folder.path(), &["x"]).len(), 400);
    // Neither sweep leaves a journal or a partial file.
    for entry in folder.path().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.ends_with(".parquet") || ["store.json", "store.lock"].contains(&name.as_str()), "{name}");
    }
}

#[test]
fn what_a_living_process_has_begun_is_left_to_it() {
    use crate::store::Claim;
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(GRID);
    let key = plan.prepare(0, &[2]).unwrap().unwrap().1[0].key;
    let mut first = open(&plan, folder.path()).unwrap();
    let mut second = open(&plan, folder.path()).unwrap();
    assert_eq!(first.claim(key).unwrap(), Claim::Mine);
    assert_eq!(second.claim(key).unwrap(), Claim::Theirs);
    assert_eq!(Store::open(folder.path()).unwrap().running().unwrap(), 1);
    drop(first);
    assert_eq!(second.claim(key).unwrap(), Claim::Mine, "the process that had begun it is gone");
}

#[test]
fn small_files_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("budget = { points = 1 }\n[axes]\nx = { from = 100, to = 139, step = 1 }\n");
    while whole(&plan, folder.path()).0 == End::Budget {}
    let files = folder.path().read_dir().unwrap().count();
    assert!(files < 20, "{files} files");
    assert_eq!(rows(folder.path(), &["x"]).len(), 40);
}

#[test]
fn a_store_of_something_else_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    whole(&plan(GRID), folder.path());
    let before = csv(folder.path());
    let refused = |space: Space, toy: Toy| {
        let plan = Plan::new(space, Arc::new(toy)).unwrap();
        let Err(error) = open(&plan, folder.path()) else { panic!("the store was opened") };
        assert!(error.is_input());
        error.to_string().replace(&folder.path().display().to_string(), "DIR")
    };
    let grid = |from: &str, to: &str| space(&GRID.replace(from, to));
    assert_eq!(
        refused(grid("y = [", "name = ["), Toy::default()),
        "DIR: is of another space: it has no coordinate `name`"
    );
    assert_eq!(
        refused(grid("y = [0.5, 4]", ""), Toy::default()),
        "DIR: is of another space, which has a coordinate `y`"
    );
    assert_eq!(
        refused(grid("[1, 2, 3]", "[0.5]"), Toy::default()),
        "DIR: is of another space: coordinate `x` has whole numbers there, and numbers here"
    );
    assert_eq!(
        refused(space(&format!("metrics = [\"deep.noise\"]\n{GRID}")), Toy::default()),
        "DIR: is of another space: it has no metric `deep.noise`"
    );
    let twice = |text: &str| space(&format!("metrics = [{{ name = \"sum\", value = \"= {text}\" }}]\n{GRID}"));
    let other = tempfile::tempdir().unwrap();
    let plan = |text: &str| Plan::new(twice(text), Arc::new(Toy::default())).unwrap();
    open(&plan("2 * sum"), other.path()).unwrap();
    let said = open(&plan("3 * sum"), other.path()).err().unwrap().to_string();
    assert!(said.ends_with("metric `sum` is `= 2 * sum` there, and `= 3 * sum` here"), "{said}");
    assert_eq!(
        refused(space(GRID), Toy { version: "2", ..Toy::default() }),
        "DIR: its rows were computed by toy , and this is toy 2"
    );
    assert_eq!(csv(folder.path()), before);
    let manifest = folder.path().join("store.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("baton-store/1", "baton-store/2")).unwrap();
    assert_eq!(
        refused(space(GRID), Toy::default()),
        "DIR: this store has the form baton-store/2, and this baton reads baton-store/1"
    );
    std::fs::remove_file(&manifest).unwrap();
    std::fs::remove_file(folder.path().join("store.lock")).unwrap();
    assert!(refused(space(GRID), Toy::default()).starts_with("DIR: is no store: it holds rows-"));
    assert!(!folder.path().join("store.lock").exists(), "a folder that is refused gets no file");
    assert!(
        Store::open(&folder.path().join("none"))
            .err()
            .unwrap()
            .to_string()
            .ends_with("is no store: there is no such folder")
    );
}

#[test]
fn a_condition_selects_rows_and_names_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    whole(&plan(GRID), folder.path());
    let store = Store::open(folder.path()).unwrap();
    let select = |text: &str| store.table(Some(&["x"]), Some(&crate::expr::Expr::parse(text).unwrap()));
    assert_eq!(select("x >= 2 and y == 4 and seed == 5").unwrap().len(), 2);
    assert_eq!(select("failure == 'none'").unwrap().len(), 12);
    let said = |text: &str| select(text).unwrap_err().to_string();
    assert!(
        said("w > 1")
            .ends_with("unknown column `w`; expected one of key, x, y, z, seed, sum, failure, reason, command")
    );
    assert!(said("x").ends_with("; expected true or false"));
}

#[test]
fn rows_come_out_as_csv_json_lines_and_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("[axes]\nx = [1, 8]\nname = [\"a, \\\"b\\\"\"]\n");
    whole(&plan, &folder.path().join("store"));
    let table =
        Store::open(&folder.path().join("store")).unwrap().table(Some(&["x", "name", "sum", "failure"]), None).unwrap();
    let text = |format| {
        let mut out = Vec::new();
        table.write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(Format::Csv), "x,name,sum,failure\n1,\"a, \"\"b\"\"\",1,\n8,\"a, \"\"b\"\"\",,deadlock\n");
    let second = text(Format::JsonLines).lines().nth(1).unwrap().parse::<serde_json::Value>().unwrap();
    assert_eq!(second, serde_json::json!({ "x": 8, "name": "a, \"b\"", "sum": null, "failure": "deadlock" }));
    let path = folder.path().join("all.parquet");
    table.save(Format::Parquet, &path).unwrap();
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows: Vec<String> = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows[1], "{x: 8, name: \"a, \"b\"\", sum: null, failure: \"deadlock\"}");
    let described = file.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(
        described
            .iter()
            .any(|pair| pair.key == "baton.columns" && pair.value.as_ref().unwrap().contains("\"unit\":\"apples\""))
    );
}

proptest! {
    #![proptest_config(property!(12))]

    /// A sweep that ends after any number of points without closing its journal, again and again,
    /// leaves the same rows as one that runs through, also if the last line of a journal is torn.
    #[test]
    fn resuming_from_any_prefix_gives_the_same_store(steps in prop::collection::vec((1_u64..9, any::<bool>()), 1..6)) {
        let text = "seeds = 2\nmetrics = [\"sum\", \"deep.exact\"]\n[axes]\nx = { from = 1, to = 9, step = 1 }\ny = [1, 2]\n";
        let undisturbed = tempfile::tempdir().unwrap();
        whole(&plan(text), undisturbed.path());
        let folder = tempfile::tempdir().unwrap();
        let toy = Arc::new(Toy::default());
        let mut added = 0;
        for (points, torn) in steps {
            let plan = Arc::new(Plan::new(space(&format!("budget = {{ points = {points} }}\n{text}")), toy.clone()).unwrap());
            added += killed(&plan, folder.path(), 2).1.added;
            for entry in folder.path().read_dir().unwrap() {
                let path = entry.unwrap().path();
                if torn && path.extension().is_some_and(|ending| ending == "jsonl") {
                    let half = std::fs::read_to_string(&path).unwrap() + "{\"key\":\"00";
                    std::fs::write(&path, half).unwrap();
                }
            }
        }
        let plan = Arc::new(Plan::new(space(text), toy.clone()).unwrap());
        added += whole(&plan, folder.path()).1.added;
        prop_assert_eq!(csv(folder.path()), csv(undisturbed.path()));
        prop_assert_eq!((added, toy.runs.load(SeqCst)), (36, 36));
    }
}
