//! From what is printed of a program to draws that show it, on the baseline alone.
//!
//! A candidate is drawn from one of the profile's tables of ranges. The length of its critical sections and of its own
//! work are then moved until the shares of critical sections and of competition overhead are what is printed, or,
//! where nothing is printed, what was drawn from the ranges. Broyden's method does it, in logarithms: it needs one run a step.

use super::keys::DRAW;
use super::{Draw, Printed, Profile, Range, Ranges};
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
    let ranges = profile.ranges[stratum as usize % profile.ranges.len().max(1)];
    let (mut draw, aim) = candidate(profile, &ranges, &mut dice);
    let mut solver: Option<Solver> = None;
    let mut nearest: Option<Fitted> = None;
    for _ in 0..steps {
        let shown = measure(&draw)?;
        let fitted = Fitted { draw, shown, off: off_in(profile, &ranges, &shown) };
        if fitted.off == 0.0 {
            return Ok(Some(fitted));
        }
        if nearest.is_none_or(|nearest| fitted.off < nearest.off) {
            nearest = Some(fitted);
        }
        let missed = [(shown.cs_share, aim.cs_share), (shown.coh_share, aim.coh_share)];
        let solver = solver.get_or_insert_with(|| Solver::expecting(&draw, &shown));
        let [section, think] = solver.step(missed.map(|(is, should)| (is.max(1e-4) / should.max(1e-4)).ln()));
        // A section that is shorter than what its lines take cannot be had.
        draw.section_cycles = scaled(draw.section_cycles, section).clamp(5, 1_000_000);
        draw.think_cycles = scaled(draw.think_cycles, think).clamp(10, 10_000_000);
    }
    Ok(nearest)
}

/// How far a run is off what is printed, and off the ranges where nothing is: the sum of what is too much or too little,
/// each relative to what it should be. 0: it shows all of it.
pub fn off(profile: &Profile, shown: &Shown) -> f64 {
    profile.ranges.iter().map(|ranges| off_in(profile, ranges, shown)).fold(f64::INFINITY, f64::min)
}

/// The same, of a draw from these ranges.
fn off_in(profile: &Profile, ranges: &Ranges, shown: &Shown) -> f64 {
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
    within(shown.cs_share, near(cs_share, ranges.cs_share))
        + within(shown.coh_share, near(coh_share, ranges.coh_share))
        + within(shown.entered_spinning, spinning)
        + within(shown.rate, ranges.rate)
        + within(shown.packets, ranges.packets)
}

fn scaled(cycles: u64, logarithm: f64) -> u64 {
    (cycles as f64 * logarithm.exp()).round() as u64
}

/// A draw to begin with, and what it is moved to.
fn candidate(profile: &Profile, ranges: &Ranges, dice: &mut Dice) -> (Draw, Aim) {
    let Printed { cs_share, coh_share, .. } = profile.printed;
    let aim = Aim {
        cs_share: cs_share.unwrap_or_else(|| dice.within(ranges.cs_share)),
        coh_share: coh_share.unwrap_or_else(|| dice.within(ranges.coh_share)),
    };
    let misses = dice.within(ranges.misses);
    let mut draw = Draw {
        acquisitions: dice.within(ranges.acquisitions).round() as u64,
        locks: dice.within(ranges.locks).round() as u32,
        hot: dice.within(ranges.hot),
        even: dice.within(ranges.even),
        section_cycles: dice.within(ranges.section_cycles) as u64,
        section_lines: dice.within(ranges.section_lines).round() as u32,
        think_cycles: dice.within(ranges.think_cycles) as u64,
        spread: dice.within(ranges.spread),
        phase: dice.within(ranges.phase).round() as u32,
        misses,
        // Who asks for much asks for much at a time, as far as its outstanding misses go.
        burst: (misses / 8.0).clamp(1.0, 16.0) as u32,
        writes: 0.3,
        own_lines: 384,
    };
    // Measured as it will be written: runs are so sensitive that a fifth digit changes their shares.
    for key in DRAW {
        let value = key.written(&draw);
        (key.set)(&mut draw, value);
    }
    (draw, aim)
}

/// Whether two draws are the same program: every parameter within a twentieth.
pub fn alike(a: &Draw, b: &Draw) -> bool {
    DRAW.iter().all(|key| {
        let (a, b) = ((key.get)(a), (key.get)(b));
        (a - b).abs() <= 0.05 * a.abs().max(b.abs())
    })
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
    /// How the shares answer to the times at the beginning.
    expected: [[f64; 2]; 2],
    /// The same, corrected with every step.
    jacobian: [[f64; 2]; 2],
    last: Option<([f64; 2], [f64; 2])>,
}

impl Solver {
    /// From what the first run showed: both shares shrink with own work by its share of the run; that of critical
    /// sections grows with what is computed in them; overhead grows with longer sections where threads come together and sleep,
    /// and shrinks where they come one by one.
    fn expecting(draw: &Draw, shown: &Shown) -> Solver {
        let share = |cycles: u64| cycles as f64 * shown.rate / 1000.0;
        let think = share(draw.think_cycles).clamp(0.05, 1.0);
        let section = (share(draw.section_cycles) / shown.cs_share.max(1e-3)).clamp(0.3, 1.0);
        let overhead = if draw.phase == 0 { -0.3 } else { 0.2 };
        let expected = [[section, -think], [overhead * section, -think]];
        Solver { expected, jacobian: expected, last: None }
    }

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
        if determinant.abs() < 0.01 {
            self.last = None;
            if self.jacobian != self.expected {
                self.jacobian = self.expected;
                return self.step(off);
            }
        }
        let determinant = if determinant.abs() < 0.01 { 0.01f64.copysign(determinant) } else { determinant };
        let clamp = |x: f64| x.clamp(-0.6, 0.6);
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
            ranges: vec![Ranges {
                acquisitions: range(30.0, 30.0),
                locks: range(2.0, 8.0),
                hot: range(0.0, 0.5),
                even: range(0.0, 1.0),
                section_cycles: range(200.0, 400.0),
                section_lines: range(1.0, 4.0),
                think_cycles: range(3000.0, 6000.0),
                phase: range(0.0, 2.0),
                spread: range(0.0, 1.0),
                misses: range(1.0, 10.0),
                cs_share: range(0.0, 1.0),
                coh_share: range(0.0, 1.0),
                rate: range(0.01, 10.0),
                packets: range(0.0, 1000.0),
            }],
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
            assert!(DRAW.iter().all(|key| key.written(&draw) == (key.get)(&draw)), "{draw:?} is not as it is written");
            drawn.push(draw);
        }
        assert!(drawn.iter().any(|draw| draw.locks <= 3) && drawn.iter().any(|draw| draw.locks >= 7), "{drawn:?}");
    }

    #[test]
    fn of_what_cannot_be_the_nearest_is_kept() {
        let mut profile = profile();
        profile.ranges[0].rate = Range { least: 9.0, most: 10.0 };
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
