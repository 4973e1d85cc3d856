//! Which post of a semaphore fed which take. Units are taken in the order in which they were posted, those that it began
//! with first. A take that found a posted unit is replayed as a token that the post puts down, so that it follows
//! its cause whatever the lock.
//!
//! A semaphore that every thread posts only after it took from it guards something, as a lock does: there, who comes
//! first is the replay's to decide, and it stays a semaphore.

use super::tokens::Tokens;
use crate::ops::push;
use crate::program::Op;
use std::collections::{BTreeMap, VecDeque};

/// A take or a post of a semaphore, by its number among all of them.
pub(crate) type Unit = u32;

#[derive(Default)]
struct Book {
    /// Units that it began with: as initialised, and as many more as were taken before any was posted.
    initial: u32,
    /// Of these, not taken yet.
    left: u32,
    posted: VecDeque<Unit>,
    /// Takes less posts, by thread.
    balance: BTreeMap<u32, i64>,
    /// A thread posted a unit that it had not taken.
    signals: bool,
}

/// Pairs posts and takes.
#[derive(Default)]
pub(crate) struct Semaphores {
    books: BTreeMap<u32, Book>,
    /// By unit: its semaphore, and the post or take at its other end; once settled, the token between the two. [`NONE`]: there is
    /// no other end.
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

    /// A thread lowered the semaphore, which began with `initial` if that is known.
    pub(crate) fn take(&mut self, semaphore: u32, initial: Option<u32>, thread: u32) -> Unit {
        let unit = self.units.len() as Unit;
        let book = self.book(semaphore, initial);
        *book.balance.entry(thread).or_default() += 1;
        let from = if book.left != 0 {
            book.left -= 1;
            None
        } else {
            let from = book.posted.pop_front();
            // With none posted before, it began with one more, or a post was lost.
            book.initial += u32::from(from.is_none());
            from
        };
        push(&mut self.units, (semaphore, from.unwrap_or(NONE)));
        if let Some(post) = from {
            self.units[post as usize].1 = unit;
        }
        unit
    }

    /// A thread raised it.
    pub(crate) fn post(&mut self, semaphore: u32, initial: Option<u32>, thread: u32) -> Unit {
        let unit = self.units.len() as Unit;
        let book = self.book(semaphore, initial);
        let balance = book.balance.entry(thread).or_default();
        *balance -= 1;
        book.signals |= *balance < 0;
        book.posted.push_back(unit);
        push(&mut self.units, (semaphore, NONE));
        unit
    }

    /// Gives each pair its token, where it needs one. To be called when all units are known.
    pub(crate) fn settle(&mut self, tokens: &mut Tokens) {
        for unit in 0..self.units.len() {
            // A post comes before its take, which gives both their token.
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

    /// What a take is replayed as; `None`: it found a unit that was there from the start.
    pub(crate) fn taking(&self, unit: Unit) -> Option<Op> {
        let (semaphore, _) = self.units[unit as usize];
        match self.books[&semaphore].signals {
            true => self.token(unit).map(Op::TokenWait),
            false => Some(Op::SemTake(semaphore)),
        }
    }

    /// What a post is replayed as; `None`: no thread took the unit.
    pub(crate) fn posting(&self, unit: Unit) -> Option<Op> {
        let (semaphore, _) = self.units[unit as usize];
        match self.books[&semaphore].signals {
            true => self.token(unit).map(Op::TokenPost),
            false => Some(Op::SemPost(semaphore)),
        }
    }

    /// The units that each semaphore begins with in the replay, by what it was initialised with.
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
        // One unit from the start, then a producer feeds a consumer.
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
