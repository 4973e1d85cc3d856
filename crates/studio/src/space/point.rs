//! The points of a space, by number: the last axis varies fastest.

use super::{Constraint, Given, Space, SpaceError};
use crate::value::Value;

/// The most combinations of a space.
const MOST: u64 = 1_000_000_000;

/// What the command says about a name in an expression.
pub enum Looked {
    /// The value of this name in the point.
    Value(Value),
    /// There is no such name; the nearest known ones, for a hint.
    Unknown(Vec<String>),
    /// The point cannot run, and why.
    Invalid(String),
}

/// Looks up a name that is no coordinate, such as a key of the point's chip, given the settings
/// that are known.
pub type Lookup<'a> = &'a dyn Fn(&[(&str, &Value)], &str) -> Looked;

/// A point of a space.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The values of the coordinates, in the order of [`Space::names`]; a coupled value is `None`
    /// if the point is invalid.
    pub values: Vec<Option<Value>>,
    /// Why the point cannot run: its chip is impossible, for example, and a coupled value needs a
    /// key of that chip.
    pub invalid: Option<String>,
}

impl Space {
    /// Orders the coupled settings, and checks that names differ, that each axis has values, and
    /// that the combinations are not too many.
    pub(super) fn settled(mut self) -> Result<Space, SpaceError> {
        let places: Vec<(&str, usize)> = self.places().collect();
        if let Some((i, (name, line))) =
            places.iter().enumerate().find(|(i, (name, _))| places[..*i].iter().any(|(other, _)| other == name))
        {
            let first = places[..i].iter().find(|(other, _)| other == name).map_or(0, |(_, line)| *line);
            return Err(self.error(Some(*line), format!("`{name}` is given twice; it stands in line {first} too")));
        }
        if let Some((_, line)) = places.iter().find(|(name, _)| *name == "seed") {
            return Err(
                self.error(Some(*line), "`seed` is no setting here; expected the key `seeds`, as in `seeds = 5`")
            );
        }
        let constraints = self.constraints.iter().map(|constraint| (&constraint.expr, constraint.line));
        let coupled = self.set.iter().filter_map(|setting| Some((setting.value.coupled()?, setting.line)));
        if let Some((_, line)) = constraints.chain(coupled).find(|(expr, _)| expr.names().contains(&"seed")) {
            let what = "`seed` is an unknown name here: a point has the same settings with each of its seeds";
            return Err(self.error(Some(line), what));
        }
        if let Some(axis) = self.axes.iter().find(|axis| axis.values.is_empty()) {
            return Err(self.error(Some(axis.line), format!("axis `{}` has no values: the space is empty", axis.name)));
        }
        let product = self.axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.values.len() as u64));
        if product.is_none_or(|n| n > MOST) {
            return Err(self.error(None, format!("the space has more than {MOST} combinations")));
        }
        self.order = self.coupled_order()?;
        Ok(self)
    }

    /// An order of the coupled settings in which each follows those that it needs.
    fn coupled_order(&self) -> Result<Vec<usize>, SpaceError> {
        let mut left: Vec<usize> = (0..self.set.len()).filter(|&i| self.set[i].value.coupled().is_some()).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let waits = |i: &usize| {
                let needs = self.set[*i].value.coupled().map(|expr| expr.names()).unwrap_or_default();
                left.iter().any(|other| needs.contains(&self.set[*other].name.as_str()))
            };
            let Some(at) = left.iter().position(|i| !waits(i)) else {
                let names: Vec<String> = left.iter().map(|&i| format!("`{}`", self.set[i].name)).collect();
                let what = format!("{} are coupled in a circle", names.join(" and "));
                return Err(self.error(Some(self.set[left[0]].line), what));
            };
            order.push(left.remove(at));
        }
        Ok(order)
    }

    /// The values of the axes in the combination with this number.
    fn axis_values(&self, mut number: u64) -> Vec<Option<Value>> {
        let mut values = vec![None; self.axes.len()];
        for (axis, value) in self.axes.iter().zip(&mut values).rev() {
            let n = axis.values.len() as u64;
            *value = Some(axis.values[(number % n) as usize].clone());
            number /= n;
        }
        values
    }

    /// The point with this number, from 0 and below [`Space::combinations`]; `None` if a constraint
    /// does not hold.
    ///
    /// # Errors
    /// An expression that has no value: an unknown name, a text where a number must be.
    pub fn point(&self, number: u64, lookup: Lookup<'_>) -> Result<Option<Point>, SpaceError> {
        let mut values = self.axis_values(number);
        values.extend(self.set.iter().map(|setting| match &setting.value {
            Given::Fixed(value) => Some(value.clone()),
            Given::Coupled(_) => None,
        }));
        let names: Vec<&str> = self.names().collect();
        let mut point = Values { names: &names, values, lookup, invalid: None, unknown: Vec::new() };
        // Constraints over axes and fixed settings come first: a user may exclude impossible chips
        // with them before a coupled value needs a key of such a chip.
        let (early, late): (Vec<&Constraint>, Vec<&Constraint>) =
            self.constraints.iter().partition(|constraint| constraint.expr.names().iter().all(|name| point.has(name)));
        if !self.all_hold(&early, &mut point)? {
            return Ok(None);
        }
        for &i in &self.order {
            let Some(expr) = self.set[i].value.coupled() else { continue };
            match expr.value(&mut |name| point.of(name)) {
                Ok(value) => point.values[self.axes.len() + i] = Some(value),
                Err(_) if point.invalid.is_some() => return Ok(Some(point.end())),
                Err(why) => return Err(self.unknown(self.set[i].line, why, &point)),
            }
        }
        if !self.all_hold(&late, &mut point)? {
            return Ok(None);
        }
        Ok(Some(point.end()))
    }

    fn all_hold(&self, constraints: &[&Constraint], point: &mut Values<'_>) -> Result<bool, SpaceError> {
        for constraint in constraints {
            match constraint.expr.holds(&mut |name| point.of(name)) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(_) if point.invalid.is_some() => return Ok(true),
                Err(why) => return Err(self.unknown(constraint.line, why, point)),
            }
        }
        Ok(true)
    }

    fn unknown(&self, line: usize, why: String, point: &Values<'_>) -> SpaceError {
        let hint = point.unknown.first().map(|near| format!("did you mean `{near}`?"));
        SpaceError { hint, ..self.error(Some(line), why) }
    }
}

/// The values of a point that are known so far.
struct Values<'a> {
    names: &'a [&'a str],
    values: Vec<Option<Value>>,
    lookup: Lookup<'a>,
    invalid: Option<String>,
    unknown: Vec<String>,
}

impl Values<'_> {
    /// Whether the value of a name is known without a lookup.
    fn has(&self, name: &str) -> bool {
        self.names.iter().zip(&self.values).any(|(known, value)| *known == name && value.is_some())
    }

    fn of(&mut self, name: &str) -> Result<Value, String> {
        let own = self.names.iter().zip(&self.values).find(|(known, _)| **known == name);
        if let Some((_, Some(value))) = own {
            return Ok(value.clone());
        }
        let known = self.names.iter().zip(&self.values).filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        let known: Vec<(&str, &Value)> = known.collect();
        match (self.lookup)(&known, name) {
            Looked::Value(value) => Ok(value),
            Looked::Invalid(why) => {
                self.invalid = Some(why.clone());
                Err(why)
            }
            Looked::Unknown(nearest) => {
                self.unknown = nearest;
                Err(format!("unknown name `{name}`"))
            }
        }
    }

    fn end(self) -> Point {
        Point { values: self.values, invalid: self.invalid }
    }
}
