//! The threads of an application, with a result of a type of its own.

use crate::timing::Figure;
use crate::{Body, Team};
use std::sync::{Arc, Mutex, PoisonError};

/// Compares what the threads computed with what one thread computes. Returns the result.
pub type Judge<R> = Box<dyn FnOnce() -> Result<R, String> + Send>;

/// The threads of an application.
pub struct Work<R> {
    /// One body for each thread.
    pub bodies: Vec<Body>,
    /// Judges and returns the result; called after a run that was not cut off.
    pub result: Judge<R>,
}

/// A result that has figures.
pub trait Measured {
    /// The figures that a run shows of the result.
    fn figures(&self) -> Vec<Figure>;
}

/// Where the result is kept once the team was verified.
#[derive(Clone, Debug)]
pub struct Kept<R>(Arc<Mutex<Option<R>>>);

impl<R> Kept<R> {
    fn put(&self, result: R) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// Takes the result; `None` if the check did not run or failed, or if the result was taken
    /// before.
    pub fn take(&self) -> Option<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<R: Measured + Clone + Send + 'static> Work<R> {
    /// The threads as a team, and the place in which their result is kept.
    pub fn into_team(self) -> (Team, Kept<R>) {
        let kept = Kept(Arc::new(Mutex::new(None)));
        let (put, shown) = (kept.clone(), kept.clone());
        let judge = self.result;
        let verify = Box::new(move || judge().map(|result| put.put(result)));
        let figures = move || shown.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Measured::figures);
        (Team { bodies: self.bodies, verify, figures: Box::new(move || figures().unwrap_or_default()) }, kept)
    }
}

/// Mixes a word into a digest, so that every bit of both counts.
pub fn mix(digest: u64, word: u64) -> u64 {
    // SplitMix64's finaliser (Steele, Lea and Flood, 2014).
    let mut x = digest.rotate_left(23) ^ word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Seven;

    impl Measured for Seven {
        fn figures(&self) -> Vec<Figure> {
            vec![Figure { name: "seven", value: 7.0 }]
        }
    }

    #[test]
    fn a_result_is_there_once_it_is_verified() {
        let work = |result: Result<Seven, String>| Work { bodies: Vec::new(), result: Box::new(|| result) };
        let (team, kept) = work(Ok(Seven)).into_team();
        assert_eq!(kept.take(), None);
        assert_eq!((team.verify)(), Ok(()));
        assert_eq!((team.figures)(), Seven.figures());
        assert_eq!((kept.take(), kept.take()), (Some(Seven), None));
        let (team, kept) = work(Err("wrong".to_owned())).into_team();
        assert_eq!(((team.verify)(), kept.take()), (Err("wrong".to_owned()), None));
    }
}
