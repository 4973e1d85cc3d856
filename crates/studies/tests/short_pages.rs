//! A page in short says how many of its study's claims hold. The numbers are those of the study's
//! own page, which the study writes.

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

#[test]
fn pages_in_short_count_the_verdicts_of_their_studies() {
    for (study, must) in [("mwmon", true), ("caf", true), ("mwait", false), ("pa", false)] {
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
