//! Keys whose value is a small text with a syntax of its own: reading and writing.

use super::limits::MOST_CORES;

/// How a directory entry records sharers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectoryKind {
    /// A bit for each core.
    #[default]
    Full,
    /// The numbers of up to this many cores; one sharer more evicts another.
    Pointers(u32),
    /// The owner's number alone; a write to a line with sharers asks all cores.
    Owner,
}

impl DirectoryKind {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str = "\"full\", \"owner\", or \"pointers(n)\" with n from 1 to 64";

    /// Reads `full`, `owner`, or texts like `pointers(4)`.
    pub fn parse(text: &str) -> Option<DirectoryKind> {
        match text {
            "full" => return Some(DirectoryKind::Full),
            "owner" => return Some(DirectoryKind::Owner),
            _ => {}
        }
        let n = text.strip_prefix("pointers(")?.strip_suffix(')')?.parse().ok()?;
        (1..=64).contains(&n).then_some(DirectoryKind::Pointers(n))
    }

    /// The text that [`DirectoryKind::parse`] reads.
    pub fn text(&self) -> String {
        match self {
            DirectoryKind::Full => "full".into(),
            DirectoryKind::Owner => "owner".into(),
            DirectoryKind::Pointers(n) => format!("pointers({n})"),
        }
    }
}

/// Where memory controllers are attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The corners of the grid.
    Corners,
    /// The middle nodes of the top and the bottom row.
    Rows,
    /// All nodes or dies, evenly; on a crossbar or bus, a separate port for each unit.
    #[default]
    All,
    /// At these nodes.
    Nodes(Vec<u32>),
}

impl Placement {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str = "\"corners\", \"rows\", \"all\" or the nodes as in \"2 3 4 5\"";

    /// Reads `corners`, `rows`, `all`, or nodes with blanks or commas between them.
    pub fn parse(text: &str) -> Option<Placement> {
        match text {
            "corners" => Some(Placement::Corners),
            "rows" => Some(Placement::Rows),
            "all" => Some(Placement::All),
            list => {
                let nodes: Option<Vec<u32>> = words(list).map(|node| node.parse().ok()).collect();
                nodes.filter(|nodes| !nodes.is_empty()).map(Placement::Nodes)
            }
        }
    }

    /// The text that [`Placement::parse`] reads.
    pub fn text(&self) -> String {
        match self {
            Placement::Corners => "corners".into(),
            Placement::Rows => "rows".into(),
            Placement::All => "all".into(),
            Placement::Nodes(nodes) => nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

/// A link between two dies, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieLink {
    /// The number of the die at one end.
    pub from: u32,
    /// The number of the die at the other end.
    pub to: u32,
    /// The latency of the link, as a multiple of `network.latency.link`.
    pub length: u32,
}

/// The links between the dies of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DieLinks(pub Vec<DieLink>);

impl DieLinks {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str = "links as in \"0-1:8 0-2:16\": two dies, then the length from 1 to 64";

    /// Reads texts like `0-1:8 0-2:16`; an empty text means no links, as on a chip of one die.
    pub fn parse(text: &str) -> Option<DieLinks> {
        let link = |word: &str| {
            let (ends, length) = word.split_once(':')?;
            let (from, to) = ends.split_once('-')?;
            let link = DieLink { from: from.parse().ok()?, to: to.parse().ok()?, length: length.parse().ok()? };
            (link.from != link.to && (1..=64).contains(&link.length)).then_some(link)
        };
        words(text).map(link).collect::<Option<Vec<_>>>().map(DieLinks)
    }

    /// The text that [`DieLinks::parse`] reads.
    pub fn text(&self) -> String {
        let link = |link: &DieLink| format!("{}-{}:{}", link.from, link.to, link.length);
        self.0.iter().map(link).collect::<Vec<_>>().join(" ")
    }

    /// Whether there are no links.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads a list of cores like `1 4-7`, in rising order.
pub(super) fn core_list(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    for word in words(text) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || u64::from(last) >= MOST_CORES {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    (!cores.is_empty()).then_some(cores)
}

/// Writes cores, which are in rising order, as a text for [`core_list`], with ranges for
/// neighbours.
pub(super) fn core_ranges(cores: &[u32]) -> String {
    let ranges = cores.chunk_by(|a, b| *b == a + 1);
    let range = |range: &[u32]| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    ranges.map(range).collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',']).filter(|word| !word.is_empty())
}
