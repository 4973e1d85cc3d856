//! Rows to learn from: those of a CSV file, or generated rows.

use baton_workloads::inputs::{InputError, Problem, Spot, open, text};
use baton_workloads::xorshift;
use std::path::Path;

/// Rows of attributes, each with a label of 0 or 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Number of attributes of a row.
    pub attributes: usize,
    /// The rows, one behind the other, scaled so that each attribute with more than one value has a
    /// mean of 0 and a standard deviation of 1.
    pub(crate) values: Vec<f64>,
    /// The label of each row.
    pub(crate) labels: Vec<f64>,
}

/// The largest number of attributes that a row may have.
const MOST: usize = 1024;

/// Numbers of attributes and of rows of the Statlog (Heart) data, with which CAF's paper works.
const HEART: (usize, usize) = (13, 270);

impl Data {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// A row, and its label.
    pub(crate) fn row(&self, row: usize) -> (&[f64], f64) {
        (&self.values[row * self.attributes..(row + 1) * self.attributes], self.labels[row])
    }

    /// Generated rows, as many and with as many attributes as the Statlog (Heart) data has:
    /// attributes are uniform, labels are drawn from a logistic model with weights of its own. They
    /// are no measurement of any patient.
    pub fn made(seed: u64) -> Data {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        // The first numbers of the generator depend on few bits of the seed, so they are left out.
        (0..16).for_each(|_| _ = xorshift(&mut state));
        let mut unit = || (xorshift(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
        let weights: Vec<f64> = (0..HEART.0).map(|_| 4.0 * unit() - 2.0).collect();
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..HEART.1 {
            let row: Vec<f64> = (0..HEART.0).map(|_| 3.4 * unit() - 1.7).collect();
            let odds: f64 = row.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
            labels.push(f64::from(unit() < 1.0 / (1.0 + (-odds).exp())));
            values.extend(row);
        }
        Data { attributes: HEART.0, values, labels }.scaled()
    }

    /// Reads a CSV file.
    ///
    /// # Errors
    /// What is wrong with the file, and in which line.
    pub fn open(file: &Path) -> Result<Data, InputError> {
        open(file, Data::parse)
    }

    /// Parses rows, one in each line, with the label last. Labels have two values, of which the
    /// greater is 1. A first line without a number names the columns.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Data, Problem> {
        let text = text(bytes)?.trim_start_matches('\u{feff}');
        let (mut columns, mut values, mut labels) = (None, Vec::new(), Vec::new());
        let separator = Separator::of(text);
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let bad = |problem: String| (Spot::Line(line), problem);
            let cells = separator.cells(text);
            let Some(expected) = columns else {
                if !(2..=MOST + 1).contains(&cells.len()) {
                    let most = MOST + 1;
                    return Err(bad(format!("{} columns; expected 2 to {most}, the label last", cells.len())));
                }
                columns = Some(cells.len());
                // If no cell of the first line is a number, the line names the columns; otherwise
                // it is the first row.
                if cells.iter().all(|cell| cell.parse::<f64>().is_err()) {
                    continue;
                }
                row(&cells, line, &mut values, &mut labels)?;
                continue;
            };
            if cells.len() != expected {
                return Err(bad(format!("{} columns; expected {expected}, as in the lines before", cells.len())));
            }
            row(&cells, line, &mut values, &mut labels)?;
        }
        let attributes = columns.unwrap_or(1) - 1;
        Ok(Data { attributes, values, labels: binary(&labels)? }.scaled())
    }

    /// Scales each attribute to a mean of 0 and a standard deviation of 1; an attribute with a
    /// single value stays.
    fn scaled(mut self) -> Data {
        let rows = self.rows() as f64;
        for attribute in 0..self.attributes {
            let column = || self.values[attribute..].iter().step_by(self.attributes);
            let mean = column().sum::<f64>() / rows;
            let deviation = (column().map(|value| (value - mean).powi(2)).sum::<f64>() / rows).sqrt();
            if deviation > 0.0 && deviation.is_finite() {
                let cells = self.values[attribute..].iter_mut().step_by(self.attributes);
                cells.for_each(|value| *value = (*value - mean) / deviation);
            }
        }
        self
    }

    /// The rows in a random order, because a file's rows may stand in the order of their labels.
    pub(crate) fn shuffled(&self, seed: u64) -> Data {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut order: Vec<usize> = (0..self.rows()).collect();
        // The shuffle of Fisher and Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, (xorshift(&mut state) >> 16) as usize % (last + 1));
        }
        let values = order.iter().flat_map(|&row| self.row(row).0.iter().copied()).collect();
        Data { attributes: self.attributes, values, labels: order.iter().map(|&row| self.labels[row]).collect() }
    }
}

/// Reads the cells of a row, the label last.
fn row(cells: &[&str], line: usize, values: &mut Vec<f64>, labels: &mut Vec<(usize, f64)>) -> Result<(), Problem> {
    for (column, cell) in (1..).zip(cells) {
        let number = cell.parse().ok().filter(|number: &f64| number.is_finite());
        let number = number
            .ok_or_else(|| (Spot::Line(line), format!("column {column} is `{cell}`; expected a finite number")))?;
        if column < cells.len() { values.push(number) } else { labels.push((line, number)) }
    }
    Ok(())
}

/// Turns labels with two values into 0 and 1.
fn binary(labels: &[(usize, f64)]) -> Result<Vec<f64>, Problem> {
    let mut found: Vec<f64> = Vec::new();
    for &(line, label) in labels {
        if !found.contains(&label) {
            found.push(label);
        }
        if let [first, second, third] = found[..] {
            let problem = format!("label {third}, beside {first} and {second}; expected two values in the last column");
            return Err((Spot::Line(line), problem));
        }
    }
    match found[..] {
        [] => Err((Spot::File, "has no rows; expected one at least for each of two labels".to_owned())),
        [only] => Err((Spot::File, format!("has no label but {only}; expected two values in the last column"))),
        _ => {
            let greater = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Ok(labels.iter().map(|(_, label)| f64::from(*label == greater)).collect())
        }
    }
}

/// The separator between two cells.
#[derive(Clone, Copy)]
enum Separator {
    Mark(char),
    Blanks,
}

impl Separator {
    /// The separator from the first line: a comma, a semicolon, or blanks (as in the Statlog
    /// files).
    fn of(text: &str) -> Separator {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        [',', ';'].into_iter().find(|mark| first.contains(*mark)).map_or(Separator::Blanks, Separator::Mark)
    }

    fn cells(self, line: &str) -> Vec<&str> {
        fn unquoted(cell: &str) -> &str {
            let cell = cell.trim();
            cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell).trim()
        }
        match self {
            Separator::Mark(mark) => line.split(mark).map(unquoted).collect(),
            Separator::Blanks => line.split_whitespace().map(unquoted).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let (spot, problem) = Data::parse(text.as_bytes()).unwrap_err();
        InputError { file: "x.csv".to_owned(), spot, problem }.to_string()
    }

    #[test]
    fn commas_semicolons_and_blanks_are_read_with_names_or_without() {
        let expected = Data { attributes: 2, values: vec![-1.0, 7.0, 1.0, 7.0], labels: vec![0.0, 1.0] };
        for text in [
            "1,7,1\n3,7,2\n",
            "age,\"sugar\",label\r\n1, 7 ,1\r\n\r\n\"3\",7,2",
            "\u{feff}1;7;-1\n3;7;1",
            "1.0  7.0 0\n 3e0 7\t1\n",
        ] {
            assert_eq!(Data::parse(text.as_bytes()), Ok(expected.clone()), "{text}");
        }
    }

    #[test]
    fn each_broken_file_says_what_was_expected() {
        assert_eq!(refused(""), "x.csv: has no rows; expected one at least for each of two labels");
        assert_eq!(refused("a,b,c\n"), "x.csv: has no rows; expected one at least for each of two labels");
        assert_eq!(refused("5\n"), "x.csv:1: 1 columns; expected 2 to 1025, the label last");
        assert_eq!(refused("1,2,0\n1,2\n"), "x.csv:2: 2 columns; expected 3, as in the lines before");
        assert_eq!(refused("a,b,c\n\n1,?,0\n"), "x.csv:3: column 2 is `?`; expected a finite number");
        assert_eq!(refused("1,x,0\n"), "x.csv:1: column 2 is `x`; expected a finite number");
        assert_eq!(refused("1,nan,0\n"), "x.csv:1: column 2 is `nan`; expected a finite number");
        assert_eq!(
            refused("1,0\n2,1\n3,2\n"),
            "x.csv:3: label 2, beside 0 and 1; expected two values in the last column"
        );
        assert_eq!(refused("1,4\n2,4\n"), "x.csv: has no label but 4; expected two values in the last column");
        assert!(Data::parse(b"1,2,0\n1,\xff,0\n").is_err_and(|(spot, _)| spot == Spot::Line(2)));
    }

    #[test]
    fn made_rows_are_scaled_and_hang_on_the_seed() {
        let data = Data::made(1);
        assert_eq!((data.attributes, data.rows()), HEART);
        let column = || data.values.iter().step_by(13);
        let mean = column().sum::<f64>() / 270.0;
        let deviation = column().map(|value| value * value).sum::<f64>() / 270.0;
        assert!(mean.abs() < 1e-12 && (deviation - 1.0).abs() < 1e-9, "{mean} {deviation}");
        let ones = data.labels.iter().filter(|label| **label == 1.0).count();
        assert!((90..=180).contains(&ones), "{ones}");
        assert_eq!(data, Data::made(1));
        assert_ne!(data, Data::made(2));
        let shuffled = data.shuffled(5);
        assert_ne!(shuffled, data);
        let sorted = |data: &Data| {
            let mut rows: Vec<String> = (0..data.rows()).map(|row| format!("{:?}", data.row(row))).collect();
            rows.sort();
            rows
        };
        assert_eq!(sorted(&shuffled), sorted(&data));
    }
}
