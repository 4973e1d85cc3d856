//! What threads have written on the pages of their applications, as inputs of the core.
//!
//! The daemon looks at the pages every few milliseconds, and most waits and holds are shorter than
//! that: to act on them would be too late. So the core is told of a wait or a hold when it has lasted
//! from one look to the next. If one has at some lock or barrier, those there are told at the first
//! look for the next second.

use crate::core::Core;
use crate::input::Input;
use crate::live::Live;
use crate::sys::page::{Page, Row};
use baton_sched::{AppId, LockNotice, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

/// For how long a lock or barrier with a long wait or hold is known as such.
const LONG_NS: u64 = 1_000_000_000;
/// For how long no search is made again for a thread that was not found.
const AGAIN_NS: u64 = 1_000_000_000;
/// Looks between two searches for rows of threads that are not known.
const SEARCH: u64 = 5;
/// Numbers of locks from which on those are forgotten that no thread waits for or holds.
const MANY: usize = 4096;

/// A lock or barrier: its process and address.
type Place = (u32, u64);
/// What a thread waits for, and whether that is a lock ([`LockNotice::Wanted`]) or a barrier.
type Wait = (Place, LockNotice);

/// What is known of a row.
#[derive(Default)]
struct Known {
    /// What it said at the last look.
    row: Option<Row>,
    /// The thread that has it, if the core knows the thread.
    id: Option<ThreadId>,
    /// Whether all that it says has been told.
    settled: bool,
    /// What the core was told: the wait, and the locks that the thread holds.
    waits: Option<Wait>,
    holds: BTreeSet<Place>,
    /// Whether a wait or a hold was seen in it.
    told: bool,
    /// How often the program had set the thread's mask by the last look.
    own: u64,
    /// For which masks of users the row was answered.
    answered: u64,
}

/// The pages of all applications.
#[derive(Default)]
pub(crate) struct Locks {
    pages: Vec<(Page, Vec<Known>)>,
    numbers: BTreeMap<Place, u64>,
    next: u64,
    /// Places with a long wait or hold, each with the time until which it is known as one.
    long: BTreeMap<Place, u64>,
    looks: u64,
    /// Whether a row had a wait or a hold at the last look.
    waits_or_holds: bool,
    /// Changes when a user's mask does.
    masks: u64,
    /// Whether rows are answered with the user's mask.
    answers: bool,
    /// Number of rows in which a wait or a hold was seen.
    told: u64,
    /// Processes and threads that were searched for, and when.
    searched: BTreeMap<(u32, u32), u64>,
}

/// What a look at the pages has found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) inputs: Vec<Input>,
    /// How long waits had lasted that are told now, in nanoseconds.
    pub(crate) late: Vec<u64>,
    /// Threads whose masks their programs have set.
    pub(crate) own: Vec<ThreadId>,
    /// Rows of threads that are not known: page, number and row.
    pub(crate) unknown: Vec<(usize, usize, Row)>,
}

/// Inputs by their order: what ends, what is taken, what is waited for.
#[derive(Default)]
struct Told {
    left: Vec<Input>,
    taken: Vec<Input>,
    waited: Vec<Input>,
}

impl Locks {
    /// Begins with a page for each application; with `answers`, rows are answered with users' masks.
    pub(crate) fn new(pages: Vec<Page>, answers: bool) -> Locks {
        Locks { pages: pages.into_iter().map(|page| (page, Vec::new())).collect(), answers, ..Locks::default() }
    }

    /// Number of threads that have told of a wait or a hold, and of threads for which no row was left.
    pub(crate) fn threads(&self) -> (u64, u64) {
        (self.told, self.pages.iter().fold(0, |sum, (page, _)| sum.saturating_add(page.untold())))
    }

    /// Whether no thread waits or holds, as far as the last look has seen, and no lock or barrier is known
    /// as one with long waits or holds.
    pub(crate) fn is_quiet(&self) -> bool {
        self.long.is_empty() && !self.waits_or_holds
    }

    /// A user's mask has changed.
    pub(crate) fn masks_changed(&mut self) {
        self.masks += 1;
    }

    /// Writes on all pages which CPUs of each kind are on.
    pub(crate) fn kinds(&self, fast: &[u32], slow: &[u32]) {
        self.pages.iter().for_each(|(page, _)| page.kinds(fast, slow));
    }

    /// Whether the thread of a row was not searched for in the last second.
    pub(crate) fn is_new(&mut self, now: u64, row: &Row) -> bool {
        self.searched.insert((row.pid, row.tid), now).is_none()
    }

    /// Gives back the row of a thread that has ended without doing so.
    pub(crate) fn free(&self, page: usize, number: usize, row: &Row) {
        self.pages[page].0.free(number, row);
    }

    /// Looks at all rows.
    pub(crate) fn look(&mut self, now: u64, live: &Live, core: &Core) -> Found {
        let (mut found, mut told) = (Found::default(), Told::default());
        self.looks += 1;
        self.long.retain(|_, until| *until > now);
        self.searched.retain(|_, at| now.saturating_sub(*at) < AGAIN_NS);
        self.waits_or_holds = false;
        let mut pages = take(&mut self.pages);
        for (at, (page, rows)) in pages.iter_mut().enumerate() {
            rows.resize_with(page.rows().max(rows.len()), Known::default);
            for (number, known) in rows.iter_mut().enumerate() {
                let row = page.row(number);
                let app = AppId(at as u32);
                self.row(now, (row, known, app), live, core, (&mut told, &mut found));
                let Some(row) = row else { continue };
                match known.id {
                    None if self.looks.is_multiple_of(SEARCH) => found.unknown.push((at, number, row)),
                    // The mask that the program has just set is not known yet.
                    Some(id) if found.own.contains(&id) => {}
                    Some(id) if self.answers && (!row.answered || known.answered != self.masks) => {
                        known.answered = self.masks;
                        page.answer(number, row.tid, core.user(id).unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
        self.pages = pages;
        self.forget();
        found.inputs = [told.left, told.taken, told.waited].concat();
        found
    }

    /// Compares a row with what it said at the last look.
    fn row(
        &mut self,
        now: u64,
        (row, known, app): (Option<Row>, &mut Known, AppId),
        live: &Live,
        core: &Core,
        (told, found): (&mut Told, &mut Found),
    ) {
        let owner = |row: Row| (row.pid, row.tid);
        let lives = known.id.is_none_or(|id| core.user(id).is_some());
        if row.map(owner) != known.row.map(owner) || !lives {
            if let Some(id) = known.id.filter(|_| lives) {
                self.tell(now, id, (known, None, BTreeSet::new()), told);
            }
            *known = Known::default();
        }
        let Some(row) = row else { return };
        let before = known.row.replace(row);
        if known.id.is_none() {
            // A thread of another application has no row here.
            known.id = live.find(row.pid, row.tid).filter(|&id| core.app(id) == Some(app));
        }
        let Some(id) = known.id else { return };
        if std::mem::replace(&mut known.own, row.own) != row.own {
            found.own.push(id);
        }
        if row.waits.is_some() || row.holds.iter().any(Option::is_some) {
            self.waits_or_holds = true;
            self.told += u64::from(!std::mem::replace(&mut known.told, true));
        }
        let unchanged = before.is_some_and(|before| (before.waits, before.holds) == (row.waits, row.holds));
        if unchanged && known.settled {
            return;
        }
        known.settled = unchanged;
        let is_long = |at: u64| self.long.contains_key(&(row.pid, at));
        let has_lasted = |wait: (u64, bool, u64)| before.is_some_and(|before| before.waits == Some(wait));
        let waits = row.waits.filter(|&wait| has_lasted(wait) || is_long(wait.0)).map(|(at, barrier, since)| {
            let notice = if barrier { LockNotice::Arrived } else { LockNotice::Wanted };
            (((row.pid, at), notice), since)
        });
        let was_held = |hold: (u64, u16)| before.is_some_and(|before| before.holds.contains(&Some(hold)));
        let holds = row.holds.into_iter().flatten().filter(|&hold| was_held(hold) || is_long(hold.0));
        let holds = holds.map(|(at, _)| (row.pid, at)).collect();
        let is_new = |&(wait, since): &(Wait, u64)| known.waits != Some(wait) && since != 0;
        found.late.extend(waits.filter(is_new).map(|(_, since)| now.saturating_sub(since)));
        self.tell(now, id, (known, waits.map(|(wait, _)| wait), holds), told);
    }

    /// Tells what has changed for a thread.
    fn tell(
        &mut self,
        now: u64,
        id: ThreadId,
        (known, waits, holds): (&mut Known, Option<Wait>, BTreeSet<Place>),
        told: &mut Told,
    ) {
        let ended = known.waits.filter(|&before| Some(before) != waits).map(|(place, _)| place);
        let left = known.holds.difference(&holds).copied().chain(ended.filter(|place| !holds.contains(place)));
        for place in left.collect::<Vec<_>>() {
            self.is_long(now, place);
            told.left.push(Input::Lock(id, LockNotice::Left, self.number(place)));
        }
        for &place in holds.difference(&known.holds) {
            self.is_long(now, place);
            told.taken.push(Input::Lock(id, LockNotice::Taken, self.number(place)));
        }
        if let Some((place, notice)) = waits.filter(|&now| Some(now) != known.waits) {
            self.is_long(now, place);
            told.waited.push(Input::Lock(id, notice, self.number(place)));
        }
        (known.waits, known.holds) = (waits, holds);
    }

    /// Notes a long wait or hold. A program that makes up places all the time gets no more of them.
    fn is_long(&mut self, now: u64, place: Place) {
        if self.long.len() < MANY {
            self.long.insert(place, now + LONG_NS);
        }
    }

    fn number(&mut self, place: Place) -> u64 {
        *self.numbers.entry(place).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Forgets numbers that stand for nothing any more, if there are many.
    fn forget(&mut self) {
        if self.numbers.len() > MANY {
            let rows = self.pages.iter().flat_map(|(_, rows)| rows);
            let used: BTreeSet<Place> =
                rows.flat_map(|known| known.holds.iter().copied().chain(known.waits.map(|(place, _)| place))).collect();
            self.numbers.retain(|place, _| used.contains(place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Begins;
    use crate::setup::tests::setup;
    use crate::sys::ring::{Record, What};
    use baton_machine::native::notices::{AT_BARRIER, AT_LOCK, HOLDS, LENGTH, OWN, OWNER, SINCE, WAITS};
    use proptest::prelude::*;
    use std::process::{Child, Command};

    const MS: u64 = 1_000_000;

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).unwrap();
        }
    }

    /// Two programs that live, known to a core under `crit`, and a page.
    struct World {
        programs: Vec<Sleeper>,
        live: Live,
        core: Core,
        locks: Locks,
        now: u64,
    }

    impl World {
        fn new() -> World {
            let programs: Vec<Sleeper> =
                (0..2).map(|_| Sleeper(Command::new("sleep").arg("60").spawn().unwrap())).collect();
            let cpus = crate::sys::affinity::get(0).unwrap();
            let kinds = vec!["slow"; cpus[cpus.len() - 1] as usize + 1].join(" ").replacen("slow", "fast", 1);
            let mut core = Core::new(setup("crit", &kinds, 1));
            let mut live = Live::default();
            let given = crate::given::Given::default();
            for program in &programs {
                let pid = program.0.id();
                live.expect(pid, AppId(0));
                let known = crate::live::Known { core: &core, given: &given, online: &cpus, now: 0 };
                let record = Record { time: 0, pid, tid: pid, what: What::Begins { parent: 0, creator: 0 } };
                let inputs = live.inputs(&record, &known, true, &mut Vec::new());
                assert!(matches!(&inputs, [None, Some(Input::Begins(_, Begins { .. }))]));
                inputs.iter().flatten().for_each(|input| drop(core.hear(0, input).unwrap()));
            }
            let pages = (0..2).map(|_| Page::make(0).unwrap()).collect();
            let locks = Locks::new(pages, true);
            World { programs, live, core, locks, now: MS }
        }

        fn set(&mut self, row: usize, at: usize, value: u64) {
            self.locks.pages[0].0.set(row, at, value);
        }

        fn owner(&self, program: usize) -> u64 {
            let pid = u64::from(self.programs[program].0.id());
            pid << 32 | pid
        }

        /// Looks at the page, 4 ms later. Returns the inputs as a log has them.
        fn look(&mut self) -> (Vec<String>, Found) {
            self.now += 4 * MS;
            let found = self.locks.look(self.now, &self.live, &self.core);
            for input in &found.inputs {
                self.core.hear(self.now, input).unwrap();
            }
            (found.inputs.iter().map(Input::text).collect(), found)
        }
    }

    #[test]
    fn long_waits_and_holds_are_told() {
        let mut world = World::new();
        let owners = [world.owner(0), world.owner(1)];
        world.set(0, OWNER, owners[0]);
        world.set(0, HOLDS, 0x10 | 1 << 48);
        world.set(1, OWNER, owners[1]);
        world.set(1, WAITS, 0x10 | AT_LOCK);
        world.set(1, SINCE, 2 * MS);
        assert_eq!(world.look().0, [""; 0], "a wait may be short");
        // Another hold of the same lock, and the same wait.
        world.set(0, HOLDS, 0x10 | 2 << 48);
        let (told, found) = world.look();
        assert_eq!((told, found.late), (vec!["lock 1 wants 0".to_owned()], vec![7 * MS]));
        // The same address in another process is another lock.
        assert_eq!(world.look().0, ["lock 0 takes 1"]);
        assert_eq!(world.look().0, [""; 0]);
        world.set(0, HOLDS, 2 << 48);
        assert_eq!(world.look().0, ["lock 0 leaves 1"]);
        world.set(0, HOLDS, 0x10 | 3 << 48);
        world.set(1, WAITS, 0x20 | AT_BARRIER);
        assert_eq!(world.look().0, ["lock 1 leaves 0", "lock 0 takes 1"], "its holds are known as long");
        assert_eq!(world.look().0, ["lock 1 arrives 2"]);
        world.set(1, OWNER, 0);
        assert_eq!(world.look().0, ["lock 1 leaves 2"]);
    }

    #[test]
    fn a_page_of_nonsense_is_read() {
        let mut world = World::new();
        let owner = world.owner(0);
        for row in 0..40 {
            world.set(row, OWNER, owner);
            world.set(row, WAITS, u64::MAX);
            (0..3).for_each(|at| world.set(row, HOLDS + at, u64::MAX - row as u64));
        }
        (0..4).for_each(|_| drop(world.look()));
        let (_, found) = world.look();
        assert!(found.unknown.is_empty());
        world.set(40, OWNER, owner + 1);
        let unknown = (0..SEARCH).map(|_| world.look().1.unknown.len()).sum::<usize>();
        assert_eq!(unknown, 1, "a thread that is not known");
    }

    #[test]
    fn a_mask_that_the_program_sets_is_seen_and_answers_follow() {
        let mut world = World::new();
        let owner = world.owner(0);
        world.set(0, OWNER, owner);
        world.look();
        world.set(0, OWN, 1);
        assert_eq!(world.look().1.own, [ThreadId(0)]);
        assert!(world.look().1.own.is_empty());
        assert!(world.locks.pages[0].0.row(0).unwrap().answered);
        world.locks.pages[1].0.set(0, OWNER, owner);
        (0..SEARCH).for_each(|_| drop(world.look()));
        assert!(!world.locks.pages[1].0.row(0).unwrap().answered, "a page of another application");
        assert_eq!(world.locks.threads(), (0, 0), "nothing of locks");
        world.set(0, WAITS, 0x10 | AT_LOCK);
        (0..3).for_each(|_| drop(world.look()));
        assert_eq!(world.locks.threads(), (1, 0));
    }

    proptest! {
        #![proptest_config(baton_needs::property!(16))]

        /// Whatever stands on a page, the core can hear what is made of it, and a thread that lives holds and waits for
        /// what its last row says or less.
        #[test]
        fn any_page_gives_inputs_that_can_be(
            words in prop::collection::vec((0..LENGTH / 8, prop::num::u64::ANY), 0..200),
            rows in prop::collection::vec((0..6_usize, 1..8_usize, 0..6_u64, 0..4_u64), 0..200),
        ) {
            let mut world = World::new();
            for (at, value) in words {
                world.locks.pages[0].0.write(at, value);
            }
            for (row, at, value, kind) in rows {
                let owner = world.owner(row % 2);
                world.set(row, OWNER, owner);
                world.set(row, at, value | [0, AT_LOCK, AT_BARRIER, 1 << 48][kind as usize]);
                world.look();
            }
        }
    }
}
