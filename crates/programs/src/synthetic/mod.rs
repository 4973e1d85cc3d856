//! Profiles: synthetic programs that stand in for real ones of which only a few figures are printed.
//!
//! A profile file says what is printed of a program, what a stand-in is drawn from, and the stand-ins themselves: its
//! draws. They were found on the baseline alone (`docs/reference/workloads.md` says how); a file that is frozen is not fitted again.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | what a profile and a draw are |
//! | [`keys`] | the keys of a profile file, and what each may be |
//! | [`read`] | a file's text to a profile; every problem with file, line, key and what was expected |
//! | [`set`] | all profiles of a folder, and one hash over them |
//! | [`team`] | a draw's threads |
//! | `named` | a draw as a workload, with a lock by name |
//! | [`fit`] | from what is printed to draws that show it |
//! | `dice` | where a candidate's parameters come from |
//! | `solver` | how it is moved to what is printed |

mod dice;
pub mod fit;
pub(crate) mod keys;
mod named;
pub mod read;
pub mod set;
mod solver;
mod team;

pub use keys::Limits;
pub use named::StandIn;
pub use read::ProfileError;
pub use team::Run;

/// A rate of which only the class is printed (OCOR, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Low.
    Low,
    /// High.
    High,
}

impl Class {
    /// As it stands in the file.
    pub fn name(self) -> &'static str {
        match self {
            Class::Low => "low",
            Class::High => "high",
        }
    }
}

/// What is printed of the program without the mechanism under study. The fit may look at nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// How often it takes locks, among the programs.
    pub cs_rate: Class,
    /// How much it sends, among the programs.
    pub network: Class,
    /// Share of the run in critical sections, where it is printed.
    pub cs_share: Option<f64>,
    /// Share of the run in competition overhead, where it is printed.
    pub coh_share: Option<f64>,
    /// Share of acquisitions by threads that did not sleep for them, where it is printed.
    pub entered_spinning: Option<f64>,
}

/// A parameter's least and greatest value. A fit draws from between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Range {
    /// Whether it holds `value`.
    pub fn contains(self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// What draws are drawn from. Parameters first, then what a draw must show where nothing sharper is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    /// Acquisitions a thread.
    pub acquisitions: Range,
    /// Locks.
    pub locks: Range,
    /// Share of acquisitions that go to the first lock, beside its even share of the others.
    pub hot: Range,
    /// Share of the other acquisitions that go round the locks in turn.
    pub even: Range,
    /// Cycles computed in a critical section, to begin with: the fit moves them.
    pub section_cycles: Range,
    /// Lines that a critical section reads and writes.
    pub section_lines: Range,
    /// Cycles of a thread's own work between two critical sections, to begin with: the fit moves them.
    pub think_cycles: Range,
    /// Acquisitions from one meeting of all threads to the next.
    pub phase: Range,
    /// How far think times lie from their mean.
    pub spread: Range,
    /// Lines of its own that a thread reads or writes in a thousand cycles of its own work.
    pub misses: Range,
    /// Share of the run in critical sections.
    pub cs_share: Range,
    /// Share of the run in competition overhead.
    pub coh_share: Range,
    /// Acquisitions a thousand cycles and thread.
    pub rate: Range,
    /// Packets a thousand cycles and thread.
    pub packets: Range,
}

/// One stand-in: a program of threads that compute, walk over lines of their own, and take locks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draw {
    /// Acquisitions a thread: its fixed work.
    pub acquisitions: u64,
    /// Locks.
    pub locks: u32,
    /// Share of acquisitions that go to the first lock, beside its even share of the others.
    pub hot: f64,
    /// Of the other acquisitions, the share that go round the locks in turn, so that as many threads come to each, as where
    /// data are divided among threads. The rest go by chance.
    pub even: f64,
    /// Cycles computed in a critical section, beside what its lines take.
    pub section_cycles: u64,
    /// Lines that a critical section reads and writes; each lock guards its own. 0: its data stand in the lock's line.
    pub section_lines: u32,
    /// Cycles of a thread's own work between two critical sections, in the mean.
    pub think_cycles: u64,
    /// How far each lies from the mean: within this share.
    pub spread: f64,
    /// Acquisitions from one meeting of all threads at a barrier to the next, as between parallel loops; 0: they never meet.
    pub phase: u32,
    /// Lines of its own that a thread reads or writes in a thousand cycles of its own work.
    pub misses: f64,
    /// Lines of its own that it asks for at a time.
    pub burst: u32,
    /// Of these accesses, the share that write.
    pub writes: f64,
    /// Lines of its own that it walks over, round and round.
    pub own_lines: u32,
}

impl Draw {
    /// The same program with its own misses at `load` times their rate: a profile knows its network's load as high or
    /// low only, so a study sweeps it.
    #[must_use]
    pub fn with_load(mut self, load: f64) -> Draw {
        self.misses = (self.misses * load).min(1000.0);
        self
    }

    /// Bytes of machine memory that `threads` threads of it use on lines of `line` bytes, generously.
    pub fn bytes(&self, threads: u32, line: usize) -> usize {
        let own = (self.own_lines as usize + 2) * line * threads as usize;
        own + (self.locks as usize) * (self.section_lines as usize + 4) * line.max(128)
    }
}

/// A profile file.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The program that it stands in for.
    pub name: String,
    /// The collection that this program is from.
    pub suite: String,
    /// What is printed of it.
    pub printed: Printed,
    /// What its draws are drawn from, in turn: one shape of program each.
    pub ranges: Vec<Ranges>,
    /// The stand-ins, by number; none in a file that was not fitted yet.
    pub draws: Vec<Numbered>,
}

impl Profile {
    /// The number of the next draw that is found.
    pub fn next_number(&self) -> u32 {
        self.draws.last().map_or(0, |last| last.number + 1)
    }
}

/// A draw as it stands in a file. Its number stays its own when another one is taken out, as its seed hangs on it: the
/// draws are so sensitive that another seed moves what one shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbered {
    /// Its number.
    pub number: u32,
    /// What it is.
    pub draw: Draw,
}

impl Numbered {
    /// The seed that it was found with, and that a study's `again`th run of it takes, from 0.
    pub fn seed(&self, again: u64) -> u64 {
        1 + u64::from(self.number) + 1000 * again
    }
}
