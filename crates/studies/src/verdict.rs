//! The verdict on a claim.

use serde::Serialize;

/// The verdict on a claim. Only a predicted claim holds or does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Our figure, with its whole interval, is what the rule asks for.
    Holds,
    /// No part of our figure's interval is what the rule asks for.
    DoesNotHold,
    /// A part of our figure's interval is what the rule asks for, and a part is not.
    CannotTell,
    /// The claim does not hold, nor does it with the treatment at its ideal: this experiment has
    /// no power to show it.
    CannotShow,
    /// The paper leaves out what a comparison would need.
    NotComparable,
    /// The study did not run what the claim needs, or the claim's figure set a parameter.
    NotJudged,
}

impl Verdict {
    /// The verdict of a condition that the study computes itself.
    pub fn of(holds: bool) -> Verdict {
        if holds { Verdict::Holds } else { Verdict::DoesNotHold }
    }

    /// The verdict on all of these together: `DoesNotHold` if one of them is that, otherwise the
    /// first that is not `Holds`, otherwise `Holds`.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        verdicts.into_iter().fold(Verdict::Holds, |all, one| match (all, one) {
            (Verdict::DoesNotHold, _) | (_, Verdict::DoesNotHold) => Verdict::DoesNotHold,
            (Verdict::Holds, one) => one,
            (all, _) => all,
        })
    }

    /// The verdict on the condition that `least` of these hold. One that cannot be told counts as
    /// one that may hold.
    pub fn at_least(least: usize, verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let (mut hold, mut open) = (0, 0);
        for verdict in verdicts {
            match verdict {
                Verdict::Holds => hold += 1,
                Verdict::DoesNotHold => (),
                _ => open += 1,
            }
        }
        match (hold >= least, hold + open >= least) {
            (true, _) => Verdict::Holds,
            (_, true) => Verdict::CannotTell,
            _ => Verdict::DoesNotHold,
        }
    }

    /// The verdict of the opposite condition.
    #[must_use]
    pub fn opposite(self) -> Verdict {
        match self {
            Verdict::Holds => Verdict::DoesNotHold,
            Verdict::DoesNotHold => Verdict::Holds,
            other => other,
        }
    }

    /// `true` or `false` for a claim that holds or does not; `None` for every other verdict.
    pub fn decided(self) -> Option<bool> {
        match self {
            Verdict::Holds => Some(true),
            Verdict::DoesNotHold => Some(false),
            Verdict::CannotTell | Verdict::CannotShow | Verdict::NotComparable | Verdict::NotJudged => None,
        }
    }

    /// The words for people.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotTell => "cannot tell",
            Verdict::CannotShow => "cannot show",
            Verdict::NotComparable => "not comparable",
            Verdict::NotJudged => "not judged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_cannot_be_told_may_be_enough_or_not() {
        use Verdict::{CannotTell, DoesNotHold, Holds};
        let all = [Holds, Holds, CannotTell, DoesNotHold];
        assert_eq!([2, 3, 4].map(|least| Verdict::at_least(least, all)), [Holds, CannotTell, DoesNotHold]);
        assert_eq!(Verdict::at_least(0, []), Holds);
    }

    #[test]
    fn one_that_does_not_hold_decides_and_then_one_that_cannot_be_told() {
        use Verdict::{CannotTell, DoesNotHold, Holds};
        assert_eq!(Verdict::all([]), Holds);
        assert_eq!(Verdict::all([Holds, CannotTell, Holds]), CannotTell);
        assert_eq!(Verdict::all([CannotTell, DoesNotHold]), DoesNotHold);
        assert_eq!(Verdict::all([DoesNotHold, CannotTell]), DoesNotHold);
    }
}
