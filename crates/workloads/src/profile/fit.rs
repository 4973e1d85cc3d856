//! From what is printed of a program to draws that show it, on the baseline alone.
//!
//! A candidate's locks, lines and misses are drawn from the profile's ranges. The length of its critical sections and of
//! its own work are then moved until the shares of critical sections and of competition overhead are what is printed, or,
//! where nothing is printed, what was drawn from the ranges. Broyden's method does it, in logarithms: it needs one run a step.

use super::{Draw, Printed, Profile, Range};
use crate::xorshift;

/// What a run of a draw showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// Share of thread-time in critical sections.
    pub cs_share: f64,
    /// Share of thread-time in competition overhead.
    pub coh_share: f64,
    /// Share of acquisitions by threads that did not sleep for them.
    pub entered_spinning: f64,
    /// Acquisitions a thousand cycles and thread.
    pub rate: f64,
    /// Packets a thousand cycles and thread.
    pub packets: f64,
}

/// How near a printed share must be met, relative to it.
pub const NEAR: f64 = 0.05;

/// How near a printed share of acquisitions must be met, in points.
pub const NEAR_POINTS: f64 = 0.04;

/// The shares that a candidate is moved to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aim {
    cs_share: f64,
    coh_share: f64,
}

/// What a fit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The draw.
    pub draw: Draw,
    /// What it showed.
    pub shown: Shown,
    /// How far that is [`off`]; 0: it shows what it should.
    pub off: f64,
}

/// Finds one draw: `stratum` of `strata` says which part of the ranges its parameters and aims come from, so that draws
/// spread over them. Gives up after `steps` runs, with what came nearest.
///
/// # Errors
/// What `measure` fails with.
pub fn fit<E>(
    profile: &Profile,
    (stratum, strata): (u32, u32),
    seed: u64,
    steps: u32,
    mut measure: impl FnMut(&Draw) -> Result<Shown, E>,
) -> Result<Option<Fitted>, E> {
    // Profiles of the same ranges are programs of their own all the same.
    let seed =
        profile.name.bytes().fold(seed, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut dice = Dice::new(stratum, strata, seed);
    let (mut draw, aim) = candidate(profile, &mut dice);
    let mut solver = Solver::default();
    let mut nearest: Option<Fitted> = None;
    for _ in 0..steps {
        let shown = measure(&draw)?;
        let fitted = Fitted { draw, shown, off: off(profile, &shown) };
        if fitted.off == 0.0 {
            return Ok(Some(fitted));
        }
        if nearest.is_none_or(|nearest| fitted.off < nearest.off) {
            nearest = Some(fitted);
        }
        let missed = [(shown.cs_share, aim.cs_share), (shown.coh_share, aim.coh_share)];
        let [section, think] = solver.step(missed.map(|(is, should)| (is.max(1e-4) / should.max(1e-4)).ln()));
        // A section that is shorter than what its lines take cannot be had.
        draw.section_cycles = scaled(draw.section_cycles, section).clamp(10, 1_000_000);
        draw.think_cycles = scaled(draw.think_cycles, think).clamp(50, 10_000_000);
    }
    Ok(nearest)
}

/// How far a run is off what is printed, and off the ranges where nothing is: the sum of what is too much or too little,
/// each relative to what it should be. 0: it shows all of it.
pub fn off(profile: &Profile, shown: &Shown) -> f64 {
    let Printed { cs_share, coh_share, entered_spinning, .. } = profile.printed;
    let within = |is: f64, Range { least, most }: Range| {
        let beyond = (least - is).max(is - most).max(0.0);
        beyond / if is < least { least } else { most }.max(1e-6)
    };
    let near = |printed: Option<f64>, range: Range| match printed {
        Some(printed) => Range { least: printed * (1.0 - NEAR), most: printed * (1.0 + NEAR) },
        None => range,
    };
    let spinning = entered_spinning.map_or(Range { least: 0.0, most: 1.0 }, |printed| Range {
        least: printed - NEAR_POINTS,
        most: printed + NEAR_POINTS,
    });
    within(shown.cs_share, near(cs_share, profile.ranges.cs_share))
        + within(shown.coh_share, near(coh_share, profile.ranges.coh_share))
        + within(shown.entered_spinning, spinning)
        + within(shown.rate, profile.ranges.rate)
        + within(shown.packets, profile.ranges.packets)
}

fn scaled(cycles: u64, logarithm: f64) -> u64 {
    (cycles as f64 * logarithm.exp()).round() as u64
}

/// A draw to begin with, and what it is moved to.
fn candidate(profile: &Profile, dice: &mut Dice) -> (Draw, Aim) {
    let Printed { cs_share, coh_share, .. } = profile.printed;
    let ranges = &profile.ranges;
    let aim = Aim {
        cs_share: cs_share.unwrap_or_else(|| dice.within(ranges.cs_share)),
        coh_share: coh_share.unwrap_or_else(|| dice.within(ranges.coh_share)),
    };
    // A period at the middle of the rates; half of it waits.
    let period = 1000.0 / dice.within(ranges.rate).max(1e-3);
    let draw = Draw {
        locks: dice.within(ranges.locks).round() as u32,
        hot: dice.within(ranges.hot),
        section_cycles: (period * aim.cs_share / 2.0) as u64,
        section_lines: dice.within(ranges.section_lines).round() as u32,
        think_cycles: (period * (1.0 - aim.cs_share - aim.coh_share) * 0.7) as u64,
        spread: dice.within(ranges.spread),
        phase: dice.within(ranges.phase).round() as u32,
        misses: dice.within(ranges.misses),
        burst: 2,
        writes: 0.3,
        own_lines: 384,
    };
    (draw, aim)
}

/// Draws from strata of ranges, each parameter's strata in an order of its own.
struct Dice {
    stratum: u32,
    strata: u32,
    drawn: u32,
    state: u64,
}

impl Dice {
    fn new(stratum: u32, strata: u32, seed: u64) -> Dice {
        let state = (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ u64::from(stratum)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut state = state | 1;
        for _ in 0..8 {
            xorshift(&mut state);
        }
        Dice { stratum, strata: strata.max(1), drawn: 0, state }
    }

    /// Between the ends, evenly on a logarithmic scale where the least is not 0.
    fn within(&mut self, range: Range) -> f64 {
        // Steps that have no divisor in common with ten or twelve strata, and differ from parameter to parameter.
        const STEPS: [u32; 8] = [1, 7, 11, 13, 17, 19, 23, 29];
        let step = STEPS[self.drawn as usize % STEPS.len()];
        let stratum = (self.stratum * step + self.drawn) % self.strata;
        self.drawn += 1;
        let unit = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64;
        let share = (f64::from(stratum) + unit) / f64::from(self.strata);
        if range.least > 0.0 { range.least * (range.most / range.least).powf(share) } else { range.most * share }
    }
}

/// Broyden's method for two unknowns: logarithms of section and think time against those of the two shares.
struct Solver {
    /// How the shares answer to the times; corrected with every step.
    jacobian: [[f64; 2]; 2],
    last: Option<([f64; 2], [f64; 2])>,
}

impl Default for Solver {
    fn default() -> Self {
        // Longer sections make both shares grow, longer own work makes both shrink.
        Solver { jacobian: [[0.7, -0.6], [0.2, -1.0]], last: None }
    }
}

impl Solver {
    /// By how much to move both, when they are off by so much.
    fn step(&mut self, off: [f64; 2]) -> [f64; 2] {
        if let Some((moved, before)) = self.last {
            let length = moved[0] * moved[0] + moved[1] * moved[1];
            if length > 1e-9 {
                for (row, (now, before)) in off.iter().zip(before).enumerate() {
                    let told = self.jacobian[row][0] * moved[0] + self.jacobian[row][1] * moved[1];
                    let error = (now - before - told) / length;
                    self.jacobian[row][0] += error * moved[0];
                    self.jacobian[row][1] += error * moved[1];
                }
            }
        }
        let [[a, b], [c, d]] = self.jacobian;
        let determinant = a * d - b * c;
        // A Jacobian that has become useless is begun anew.
        if determinant.abs() < 0.05 {
            self.jacobian = Solver::default().jacobian;
            self.last = None;
            return self.step(off);
        }
        let clamp = |x: f64| x.clamp(-0.7, 0.7);
        let moved = [clamp((b * off[1] - d * off[0]) / determinant), clamp((c * off[0] - a * off[1]) / determinant)];
        self.last = Some((moved, off));
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Class, Ranges};

    fn profile() -> Profile {
        let range = |least, most| Range { least, most };
        Profile {
            name: "made up".to_owned(),
            suite: "none".to_owned(),
            printed: Printed {
                cs_rate: Class::High,
                network: Class::Low,
                cs_share: Some(0.05),
                coh_share: Some(0.3),
                entered_spinning: None,
            },
            ranges: Ranges {
                locks: range(2.0, 8.0),
                hot: range(0.0, 0.5),
                section_lines: range(1.0, 4.0),
                phase: range(0.0, 2.0),
                spread: range(0.0, 1.0),
                misses: range(1.0, 10.0),
                cs_share: range(0.0, 1.0),
                coh_share: range(0.0, 1.0),
                rate: range(0.01, 10.0),
                packets: range(0.0, 1000.0),
            },
            draws: Vec::new(),
        }
    }

    /// A world whose overhead is 2,000 cycles an acquisition, and more with every lock fewer.
    fn world(draw: &Draw) -> Shown {
        let section = draw.section_cycles as f64 + 100.0 * f64::from(draw.section_lines);
        let overhead = 2000.0 + 4000.0 / f64::from(draw.locks);
        let period = section + overhead + draw.think_cycles as f64;
        Shown { cs_share: section / period, coh_share: overhead / period, rate: 1000.0 / period, ..Shown::default() }
    }

    #[test]
    fn a_draw_shows_what_is_printed() {
        let profile = profile();
        let mut drawn = Vec::new();
        for stratum in 0..10 {
            let fitted = fit(&profile, (stratum, 10), 1, 20, |draw| Ok::<_, ()>(world(draw)));
            let Fitted { draw, shown, off } = fitted.unwrap().unwrap();
            assert_eq!(off, 0.0);
            assert!((shown.cs_share / 0.05 - 1.0).abs() <= NEAR && (shown.coh_share / 0.3 - 1.0).abs() <= NEAR);
            assert_eq!(world(&draw), shown);
            drawn.push(draw);
        }
        assert!(drawn.iter().any(|draw| draw.locks <= 3) && drawn.iter().any(|draw| draw.locks >= 7), "{drawn:?}");
    }

    #[test]
    fn of_what_cannot_be_the_nearest_is_kept() {
        let mut profile = profile();
        profile.ranges.rate = Range { least: 9.0, most: 10.0 };
        let mut runs = 0;
        let fitted = fit(&profile, (0, 10), 1, 6, |draw| {
            runs += 1;
            Ok::<_, ()>(world(draw))
        });
        let fitted = fitted.unwrap().unwrap();
        assert!(runs == 6 && fitted.off > 0.5, "{runs} {fitted:?}");
        assert_eq!(off(&profile, &world(&fitted.draw)), fitted.off);
    }
}
