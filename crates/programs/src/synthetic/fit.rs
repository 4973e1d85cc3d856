//! From the figures that are printed of a program to draws that show the same figures, on the
//! baseline alone.
//!
//! A candidate is drawn from one of the profile's tables of ranges. The length of its critical
//! sections and of its own work are then moved until the shares of critical sections and of
//! competition overhead are the printed shares or, where nothing is printed, the shares that were
//! drawn from the ranges. The moves use Broyden's method, in logarithms, which needs one run for
//! each step. Runs are the cost of a fit. Therefore a candidate of a program whose shares are both
//! printed begins at the times of the most similar draw in the profile, and a candidate that does
//! not come nearer is given up.

use super::dice::Dice;
use super::keys::DRAW;
use super::profile::{Draw, Printed, Profile, Range, Ranges};
use super::solver::Solver;

/// The figures that a run of a draw showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// Share of thread-time in critical sections.
    pub cs_share: f64,
    /// Share of thread-time in competition overhead.
    pub coh_share: f64,
    /// Share of acquisitions by threads that did not sleep for them.
    pub entered_spinning: f64,
    /// Acquisitions per thousand cycles and thread.
    pub rate: f64,
    /// Packets per thousand cycles and thread.
    pub packets: f64,
}

/// Largest accepted distance from a printed share, relative to the share.
pub const NEAR: f64 = 0.05;

/// Largest accepted difference from a printed share of acquisitions: 4 percentage points.
pub const NEAR_POINTS: f64 = 0.04;

/// The step from which on a hopeless candidate is given up.
const PATIENCE: u32 = 2;

/// A candidate is hopeless if it is further off than this and its last step has not brought it
/// clearly nearer.
const HOPELESS: f64 = 0.25;

/// The shares that a candidate is moved to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aim {
    cs_share: f64,
    coh_share: f64,
}

/// The result of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The draw.
    pub draw: Draw,
    /// The figures that a run of the draw showed.
    pub shown: Shown,
    /// Distance from the figures that the draw should show, by [`off`]; 0: the draw shows them all.
    pub off: f64,
}

/// The source of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The stratum of the ranges from which parameters and aims come, so that draws spread over the
    /// ranges; which part of a range a stratum is differs from profile to profile.
    pub stratum: u32,
    /// Number of strata.
    pub strata: u32,
    /// Which of the profile's tables of ranges; `None`: the tables in turn.
    pub table: Option<u32>,
    /// Seed of the generator.
    pub seed: u64,
}

/// Finds one draw. Gives up after `steps` runs, or where steps do not help, and returns the draw
/// that came nearest; `None` if the profile has no ranges.
///
/// # Errors
/// The error of `measure`.
pub fn fit<E>(
    profile: &Profile,
    source: Source,
    steps: u32,
    measure: impl FnMut(&Draw) -> Result<Shown, E>,
) -> Result<Option<Fitted>, E> {
    let Source { stratum, strata, table, seed } = source;
    // Profiles of the same ranges are still different programs, so their draws come from different
    // strata, and from different places in these strata.
    let named = |seed| {
        profile.name.bytes().fold(seed, |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    let part = (u64::from(stratum) + (named(0) >> 32)) % u64::from(strata.max(1));
    let mut dice = Dice::new(part as u32, strata, named(seed));
    let table = table.unwrap_or(stratum) as usize % profile.ranges.len().max(1);
    let Some(ranges) = profile.ranges.get(table) else { return Ok(None) };
    let (draw, aim) = candidate(profile, ranges, &mut dice);
    moved(draw, steps, |shown| off_in(profile, ranges, shown), |_| aim, measure)
}

/// Moves a draw that was found elsewhere, on another chip or with another lock, until the draw
/// shows again what is printed, or what lies within the ranges where nothing is printed. Gives up
/// as [`fit`] does.
///
/// # Errors
/// The error of `measure`.
pub fn refit<E>(
    profile: &Profile,
    draw: Draw,
    steps: u32,
    measure: impl FnMut(&Draw) -> Result<Shown, E>,
) -> Result<Option<Fitted>, E> {
    let aim = |shown: &Shown| {
        let apart = |ranges: &&Ranges| off_in(profile, ranges, shown);
        let nearest = profile.ranges.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        // The aim lies a little within the ends of a range, so that chance does not lead out of the
        // range again.
        let within = |is: f64, range: Option<Range>| {
            range.map_or(is, |Range { least, most }| {
                let (low, high) = (least * (1.0 + NEAR / 2.0), most * (1.0 - NEAR / 2.0));
                if low < high { is.clamp(low, high) } else { (least + most) / 2.0 }
            })
        };
        let Printed { cs_share, coh_share, .. } = profile.printed;
        Aim {
            cs_share: cs_share.unwrap_or_else(|| within(shown.cs_share, nearest.map(|of| of.cs_share))),
            coh_share: coh_share.unwrap_or_else(|| within(shown.coh_share, nearest.map(|of| of.coh_share))),
        }
    };
    moved(draw, steps, |shown| off(profile, shown), aim, measure)
}

/// Moves section and think time until a run shows the figures. After the first run, `aim` says to
/// which shares they are moved.
fn moved<E>(
    mut draw: Draw,
    steps: u32,
    off: impl Fn(&Shown) -> f64,
    aim: impl Fn(&Shown) -> Aim,
    mut measure: impl FnMut(&Draw) -> Result<Shown, E>,
) -> Result<Option<Fitted>, E> {
    let mut first: Option<Aim> = None;
    let mut solver: Option<Solver> = None;
    let mut nearest: Option<Fitted> = None;
    for step in 0..steps {
        let shown = measure(&draw)?;
        let fitted = Fitted { draw, shown, off: off(&shown) };
        let aim = *first.get_or_insert_with(|| aim(&shown));
        if fitted.off == 0.0 {
            return Ok(Some(fitted));
        }
        let before = nearest.map_or(f64::INFINITY, |nearest| nearest.off);
        if fitted.off < before {
            nearest = Some(fitted);
        }
        // Runs differ by some 5% by chance, so a candidate that is near may get there; one that is
        // far and comes no nearer will not.
        if step >= PATIENCE && fitted.off > HOPELESS && fitted.off > 0.7 * before {
            break;
        }
        let missed = [(shown.cs_share, aim.cs_share), (shown.coh_share, aim.coh_share)];
        let solver = solver.get_or_insert_with(|| Solver::expecting(&draw, &shown));
        let [section, think] = solver.step(missed.map(|(is, should)| (is.max(1e-4) / should.max(1e-4)).ln()));
        // A section computes five cycles at least. The rest of its length is the time of its lines,
        // which no step changes.
        let times = (
            scaled(draw.section_cycles, section).clamp(5, 1_000_000),
            scaled(draw.think_cycles, think).clamp(10, 10_000_000),
        );
        if times == (draw.section_cycles, draw.think_cycles) {
            // The step does not change the draw, and another run of the same draw would show the
            // same figures.
            break;
        }
        (draw.section_cycles, draw.think_cycles) = times;
    }
    Ok(nearest)
}

/// Distance of a run from the printed figures, and from the ranges where nothing is printed: the
/// sum of the deviations, each relative to the figure, for the nearest of the profile's tables of
/// ranges. 0: the run shows all figures.
pub fn off(profile: &Profile, shown: &Shown) -> f64 {
    profile.ranges.iter().map(|ranges| off_in(profile, ranges, shown)).fold(f64::INFINITY, f64::min)
}

/// Distance of a run of a draw from these ranges.
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

/// A draw to begin with, and the shares to which it is moved.
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
        // A program that asks for many lines asks for many at a time, up to its outstanding misses.
        burst: (misses / 8.0).clamp(1.0, 16.0) as u32,
        writes: 0.3,
        own_lines: 384,
    };
    if let Some(found) = most_like(profile, &draw) {
        (draw.section_cycles, draw.think_cycles) = (found.section_cycles, found.think_cycles);
    }
    // The draw is measured as it will be written: runs are so sensitive that a fifth digit changes
    // their shares.
    for key in DRAW {
        let value = key.written(&draw);
        (key.set)(&mut draw, value);
    }
    (draw, aim)
}

/// The draw of the profile, of the same shape, that is most like `draw`, if both shares are
/// printed: the fit moved that draw to the printed shares, so its times are a good begin. Otherwise
/// draws spread because they begin at other times.
fn most_like<'a>(profile: &'a Profile, draw: &Draw) -> Option<&'a Draw> {
    let Printed { cs_share, coh_share, .. } = profile.printed;
    cs_share.and(coh_share)?;
    let apart = |other: &Draw| {
        let moved = |name: &str| ["section_cycles", "think_cycles"].contains(&name);
        let keys = DRAW.iter().filter(|key| !moved(key.name));
        keys.map(|key| ((1.0 + (key.get)(other)) / (1.0 + (key.get)(draw))).ln().powi(2)).sum::<f64>()
    };
    let same_shape = profile.draws.iter().map(|drawn| &drawn.draw).filter(|other| other.phase == draw.phase);
    same_shape.min_by(|a, b| apart(a).total_cmp(&apart(b)))
}

/// Whether two draws are the same program: every parameter of one is within a twentieth of the
/// other's.
pub fn alike(a: &Draw, b: &Draw) -> bool {
    DRAW.iter().all(|key| {
        let (a, b) = ((key.get)(a), (key.get)(b));
        (a - b).abs() <= 0.05 * a.abs().max(b.abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Class, Numbered, Ranges};

    fn source(stratum: u32) -> Source {
        Source { stratum, strata: 10, table: None, seed: 1 }
    }

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

    /// A model in which the overhead is 2,000 cycles per acquisition, and more with fewer locks.
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
            let fitted = fit(&profile, source(stratum), 20, |draw| Ok::<_, ()>(world(draw)));
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
    fn what_cannot_be_is_given_up_and_the_nearest_kept() {
        let mut profile = profile();
        profile.ranges[0].rate = Range { least: 9.0, most: 10.0 };
        let mut runs = 0;
        let fitted = fit(&profile, source(0), 20, |draw| {
            runs += 1;
            Ok::<_, ()>(world(draw))
        });
        let fitted = fitted.unwrap().unwrap();
        assert!((3..10).contains(&runs) && fitted.off > 0.5, "{runs} {fitted:?}");
        assert_eq!(off(&profile, &world(&fitted.draw)), fitted.off);
    }

    #[test]
    fn a_draw_is_moved_where_the_world_is_another_one() {
        let profile = profile();
        let found = fit(&profile, source(2), 20, |draw| Ok::<_, ()>(world(draw))).unwrap().unwrap().draw;
        // In this model a wake-up costs more, so that the draw, unchanged, shows too much overhead.
        let dearer = |draw: &Draw| {
            let section = draw.section_cycles as f64 + 100.0 * f64::from(draw.section_lines);
            let overhead = 3000.0 + 6000.0 / f64::from(draw.locks);
            let period = section + overhead + draw.think_cycles as f64;
            Shown {
                cs_share: section / period,
                coh_share: overhead / period,
                rate: 1000.0 / period,
                ..Shown::default()
            }
        };
        assert!(off(&profile, &dearer(&found)) > 0.0);
        let again = refit(&profile, found, 20, |draw| Ok::<_, ()>(dearer(draw))).unwrap().unwrap();
        assert_eq!(again.off, 0.0);
        let Draw { section_cycles, think_cycles, .. } = again.draw;
        assert_eq!(again.draw, Draw { section_cycles, think_cycles, ..found }, "nothing else is moved");
        // A share that the draw shows already is left as it is, and a share without a printed value
        // is moved into its range alone.
        let same = refit(&profile, found, 20, |draw| Ok::<_, ()>(world(draw))).unwrap().unwrap();
        assert_eq!(same.draw, found);
        let mut open = profile.clone();
        open.printed = Printed { cs_share: None, coh_share: None, ..profile.printed };
        open.ranges[0].coh_share = Range { least: 0.27, most: 0.35 };
        let shown = refit(&open, found, 20, |draw| Ok::<_, ()>(dearer(draw))).unwrap().unwrap().shown;
        assert!(open.ranges[0].coh_share.contains(shown.coh_share), "{shown:?}");
    }

    #[test]
    fn what_was_found_saves_runs() {
        let mut profile = profile();
        let runs = |profile: &Profile| {
            let mut runs = 0;
            let fitted = fit(profile, source(3), 20, |draw| {
                runs += 1;
                Ok::<_, ()>(world(draw))
            });
            (runs, fitted.unwrap().unwrap())
        };
        let (from_ranges, found) = runs(&profile);
        let other = Draw { locks: found.draw.locks + 1, ..found.draw };
        profile.draws.push(Numbered { number: 0, draw: other });
        let (from_a_draw, again) = runs(&profile);
        assert!(again.off == 0.0 && from_a_draw < from_ranges, "{from_a_draw} runs for {from_ranges}");
        // A draw of another shape (here: with meetings) does not lend its times: the fit begins at
        // the ranges again, and takes as many runs as without it.
        profile.draws[0].draw.phase = 7;
        assert_eq!(runs(&profile), (from_ranges, found));
    }

    #[test]
    fn a_candidate_can_be_asked_of_one_table() {
        let mut profile = profile();
        profile.ranges.push(Ranges { locks: Range { least: 100.0, most: 200.0 }, ..profile.ranges[0] });
        for (table, least) in [(Some(0), 2), (Some(1), 100), (None, 2)] {
            let fitted = fit(&profile, Source { table, ..source(4) }, 20, |draw| Ok::<_, ()>(world(draw)));
            let locks = fitted.unwrap().unwrap().draw.locks;
            assert_eq!(locks >= 100, least == 100, "{table:?} {locks}");
        }
        profile.ranges.clear();
        assert_eq!(fit(&profile, source(0), 20, |draw| Ok::<_, ()>(world(draw))), Ok(None));
    }
}
