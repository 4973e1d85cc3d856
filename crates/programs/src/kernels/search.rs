//! Queries searched in a database of nucleotides (as in BLAST; Altschul and others, 1990): the
//! first thread makes an index of the database's words; threads take queries in order, look each
//! word of a query up, and extend each match to both sides as long as the score does not fall too
//! far; at the end the first thread sorts the segments that were found.

use super::scale::KernelScale;
use super::scene::{Member, Scene};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::{Team, expect, xorshift};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Letters of a word, and the number of words.
const WORD: usize = 6;
const WORDS: usize = 1 << (2 * WORD);
const MATCH: i32 = 2;
const MISMATCH: i32 = -3;
/// An extension ends where the score has fallen by more than this: less than a word's score, so
/// that a word within a segment leads to no other segment.
const FALL: i32 = 10;
/// The least score of a segment that counts.
const LEAST: i32 = 32;
/// Number of segments of a query that are kept, those with the highest scores.
const KEPT: usize = 4;

/// Cycles of a letter that the index takes in, in each of two passes.
const INDEX_CYCLES: u64 = 4;
/// Cycles of a word of a query that is looked up, and of a place at which the word is found.
const LOOK_CYCLES: u64 = 4;
const FOUND_CYCLES: u64 = 6;
/// Cycles of a letter of an extension.
const LETTER_CYCLES: u64 = 3;
/// Cycles of a comparison in the sort.
const SORT_CYCLES: u64 = 8;

/// Letters in a line of memory.
const BLOCK: usize = 64;

/// A segment: its score, where it begins in the query and in the database, and its letters. The
/// default is no segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    /// The negative score, so that the segment with the highest score comes first.
    cost: i32,
    query: u32,
    begin: u32,
    place: u32,
    len: u32,
}

/// The database and the queries: half of the queries are pieces of the database with changed
/// letters.
fn input(scale: KernelScale) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut state = scale.seed.wrapping_mul(2) | 1;
    // The first numbers of small seeds are alike, so they are left out.
    for _ in 0..16 {
        xorshift(&mut state);
    }
    let mut bits = || xorshift(&mut state) >> 32;
    let database: Vec<u8> = (0..scale.size).map(|_| (bits() >> 30) as u8).collect();
    let len = scale.grain as usize;
    let mut query = |number| {
        let from = bits() as usize % (database.len() - len + 1);
        let mut letter = |at: usize| {
            let other = bits();
            // In a piece of the database one letter in sixteen is drawn anew, in other queries
            // every letter.
            if number % 2 == 1 || other % 16 == 0 { (other >> 30) as u8 } else { database[from + at] }
        };
        (0..len).map(&mut letter).collect()
    };
    let queries = (0..scale.rounds).map(&mut query).collect();
    (database, queries)
}

/// Letters in the machine's memory.
struct Text<M: Machine>(Places<M, [u8; BLOCK]>);

/// A reader of letters that keeps the block that it has read last.
struct Reader<'a, M: Machine> {
    text: &'a Text<M>,
    block: Option<(usize, [u8; BLOCK])>,
}

impl<M: Machine> Text<M> {
    fn new(letters: &[u8]) -> Self {
        let letter = |at: usize| letters.get(at).copied().unwrap_or(0);
        Text(Places::new(letters.len().div_ceil(BLOCK), |at| core::array::from_fn(|x| letter(at * BLOCK + x))))
    }

    fn reader(&self) -> Reader<'_, M> {
        Reader { text: self, block: None }
    }
}

impl<M: Machine> Reader<'_, M> {
    fn letter(&mut self, at: usize) -> u8 {
        let (number, letters) = match self.block {
            Some(block) if block.0 == at / BLOCK => block,
            // SAFETY: letters are never written.
            _ => (at / BLOCK, unsafe { self.text.0.get(at / BLOCK) }),
        };
        self.block = Some((number, letters));
        letters[at % BLOCK]
    }
}

/// The data that the threads share.
struct Data<M: Machine> {
    size: usize,
    database: Text<M>,
    queries: Vec<Text<M>>,
    /// By word: the index at which its places begin. The last entry is the index at which all
    /// places end.
    begins: Places<M, u32>,
    /// Places of words in the database, word by word.
    places: Places<M, u32>,
    /// Number of queries taken, and number of segments found; both change with the lock held.
    taken: Places<M, u32>,
    found: Places<M, u64>,
    /// By query: the segments that are kept.
    best: Places<M, [Segment; KEPT]>,
    /// The segments of all queries, the highest score first; the first thread writes them.
    report: Places<M, Segment>,
}

/// Makes the threads of the kernel, and the check of their result.
pub(super) fn team<M: Machine>(scene: &Scene) -> Team {
    let scale = scene.scale;
    let (letters, queries) = input(scale);
    let count = queries.len();
    let data = Arc::new(Data::<M> {
        size: letters.len(),
        database: Text::new(&letters),
        queries: queries.iter().map(|query| Text::new(query)).collect(),
        begins: Places::new(WORDS + 1, |_| 0),
        places: Places::new(letters.len(), |_| 0),
        taken: Places::new(1, |_| 0),
        found: Places::new(1, |_| 0),
        best: Places::new(count, |_| [Segment::default(); KEPT]),
        report: Places::new(count * KEPT, |_| Segment::default()),
    });
    let worked = data.clone();
    let verify = move || {
        let (expected, found) = plain(&letters, &queries);
        // SAFETY: (here and below) the threads have ended.
        expect("segments found", unsafe { data.found.get(0) }, found)?;
        for place in 0..count * KEPT {
            // SAFETY: as above.
            let found = unsafe { data.report.get(place) };
            let expected = expected.get(place).copied().unwrap_or_default();
            if found != expected {
                return Err(format!("segment {place} of the report is {found:?}, expected {expected:?}"));
            }
        }
        Ok(())
    };
    scene.team(move |member| worked.work(member, scale.grain as usize), verify)
}

/// The word that follows when a letter is added behind.
fn longer(word: usize, letter: u8) -> usize {
    (word << 2 | usize::from(letter)) % WORDS
}

/// The letters to one side of a word that belong to its segment, and what they add to its score: up
/// to the letter with the greatest score, which is searched until the score has fallen too far. The
/// third number returned is how many letters were looked at. `same` says whether the letters at a
/// distance match, and returns `None` at the end of a text.
fn extend(mut same: impl FnMut(usize) -> Option<bool>) -> (usize, i32, usize) {
    let (mut len, mut best, mut score, mut at) = (0, 0, 0, 0);
    while let Some(same) = same(at) {
        at += 1;
        score += if same { MATCH } else { MISMATCH };
        if score > best {
            (len, best) = (at, score);
        }
        if best - score > FALL {
            break;
        }
    }
    (len, best, at)
}

impl<M: Machine> Data<M> {
    fn work(&self, member: &mut Member, len: usize) {
        member.alone(|| self.index());
        let count = member.units(self.queries.len());
        let mut own = 0;
        loop {
            let query = member.turn(|| {
                // SAFETY: this thread holds the lock that guards the count of queries taken.
                unsafe {
                    let taken = self.taken.get(0);
                    self.taken.set(0, taken + 1);
                    taken as usize
                }
            });
            if query >= count {
                break;
            }
            let segments = self.seek(query, len);
            own += segments.len() as u64;
            let kept = core::array::from_fn(|at| segments.get(at).copied().unwrap_or_default());
            // SAFETY: only the thread that took the query writes its segments.
            unsafe { self.best.set(query, kept) };
        }
        // SAFETY: this thread holds the lock that guards the count of segments.
        member.turn(|| unsafe { self.found.set(0, self.found.get(0) + own) });
        member.meet();
        member.alone(|| self.sort());
    }

    /// Writes every place of each word: counts the places, then puts them down.
    fn index(&self) {
        // SAFETY: (in this whole function) the other threads wait, so only this thread accesses the
        // index.
        let add = |word: usize| unsafe {
            let count = self.begins.get(word);
            self.begins.set(word, count + 1);
            count
        };
        self.words(|word, _| {
            add(word);
        });
        let mut sum = 0;
        for word in 0..=WORDS {
            // SAFETY: as above.
            unsafe {
                let count = self.begins.get(word);
                self.begins.set(word, sum);
                sum += count;
            }
        }
        M::work(Cycles(WORDS as u64));
        self.words(|word, place| {
            let at = add(word);
            // SAFETY: as above.
            unsafe { self.places.set(at as usize, place as u32) };
        });
        // Each word's begin has moved to its end, which is the begin of the next word.
        for word in (1..=WORDS).rev() {
            // SAFETY: as above.
            unsafe { self.begins.set(word, self.begins.get(word - 1)) };
        }
        // SAFETY: as above.
        unsafe { self.begins.set(0, 0) };
    }

    /// Calls `each` with every word of the database and its place.
    fn words(&self, mut each: impl FnMut(usize, usize)) {
        let (mut reader, mut word) = (self.database.reader(), 0);
        for at in 0..self.size {
            word = longer(word, reader.letter(at));
            if at + 1 >= WORD {
                each(word, at + 1 - WORD);
            }
            M::work(Cycles(INDEX_CYCLES));
        }
    }

    /// The segments of a query, the highest score first.
    fn seek(&self, number: usize, len: usize) -> Vec<Segment> {
        let mut reader = self.queries[number].reader();
        let query: Vec<u8> = (0..len).map(|at| reader.letter(at)).collect();
        // By diagonal: where its last segment ends in the query. The map belongs to this thread
        // alone.
        let mut ends = BTreeMap::new();
        let mut segments = Vec::new();
        let mut word = 0;
        for at in 0..len {
            word = longer(word, query[at]);
            let Some(begin) = (at + 1).checked_sub(WORD) else { continue };
            M::work(Cycles(LOOK_CYCLES));
            // SAFETY: (here and below) the index was written before the last meeting.
            let places = unsafe { self.begins.get(word)..self.begins.get(word + 1) };
            for at in places {
                // SAFETY: as above.
                let place = unsafe { self.places.get(at as usize) } as usize;
                let diagonal = place + len - begin;
                M::work(Cycles(FOUND_CYCLES));
                if ends.get(&diagonal).is_some_and(|end| begin + WORD <= *end) {
                    continue;
                }
                let segment = self.segment(number, &query, begin, place);
                ends.insert(diagonal, (segment.begin + segment.len) as usize);
                if -segment.cost >= LEAST {
                    segments.push(segment);
                }
            }
        }
        M::work(Cycles(segments.len() as u64 * SORT_CYCLES));
        segments.sort_unstable();
        segments
    }

    /// Extends a word that is at `begin` of the query and at `place` of the database.
    fn segment(&self, number: usize, query: &[u8], begin: usize, place: usize) -> Segment {
        let mut reader = self.database.reader();
        let mut same = |at: usize, place: usize| {
            let letter = query.get(at).filter(|_| place < self.size)?;
            Some(*letter == reader.letter(place))
        };
        let (right, more, looked) = extend(|far| same(begin + WORD + far, place + WORD + far));
        M::work(Cycles(looked as u64 * LETTER_CYCLES));
        let before = |from: usize, far: usize| from.checked_sub(far + 1);
        let (left, before, looked) = extend(|far| same(before(begin, far)?, before(place, far)?));
        M::work(Cycles(looked as u64 * LETTER_CYCLES));
        Segment {
            cost: -(WORD as i32 * MATCH + more + before),
            query: number as u32,
            begin: (begin - left) as u32,
            place: (place - left) as u32,
            len: (left + WORD + right) as u32,
        }
    }

    /// Sorts the segments of all queries into the report.
    fn sort(&self) {
        // SAFETY: (here and below) the other threads wait.
        let kept = (0..self.queries.len()).flat_map(|query| unsafe { self.best.get(query) });
        let mut all: Vec<Segment> = kept.filter(|segment| segment.len > 0).collect();
        M::work(Cycles(all.len() as u64 * u64::from(all.len().max(1).ilog2()) * SORT_CYCLES));
        all.sort_unstable();
        for (at, segment) in all.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.report.set(at, segment) };
        }
    }
}

/// Finds segments on one thread without an index: compares each place of a query with each place of
/// the database. Returns the report, and the number of segments.
fn plain(database: &[u8], queries: &[Vec<u8>]) -> (Vec<Segment>, u64) {
    let (mut all, mut count) = (Vec::new(), 0);
    for (number, query) in queries.iter().enumerate() {
        let mut segments = BTreeSet::new();
        for (begin, word) in query.windows(WORD).enumerate() {
            for (place, other) in database.windows(WORD).enumerate() {
                if word == other {
                    segments.insert(plain_segment(number, query, database, (begin, place)));
                }
            }
        }
        let good: Vec<Segment> = segments.into_iter().filter(|segment| -segment.cost >= LEAST).collect();
        count += good.len() as u64;
        all.extend(good.into_iter().take(KEPT));
    }
    all.sort_unstable();
    (all, count)
}

/// Extends a word to its segment by the sums of all letters to both sides of it.
fn plain_segment(number: usize, query: &[u8], database: &[u8], (begin, place): (usize, usize)) -> Segment {
    let side = |pairs: &mut dyn Iterator<Item = bool>| {
        let (mut sums, mut sum) = (vec![0], 0);
        for same in pairs {
            sum += if same { MATCH } else { MISMATCH };
            sums.push(sum);
            if sums.iter().max().is_some_and(|most| most - sum > FALL) {
                break;
            }
        }
        let most = sums.iter().copied().max().unwrap_or(0);
        (sums.iter().position(|sum| *sum == most).unwrap_or(0), most)
    };
    let same = |(a, b): (&u8, &u8)| a == b;
    let (right, more) = side(&mut query[begin + WORD..].iter().zip(&database[place + WORD..]).map(same));
    let (left, before) = side(&mut query[..begin].iter().rev().zip(database[..place].iter().rev()).map(same));
    Segment {
        cost: -(WORD as i32 * MATCH + more + before),
        query: number as u32,
        begin: (begin - left) as u32,
        place: (place - left) as u32,
        len: (left + WORD + right) as u32,
    }
}
