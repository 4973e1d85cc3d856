//! The locks of a profile by their names, and where a later run of the program finds them.

use super::{Fit, fit};
use crate::error::BadInput;
use baton_host::closest_first;
use baton_replay::change::Life;
use baton_report::Profile;
use baton_sync::lock::assign::ObjectRange;
use baton_trace::{Address, ProcessIndex, SiteId, Ticks};
use std::collections::BTreeSet;
use std::path::Path;

/// Kinds of locks that another lock can stand in for.
const REPLACED: [&str; 4] = ["mutex", "omp-critical", "omp-lock", "other"];
/// Largest number of names that an error lists.
const LISTED: usize = 12;
/// Bytes of a `pthread_mutex_t`.
const MUTEX: u64 = 40;

/// The locks of a profile.
pub(in crate::cmd) struct Recorded<'a> {
    profile: &'a Profile,
}

impl Recorded<'_> {
    /// The locks of a profile, by their names.
    pub(in crate::cmd) fn of(profile: &Profile) -> Recorded<'_> {
        Recorded { profile }
    }

    /// The numbers, in the order of the report, of the locks for which a name stands: by the name
    /// that fits best, otherwise by the places that take locks.
    pub(in crate::cmd) fn find(&self, typed: &str) -> Result<Vec<usize>, BadInput> {
        let report = &self.profile.report;
        let class = |number: u32| report.classes[number as usize].name.as_str();
        let by_name = |best: Fit| {
            let fits = |lock: &baton_report::model::Lock| {
                [class(lock.class), &lock.name].iter().any(|name| fit(typed, name).is_some_and(|fit| fit >= best))
            };
            let all = report.locks.iter().enumerate().filter(move |(_, lock)| fits(lock));
            all.map(|(number, _)| number).collect::<Vec<usize>>()
        };
        let taken: BTreeSet<u32> = report
            .sites
            .iter()
            .filter(|site| fit(typed, &site.name) == Some(Fit::Whole))
            .filter_map(|site| site.class)
            .collect();
        let by_site = || (0..report.locks.len()).filter(|&lock| taken.contains(&report.locks[lock].class)).collect();
        let found = [by_name(Fit::Whole), by_name(Fit::Part), by_site()]
            .into_iter()
            .find(|found: &Vec<usize>| !found.is_empty());
        let found = found.ok_or_else(|| self.unknown(typed))?;
        let replaced = |&&lock: &&usize| REPLACED.contains(&report.locks[lock].kind.as_str());
        match found.iter().find(|lock| !replaced(lock)) {
            None => Ok(found),
            Some(&other) => {
                let kind = &report.locks[other].kind;
                Err(BadInput::new(format!("`{typed}` is a {kind} lock, which is never replaced; expected a mutex")))
            }
        }
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
        let life = |&lock: &usize| {
            let object = &all[lock].object;
            let same = all.iter().map(|other| &other.object).filter(|other| {
                (other.process, other.address) == (object.process, object.address) && other.born > object.born
            });
            let end = same.map(|other| other.born).min().unwrap_or(Ticks(u64::MAX));
            Life { process: object.process, address: object.address, time: object.born..end }
        };
        locks.iter().map(life).collect()
    }

    /// The places at which a later run finds the locks for which a name stands: the locks' own
    /// places, the calls that initialise them, or the calls that take these locks and no others.
    pub(in crate::cmd) fn places(&self, typed: &str, locks: &[usize]) -> Result<Vec<ObjectRange>, BadInput> {
        let (trace, all) = (&self.profile.trace, &self.profile.analysis.locks);
        let mine: BTreeSet<usize> = locks.iter().copied().collect();
        let mut places: Vec<ObjectRange> = Vec::new();
        let mut taken: BTreeSet<(ProcessIndex, Address, Ticks)> = BTreeSet::new();
        for lock in locks {
            let object = &all[*lock].object;
            let place = match object.init_site.filter(|site| *site != SiteId::UNKNOWN) {
                _ if trace.module(object.process, object.address, object.loaded).is_some() => {
                    self.place(object.process, object.address, MUTEX, object.loaded)
                }
                Some(site) => self.call(object.process, site),
                None => {
                    taken.extend(self.calls(*lock));
                    continue;
                }
            };
            places.extend(place.filter(|place| !places.contains(place)));
        }
        // A call that takes other locks as well does not tell which lock it takes.
        for other in (0..all.len()).filter(|other| !mine.contains(other)) {
            for call in self.calls(other) {
                taken.remove(&call);
            }
        }
        let calls = taken
            .into_iter()
            .filter_map(|(process, address, time)| self.place(process, address.wrapping_sub(1), 1, time));
        places.extend(calls);
        if places.is_empty() {
            return Err(BadInput::new(format!(
                "`{typed}`: a run cannot tell these locks from others: they lie on the heap, no call initialises them, and the calls \
                 that take them take others, too"
            )));
        }
        Ok(places)
    }

    /// The calls that take a lock: process, return address, and the time of the first one.
    fn calls(&self, lock: usize) -> impl Iterator<Item = (ProcessIndex, Address, Ticks)> + '_ {
        let lock = &self.profile.analysis.locks[lock];
        let (trace, process) = (&self.profile.trace, lock.object.process);
        let innermost = move |site: &SiteId| Some((process, *trace.site(process, *site).first()?, Ticks(0)));
        lock.stats.sites.keys().filter_map(innermost)
    }

    /// The innermost call of a call site.
    fn call(&self, process: ProcessIndex, site: SiteId) -> Option<ObjectRange> {
        let trace = &self.profile.trace;
        let at = *trace.site(process, site).first()?;
        self.place(process, at.wrapping_sub(1), 1, trace.site_time(process, site))
    }

    /// The place of `bytes` bytes of an object file that was at `address` at `time`.
    fn place(&self, process: ProcessIndex, address: Address, bytes: u64, time: Ticks) -> Option<ObjectRange> {
        let module = self.profile.trace.module(process, address, time)?;
        let start = address.wrapping_sub(module.bias);
        let name = Path::new(&module.path).file_name()?.to_str()?.to_owned();
        Some(ObjectRange { module: name, range: start..start.saturating_add(bytes) })
    }
}
