//! `baton study`: compares a paper's claims with the results of this system.

mod points;

pub(crate) use points::Study;

use crate::error::BadInput;
use crate::folder::write_whole;
use crate::{chips, places, ui};
use anyhow::Context;
use baton_studies::kit::Inputs;
use baton_studies::{Entry, Extent, Findings, Progress, STUDIES, StudyError, Work, page};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `baton study`.
#[derive(clap::Args)]
#[command(after_help = help())]
pub(crate) struct Args {
    /// Which study.
    #[arg(value_name = "NAME")]
    name: String,
    /// Fewer seeds and programs, never shorter runs.
    #[arg(long)]
    quick: bool,
    /// As JSON (docs/reference/studies.md).
    #[arg(long)]
    json: bool,
    /// Where the report and the cache go. Left out: `study-NAME`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also as a page of Markdown that links its pictures.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Where the page's pictures go. Left out: a folder beside the page, of its name.
    #[arg(long, value_name = "DIR", requires = "markdown")]
    figures: Option<PathBuf>,
    /// A chip file, or a name of `baton chips list`. Left out: the study's own. A study of several chips takes the option as often, in
    /// their order.
    #[arg(long, value_name = "FILE")]
    chip: Vec<PathBuf>,
    /// A folder of profiles. Left out: the study's own. The option may be given as often as the study has folders.
    #[arg(long, value_name = "DIR")]
    profiles: Vec<PathBuf>,
    /// Replace a key in all chip files of the study, as in cache.hit=3. May be given several times. Experiments
    /// that set the same key keep their values.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The list of studies, and examples with the first of them.
fn help() -> String {
    let line = |entry: &Entry| {
        let inputs: Vec<&str> = entry.chips.iter().chain(entry.profiles).copied().collect();
        format!("  {:8} {} ({})\n           {}\n", entry.name, entry.paper, entry.page, inputs.join(", "))
    };
    let studies: String = STUDIES.0.iter().map(line).collect();
    let Some(Entry { name, quick, .. }) = STUDIES.0.first() else { return studies };
    format!(
        "\
Studies, with the chip files and profiles that each is on:
{studies}
A study that was interrupted goes on where it was: what was run lies in DIR/cache.

Examples:
  baton study {name} --quick                    {quick}: study-{name}/report.html
  baton study {name} --quick --json             what docs/reference/studies.md describes
  baton study {name} --out DIR                  every program and experiment
  baton study {name} --out DIR --markdown page.md    the same, and a page with its pictures in page/
  baton study {name} --chip my.toml --profiles mine    another chip, other programs
  baton study {name} --quick --set noise.latency=0.2    one key of its chip file is another"
    )
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, runs: usize, cached: usize) {
        self.0.inc_length(runs as u64);
        self.0.inc(cached as u64);
    }

    fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (entry, inputs) = inputs(&args)?;
    let page = args.markdown.as_deref().map(|file| pictures(file, args.figures.as_deref())).transpose()?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("study-{}", args.name)));
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} {msg}").context("progress bar")?);
    let (findings, work) = conducted(&args, entry, &inputs, &out, &Bar(bar.clone()))?;
    bar.finish_and_clear();
    if work.damaged != 0 {
        let files = work.damaged;
        ui::warn(format_args!(
            "{files} file(s) in {} were damaged, and their runs done again",
            out.join("cache").display()
        ));
    }
    let report = out.join("report.html");
    write(&report, &page::html(&findings))?;
    if let Some((file, figures)) = &page {
        markdown(&findings, file, figures)?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings).context("the findings as JSON")?);
    } else {
        print(&findings);
    }
    eprintln!("{} runs, {} from the cache; report: {}", work.run + work.cached, work.cached, report.display());
    Ok(ExitCode::SUCCESS)
}

/// The study that was named, and its inputs.
fn inputs(args: &Args) -> anyhow::Result<(&'static Entry, Inputs)> {
    let entry = STUDIES.find(&args.name).ok_or_else(|| BadInput::unknown("study", &args.name, STUDIES.names()))?;
    let named = args.chip.iter().map(|path| chips::found(path)).collect::<Result<Vec<_>, _>>()?;
    let (chips, profiles) = (those(&named, entry.chips), those(&args.profiles, entry.profiles));
    let inputs = entry.inputs(&chips, &places::chip_folders(), &profiles, &args.set).map_err(bad)?;
    Ok((entry, inputs))
}

/// Conducts a study, with its cache in the folder `out`.
fn conducted(
    args: &Args,
    entry: &Entry,
    inputs: &Inputs,
    out: &Path,
    progress: &dyn Progress,
) -> anyhow::Result<(Findings, Work)> {
    let study = (entry.open)(inputs).map_err(bad)?;
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    study.conduct(extent, out, progress).map_err(bad)
}

/// What the command prints with `--json`. Without `--out`, the folder is gone afterwards; with it, the report
/// lies there.
pub(crate) fn json(args: &Args) -> anyhow::Result<String> {
    let (entry, inputs) = inputs(args)?;
    let folder = tempfile::tempdir().context("a folder for the study")?;
    let out = args.out.as_deref().unwrap_or(folder.path());
    let (findings, _) = conducted(args, entry, &inputs, out, &Bar(ProgressBar::hidden()))?;
    if args.out.is_some() {
        write(&out.join("report.html"), &page::html(&findings))?;
    }
    serde_json::to_string_pretty(&findings).context("the findings as JSON")
}

/// The files that the user named, otherwise the study's own: in the current directory, or shipped
/// with the command.
fn those(named: &[PathBuf], own: &[&str]) -> Vec<PathBuf> {
    if named.is_empty() { own.iter().map(|path| places::input(Path::new(path))).collect() } else { named.to_vec() }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// The file of a page, and the folder of its pictures. Both are checked before a study begins.
fn pictures(file: &Path, figures: Option<&Path>) -> anyhow::Result<(PathBuf, PathBuf)> {
    let figures = figures.map_or_else(|| file.with_extension(""), Path::to_owned);
    if figures == file {
        let why = "its pictures would lie in a folder of the same name";
        let what =
            format!("--markdown {}: {why}; expected a name that ends with .md, or --figures DIR", file.display());
        return Err(BadInput::new(what).into());
    }
    Ok((file.to_owned(), figures))
}

/// Writes the page and its pictures; the page comes last, so that the pictures that it links exist.
fn markdown(findings: &Findings, file: &Path, figures: &Path) -> anyhow::Result<()> {
    let page = page::markdown(findings, &link(file, figures)?);
    for (name, svg) in &page.pictures {
        write(&figures.join(name), svg)?;
    }
    write(file, &page.page)
}

/// A folder in the form in which a page links it: relative to the folder of the page.
fn link(page: &Path, folder: &Path) -> anyhow::Result<String> {
    let whole = |path: &Path| std::path::absolute(path).with_context(|| path.display().to_string());
    let (page, folder) = (whole(page)?, whole(folder)?);
    let from: Vec<_> = page.parent().map_or_else(Vec::new, |parent| parent.components().collect());
    let to: Vec<_> = folder.components().collect();
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - same);
    let down = to[same..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}

fn bad(error: StudyError) -> anyhow::Error {
    match error {
        StudyError::Input(_) => BadInput::new(error).into(),
        StudyError::Run { .. } | StudyError::Folder { .. } | StudyError::Findings(_) => error.into(),
    }
}

fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "not judged",
    }
}

/// Prints the notes, the claims, and the falsifiers with their figures, one on each line.
fn print(findings: &Findings) {
    for note in &findings.notes {
        println!("{note}");
    }
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    println!("\n{:5} {:>8} {:>8}  {:14} what", "claim", "paper", "ours", "verdict");
    for claim in &findings.claims {
        let part = if claim.part.is_empty() { String::new() } else { format!("{}: ", claim.part) };
        let (paper, ours, verdict) = (cell(claim.paper), cell(claim.ours), claim.verdict.name());
        println!("{:5} {paper:>8} {ours:>8}  {verdict:14} {part}{}", claim.id, claim.what);
    }
    println!("\n{:14} {:14} what must be seen", "falsifier", "verdict");
    for falsifier in &findings.falsifiers {
        println!("{:14} {:14} {}", falsifier.id, verdict(falsifier.holds), falsifier.what);
        for (name, value) in &falsifier.figures {
            println!("{:29} {name} {value:.2}", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_a_folder_from_where_it_is() {
        let of = |page: &str, folder: &str| link(Path::new(page), Path::new(folder)).unwrap();
        assert_eq!(of("docs/page.md", "docs/page"), "page");
        assert_eq!(of("docs/page.md", "docs"), "");
        assert_eq!(of("docs/studies/page.md", "pictures/a"), "../../pictures/a");
        assert_eq!(of("/a/page.md", "/b"), "../b");
    }

    fn findings() -> Findings {
        let figure = baton_studies::page::Figure::from(baton_plot::Bars {
            rows: vec![("a".into(), vec![baton_plot::Bar { value: Some(1.0), ..Default::default() }])],
            ..Default::default()
        });
        Findings { figures: vec![figure.named("figure-2")], ..Findings::of("any", Extent::Quick, Default::default()) }
    }

    #[test]
    fn a_page_is_written_whole_with_its_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("new/page.md");
        let (page, figures) = pictures(&page, None).unwrap();
        markdown(&findings(), &page, &figures).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("](page/figure-2.svg)"), "{text}");
        let picture = std::fs::read_to_string(folder.path().join("new/page/figure-2.svg")).unwrap();
        assert!(picture.starts_with("<svg xmlns="), "{picture}");
        // The folder holds the page and the folder of its pictures, and no half-written file.
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 2);
        // An error names the picture that cannot be written, and the page stays as it was.
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = markdown(&Findings { full: true, ..findings() }, &page, &file).unwrap_err();
        assert!(format!("{error:#}").contains("file/figure-2.svg"), "{error:#}");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
    }
}
