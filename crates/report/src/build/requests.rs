//! The requests that a server answered, and the points that the user named.

use super::figures::nanos;
use super::names::Names;
use super::own_locks;
use super::serving;
use crate::model::{self, Latency, PROGRESS, Progress, RequestPart, Requests, SlowPart, SlowRequest, ratio};
use baton_trace::analysis::requests::{
    Asked, Clients, Counted, Part, Places, Request, Requests as Found, nearest_rank,
};
use baton_trace::analysis::{Analysis, ObjectId, ThreadOffCpu, Window};
use baton_trace::point::{Passed, Point, Progress as Named};
use baton_trace::{Ticks, Trace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The least number of requests for a section of the report, if the user named no point.
const LEAST: usize = 10;
/// The number of slowest requests that are shown as examples.
const EXAMPLES: usize = 5;
/// A part is not listed if it is below this share both of the latency of all requests and of the
/// latency of the slowest requests.
const SMALLEST: f64 = 0.001;

/// The requests, or the passages of a point, for the report.
#[derive(Default)]
pub(super) struct Described {
    pub(super) requests: Option<Requests>,
    pub(super) progress: Option<Progress>,
}

/// Finds the requests of a server, or follows the points that the user named.
pub(super) fn requests(
    names: &mut Names,
    analysis: &Analysis,
    off_cpu: &[ThreadOffCpu],
    locks: &[model::Lock],
    classes: &[model::Class],
    waitables: &[model::Waitable],
) -> Described {
    let trace = names.trace;
    let named = trace.meta.as_ref().and_then(|meta| meta.extra.get(PROGRESS)?.as_str());
    let scene = Scene { trace, analysis, off_cpu, locks, classes, waitables };
    let Some(text) = named else {
        let found = Found::of(trace, &Asked::Find);
        let points = found.calls.map_or_else(String::new, |(begin, end)| format!("{begin}..{end}"));
        let requests = (found.all.len() >= LEAST).then(|| scene.describe(&found, points, false));
        return Described { requests, progress: None };
    };
    let asked = text.parse().map_err(|error| format!("{error}")).and_then(|named| scene.asked(names, &named));
    match asked {
        Ok(asked) => scene.followed(text, &Found::of(trace, &asked), &asked),
        Err(remark) => Described { progress: Some(never(text, remark)), requests: None },
    }
}

fn never(text: &str, remark: String) -> Progress {
    Progress { point: text.to_owned(), remark: Some(remark), ..Progress::default() }
}

struct Scene<'a> {
    trace: &'a Trace,
    analysis: &'a Analysis,
    off_cpu: &'a [ThreadOffCpu],
    locks: &'a [model::Lock],
    classes: &'a [model::Class],
    waitables: &'a [model::Waitable],
}

impl Scene<'_> {
    /// Counts the requests between two named points, or the passages of one.
    fn followed(&self, text: &str, found: &Found, asked: &Asked) -> Described {
        if let Asked::Request(..) = asked {
            return match found.all.len() {
                0 => {
                    let remark =
                        "no request ended: one of the points never came in a thread after the other".to_owned();
                    Described { progress: Some(never(text, remark)), requests: None }
                }
                _ => Described { requests: Some(self.describe(found, text.to_owned(), true)), progress: None },
            };
        }
        let count: usize = found.passages.values().map(Vec::len).sum();
        let span = self.span_ns(found);
        let per_second = (count > 1 && span > 0).then(|| (count - 1) as f64 * 1e9 / span as f64);
        let remark = (count == 0).then(|| "it never came".to_owned());
        let threads = found.passages.len() as u32;
        let progress = Progress { point: text.to_owned(), count: count as u64, threads, per_second, remark };
        Described { progress: Some(progress), requests: None }
    }

    fn span_ns(&self, found: &Found) -> u64 {
        let (begin, end) = found.span();
        nanos(&self.trace.clock, end.since(begin)).0
    }

    fn describe(&self, found: &Found, points: String, named: bool) -> Requests {
        let span = self.span_ns(found);
        let clients = Clients::of(found);
        let ns = |ticks: Ticks| nanos(&self.trace.clock, ticks);
        let mut order: Vec<&Request> = found.all.iter().collect();
        order.sort_by_key(|request| (request.latency(), request.begin));
        let all: Ticks = found.all.iter().map(Request::latency).sum();
        let window = Window::between(self.trace, &[found.span()]);
        let (running, serving) = serving::serving(self.trace, self.off_cpu, found, &window);
        let parts = self.parts(&order);
        let busiest = serving::busiest(self.trace, self.analysis, self.locks, &parts, found.all.len() as u64, &window);
        Requests {
            points,
            named,
            count: found.all.len() as u64,
            unfinished: found.unfinished,
            begun_twice: found.begun_twice,
            passed_along: found.all.iter().filter(|request| request.thread != request.answered_by).count() as u64,
            span_ns: baton_units::Nanos(span),
            running_ns: ns(running),
            per_second: (span > 0).then(|| found.all.len() as f64 * 1e9 / span as f64),
            latency_ns: self.latency(&order),
            connections: clients.connections,
            together: clients.together,
            think_p50_ns: ns(clients.quantile(0.5)),
            under_way: ratio(ns(all).0, span),
            parts,
            busiest,
            serving: Some(serving),
            slowest: order.iter().rev().take(EXAMPLES).map(|request| self.slow(request)).collect(),
        }
    }

    /// The quantiles of requests that are sorted by latency.
    fn latency(&self, order: &[&Request]) -> Latency {
        let ns = |ticks: Ticks| nanos(&self.trace.clock, ticks);
        let at = |share: f64| order.get(nearest_rank(share, order.len())).map_or(Ticks(0), |request| request.latency());
        let all: Ticks = order.iter().map(|request| request.latency()).sum();
        Latency {
            mean_ns: ns(Ticks(all.0 / order.len().max(1) as u64)),
            p50_ns: ns(at(0.5)),
            p99_ns: ns(at(0.99)),
            p999_ns: ns(at(0.999)),
            max_ns: ns(at(1.0)),
        }
    }

    /// The parts of the latency; `order` is sorted by latency.
    fn parts(&self, order: &[&Request]) -> Vec<RequestPart> {
        let slow = order.len() - (order.len() / 100).max(1).min(order.len());
        let (all, slowest) = (self.sums(order), self.sums(&order[slow..]));
        let sum = |sums: &BTreeMap<Kind, Ticks>| sums.values().map(|ticks| ticks.0).sum::<u64>();
        let (of_all, of_slowest) = (sum(&all), sum(&slowest));
        let part = |(kind, ticks): (&Kind, &Ticks)| RequestPart {
            kind: kind.word().to_owned(),
            name: self.phrase(*kind),
            class: kind.class(),
            waitable: kind.waitable(),
            mean_ns: nanos(&self.trace.clock, Ticks(ticks.0 / order.len().max(1) as u64)),
            share: ratio(ticks.0, of_all),
            share_of_slowest: ratio(slowest.get(kind).map_or(0, |ticks| ticks.0), of_slowest),
        };
        let mut parts: Vec<RequestPart> = all.iter().map(part).collect();
        parts.retain(|part| part.share >= SMALLEST || part.share_of_slowest >= SMALLEST);
        parts.sort_by(|a, b| b.share.total_cmp(&a.share));
        parts
    }

    fn sums(&self, requests: &[&Request]) -> BTreeMap<Kind, Ticks> {
        let mut sums: BTreeMap<Kind, Ticks> = BTreeMap::new();
        for (part, ticks) in requests.iter().flat_map(|request| &request.parts) {
            *sums.entry(self.kind(*part)).or_default() += *ticks;
        }
        sums
    }

    fn slow(&self, request: &Request) -> SlowRequest {
        let ns = |ticks: Ticks| nanos(&self.trace.clock, ticks);
        let sums = self.sums(&[request]);
        let part = |(kind, ticks): (&Kind, &Ticks)| SlowPart { name: self.phrase(*kind), total_ns: ns(*ticks) };
        let mut parts: Vec<SlowPart> = sums.iter().map(part).collect();
        parts.sort_by_key(|part| Reverse(part.total_ns));
        SlowRequest {
            thread: request.thread.0,
            answered_by: request.answered_by.0,
            begin_ns: ns(request.begin),
            latency_ns: ns(request.latency()),
            parts,
        }
    }

    fn kind(&self, part: Part) -> Kind {
        match part {
            Part::Lock(id) => match self.class_of(id) {
                Some(class) => Kind::Lock(class),
                None => Kind::Threads,
            },
            Part::OwnLock(id) => match self.analysis.waitables.iter().position(|waitable| waitable.id == id) {
                Some(number) if self.is_libc(number) => Kind::LibcLock(number as u32),
                Some(number) => Kind::Futex(number as u32),
                None => Kind::Threads,
            },
            Part::Cpu => Kind::Cpu,
            Part::Ready => Kind::Ready,
            Part::Threads => Kind::Threads,
            Part::Outside => Kind::Outside,
            Part::Behind => Kind::Behind,
            Part::Passed => Kind::Passed,
        }
    }

    fn is_libc(&self, waitable: usize) -> bool {
        self.waitables.get(waitable).is_some_and(|waitable| waitable.kind == "libc-lock")
    }

    fn class_of(&self, id: ObjectId) -> Option<u32> {
        let number = self.analysis.locks.iter().position(|lock| lock.id == id)?;
        Some(self.locks.get(number)?.class)
    }

    fn phrase(&self, kind: Kind) -> String {
        match kind {
            Kind::Lock(class) => {
                let name = self.classes.get(class as usize).map_or("a lock", |class| class.name.as_str());
                format!("waiting for {name}")
            }
            Kind::Futex(number) | Kind::LibcLock(number) => self
                .waitables
                .get(number as usize)
                .map_or_else(|| "waiting".to_owned(), |waitable| format!("waiting at {}", own_locks::name(waitable))),
            Kind::Cpu => "on a CPU".to_owned(),
            Kind::Ready => "ready, without a CPU".to_owned(),
            Kind::Threads => "waiting for other threads".to_owned(),
            Kind::Outside => "outside: input, output, sleep".to_owned(),
            Kind::Behind => "behind other requests of its thread".to_owned(),
            Kind::Passed => "on its way to another thread".to_owned(),
        }
    }

    /// Looks up the objects and call sites of the points that the user named.
    fn asked(&self, names: &mut Names, named: &Named) -> Result<Asked, String> {
        Ok(match named {
            Named::Point(point) => Asked::Point(self.counted(names, point)?),
            Named::Request(span) => Asked::Request(self.counted(names, &span.begin)?, self.counted(names, &span.end)?),
        })
    }

    fn counted(&self, names: &mut Names, point: &Point) -> Result<Counted, String> {
        let places = match &point.site {
            Some(site) => Some(self.places(names, site)?),
            None => None,
        };
        Ok(match &point.passed {
            Passed::Call(number) => Counted::Call(*number, places),
            Passed::Lock(name) => Counted::Locks(self.locks(name)?, places),
            Passed::Condition(name) => Counted::Conditions(self.conditions(names, name)?, places),
            Passed::Marker(name) => self.marker(name)?,
            Passed::Function(name) => {
                return Err(format!(
                    "a recording has no event for the entries of `{name}`; `baton try --progress func:{name}` counts them"
                ));
            }
        })
    }

    fn locks(&self, name: &str) -> Result<BTreeSet<ObjectId>, String> {
        let class = |lock: &model::Lock| self.classes.get(lock.class as usize).map_or("", |class| class.name.as_str());
        let fits = |lock: &&(usize, &model::Lock)| names_it(name, &lock.1.name) || names_it(name, class(lock.1));
        let found: BTreeSet<ObjectId> = self
            .locks
            .iter()
            .enumerate()
            .collect::<Vec<_>>()
            .iter()
            .filter(fits)
            .map(|(number, _)| self.analysis.locks[*number].id)
            .collect();
        match found.is_empty() {
            true => Err(format!("no lock of the recording is called `{name}`")),
            false => Ok(found),
        }
    }

    fn conditions(&self, names: &mut Names, name: &str) -> Result<BTreeSet<ObjectId>, String> {
        let mut found = BTreeSet::new();
        for report in &self.analysis.waitables {
            let busiest = report.stats.sites.iter().max_by_key(|(_, (waits, _))| *waits).map(|(site, _)| *site);
            if names_it(name, &names.waitable(&report.object, busiest)) {
                found.insert(report.id);
            }
        }
        match found.is_empty() {
            true => Err(format!("no condition variable of the recording is called `{name}`")),
            false => Ok(found),
        }
    }

    fn marker(&self, name: &str) -> Result<Counted, String> {
        match self.trace.marker_names.values().any(|known| known == name) {
            true => Ok(Counted::Marker(name.to_owned())),
            false => Err(format!("the program passed no marker `{name}` (baton_marker of baton.h)")),
        }
    }

    /// The call sites at a place that the user typed: `FILE:LINE`, or a function.
    fn places(
        &self,
        names: &mut Names,
        site: &str,
    ) -> Result<BTreeSet<(baton_trace::ProcessIndex, baton_trace::SiteId)>, String> {
        let mut known: BTreeSet<(baton_trace::ProcessIndex, baton_trace::SiteId)> = BTreeSet::new();
        for event in self.trace.complete_events() {
            if let Some(at) = event.what.site() {
                known.insert((self.trace.process_of(event.thread), at));
            }
        }
        let there = |(process, at): &(baton_trace::ProcessIndex, baton_trace::SiteId)| {
            names.site_place(*process, *at).is_some_and(|place| is_at(site, &place))
        };
        let found: BTreeSet<_> = known.into_iter().filter(there).collect();
        let places: Places = (!found.is_empty()).then_some(found);
        places.ok_or_else(|| format!("no call of the recording is at `{site}`"))
    }
}

/// Whether a typed name is the whole name, or the part behind its last `::`.
fn names_it(typed: &str, known: &str) -> bool {
    known == typed || known.rsplit_once("::").is_some_and(|(_, last)| last == typed)
}

/// Whether a typed place is the function or the line of a place such as `Index::add (index.cc:40)`.
/// The typed line may have a longer path, as `src/index.cc:40` has.
fn is_at(typed: &str, place: &str) -> bool {
    match place.strip_suffix(')').and_then(|place| place.rsplit_once(" (")) {
        Some((function, line)) => names_it(typed, function) || line == typed || typed.ends_with(&format!("/{line}")),
        None => names_it(typed, place),
    }
}

/// A part of a request's latency; a wait for a lock has the lock's class, a wait in a futex or for a
/// lock inside of the C library the number of that object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cpu,
    Ready,
    Lock(u32),
    Futex(u32),
    LibcLock(u32),
    Threads,
    Outside,
    Behind,
    Passed,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Cpu => "cpu",
            Kind::Ready => "ready",
            Kind::Lock(_) => "lock",
            Kind::Futex(_) => "futex",
            Kind::LibcLock(_) => "libc-lock",
            Kind::Threads => "threads",
            Kind::Outside => "outside",
            Kind::Behind => "behind",
            Kind::Passed => "passed",
        }
    }

    fn class(self) -> Option<u32> {
        match self {
            Kind::Lock(class) => Some(class),
            _ => None,
        }
    }

    fn waitable(self) -> Option<u32> {
        match self {
            Kind::Futex(number) | Kind::LibcLock(number) => Some(number),
            _ => None,
        }
    }
}
