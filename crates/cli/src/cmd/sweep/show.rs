//! `baton sweep status`, `show` and `export`.

use super::run::bad_store;
use crate::error::BadInput;
use crate::ui;
use baton_studio::expr::Expr;
use baton_studio::store::{Format, Role, Store, Table};
use baton_studio::value::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `baton sweep status`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton sweep status zoo.store
  baton sweep status zoo.store --json")]
pub(super) struct StatusArgs {
    /// The folder of the store.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Which rows of a store.
#[derive(clap::Args)]
struct Selection {
    /// The folder of the store.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Only rows in which this holds, as in "lock == 'mcs' and threads > 4 and failure == 'none'".
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Only these columns, with commas. Left out: coordinates, seed, figures and failure.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// Order the rows by this column, the least first; with - before the name, the most first.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    sort: Option<String>,
    /// At most this many rows.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Options of `baton sweep show`.
#[derive(clap::Args)]
#[command(after_help = "\
Conditions are those of a space's constraints (docs/reference/studio.md). Rows are ordered by
their coordinates and seeds.

Examples:
  baton sweep show zoo.store
  baton sweep show zoo.store --where \"lock == 'mcs' and threads >= 8\" --sort cycles --limit 5
  baton sweep show zoo.store --where \"failure != 'none'\" --columns lock,threads,reason,command
  baton sweep show zoo.store --json")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    rows: Selection,
    /// Write JSON objects, one on a line.
    #[arg(long)]
    json: bool,
}

/// Options of `baton sweep export`.
#[derive(clap::Args)]
#[command(after_help = "\
The end of the file's name says the form: .csv, .jsonl or .parquet. The file is written whole or
not at all.

Examples:
  baton sweep export zoo.store --out zoo.csv
  baton sweep export zoo.store --out zoo.parquet --where \"failure == 'none'\"
  baton sweep export zoo.store --csv | head -3")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    rows: Selection,
    /// The file. Left out: standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write comma-separated values.
    #[arg(long, conflicts_with_all = ["jsonl", "parquet"])]
    csv: bool,
    /// Write JSON objects, one on a line.
    #[arg(long, conflicts_with = "parquet")]
    jsonl: bool,
    /// Write Parquet.
    #[arg(long)]
    parquet: bool,
}

/// Columns that `show` leaves out unless they are asked for.
const UNSHOWN: [&str; 3] = ["key", "reason", "command"];

impl Selection {
    /// The selected rows. If the user names no columns, the table has all with `all`, otherwise all
    /// but [`UNSHOWN`].
    fn table(&self, all: bool) -> anyhow::Result<Table> {
        let store = Store::open(&self.directory).map_err(bad_store)?;
        let condition = self.condition.as_deref().map(Expr::parse).transpose();
        let condition = condition.map_err(|fault| BadInput::new(format!("--where: {fault}")))?;
        let known = store.columns();
        let shown = known.iter().map(|column| column.name.as_str()).filter(|name| all || !UNSHOWN.contains(name));
        let mut names: Vec<&str> = shown.collect();
        if !self.columns.is_empty() {
            names = self.columns.iter().map(String::as_str).collect();
        }
        let shown = names.len();
        let sort = self.sort.as_deref().map(|name| (name.trim_start_matches('-'), name.starts_with('-')));
        names.extend(sort.map(|(name, _)| name));
        let mut table = store.table(Some(&names), condition.as_ref()).map_err(bad_store)?;
        if let Some((_, most_first)) = sort {
            table.sort(&[shown], most_first);
            table.select(&(0..shown).collect::<Vec<_>>());
        }
        table.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(table)
    }
}

/// Rows of a store in which `condition` holds, with all columns unless `columns` names some.
pub(crate) fn table_of(folder: &Path, condition: Option<&str>, columns: &[String]) -> anyhow::Result<Table> {
    let (directory, condition, columns) = (folder.to_owned(), condition.map(ToOwned::to_owned), columns.to_vec());
    Selection { directory, condition, columns, sort: None, limit: None }.table(true)
}

/// Says how far the sweep of a store is.
pub(super) fn status(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(&args.directory).map_err(bad_store)?;
    let failures = store.table(Some(&["failure"]), None).map_err(bad_store)?;
    let mut by_why: BTreeMap<String, usize> = BTreeMap::new();
    for row in 0..failures.len() {
        if let Some(Value::Text(why)) = failures.value(row, 0) {
            *by_why.entry(why).or_default() += 1;
        }
    }
    let running = store.running().map_err(bad_store)?;
    let manifest = store.manifest();
    let of = |role: Role| -> Vec<&str> {
        manifest.columns.iter().filter(|column| column.role == role).map(|column| column.name.as_str()).collect()
    };
    let whole = super::run::rows_of(&manifest.space).ok();
    if args.json {
        let json = serde_json::json!({
            "schema": "baton-sweep-status/1", "rows": failures.len(), "rows_of_space": whole, "failures": by_why,
            "running": running, "command": manifest.command, "computes": manifest.computes, "space": manifest.space.file,
            "coordinates": of(Role::Coordinate), "figures": of(Role::Figure),
        });
        println!("{}", serde_json::to_string_pretty(&json)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![vec!["rows".to_owned(), failures.len().to_string()]];
    let mut row = |name: &str, text: String| rows.push(vec![name.to_owned(), text]);
    if let Some(whole) = whole {
        row("rows of the space", whole.to_string());
    }
    by_why.iter().for_each(|(why, count)| row(&format!("failed: {why}"), count.to_string()));
    row("points running", running.to_string());
    row("command", format!("baton {}", manifest.command));
    row("computed by", manifest.computes.clone());
    row("space", manifest.space.file.clone());
    row("coordinates", of(Role::Coordinate).join(", "));
    row("figures", of(Role::Figure).join(", "));
    print!("{}", ui::table(&["", ""], &rows).trim_start());
    Ok(ExitCode::SUCCESS)
}

/// Prints rows of a store (`baton sweep show`).
pub(super) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let table = args.rows.table(args.json)?;
    if args.json {
        return write(&table, Format::JsonLines);
    }
    let header: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let cell = |value: Option<Value>| value.map_or_else(|| "-".to_owned(), |value| super::watch::short(&value));
    let rows: Vec<Vec<String>> = (0..table.len()).map(|row| table.row(row).map(cell).collect()).collect();
    print!("{}", ui::table(&header, &rows));
    Ok(ExitCode::SUCCESS)
}

/// Writes rows of a store to a file or to standard output (`baton sweep export`).
pub(super) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let given = [(args.csv, Format::Csv), (args.jsonl, Format::JsonLines), (args.parquet, Format::Parquet)];
    let given = given.into_iter().find(|(given, _)| *given).map(|(_, format)| format);
    let format = given.or_else(|| args.out.as_deref().and_then(Format::of_path));
    let format = format.ok_or_else(|| {
        let what =
            args.out.as_ref().map_or("no form is given".to_owned(), |out| format!("{}: unknown form", out.display()));
        BadInput::new(what).hint("--csv, --jsonl or --parquet, or a file that ends with .csv, .jsonl or .parquet")
    })?;
    let table = args.rows.table(true)?;
    match &args.out {
        None => write(&table, format),
        Some(path) => {
            table.save(format, path)?;
            ui::note(format_args!("{} rows in {}", table.len(), path.display()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Writes rows to standard output.
fn write(table: &Table, format: Format) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    table
        .write(format, &mut out)
        .and_then(|()| out.flush())
        .map_err(|error| anyhow::Error::new(error).context("cannot write to standard output"))?;
    Ok(ExitCode::SUCCESS)
}
