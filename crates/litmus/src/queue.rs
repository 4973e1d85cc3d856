//! The queues of a test: their declaration in the initial state.

use super::instruction;

/// Largest number of queues of a test.
pub const MOST_QUEUES: usize = 16;
/// Largest number of entries of a queue: a test shows nothing with more, and models keep all
/// entries.
pub const MOST_ENTRIES: u32 = 64;

/// A queue of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The name in the file.
    pub name: String,
    /// Number of items for which the queue has room.
    pub entries: u32,
    /// The items in the queue before the first instruction, the oldest first.
    pub initial: Vec<u64>,
}

/// Largest priority of a request.
pub const MOST_PRIORITY: u8 = 7;

/// Reads the priority behind a queue's name.
pub(super) fn priority(text: &str) -> Result<u8, String> {
    let given = text.parse::<u8>().ok().filter(|priority| *priority <= MOST_PRIORITY);
    given.ok_or_else(|| format!("`@{text}`: expected a priority from 0 to {MOST_PRIORITY}, as in `q@1`"))
}

/// Whether `name` can be the name of a queue or a location.
pub(super) fn is_name(name: &str) -> bool {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    !name.is_empty() && letters && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Queue {
    /// Reads the declaration behind the word `queue`, such as `q[2]=5,6`.
    pub(super) fn read(text: &str) -> Result<Queue, String> {
        let (left, items) = text.split_once('=').map_or((text, None), |(left, items)| (left.trim(), Some(items)));
        let wrong = || format!("`queue {text}`: expected a name, its room and its items, as in `queue q[2]=5,6`");
        let (name, room) = left.strip_suffix(']').and_then(|left| left.split_once('[')).ok_or_else(wrong)?;
        let name = name.trim();
        if !is_name(name) {
            return Err(wrong());
        }
        let entries = room.trim().parse::<u32>().ok().filter(|entries| (1..=MOST_ENTRIES).contains(entries));
        let entries =
            entries.ok_or_else(|| format!("`{name}[{room}]`: expected room for 1 to {MOST_ENTRIES} items"))?;
        let mut initial = Vec::new();
        for item in items.into_iter().flat_map(|items| items.split(',')).map(str::trim) {
            initial
                .push(instruction::number(item).ok_or_else(|| format!("`{item}` is no number (an item of `{name}`)"))?);
        }
        if initial.len() > entries as usize {
            return Err(format!("`{name}` has {} items at first and room for {entries}", initial.len()));
        }
        Ok(Queue { name: name.to_owned(), entries, initial })
    }
}
