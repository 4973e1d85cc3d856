//! Tables on standard output. On a terminal they are fitted to its width; in a pipe or a file they
//! are as wide as they need to be, so that scripts find a row in each line.
//!
//! If a table is too wide, its last column is wrapped if at least [`TEXT`] characters are left for
//! it. Otherwise the widest columns, never the first, leave the table: each row is followed by
//! lines with their headings and cells, wrapped and indented. Nothing is cut.

use super::{BOLD, paint, width};

/// Blanks between columns.
const GAP: usize = 2;
/// Fewest characters of a last column that is wrapped in its place.
const TEXT: usize = 30;
/// Blanks before the lines that follow a row.
const INDENT: usize = 4;

/// Formats rows under a header, for standard output.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    lay_out(header, rows, width::of_stdout())
}

fn lay_out(header: &[&str], rows: &[Vec<String>], width: Option<usize>) -> String {
    let widths = widths(header, rows);
    let Some(room) = width.filter(|&width| total(&widths) > width) else {
        return plain(header, rows, &widths);
    };
    let (last, before) = widths.split_last().map_or((0, 0), |(last, rest)| (*last, total(rest)));
    let left = room.saturating_sub(before + GAP);
    if last > left && left >= TEXT && widths.len() > 1 {
        wrapped(header, rows, left)
    } else {
        spilled(header, rows, room)
    }
}

/// The widest cell of each column.
fn widths(header: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = header.iter().map(|head| length(head)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(length(cell));
        }
    }
    widths
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// One line; the last cell is not padded.
fn line(cells: &[&str], widths: &[usize]) -> String {
    let mut text = String::new();
    for (at, cell) in cells.iter().enumerate() {
        text.push_str(cell);
        if at + 1 < cells.len() {
            text.extend(std::iter::repeat_n(' ', widths[at].saturating_sub(length(cell)) + GAP));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn plain(header: &[&str], rows: &[Vec<String>], widths: &[usize]) -> String {
    let mut text = paint(&line(header, widths), BOLD) + "\n";
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>(), widths);
        text.push('\n');
    }
    text
}

/// The table with its last column broken into lines of `left` characters.
fn wrapped(header: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let last = header.len() - 1;
    let mut broken: Vec<Vec<String>> = Vec::new();
    for row in rows {
        for (nth, part) in broken_at(row.get(last).map_or("", String::as_str), left).into_iter().enumerate() {
            let mut cells = if nth == 0 { row[..last].to_vec() } else { vec![String::new(); last] };
            cells.push(part);
            broken.push(cells);
        }
    }
    plain(header, &broken, &widths(header, &broken))
}

/// The table of the columns that have room, and below each row its other cells.
fn spilled(header: &[&str], rows: &[Vec<String>], room: usize) -> String {
    let widths = widths(header, rows);
    let kept = kept(&widths, room);
    let of = |cells: &[&str]| -> Vec<String> {
        kept.iter().map(|&at| cells.get(at).map_or(String::new(), |c| (*c).to_owned())).collect()
    };
    let kept_widths: Vec<usize> = kept.iter().map(|&at| widths[at]).collect();
    let shown = |cells: &[&str]| line(&of(cells).iter().map(String::as_str).collect::<Vec<_>>(), &kept_widths);
    let mut text = paint(&shown(header), BOLD) + "\n";
    for row in rows {
        text += &(shown(&row.iter().map(String::as_str).collect::<Vec<_>>()) + "\n");
        for part in below(header, row, &kept, room.saturating_sub(INDENT).max(TEXT)) {
            text += &format!("{}{part}\n", " ".repeat(INDENT));
        }
    }
    text
}

/// The columns that stay: the first one, and the others without the widest.
fn kept(widths: &[usize], room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..widths.len()).collect();
    while kept.len() > 1 && total(&kept.iter().map(|&at| widths[at]).collect::<Vec<_>>()) > room {
        let widest = kept[1..].iter().copied().max_by_key(|&at| (widths[at], at));
        kept.retain(|&at| Some(at) != widest);
    }
    kept
}

/// The cells that are not in the table, each behind its heading, but those without a value. Short
/// cells share a line.
fn below(header: &[&str], row: &[String], kept: &[usize], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, cell) in row.iter().enumerate().filter(|(at, cell)| !kept.contains(at) && !cell.is_empty() && *cell != "-")
    {
        let head = header.get(at).copied().unwrap_or_default();
        let said = if head.is_empty() { cell.clone() } else { format!("{head}: {cell}") };
        match lines.last_mut() {
            Some(last) if length(last) + 2 * GAP + length(&said) <= room => {
                last.push_str("    ");
                last.push_str(&said);
            }
            _ => lines.extend(broken_at(&said, room)),
        }
    }
    lines
}

/// Breaks a text at blanks into lines of at most `room` characters; a longer word is broken, too.
fn broken_at(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let used = lines.last().map_or(0, |line| length(line));
            let gap = usize::from(used > 0);
            let free = room.saturating_sub(used + gap);
            if rest.len() > free && used > 0 {
                lines.push(String::new());
                continue;
            }
            let taken: String = rest.drain(..rest.len().min(free.max(1))).collect();
            if let Some(line) = lines.last_mut() {
                line.push_str(&" ".repeat(gap));
                line.push_str(&taken);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[&[&str]]) -> Vec<Vec<String>> {
        of.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn a_table_lines_up() {
        let rows = rows(&[&["mcs", "queue"], &["ticket", "number"]]);
        assert_eq!(lay_out(&["lock", "how"], &rows, None), "lock    how\nmcs     queue\nticket  number\n");
        assert_eq!(lay_out(&["lock", "how"], &rows, Some(14)), "lock    how\nmcs     queue\nticket  number\n");
    }

    #[test]
    fn a_long_last_column_is_wrapped_in_its_place() {
        let rows = rows(&[&["mcs", "a queue of waiters, each of which spins on its own word"], &["ticket", "short"]]);
        let expected = "lock    how\n\
                        mcs     a queue of waiters, each of\n        which spins on its own word\n\
                        ticket  short\n";
        assert_eq!(lay_out(&["lock", "how"], &rows, Some(40)), expected);
    }

    #[test]
    fn columns_without_room_follow_their_row_and_no_word_is_lost() {
        let long = "one two three four five six seven eight nine ten eleven twelve";
        let rows = rows(&[&["chips/a.toml", "fixed", long, "-", long], &["b", "fixed", "short", "no", "Smith"]]);
        let text = lay_out(&["name", "can", "how", "cannot", "source"], &rows, Some(40));
        let expected = "name          can    cannot\n\
                        chips/a.toml  fixed  -\n    how: one two three four five six\n    seven eight nine ten eleven twelve\n    \
                        source: one two three four five six\n    seven eight nine ten eleven twelve\n\
                        b             fixed  no\n    how: short    source: Smith\n";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }

    #[test]
    fn figures_that_do_not_fit_follow_their_row() {
        let rows = rows(&[&["mcs", "12.5", "10.0–14.0"]]);
        let text = lay_out(&["lock", "time ms", "over seeds"], &rows, Some(16));
        assert_eq!(text, "lock  time ms\nmcs   12.5\n    over seeds: 10.0–14.0\n");
    }

    #[test]
    fn a_word_longer_than_the_line_is_broken() {
        assert_eq!(broken_at("ab abcdefghij c", 4), ["ab", "abcd", "efgh", "ij c"]);
        assert_eq!(broken_at("", 4), [""]);
    }
}
