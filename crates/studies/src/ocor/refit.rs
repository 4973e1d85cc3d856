//! Fits a draw again. If a set of open choices changes the runs without marks, a draw that was
//! found under the defaults may no longer show what the paper prints, and a similar draw may. A fit
//! looks only at runs without marks.

use super::run::{Figures, Run};
use baton_programs::synthetic::{Profile, fit};
use serde::{Serialize, Serializer};

/// Runs that a fit takes at most.
pub(super) const STEPS: u32 = 6;

/// The inputs of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refit {
    /// A run of the draw as it is.
    pub run: Run,
    /// The profile, with the printed figures that the draw must show.
    #[serde(serialize_with = "shown")]
    pub profile: Profile,
}

/// Writes the parts of a profile on which a fit depends: its printed figures and its ranges.
fn shown<S: Serializer>(profile: &Profile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{:?} {:?}", profile.printed, profile.ranges))
}

impl Refit {
    /// Returns the figures of the run that came nearest to what the paper prints, with the section
    /// and think time of its draw.
    ///
    /// # Errors
    /// Like [`Run::figures`].
    pub fn figures(&self) -> Result<Figures, String> {
        let mut all = Vec::new();
        let found = fit::refit(&self.profile, self.run.program.draw, STEPS, |draw| {
            let mut run = self.run.clone();
            run.program.draw = *draw;
            let figures = run.figures()?;
            let shown = figures.shown();
            all.push((*draw, figures));
            Ok::<_, String>(shown)
        })?;
        let nearest = found.and_then(|found| all.into_iter().find(|(draw, _)| *draw == found.draw));
        let (draw, figures) = nearest.ok_or("a fit without a run")?;
        Ok(Figures { times: Some([draw.section_cycles, draw.think_cycles]), ..figures })
    }
}
