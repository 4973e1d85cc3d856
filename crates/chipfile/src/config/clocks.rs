//! The keys `core.clocks` (cores that start a run with another clock than `core.clock_hz`) and
//! `core.clock_levels` (the clocks that a governor chooses from).

use baton_units::Hertz;

/// A range of cores, both ends included, and their clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreClock {
    /// The first core.
    pub from: u32,
    /// The last core.
    pub to: u32,
    /// The clock of these cores.
    pub clock: Hertz,
}

/// The clocks of cores. The last range that contains a core counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreClocks(pub Vec<CoreClock>);

impl CoreClocks {
    /// A description of the texts that `core.clocks` accepts.
    pub const EXPECTED: &str = "cores and their clocks in hertz, as in \"1-3:1_150_000_000 5:2_000_000_000\"";

    /// Reads texts like `1-3:1_150_000_000`; blanks or commas stand between several entries.
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

    /// The text that [`CoreClocks::parse`] reads.
    pub fn text(&self) -> String {
        let one = |one: &CoreClock| match one.from == one.to {
            true => format!("{}:{}", one.from, one.clock.0),
            false => format!("{}-{}:{}", one.from, one.to, one.clock.0),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// Returns the clock of a core; `None` if no entry names the core.
    pub fn of(&self, core: u32) -> Option<Hertz> {
        self.0.iter().rev().find(|one| (one.from..=one.to).contains(&core)).map(|one| one.clock)
    }
}

/// The clocks that a governor chooses from, in rising order; if there are none, those of
/// [`ClockLevels::usual`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockLevels(pub Vec<Hertz>);

impl ClockLevels {
    /// A description of the texts that `core.clock_levels` accepts.
    pub const EXPECTED: &str = "clocks in hertz, rising, as in \"1_050_000_000 2_100_000_000\"";

    /// Reads `1_050_000_000 2_100_000_000`.
    pub fn parse(text: &str) -> Option<ClockLevels> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let levels: Vec<Hertz> =
            words.map(|word| word.replace('_', "").parse().ok().map(Hertz)).collect::<Option<_>>()?;
        let rising = levels.windows(2).all(|pair| pair[0] < pair[1]);
        (rising && levels.first().is_some_and(|level| level.0 != 0)).then_some(ClockLevels(levels))
    }

    /// The text that [`ClockLevels::parse`] reads.
    pub fn text(&self) -> String {
        self.0.iter().map(|level| level.0.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The levels of a chip that names none: eighths of its fastest clock, from one half up.
    pub fn usual(fastest: Hertz) -> ClockLevels {
        ClockLevels((4..=8).map(|eighths| Hertz((fastest.0 / 8 * eighths).max(1))).collect())
    }

    /// The levels of a core that begins with the clock `begins`: the levels below that clock, and
    /// the clock itself. No core gets a faster clock than it begins with.
    pub fn up_to(&self, begins: Hertz, fastest: Hertz) -> Vec<Hertz> {
        let usual = if self.0.is_empty() { ClockLevels::usual(fastest).0 } else { self.0.clone() };
        usual.into_iter().filter(|&level| level < begins).chain([begins]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_the_levels_below_its_own_clock_and_that() {
        let levels = ClockLevels::parse("500 1_000, 2_000").expect("reads");
        assert_eq!(levels.text(), "500 1000 2000");
        let up_to = |begins| levels.up_to(Hertz(begins), Hertz(2000)).iter().map(|level| level.0).collect::<Vec<_>>();
        assert_eq!((up_to(2000), up_to(1500), up_to(400)), (vec![500, 1000, 2000], vec![500, 1000, 1500], vec![400]));
        let usual = ClockLevels::default().up_to(Hertz(1600), Hertz(1600));
        assert_eq!(usual, [800, 1000, 1200, 1400, 1600].map(Hertz));
        for wrong in ["", "0 5", "2 1", "1 1", "fast", "-3"] {
            assert_eq!(ClockLevels::parse(wrong), None, "{wrong}");
        }
    }
}
