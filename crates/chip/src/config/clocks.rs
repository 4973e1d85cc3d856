//! The key `core.clocks`: cores that have another clock than `core.clock_hz` when a run begins.

use baton_units::Hertz;

/// Cores from the first to the second, both included, and their clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreClock {
    /// The first.
    pub from: u32,
    /// The last.
    pub to: u32,
    /// What they have.
    pub clock: Hertz,
}

/// The clocks of cores, of which the last that names a core counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreClocks(pub Vec<CoreClock>);

impl CoreClocks {
    /// What a chip file may say.
    pub const EXPECTED: &str = "cores and their clocks in hertz, as in \"1-3:1_150_000_000 5:2_000_000_000\"";

    /// Reads `1-3:1_150_000_000`, several with blanks or commas between them.
    pub fn parse(text: &str) -> Option<CoreClocks> {
        let one = |word: &str| {
            let (cores, clock) = word.split_once(':')?;
            let (from, to) = cores.split_once('-').unwrap_or((cores, cores));
            let clock = Hertz(clock.replace('_', "").parse().ok()?);
            let one = CoreClock { from: from.parse().ok()?, to: to.parse().ok()?, clock };
            (one.from <= one.to && clock.0 != 0).then_some(one)
        };
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(one).collect::<Option<Vec<_>>>().map(CoreClocks)
    }

    /// As [`CoreClocks::parse`] reads it.
    pub fn text(&self) -> String {
        let one = |one: &CoreClock| match one.from == one.to {
            true => format!("{}:{}", one.from, one.clock.0),
            false => format!("{}-{}:{}", one.from, one.to, one.clock.0),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The clock of a core, if it is named.
    pub fn of(&self, core: u32) -> Option<Hertz> {
        self.0.iter().rev().find(|one| (one.from..=one.to).contains(&core)).map(|one| one.clock)
    }
}
