//! Always chooses the slowest level.

use super::{Governed, Governor, GovernorInfo, Period};
use baton_units::Hertz;

/// The governor's row in the registry.
pub const GOVERNOR: GovernorInfo = GovernorInfo {
    name: "powersave",
    what: "always the slowest level",
    source: "Linux: Documentation/admin-guide/pm/cpufreq.rst, powersave",
    needs_prices: false,
    make: |governed| Box::new(Slowest(governed.clone())),
};

struct Slowest(Governed);

impl Governor for Slowest {
    fn decide(&mut self, _: &Period<'_>) -> Vec<Hertz> {
        self.0.levels.iter().filter_map(|levels| levels.first()).map(|level| level.clock).collect()
    }
}
