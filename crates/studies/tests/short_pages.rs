//! A page in short says how many of its study's claims hold, and has figures of the study. Both are
//! those of the study's own page, which the study writes. The roadmap states some counts as well.

use std::fs;
use std::path::Path;

/// The cell of a verdict in the table of claims, and the words for it on a page in short.
const VERDICTS: [(&str, &str); 4] =
    [("yes", "hold"), ("no", "do not"), ("cannot show", "cannot be shown"), ("cannot tell", "cannot be told")];

/// Numbers that pages write as words.
const WORDS: [&str; 10] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The number of claims with each verdict in the table of claims of a study's page.
fn judged(page: &str) -> [usize; 4] {
    let (_, claims) = page.split_once("\n## Claims\n").expect("the page has a table of claims");
    let claims = claims.split("\n## ").next().unwrap_or_default();
    VERDICTS.map(|(cell, _)| claims.matches(&format!("| {cell} |")).count())
}

/// The number of claims with each verdict that the first paragraphs of a page in short state; 0
/// where they state none.
fn stated(page: &str) -> [usize; 4] {
    let before = page.split("\n|").next().unwrap_or_default();
    // The target of a link and signs of emphasis are no words of the sentence.
    let text = before.split("](").enumerate().map(|(at, part)| {
        let part = if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
        part.replace(['[', '*'], "")
    });
    let text = text.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    VERDICTS.map(|(_, words)| {
        let numbers = text.match_indices(words).filter_map(|(at, _)| {
            let word = text[..at].trim_end().rsplit(' ').next()?.to_lowercase();
            word.parse().ok().or_else(|| WORDS.iter().position(|known| *known == word))
        });
        numbers.into_iter().next().unwrap_or(0)
    })
}

/// The numbers of a text with the number of their decimals, without signs. Numbers in names, paths,
/// code and links are left out.
fn numbers(text: &str) -> Vec<(f64, usize)> {
    let inside = |c: char| c.is_alphanumeric() || "_/`".contains(c);
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = rest[..start].chars().next_back();
        let length = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len() - start);
        let word = rest[start..start + length].trim_end_matches('.');
        let after = rest[start + word.len()..].chars().next();
        let alone = !before.is_some_and(inside) && !after.is_some_and(inside);
        if let (true, Ok(number)) = (alone, word.parse()) {
            all.push((number, word.split_once('.').map_or(0, |(_, decimals)| decimals.len())));
        }
        rest = &rest[start + length..];
    }
    all
}

/// The figures with decimals of a page in short that round no number of the study's own page.
fn unknown(short: &str, page: &str) -> Vec<f64> {
    let known = numbers(page);
    let rounds = |&(number, decimals): &(f64, usize)| {
        let most = 0.500_000_1 * 10f64.powi(-(decimals as i32));
        decimals == 0 || known.iter().any(|(known, _)| (known - number).abs() <= most)
    };
    let all = numbers(short).into_iter().filter(|of| !rounds(of));
    all.map(|(number, _)| number).collect()
}

/// A page in short that is older than its study's page has figures that this one lacks. Whole
/// numbers are not compared. Two pages in short are left out: mwmon's has ratios where its study's
/// page has percentages, and mwait's has counts in millions.
#[test]
fn figures_of_pages_in_short_are_those_of_their_studies() {
    for study in ["caf", "ocor", "pa"] {
        let unknown = unknown(&page(&format!("{study}-in-short.md")), &page(&format!("{study}.md")));
        assert!(unknown.is_empty(), "{study}-in-short.md: {unknown:?} round no number of {study}.md");
    }
}

#[test]
fn a_figure_that_its_study_lacks_is_found() {
    let page = "| C5 | 0.9023 | -75.37 |\n`a 1.5`, 3.76, v2.25.";
    assert_eq!(unknown("gains 0.90, loses 75.4 on 12 cores, 3.8.", page), [0.0; 0]);
    assert_eq!(unknown("gains 0.91 and 2.25 (3.76)", page), [0.91, 2.25]);
}

/// The roadmap states verdict counts of these studies.
#[test]
fn the_roadmap_counts_the_verdicts_of_studies() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ROADMAP.md");
    let roadmap = fs::read_to_string(&path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let caf = judged(&page("caf.md"));
    let stated = format!("{} parts hold, {} do not, and {} cannot be shown", caf[0], caf[1], caf[2]);
    assert!(roadmap.contains(&stated), "ROADMAP.md, CAF: {stated}");
    let mwmon = format!("of mwmon's claims {} parts are such", judged(&page("mwmon.md"))[2]);
    assert!(roadmap.contains(&mwmon), "ROADMAP.md: {mwmon}");
}

#[test]
fn pages_in_short_count_the_verdicts_of_their_studies() {
    for (study, must) in [("mwmon", true), ("caf", true), ("mwait", false), ("ocor", false), ("pa", false)] {
        let stated = stated(&page(&format!("{study}-in-short.md")));
        if must || stated != [0; 4] {
            let names = VERDICTS.map(|(_, words)| words);
            assert_eq!(stated, judged(&page(&format!("{study}.md"))), "{study}: {names:?}");
        }
    }
}

#[test]
fn a_number_is_found_in_words_digits_and_beside_a_link() {
    let text = "# a\n\nIt judges 37 parts: four hold, 13 do\nnot, 18 [cannot be shown here](a.md#b) and two *cannot be told*.\n\n| a |";
    assert_eq!(stated(text), [4, 13, 18, 2]);
    assert_eq!(stated("# a\n\nNothing holds true of 3 cores.\n"), [0; 4]);
    let table =
        "# a\n\n## Claims\n\n| a | yes | b |\n| a | cannot show | b |\n| a | – | b |\n\n## Falsifiers\n\n| a | yes |\n";
    assert_eq!(judged(table), [1, 0, 1, 0]);
}
