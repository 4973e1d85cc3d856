//! What the points of a space have in common: a space with expressions has each point computed
//! once, so that nothing depends on which point comes first.

use crate::space::{Point, Space, SpaceError};
use crate::value::{Kind, Value};
use rayon::prelude::*;

/// Combinations that are computed at a time.
const CHUNK: u64 = 1 << 12;

/// What the points of a space have in common.
pub(super) struct Scan {
    /// The number of points.
    pub(super) points: u64,
    /// The first valid point, or the first point if none is valid; `None` if there is no point.
    pub(super) first: Option<Point>,
    /// The sorts of the coordinates; `None` for a coupled value that no point has.
    pub(super) kinds: Vec<Option<Kind>>,
}

/// Computes the points of a space; `point` returns the point with a number, as [`Space::point`]
/// does.
///
/// # Errors
/// An expression that has no value in a point, or a coupled value that mixes sorts.
pub(super) fn scan(
    space: &Space,
    point: &(dyn Fn(u64) -> Result<Option<Point>, SpaceError> + Sync),
) -> Result<Scan, SpaceError> {
    let all = space.combinations();
    let mut scan = Scan { points: 0, first: None, kinds: space.kinds() };
    if space.constraints.is_empty() && space.set.iter().all(|setting| setting.value.coupled().is_none()) {
        // Each combination is a valid point, and all sorts are known.
        return Ok(Scan { points: all, first: point(0)?, ..scan });
    }
    for begin in (0..all).step_by(CHUNK as usize) {
        let end = all.min(begin + CHUNK);
        let points: Vec<_> = (begin..end).into_par_iter().map(point).collect();
        // If several points have errors, the first of them is reported, on any number of cores.
        for point in points {
            if let Some(point) = point? {
                scan.add(space, point)?;
            }
        }
    }
    scan.widen(space);
    Ok(scan)
}

impl Scan {
    fn add(&mut self, space: &Space, point: Point) -> Result<(), SpaceError> {
        for (at, value) in point.values.iter().enumerate() {
            let Some(new) = value.as_ref().map(Value::kind) else { continue };
            let known = self.kinds[at].unwrap_or(new);
            self.kinds[at] = Some(known.with(new).ok_or_else(|| mixed(space, at, known, new))?);
        }
        if self.first.as_ref().is_none_or(|first| first.invalid.is_some() && point.invalid.is_none()) {
            self.first = Some(point);
        }
        self.points += 1;
        Ok(())
    }

    /// Turns whole numbers into numbers where an expression may have a fraction in a larger space,
    /// which is to fit into the same store.
    fn widen(&mut self, space: &Space) {
        let names: Vec<&str> = space.names().collect();
        loop {
            let is_number = |name: &&str| {
                names.iter().zip(&self.kinds).any(|(known, kind)| known == name && *kind == Some(Kind::Number))
            };
            let has_fraction = |(at, name): (usize, &&str)| {
                let coupled = space.set.iter().find(|setting| setting.name == **name)?.value.coupled()?;
                let wide = coupled.may_have_fraction() || coupled.names().iter().any(is_number);
                (wide && self.kinds[at] == Some(Kind::Whole)).then_some(at)
            };
            let Some(at) = names.iter().enumerate().find_map(has_fraction) else { break };
            self.kinds[at] = Some(Kind::Number);
        }
    }
}

/// The error of a coupled value, the coordinate with index `at`, that has two sorts.
fn mixed(space: &Space, at: usize, a: Kind, b: Kind) -> SpaceError {
    let mut sorts = [a.name(), b.name()];
    sorts.sort_unstable();
    let place = space.places().nth(at);
    let name = place.map_or("", |(name, _)| name);
    let what = format!("`{name}` mixes {} and {}; expected values of one sort", sorts[0], sorts[1]);
    space.error(place.map(|(_, line)| line), what)
}
