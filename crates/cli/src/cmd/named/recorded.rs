//! The locks of a profile by their names, and where a later run of the program finds them.

use super::name::{Base, Fit, Name, fit, place};
use crate::error::BadInput;
use baton_host::closest_first;
use baton_replay::change::Life;
use baton_report::Profile;
use baton_report::model::{Lock, Queue};
use baton_sync::lock::assign::{MutexRange, ObjectRange};
use baton_trace::analysis::Object;
use baton_trace::{Address, ProcessIndex, SiteId, Stream, Ticks};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Kinds of locks that another lock can stand in for.
const REPLACED: [&str; 4] = ["mutex", "omp-critical", "omp-lock", "other"];
/// Largest number of names that an error lists.
const LISTED: usize = 12;
/// Bytes of a `pthread_mutex_t`.
const MUTEX: u64 = 40;
/// Largest number of locks of one name that a run tells apart by their numbers.
const NUMBERED: usize = 256;

/// The locks of a profile.
pub(in crate::cmd) struct Recorded<'a> {
    profile: &'a Profile,
}

impl Recorded<'_> {
    /// The locks of a profile, by their names.
    pub(in crate::cmd) fn of(profile: &Profile) -> Recorded<'_> {
        Recorded { profile }
    }

    /// The numbers, in the order of the report, of the locks for which a name stands and that another
    /// lock can stand in for.
    pub(in crate::cmd) fn find(&self, typed: &str) -> Result<Vec<usize>, BadInput> {
        let report = &self.profile.report;
        let named = Name::parse(typed);
        let ways: [&dyn Fn() -> Vec<usize>; 3] =
            [&|| self.called(typed), &|| self.of_name(&named), &|| self.of_class(typed)];
        let found = ways.iter().map(|way| way()).find(|found| !found.is_empty());
        let found = found.ok_or_else(|| self.unknown(typed))?;
        let replaced = |lock: &usize| REPLACED.contains(&report.locks[*lock].kind.as_str());
        match (found.iter().any(replaced), found.first()) {
            (false, Some(&other)) => {
                let kind = &report.locks[other].kind;
                Err(BadInput::new(format!("`{typed}` is a {kind} lock, which is never replaced; expected a mutex")))
            }
            _ => Ok(found.into_iter().filter(replaced).collect()),
        }
    }

    /// Returns the locks that the report itself calls `typed`: by a name that is no place in the
    /// code, or by a place that takes locks with a number, which only the report gives.
    fn called(&self, typed: &str) -> Vec<usize> {
        let classes = &self.profile.report.classes;
        let is_own = |name: &str| own_name(name) || (name.starts_with("in ") && name.contains(" #"));
        let names = |lock: &Lock| {
            let class = &classes[lock.class as usize].name;
            [&lock.name, class].into_iter().any(|name| name == typed && is_own(name))
        };
        self.locks(names)
    }

    /// Returns the locks of the class called `typed`; without such a class, those of the classes
    /// that are taken at a place called `typed`.
    fn of_class(&self, typed: &str) -> Vec<usize> {
        let report = &self.profile.report;
        let class = self.locks(|lock| report.classes[lock.class as usize].name == typed);
        if !class.is_empty() {
            return class;
        }
        let fits = report.sites.iter().filter(|site| fit(typed, &site.name) == Some(Fit::Whole));
        let taken: BTreeSet<u32> = fits.filter_map(|site| site.class).collect();
        self.locks(|lock| taken.contains(&lock.class))
    }

    fn locks(&self, wanted: impl Fn(&Lock) -> bool) -> Vec<usize> {
        let all = self.profile.report.locks.iter().enumerate();
        all.filter(|(_, lock)| wanted(lock)).map(|(number, _)| number).collect()
    }

    /// Returns the locks for which a name stands, the same as `baton run` would find.
    fn of_name(&self, name: &Name) -> Vec<usize> {
        let mut found = self.of_base(&name.base);
        if let Some(nth) = name.nth {
            found = self.nth(found, nth);
        }
        for other in &name.except {
            let without: BTreeSet<usize> = self.of_name(other).into_iter().collect();
            found.retain(|lock| !without.contains(lock));
        }
        found
    }

    /// In each process the n-th of these locks that is initialised by a call.
    fn nth(&self, mut locks: Vec<usize>, nth: u32) -> Vec<usize> {
        let all = &self.profile.analysis.locks;
        locks.retain(|lock| all[*lock].object.init_site.is_some());
        locks.sort_by_key(|lock| (all[*lock].object.born, all[*lock].id));
        let mut seen: BTreeMap<ProcessIndex, u32> = BTreeMap::new();
        let is_it = |lock: &usize| {
            let count = seen.entry(all[*lock].object.process).or_default();
            *count += 1;
            *count == nth
        };
        locks.into_iter().filter(is_it).collect()
    }

    fn of_base(&self, base: &Base) -> Vec<usize> {
        let all = || 0..self.profile.report.locks.len();
        match base {
            Base::Range(range) => all().filter(|lock| self.lies_in(*lock, range)).collect(),
            Base::Offset { of, offset } => all().filter(|lock| self.lies_at(*lock, of, *offset)).collect(),
            Base::Line(line) => {
                all().filter(|lock| self.begins(*lock, None, &|_, known| known == Some(line))).collect()
            }
            Base::Text(text) => {
                let fits = |module: Option<&str>, best: Fit| {
                    let fits = |lock: &usize| self.fits(*lock, module, text, best);
                    all().filter(fits).collect::<Vec<usize>>()
                };
                let program = self.program();
                let program = program.as_deref();
                let ways = [(program, Fit::Whole), (program, Fit::Part), (None, Fit::Whole), (None, Fit::Part)];
                let found = ways.into_iter().map(|(module, best)| fits(module, best)).find(|found| !found.is_empty());
                found.unwrap_or_default()
            }
        }
    }

    /// The file name of the program, in which names are looked for before its libraries.
    fn program(&self) -> Option<String> {
        let command = self.profile.report.run.command.first()?;
        Some(Path::new(command).file_name()?.to_str()?.to_owned())
    }

    /// Whether a lock is of this name, in `module` if that is given.
    fn fits(&self, lock: usize, module: Option<&str>, text: &str, best: Fit) -> bool {
        let report = &self.profile.report;
        let (name, class) = (&report.locks[lock].name, &report.classes[report.locks[lock].class as usize].name);
        let names = [name, class].into_iter().filter(|name| own_name(name));
        let here = || module.is_none_or(|module| self.data(lock).is_none_or(|data| data.module == module));
        names.into_iter().any(|name| fit(text, name).is_some_and(|fit| fit >= best)) && here()
            || self.begins(lock, module, &|function, line| {
                fit(text, function).is_some_and(|fit| fit >= best) || line == Some(text)
            })
    }

    /// Whether a lock begins on a way through a place for whose function and line `is` holds; in
    /// `module`, if that is given.
    fn begins(&self, lock: usize, module: Option<&str>, is: &dyn Fn(&str, Option<&str>) -> bool) -> bool {
        let report = &self.profile.report;
        let origin = report.locks[lock].origin.and_then(|origin| report.origins.get(origin as usize));
        origin.is_some_and(|origin| {
            origin.places.iter().any(|begin| {
                let of = begin.at.rsplit_once("+0x").map_or("", |(of, _)| of);
                let (function, line) = place(&begin.place);
                module.is_none_or(|module| module == of) && is(function, line)
            })
        })
    }

    /// Whether a lock lies in these addresses, or begins on a way through a call at one of them.
    fn lies_in(&self, lock: usize, range: &ObjectRange) -> bool {
        let within = |place: &ObjectRange| place.module == range.module && range.range.contains(&place.range.start);
        let data = self.data(lock);
        data.is_some_and(|data| within(&data))
            || self.begin(lock).filter_map(|call| self.call(call)).any(|call| within(&call))
    }

    /// Whether a lock lies at this address of an object file or this offset of a variable, or
    /// begins on a way through the call that returns to the address.
    fn lies_at(&self, lock: usize, of: &str, offset: u64) -> bool {
        let there = |place: &ObjectRange| place.module == of && place.range.start == offset;
        let name = &self.profile.report.locks[lock].name;
        let (symbol, known) = name.rsplit_once("+0x").unwrap_or((name, "0"));
        let in_variable = own_name(name) && u64::from_str_radix(known, 16) == Ok(offset) && fit(of, symbol).is_some();
        in_variable
            || self.data(lock).is_some_and(|data| there(&data))
            || self.begins(lock, None, &|_, _| true) && self.returns_to(lock, of, offset)
    }

    fn returns_to(&self, lock: usize, of: &str, offset: u64) -> bool {
        let at = format!("{of}+{offset:#x}");
        let report = &self.profile.report;
        let origin = report.locks[lock].origin.and_then(|origin| report.origins.get(origin as usize));
        origin.is_some_and(|origin| origin.places.iter().any(|begin| begin.at == at))
    }

    fn unknown(&self, typed: &str) -> BadInput {
        let report = &self.profile.report;
        let replaced = report.classes.iter().filter(|class| REPLACED.contains(&class.kind.as_str()));
        let names: Vec<&str> = replaced.map(|class| class.name.as_str()).collect();
        let mut listed = closest_first(typed, names.iter().copied());
        listed.truncate(LISTED);
        let more = names.len() - listed.len();
        let more = if more == 0 { String::new() } else { format!(", and {more} more (`baton report` lists them)") };
        let listed: Vec<String> = listed.iter().map(|name| format!("`{name}`")).collect();
        match listed.is_empty() {
            true => BadInput::new(format!("no lock `{typed}` in the recording: it has no mutex")),
            false => BadInput::new(format!("no lock `{typed}` in the recording; it has {}{more}", listed.join(", "))),
        }
    }

    /// Where and when these locks lived.
    pub(in crate::cmd) fn lives(&self, locks: &[usize]) -> Vec<Life> {
        let all = &self.profile.analysis.locks;
        locks.iter().map(|&lock| life(&all[lock].object, all.iter().map(|other| &other.object))).collect()
    }

    /// The queues of the library that the program used, in the order of the report.
    pub(super) fn queues(&self) -> Vec<&Queue> {
        let is_stream = |queue: &&Queue| {
            Stream::of(self.profile.analysis.waitables[queue.waitable as usize].object.address).is_some()
        };
        self.profile.report.queues.iter().filter(|queue| !is_stream(queue)).collect()
    }

    /// The names of these queues, and where and when they lived.
    pub(super) fn queue_lives(&self, queues: &[usize]) -> Vec<(String, Life)> {
        let (all, found) = (&self.profile.analysis.waitables, self.queues());
        let of = |&queue: &usize| {
            let queue = found[queue];
            let object = &all[queue.waitable as usize].object;
            (queue.name.clone(), life(object, all.iter().map(|other| &other.object)))
        };
        queues.iter().map(of).collect()
    }

    /// The places at which a later run finds the locks for which a name stands: the locks' own places, a
    /// call on the way to their beginnings that leads to no other lock, their numbers among the locks that
    /// a call initialises, or the calls that take these locks and no others.
    pub(in crate::cmd) fn places(&self, typed: &str, locks: &[usize]) -> Result<Vec<MutexRange>, BadInput> {
        let all = &self.profile.analysis.locks;
        let mine: BTreeSet<usize> = locks.iter().copied().collect();
        let led = self.led_to();
        let mut ranges: BTreeSet<(String, u64, u64)> = BTreeSet::new();
        let mut numbered: Vec<MutexRange> = Vec::new();
        let mut taken: BTreeSet<Call> = BTreeSet::new();
        for lock in locks {
            let mut add = |place: Option<ObjectRange>| {
                ranges.extend(place.map(|place| (place.module, place.range.start, place.range.end)));
            };
            if let Some(data) = self.data(*lock) {
                add(Some(data));
                continue;
            }
            let only_mine =
                |call: &Call| led.get(&call.key()).is_some_and(|to| to.iter().all(|lock| mine.contains(lock)));
            match self.begin(*lock).find(only_mine) {
                Some(call) => add(self.call(call)),
                None if all[*lock].object.init_site.is_some() => numbered.extend(self.numbered(*lock, &led)),
                None => taken.extend(self.calls(*lock)),
            }
        }
        // A call that takes other locks as well does not tell which lock it takes.
        for other in (0..all.len()).filter(|other| !mine.contains(other)) {
            for call in self.calls(other) {
                taken.remove(&call);
            }
        }
        let calls = taken.into_iter().filter_map(|call| self.call(call));
        ranges.extend(calls.map(|place| (place.module, place.range.start, place.range.end)));
        let ranges = ranges.into_iter().map(|(module, start, end)| ObjectRange { module, range: start..end });
        let mut places = vec![MutexRange { ranges: ranges.collect(), nth: None }];
        places.retain(|place| !place.ranges.is_empty());
        places.extend(numbered);
        if places.is_empty() || places.len() > NUMBERED {
            return Err(BadInput::new(format!(
                "`{typed}`: a run cannot tell these locks from others: they lie on the heap, and the calls that initialise or take \
                 them initialise or take others, too"
            )));
        }
        Ok(places)
    }

    /// A lock's number among the locks to which a call on the way to its beginning leads.
    fn numbered(&self, lock: usize, led: &BTreeMap<(ProcessIndex, Address), Vec<usize>>) -> Option<MutexRange> {
        let all = &self.profile.analysis.locks;
        let call = self.begin(lock).min_by_key(|call| led.get(&call.key()).map_or(0, Vec::len))?;
        let mut sisters = led.get(&call.key())?.clone();
        sisters.retain(|sister| all[*sister].object.init_site.is_some());
        sisters.sort_by_key(|sister| (all[*sister].object.born, all[*sister].id));
        let nth = sisters.iter().position(|sister| *sister == lock)? as u32 + 1;
        Some(MutexRange { ranges: vec![self.call(call)?], nth: Some(nth) })
    }

    /// The locks to whose beginnings each call leads.
    fn led_to(&self) -> BTreeMap<(ProcessIndex, Address), Vec<usize>> {
        let mut led: BTreeMap<(ProcessIndex, Address), Vec<usize>> = BTreeMap::new();
        for lock in 0..self.profile.analysis.locks.len() {
            let calls: BTreeSet<_> = self.begin(lock).map(|call| call.key()).collect();
            calls.into_iter().for_each(|call| led.entry(call).or_default().push(lock));
        }
        led
    }

    /// The calls on the way to a lock's beginning, the innermost first.
    fn begin(&self, lock: usize) -> impl Iterator<Item = Call> + '_ {
        let Object { process, init_site, first_site, .. } = self.profile.analysis.locks[lock].object;
        let known = |site: &SiteId| *site != SiteId::UNKNOWN;
        let site = init_site.filter(known).or(first_site.filter(known));
        // A waiter's stack goes on to the beginning of its thread; a run looks at eight frames.
        let stack = site.map_or(&[][..], |site| self.profile.trace.site(process, site));
        let time = site.map_or(Ticks(0), |site| self.profile.trace.site_time(process, site));
        stack.iter().take(8).map(move |address| Call { process, address: *address, time })
    }

    /// The calls that take a lock.
    fn calls(&self, lock: usize) -> impl Iterator<Item = Call> + '_ {
        let lock = &self.profile.analysis.locks[lock];
        let (trace, process) = (&self.profile.trace, lock.object.process);
        let innermost =
            move |site: &SiteId| Some(Call { process, address: *trace.site(process, *site).first()?, time: Ticks(0) });
        lock.stats.sites.keys().filter_map(innermost)
    }

    /// The place of a call: its last byte lies before the address to which it returns.
    fn call(&self, call: Call) -> Option<ObjectRange> {
        self.place(call.process, call.address.wrapping_sub(1), 1, call.time)
    }

    /// The place of a lock in an object file; `None` for heap and stack.
    fn data(&self, lock: usize) -> Option<ObjectRange> {
        let object = &self.profile.analysis.locks[lock].object;
        self.place(object.process, object.address, MUTEX, object.loaded)
    }

    /// The place of `bytes` bytes of an object file that was at `address` at `time`.
    fn place(&self, process: ProcessIndex, address: Address, bytes: u64, time: Ticks) -> Option<ObjectRange> {
        let module = self.profile.trace.module(process, address, time)?;
        let start = address.wrapping_sub(module.bias);
        let name = Path::new(&module.path).file_name()?.to_str()?.to_owned();
        Some(ObjectRange { module: name, range: start..start.saturating_add(bytes) })
    }
}

/// A call: the address to which it returns, and a time that tells which object file lay there: when
/// the call site was first seen. For calls that take a lock, the time is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    process: ProcessIndex,
    address: Address,
    time: Ticks,
}

impl Call {
    fn key(&self) -> (ProcessIndex, Address) {
        (self.process, self.address)
    }
}

/// Where and when an object lived: until the next one of `all` at its address.
fn life<'a>(object: &Object, all: impl Iterator<Item = &'a Object>) -> Life {
    let same = all
        .filter(|other| (other.process, other.address) == (object.process, object.address) && other.born > object.born);
    let end = same.map(|other| other.born).min().unwrap_or(Ticks(u64::MAX));
    Life { process: object.process, address: object.address, time: object.born..end }
}

/// Whether a name of the report is a lock's own: given by the program, or a global variable's.
fn own_name(name: &str) -> bool {
    let by_place = ["from ", "in ", "hot one of "].iter().any(|begin| name.starts_with(begin));
    !by_place && !name.contains(" except ")
}
