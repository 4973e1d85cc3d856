//! Writes a study as a page of the documentation, in Markdown. Each picture is a file that the page
//! links.

use super::{Drawing, Figure, tables};
use crate::Findings;
use baton_plot::file;
use std::fmt::Write;

/// A page and its pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// The page's text.
    pub page: String,
    /// The pictures that the page links: file names and texts.
    pub pictures: Vec<(String, String)>,
}

/// Writes the page. `folder` is the path from the page to its pictures; empty: the folder of the
/// page.
pub fn markdown(findings: &Findings, folder: &str) -> Markdown {
    let mut page = format!("# {}: what the study came out at\n\n", findings.study.to_uppercase());
    let f = &findings.frozen;
    let _ = write!(
        page,
        "Written by `baton study {} {}--markdown FILE`; not to be edited. Chip {}, profiles {}, rules {}, commit {}.\n\n",
        findings.study,
        if findings.full { "" } else { "--quick " },
        f.chip,
        f.profiles,
        f.rules,
        f.commit
    );
    for note in &findings.notes {
        let _ = write!(page, "> {}\n\n", plain(note));
    }
    let claims = [Some(tables::claims(findings)), tables::oracles(findings)];
    let others = [tables::falsifiers(findings), tables::unspecified(findings)];
    for table in claims.into_iter().flatten().chain(others) {
        page += &format!("## {}\n\n{}\n", table.title, table.markdown());
    }
    let mut pictures = Vec::new();
    let mut elsewhere = Vec::new();
    for figure in &findings.figures {
        let heading = format!("## {}\n\n{}", plain(figure.title()), paragraph(&figure.note));
        if let Drawing::Table(table) = &figure.drawing {
            page += &format!("{heading}{}\n", table.markdown());
            continue;
        }
        let Some((name, svg)) = picture(figure) else {
            elsewhere.push(plain(figure.title()));
            continue;
        };
        let place = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let _ = write!(page, "{heading}![{}]({place})\n\n", plain(figure.title()).replace(['[', ']'], ""));
        pictures.push((name, svg));
    }
    if !elsewhere.is_empty() {
        let _ = writeln!(page, "Only in `report.html`: {}.", elsewhere.join("; "));
    }
    // The page ends with one line break.
    page.truncate(page.trim_end().len());
    page.push('\n');
    Markdown { page, pictures }
}

/// Returns the file of a figure, if the figure has a name and something to draw.
fn picture(figure: &Figure) -> Option<(String, String)> {
    let name = figure.file?;
    Some((format!("{name}.svg"), file(&figure.html())?))
}

fn plain(text: &str) -> String {
    text.replace('<', "&lt;").replace('\n', " ")
}

fn paragraph(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{}\n\n", plain(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, Extent, Frozen, Interval, Rule};
    use baton_plot::{Bar, Bars, Table};

    fn findings() -> Findings {
        let bars = Bars {
            title: "Figure 2: a <share>".into(),
            rows: vec![("a".into(), vec![Bar { value: Some(1.0), ..Bar::default() }])],
            ..Bars::default()
        };
        let rows = vec![vec!["a|b".into(), "1".into()]];
        let table = Table { title: "Numbers".into(), header: vec!["x".into(), "y".into()], rows, ..Table::default() };
        let ours = Interval { mean: 2.0, half: Some(1.0) };
        let claim = Claim::new("O1", "", "mean", "%").judged(39.9, ours, Rule::Within(0.25), "`main`: 2 | 3");
        Findings {
            claims: vec![claim],
            figures: vec![
                Figure::from(bars.clone()).named("figure-2").noted("of all"),
                table.into(),
                Figure::from(bars),
            ],
            notes: vec!["stand-ins".into()],
            ..Findings::of("ocor", Extent::Full, Frozen { commit: "abc".into(), ..Frozen::default() })
        }
    }

    #[test]
    fn a_page_links_its_pictures_and_has_its_tables() {
        let Markdown { page, pictures } = markdown(&findings(), "pictures");
        assert_eq!(pictures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["figure-2.svg"]);
        assert!(page.starts_with("# OCOR") && page.contains("commit abc") && page.contains("> stand-ins"), "{page}");
        assert!(
            page.contains("## Figure 2: a &lt;share>\n\nof all\n\n![Figure 2: a &lt;share>](pictures/figure-2.svg)\n"),
            "{page}"
        );
        assert!(page.contains("| a\\|b | 1 |") && page.contains("`main`: 2 \\| 3"), "{page}");
        assert!(page.ends_with("Only in `report.html`: Figure 2: a &lt;share>.\n"), "{page}");
        assert!(markdown(&findings(), "").page.contains("](figure-2.svg)"));
    }

    #[test]
    fn the_html_page_has_the_same_tables() {
        let html = crate::page::html(&findings());
        assert!(html.contains("<h2>Claims</h2>") && html.contains("; `main`: 2 | 3"), "{html}");
        assert!(html.contains("<td><b class=no>no</b><td>"), "{html}");
        for heading in ["claim", "what must be seen", "greatest"] {
            assert!(html.contains(&format!(">{heading}<")), "{heading}\n{html}");
            assert!(markdown(&findings(), "").page.contains(&format!("| {heading} |")), "{heading}");
        }
    }
}
