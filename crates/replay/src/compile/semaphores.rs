//! Matches the posts of a semaphore with its takes. Units are taken in the order in which they were
//! posted, beginning with the initial ones. A take of a posted unit is replayed as a token that the
//! post puts down, so that the take follows its cause under any lock.
//!
//! If each thread posts a semaphore only after it took from it, the semaphore guards something, as
//! a lock does. Such a semaphore stays a semaphore in the replay, which then decides which thread
//! comes first.

use super::tokens::Tokens;
use crate::ops::push;
use crate::program::Op;
use std::collections::{BTreeMap, VecDeque};

/// A take or a post, by its number among all takes and posts.
pub(crate) type Unit = u32;

#[derive(Default)]
struct Book {
    /// The number of units at the start: the recorded initial value, and one more for each take
    /// that found no unit.
    initial: u32,
    /// The number of initial units that have not been taken yet.
    left: u32,
    posted: VecDeque<Unit>,
    /// The number of takes that came before their posts, although the initial value is known.
    owed: u32,
    /// For each thread, its takes minus its posts.
    balance: BTreeMap<u32, i64>,
    /// Whether a thread has posted a unit that it had not taken, so that the semaphore signals and
    /// does not guard.
    signals: bool,
}

/// The takes and posts of all semaphores, as far as they are matched.
#[derive(Default)]
pub(crate) struct Semaphores {
    books: BTreeMap<u32, Book>,
    /// For each unit, its semaphore, and the post or take that it matches, or [`NONE`]. For a
    /// semaphore that signals, `settle` replaces the match by the token of the pair.
    units: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Semaphores {
    fn book(&mut self, semaphore: u32, initial: Option<u32>) -> &mut Book {
        self.books.entry(semaphore).or_insert_with(|| {
            let units = initial.unwrap_or(0);
            Book { initial: units, left: units, ..Book::default() }
        })
    }

    /// Like [`Semaphores::take`], of a semaphore whose initial value is certain: a take without a post
    /// was recorded before its post, which comes next.
    pub(crate) fn take_counted(&mut self, semaphore: u32, initial: Option<u32>, thread: u32) -> Unit {
        let book = self.book(semaphore, initial);
        let early = book.left == 0 && book.posted.is_empty();
        let unit = self.take(semaphore, initial, thread);
        if early {
            let book = self.book(semaphore, initial);
            book.initial -= 1;
            book.owed += 1;
        }
        unit
    }

    /// Records that a thread took a unit. `initial` is the semaphore's initial value, if known.
    pub(crate) fn take(&mut self, semaphore: u32, initial: Option<u32>, thread: u32) -> Unit {
        let unit = self.units.len() as Unit;
        let book = self.book(semaphore, initial);
        *book.balance.entry(thread).or_default() += 1;
        let from = if book.left != 0 {
            book.left -= 1;
            None
        } else {
            let from = book.posted.pop_front();
            // A take that no post came before shows that there was one more initial unit, or that a
            // post was lost.
            book.initial += u32::from(from.is_none());
            from
        };
        push(&mut self.units, (semaphore, from.unwrap_or(NONE)));
        if let Some(post) = from {
            self.units[post as usize].1 = unit;
        }
        unit
    }

    /// Records that a thread posted a unit.
    pub(crate) fn post(&mut self, semaphore: u32, initial: Option<u32>, thread: u32) -> Unit {
        let unit = self.units.len() as Unit;
        let book = self.book(semaphore, initial);
        let balance = book.balance.entry(thread).or_default();
        *balance -= 1;
        book.signals |= *balance < 0;
        if book.owed == 0 {
            book.posted.push_back(unit);
        } else {
            book.owed -= 1;
        }
        push(&mut self.units, (semaphore, NONE));
        unit
    }

    /// Gives a token to each matched pair of a semaphore that signals. Must be called when all
    /// takes and posts are known.
    pub(crate) fn settle(&mut self, tokens: &mut Tokens) {
        for unit in 0..self.units.len() {
            // A post comes before its take, so the take, which is the second of the two, gives the
            // token to both.
            let (semaphore, other) = self.units[unit];
            if other != NONE && (other as usize) < unit && self.books[&semaphore].signals {
                let token = tokens.fresh();
                self.units[unit].1 = token;
                self.units[other as usize].1 = token;
            }
        }
    }

    fn token(&self, unit: Unit) -> Option<u32> {
        Some(self.units[unit as usize].1).filter(|&token| token != NONE)
    }

    /// Returns the step that replays a take; `None` if the semaphore signals and the take found an
    /// initial unit.
    pub(crate) fn taking(&self, unit: Unit) -> Option<Op> {
        let (semaphore, _) = self.units[unit as usize];
        match self.books[&semaphore].signals {
            true => self.token(unit).map(Op::TokenWait),
            false => Some(Op::SemTake(semaphore)),
        }
    }

    /// Returns the step that replays a post; `None` if the semaphore signals and no thread took the
    /// unit.
    pub(crate) fn posting(&self, unit: Unit) -> Option<Op> {
        let (semaphore, _) = self.units[unit as usize];
        match self.books[&semaphore].signals {
            true => self.token(unit).map(Op::TokenPost),
            false => Some(Op::SemPost(semaphore)),
        }
    }

    /// Returns the number of units that each semaphore starts with in the replay. `known` has the
    /// initial values that were recorded.
    pub(crate) fn initial(&self, known: &[Option<u32>]) -> Vec<u32> {
        (0..)
            .zip(known)
            .map(|(semaphore, value)| self.books.get(&semaphore).map_or(value.unwrap_or(0), |book| book.initial))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_follows_the_post_that_fed_it() {
        let (mut all, mut tokens) = (Semaphores::default(), Tokens::default());
        // Thread 7 takes the initial unit; then thread 3 posts three units, of which thread 7 takes
        // two.
        let first = all.take(0, Some(1), 7);
        let posts = [all.post(0, Some(1), 3), all.post(0, Some(1), 3), all.post(0, Some(1), 3)];
        let takes = [all.take(0, Some(1), 7), all.take(0, Some(1), 7)];
        all.settle(&mut tokens);
        assert_eq!(all.taking(first), None, "it was there from the start");
        for (post, take) in posts.iter().zip(takes) {
            let (Some(Op::TokenPost(put)), Some(Op::TokenWait(taken))) = (all.posting(*post), all.taking(take)) else {
                panic!("a pair is a token")
            };
            assert_eq!(put, taken);
        }
        assert_eq!(all.posting(posts[2]), None, "nobody took it");
        assert_eq!(tokens.count(), 2);
    }

    #[test]
    fn a_take_that_is_recorded_too_early_shifts_no_later_one() {
        let (mut all, mut tokens) = (Semaphores::default(), Tokens::default());
        let early = all.take_counted(0, Some(0), 1);
        let posts = [all.post(0, Some(0), 2), all.post(0, Some(0), 2)];
        let take = all.take_counted(0, Some(0), 1);
        all.settle(&mut tokens);
        assert_eq!((all.taking(early), all.posting(posts[0])), (None, None));
        assert_eq!((all.taking(take), all.posting(posts[1])), (Some(Op::TokenWait(0)), Some(Op::TokenPost(0))));
        assert_eq!(all.initial(&[Some(0)]), [0]);
    }

    #[test]
    fn one_that_guards_stays_a_semaphore_with_the_units_that_it_must_have_had() {
        let (mut all, mut tokens) = (Semaphores::default(), Tokens::default());
        let takes = [all.take(0, None, 1), all.take(0, None, 2)];
        let posts = [all.post(0, None, 2), all.post(0, None, 1)];
        all.settle(&mut tokens);
        assert!(takes.iter().all(|&unit| all.taking(unit) == Some(Op::SemTake(0))));
        assert!(posts.iter().all(|&unit| all.posting(unit) == Some(Op::SemPost(0))));
        assert_eq!((all.initial(&[None]), tokens.count()), (vec![2], 0));
    }
}
