//! Always chooses the fastest level: the baseline for the others.

use super::{Governed, Governor, GovernorInfo, Period};
use baton_units::Hertz;

/// The governor's row in the registry.
pub const GOVERNOR: GovernorInfo = GovernorInfo {
    name: "performance",
    what: "always the fastest level",
    source: "Linux: Documentation/admin-guide/pm/cpufreq.rst, performance",
    needs_prices: false,
    make: |governed| Box::new(Fastest(governed.clone())),
};

struct Fastest(Governed);

impl Governor for Fastest {
    fn decide(&mut self, _: &Period<'_>) -> Vec<Hertz> {
        self.0.levels.iter().filter_map(|levels| levels.last()).map(|level| level.clock).collect()
    }
}
