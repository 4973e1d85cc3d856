//! The file in which the processes of a running program count their calls; `baton try --for`
//! measures the program by these counts. The preload library maps the file and adds to it; `baton`
//! reads the file while the program runs.
//!
//! The file begins with a header of [`HEADER`] bytes: [`MAGIC`], the number of rows that threads
//! have taken, and the number of processes that have mapped the file, as words of 8 bytes. [`ROWS`]
//! rows of [`COLUMNS`] words follow. A thread adds to a row of its own; threads that come when all
//! rows but the last are taken share the last row. Column 0 counts the progress point, column `1 +
//! n` the calls of [`CALLS`]`[n]` that succeeded: for example a transfer that moved at least one
//! byte, or a wait for files that found at least one file ready.

use crate::point::CALLS;

/// The first word of the file, which gives the file's name and version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"batcnt01");
/// Number of bytes before the first row.
pub const HEADER: usize = 4096;
/// Index of the header's word that counts the rows that threads have taken.
pub const TAKEN: usize = 1;
/// Index of the header's word that counts the processes that have mapped the file so
/// far, forked ones included.
pub const PROCESSES: usize = 2;
/// Number of rows. The last one is shared by all threads for which no other row is left.
pub const ROWS: usize = 8192;
/// Number of words in a row.
pub const COLUMNS: usize = 32;
/// The file's length in bytes.
pub const LENGTH: usize = HEADER + ROWS * COLUMNS * 8;

const _: () = assert!(CALLS.len() < COLUMNS);

/// Returns the column that counts a call, by the call's name; `None` if the call is not counted.
pub const fn column(call: &str) -> Option<usize> {
    let mut at = 0;
    while at < CALLS.len() {
        if same(CALLS[at].as_bytes(), call.as_bytes()) {
            return Some(at + 1);
        }
        at += 1;
    }
    None
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// What all threads of all processes have counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of processes that have mapped the file.
    pub processes: u64,
    /// The columns of the file, each summed over all rows.
    pub columns: [u64; COLUMNS],
}

impl Totals {
    /// Adds up the rows of a file's bytes; `None` if the bytes are no file of counts.
    pub fn of(file: &[u8]) -> Option<Totals> {
        let word = |at: usize| Some(u64::from_le_bytes(*file.get(at * 8..)?.first_chunk()?));
        if file.len() != LENGTH || word(0)? != MAGIC {
            return None;
        }
        let rows = (word(TAKEN)? as usize).min(ROWS);
        let mut columns = [0u64; COLUMNS];
        for row in file[HEADER..].chunks_exact(COLUMNS * 8).take(rows) {
            for (sum, count) in columns.iter_mut().zip(row.chunks_exact(8)) {
                *sum = sum.wrapping_add(u64::from_le_bytes(*count.first_chunk()?));
            }
        }
        Some(Totals { processes: word(PROCESSES)?, columns })
    }

    /// Returns what the columns have counted since the totals were `before`; `processes` stays the
    /// number of all processes.
    pub fn since(&self, before: &Totals) -> Totals {
        let columns = std::array::from_fn(|at| self.columns[at].saturating_sub(before.columns[at]));
        Totals { processes: self.processes, columns }
    }

    /// Returns the calls that were counted at least once, the most frequent first, each with its
    /// count.
    pub fn calls(&self) -> Vec<(&'static str, u64)> {
        let mut came: Vec<_> =
            CALLS.into_iter().zip(self.columns[1..].iter().copied()).filter(|(_, n)| *n > 0).collect();
        came.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_up_to_the_last_that_was_taken() {
        let mut file = vec![0u8; LENGTH];
        let mut put = |at: usize, value: u64| file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let row = |row: usize, column: usize| HEADER + (row * COLUMNS + column) * 8;
        put(0, MAGIC);
        put(TAKEN * 8, 2);
        put(PROCESSES * 8, 3);
        put(row(0, 0), 5);
        put(row(1, 0), 6);
        put(row(1, 3), 7);
        put(row(2, 0), 100);
        let totals = Totals::of(&file).unwrap();
        assert_eq!((totals.processes, totals.columns[0]), (3, 11));
        assert_eq!(totals.calls(), [("recv", 7)]);
        let mut later = totals;
        later.columns[0] += 4;
        assert_eq!(later.since(&totals).columns[0], 4);
        assert_eq!((Totals::of(&file[1..]), Totals::of(&vec![0; LENGTH])), (None, None));
    }

    #[test]
    fn columns_have_the_names_of_calls() {
        assert_eq!((column("read"), column("recv"), column("reads"), column("")), (Some(1), Some(3), None, None));
    }
}
