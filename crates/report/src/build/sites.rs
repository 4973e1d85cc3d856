//! Call sites: the waits and holds that begin at each site, by class of locks. They are counted by
//! class and not by lock, because one line of a program may take a million locks of an array.

use super::figures::{nanos, pid};
use super::names::Names;
use crate::model::Site;
use crate::symbols::{Frame, is_wrapper};
use baton_trace::analysis::Analysis;
use baton_trace::{ProcessIndex, SiteId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The class of locks, or the object, that a site takes or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    Class(u32),
    Waitable(u32),
}

pub(super) type Key = (ProcessIndex, SiteId, Of);

/// All sites, and the number of each site by its key.
pub(super) fn sites(names: &mut Names, analysis: &Analysis, class_of: &[u32]) -> (Vec<Site>, BTreeMap<Key, u32>) {
    let mut found: BTreeMap<Key, Site> = BTreeMap::new();
    for (lock, class) in analysis.locks.iter().zip(class_of) {
        for (id, stats) in &lock.stats.sites {
            let key = (lock.object.process, *id, Of::Class(*class));
            let site = found.entry(key).or_insert_with(|| site(names, key));
            let ns = |ticks| nanos(&names.trace.clock, ticks);
            site.acquisitions += stats.acquisitions;
            site.contended += stats.contended;
            site.polls += stats.polls;
            site.wait_ns += ns(stats.blocked);
            site.overhead_ns += ns(stats.overhead);
            site.hold_ns += ns(stats.held);
            site.blame_ns += ns(stats.blame);
        }
    }
    for (number, waitable) in analysis.waitables.iter().enumerate() {
        for ((process, id), (waits, time)) in &waitable.stats.sites {
            let key = (*process, *id, Of::Waitable(number as u32));
            let site = found.entry(key).or_insert_with(|| site(names, key));
            site.contended += waits;
            site.wait_ns += nanos(&names.trace.clock, *time);
        }
    }
    let mut sorted: Vec<(Key, Site)> = found.into_iter().collect();
    sorted.sort_by_key(|(key, s)| (Reverse(s.wait_ns.0 + s.blame_ns.0), Reverse(s.acquisitions), *key));
    let numbers = sorted.iter().enumerate().map(|(number, (key, _))| (*key, number as u32)).collect();
    (sorted.into_iter().map(|(_, site)| site).collect(), numbers)
}

fn site(names: &mut Names, (process, id, of): Key) -> Site {
    let mut frames = names.symbols.site(names.trace, process, id);
    if frames.is_empty() {
        frames.push(Frame::named(if id == SiteId::UNKNOWN {
            "(unknown call site)"
        } else {
            "(call site not defined)"
        }));
    }
    for frame in &mut frames {
        frame.library = is_wrapper(frame);
    }
    let address = names.trace.site(process, id).first().map_or_else(String::new, |a| format!("{a:#x}"));
    Site {
        name: super::names::place(&frames).unwrap_or_default(),
        through: super::origins::through(&frames),
        frames,
        address,
        pid: pid(names.trace, process),
        class: if let Of::Class(class) = of { Some(class) } else { None },
        waitable: if let Of::Waitable(waitable) = of { Some(waitable) } else { None },
        ..Site::default()
    }
}
