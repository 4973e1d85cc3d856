//! How a candidate is moved towards the shares that it should show.

use super::Draw;
use super::fit::Shown;

/// Broyden's method for two unknowns: logarithms of section and think time against those of the two shares.
pub(super) struct Solver {
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
    pub(super) fn expecting(draw: &Draw, shown: &Shown) -> Solver {
        let share = |cycles: u64| cycles as f64 * shown.rate / 1000.0;
        let think = share(draw.think_cycles).clamp(0.05, 1.0);
        let section = (share(draw.section_cycles) / shown.cs_share.max(1e-3)).clamp(0.3, 1.0);
        let overhead = if draw.phase == 0 { -0.3 } else { 0.2 };
        let expected = [[section, -think], [overhead * section, -think]];
        Solver { expected, jacobian: expected, last: None }
    }

    /// By how much to move both, when they are off by so much.
    pub(super) fn step(&mut self, off: [f64; 2]) -> [f64; 2] {
        if let Some((moved, before)) = self.last {
            let length = moved[0] * moved[0] + moved[1] * moved[1];
            // What chance adds to a small step tells nothing of how the shares answer.
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
