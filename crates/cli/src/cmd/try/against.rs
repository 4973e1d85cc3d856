//! A regression gate: the program against the one recorded in another profile, each with its own
//! lock, in alternating runs.

use super::answer::{Answer, Measured, Outcome};
use super::contest::MARGIN;
use super::significance::Faster;
use super::subject::Subject;
use super::turns::hold;
use crate::cmd::measure::runs::{Candidate, Turns};
use crate::cmd::{measure, report};
use crate::error::BadInput;
use baton_host::launch::library;
use baton_trace::Meta;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The recorded program that the other program is measured against.
pub(super) struct Base {
    meta: Meta,
    place: PathBuf,
}

impl Base {
    /// Reads the profile.
    pub(super) fn open(place: &Path) -> anyhow::Result<Base> {
        let profile = report::open(place)?;
        Ok(Base { meta: measure::described(&profile.trace, place)?, place: place.to_owned() })
    }

    /// Runs the base and the subject by turns, for at most `budget`. The subject is a regression if
    /// it is certainly slower than the base by more than `tolerance`, a share of the base's time.
    /// Fails if both are the same program with the same arguments, directory and lock.
    pub(super) fn gate(&self, subject: &Subject, budget: Duration, tolerance: f64) -> anyhow::Result<Answer> {
        let candidates = [measure::recorded(&self.meta)?, measure::recorded(&subject.meta)?];
        let library = library::find()?;
        let (base, base_command) = measure::again(&self.meta)?;
        let (new, new_command) = measure::again(&subject.meta)?;
        let directories = [measure::directory(&self.meta)?, measure::directory(&subject.meta)?];
        if base.path.canonicalize().ok() == new.path.canonicalize().ok()
            && base_command == new_command
            && directories[0] == directories[1]
            && self.meta.lock == subject.meta.lock
        {
            let message =
                format!("{}: the same program with the same arguments was recorded there", self.place.display());
            let hint =
                "what stands there now is compared: build the earlier one elsewhere (`git worktree add`) and record it";
            return Err(BadInput::new(message).hint(hint).into());
        }
        let mut turns = [Turns::new(&base, &base_command, &library), Turns::new(&new, &new_command, &library)];
        let held = hold(1, budget, |entrant, limit| {
            std::env::set_current_dir(&directories[entrant])?;
            turns[entrant].run(&Candidate { recorded: true, ..candidates[entrant].clone() }, limit)
        })?;
        let faster = held.entrants[1].faster;
        let kind = judge(faster.as_ref(), tolerance);
        Ok(Answer::gate(subject, &self.place, kind, faster, tolerance, Measured::of(&candidates, &[], &held)))
    }
}

/// Whether there is a regression, no regression, or no certainty.
fn judge(faster: Option<&Faster>, tolerance: f64) -> Outcome {
    // Being slower by a share s of the base's time is `faster` with −s.
    match faster {
        Some(faster) if faster.high < -tolerance => Outcome::Regression,
        Some(faster) if faster.low > -tolerance.max(MARGIN) => Outcome::NoRegression,
        _ => Outcome::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regression_is_beyond_the_tolerance_and_beyond_doubt() {
        let judged = |low, high| judge(Some(&Faster { estimate: (low + high) / 2.0, low, high }), 0.02);
        assert_eq!(judged(-0.10, -0.05), Outcome::Regression);
        assert_eq!(judged(-0.10, -0.01), Outcome::CannotTell, "perhaps within the tolerance");
        assert_eq!(judged(-0.015, 0.01), Outcome::NoRegression);
        assert_eq!(judged(0.05, 0.10), Outcome::NoRegression);
        assert_eq!(judge(None, 0.02), Outcome::CannotTell);
    }
}
