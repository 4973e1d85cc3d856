//! What a profile and a draw are.

/// A rate of which only the class is printed (OCOR, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A low rate.
    Low,
    /// A high rate.
    High,
}

impl Class {
    /// The name of the class in the file.
    pub fn name(self) -> &'static str {
        match self {
            Class::Low => "low",
            Class::High => "high",
        }
    }
}

/// The figures that are printed of the program without the mechanism under study. The fit may look
/// at nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// How often the program takes locks, compared with the other programs.
    pub cs_rate: Class,
    /// How much the program sends, compared with the other programs.
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
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
}

impl Range {
    /// Whether the range holds `value`.
    pub fn contains(self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// The ranges from which draws are drawn: first the parameters, then the figures that a draw must
/// show where nothing sharper is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    /// Acquisitions of each thread.
    pub acquisitions: Range,
    /// Number of locks.
    pub locks: Range,
    /// Share of acquisitions that go to the first lock, in addition to its share of the rest.
    pub hot: Range,
    /// Share of the other acquisitions that go round the locks in turn.
    pub even: Range,
    /// Cycles computed in a critical section before the first step of the fit, which moves them.
    pub section_cycles: Range,
    /// Lines that a critical section reads and writes.
    pub section_lines: Range,
    /// Cycles of a thread's own work between two critical sections, before the first step of the
    /// fit, which moves them.
    pub think_cycles: Range,
    /// Acquisitions from one meeting of all threads to the next.
    pub phase: Range,
    /// Largest deviation of a think time from the mean, as a share of the mean.
    pub spread: Range,
    /// Lines of its own that a thread reads or writes in a thousand cycles of its own work.
    pub misses: Range,
    /// Share of the run in critical sections.
    pub cs_share: Range,
    /// Share of the run in competition overhead.
    pub coh_share: Range,
    /// Acquisitions per thousand cycles and thread.
    pub rate: Range,
    /// Packets per thousand cycles and thread.
    pub packets: Range,
}

/// A stand-in: a program of threads that compute, walk over lines of their own, and take locks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draw {
    /// Acquisitions of each thread: the fixed work of the thread.
    pub acquisitions: u64,
    /// Number of locks.
    pub locks: u32,
    /// Share of acquisitions that go to the first lock, in addition to its share of the rest.
    pub hot: f64,
    /// The share of the other acquisitions that go round the locks in turn, so that each lock gets
    /// equally many threads, as in a program that divides its data among threads. The rest of the
    /// acquisitions go to random locks.
    pub even: f64,
    /// Cycles computed in a critical section, without the time of its lines.
    pub section_cycles: u64,
    /// Number of lines that a critical section reads and writes; each lock guards lines of its own.
    /// 0: the data stand in the lock's line.
    pub section_lines: u32,
    /// Mean number of cycles of a thread's own work between two critical sections.
    pub think_cycles: u64,
    /// Largest deviation of a think time from the mean, as a share of the mean.
    pub spread: f64,
    /// Acquisitions from one meeting of all threads at a barrier to the next, as between parallel
    /// loops; 0: the threads never meet.
    pub phase: u32,
    /// Lines of its own that a thread reads or writes in a thousand cycles of its own work.
    pub misses: f64,
    /// Number of lines of its own that a thread asks for at a time.
    pub burst: u32,
    /// The share of the accesses to own lines that write.
    pub writes: f64,
    /// Number of lines of its own that a thread walks over, round and round.
    pub own_lines: u32,
}

impl Draw {
    /// The same program with the rate of its own misses multiplied by `load`: a profile knows the
    /// load of its network as high or low only, so a study sweeps the load.
    #[must_use]
    pub fn with_load(mut self, load: f64) -> Draw {
        self.misses = (self.misses * load).min(1000.0);
        self
    }

    /// Half of an upper bound of the bytes of machine memory that `threads` threads of the draw use
    /// on lines of `line` bytes.
    pub fn bytes(&self, threads: u32, line: usize) -> usize {
        let own = (self.own_lines as usize + 2) * line * threads as usize;
        own + (self.locks as usize) * (self.section_lines as usize + 4) * line.max(128)
    }
}

/// A profile file.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name of the program for which the profile stands in.
    pub name: String,
    /// The collection that the program is from.
    pub suite: String,
    /// The figures that are printed of the program.
    pub printed: Printed,
    /// The ranges from which draws are drawn, in turn: one table for each shape of program.
    pub ranges: Vec<Ranges>,
    /// The stand-ins, by number; none in a file that has not been fitted.
    pub draws: Vec<Numbered>,
}

impl Profile {
    /// The number of the next draw that is found.
    pub fn next_number(&self) -> u32 {
        self.draws.last().map_or(0, |last| last.number + 1)
    }
}

/// A draw as it stands in a file. A draw keeps its number when another draw is taken out, because
/// its seed depends on the number: draws are so sensitive that another seed changes the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbered {
    /// The number of the draw.
    pub number: u32,
    /// The draw itself.
    pub draw: Draw,
}

impl Numbered {
    /// The seed of a study's run number `again` of the draw, counted from 0. With 0 it is the seed
    /// with which the draw was found.
    pub fn seed(&self, again: u64) -> u64 {
        1 + u64::from(self.number) + 1000 * again
    }
}
