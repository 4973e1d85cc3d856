//! Moves a candidate towards the shares that it should show.

use super::{fit::Shown, profile::Draw};

/// Broyden's method for two unknowns: the logarithms of section and think time against the
/// logarithms of the two shares.
pub(super) struct Solver {
    /// How the shares are expected to respond to the times, at the beginning.
    expected: [[f64; 2]; 2],
    /// How the shares respond to the times, corrected after each step that is not small.
    jacobian: [[f64; 2]; 2],
    last: Option<([f64; 2], [f64; 2])>,
}

impl Solver {
    /// A solver from the figures of the first run: both shares shrink with own work by its share of
    /// the run; the share of critical sections grows with the cycles that are computed in them;
    /// overhead grows with longer sections where threads come together and sleep, and shrinks where
    /// threads come one by one.
    pub(super) fn expecting(draw: &Draw, shown: &Shown) -> Solver {
        let share = |cycles: u64| cycles as f64 * shown.rate / 1000.0;
        let think = share(draw.think_cycles).clamp(0.05, 1.0);
        let section = (share(draw.section_cycles) / shown.cs_share.max(1e-3)).clamp(0.3, 1.0);
        let overhead = if draw.phase == 0 { -0.3 } else { 0.2 };
        let expected = [[section, -think], [overhead * section, -think]];
        Solver { expected, jacobian: expected, last: None }
    }

    /// The amounts by which both times move, for shares that are off by `off`.
    pub(super) fn step(&mut self, off: [f64; 2]) -> [f64; 2] {
        if let Some((moved, before)) = self.last {
            let length = moved[0] * moved[0] + moved[1] * moved[1];
            // The part of a small step that chance adds says nothing about how the shares respond.
            if length > 0.08 * 0.08 {
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
        // A Jacobian that has become useless is replaced by the expected one.
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
