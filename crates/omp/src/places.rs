//! Places to which threads are bound: the places of a machine, and the place of each thread of a
//! team. Both follow GCC 12's libgomp.

use baton_machine::discover::{Cpu, Topology};

/// CPUs that a thread may be bound to, in increasing order.
pub type Place = Vec<u32>;

/// The numbers of `omp_proc_bind_t`.
pub mod bind {
    /// No thread is bound.
    pub const FALSE: u32 = 0;
    /// Threads are bound, as by [`CLOSE`].
    pub const TRUE: u32 = 1;
    /// All threads go to the place of the team's first thread.
    pub const MASTER: u32 = 2;
    /// Threads go to one place after another, from the first thread's place on.
    pub const CLOSE: u32 = 3;
    /// Threads are spread as far from each other as possible; each gets a part of the places for
    /// its own teams.
    pub const SPREAD: u32 = 4;
}

/// The place of a thread, and the places that its own teams may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The number of the thread's place.
    pub place: u32,
    /// The first place of the thread's part.
    pub first: u32,
    /// The number of places in the thread's part.
    pub count: u32,
}

/// How a region binds its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// One of [`bind`]'s numbers except `FALSE`.
    pub bind: u32,
    /// The number of the region's threads.
    pub threads: u32,
    /// The seat of the thread that began the region.
    pub outer: Seat,
}

impl Binding {
    /// The binding of an initial thread, which gets the first of `places` places.
    pub fn initial(places: u32) -> Binding {
        Binding { bind: bind::MASTER, threads: 1, outer: Seat { place: 0, first: 0, count: places } }
    }

    /// The binding of a thread that stays on its seat.
    pub fn staying(outer: Seat) -> Binding {
        Binding { bind: bind::MASTER, threads: 1, outer }
    }

    /// The seat of thread `id`.
    pub fn seat(&self, id: u32) -> Seat {
        let Seat { place, first, count } = self.outer;
        if self.bind == bind::MASTER {
            return self.outer;
        }
        // The place that is `steps` places behind the first thread's, within the part.
        let behind = |steps: u32| first + (place - first + steps) % count;
        if self.threads > count {
            // Each place gets `each` threads, and the first `rest` places from the first thread's
            // on get one more.
            let (each, rest) = (self.threads / count, self.threads % count);
            let step = if id < self.threads - rest { id / each } else { id - (self.threads - rest) };
            let own = behind(step);
            return if self.bind == bind::SPREAD {
                Seat { place: own, first: own, count: 1 }
            } else {
                Seat { place: own, ..self.outer }
            };
        }
        if self.bind != bind::SPREAD {
            return Seat { place: behind(id), ..self.outer };
        }
        // Each thread's part has `each` places; the first `rest` parts have one place more.
        let (each, rest) = (count / self.threads, count % self.threads);
        let start = |part: u32| first + part * each + part.min(rest);
        let length = |part: u32| each + u32::from(part < rest);
        let at = place - first;
        let ours = if at < (each + 1) * rest { at / (each + 1) } else { rest + (at - (each + 1) * rest) / each };
        let part = (ours + id) % self.threads;
        Seat { place: if id == 0 { place } else { start(part) }, first: start(part), count: length(part) }
    }
}

/// The result of reading places, with a note for the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The places; empty if the text is no list of places, or has no CPU that may be used.
    pub places: Vec<Place>,
    /// What is wrong with the text, or what was left out.
    pub note: Option<String>,
}

/// The places of OMP_PLACES: a name (`threads`, `cores`, `sockets`, `ll_caches`, `numa_domains`)
/// with or without a number in parentheses, or a list of places.
pub fn read(text: &str, topology: &Topology, allowed: &[u32]) -> Found {
    let text = text.trim();
    let (name, count) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix(')').map(|n| n.trim().parse::<usize>().ok())),
        None => (text, Some(Some(usize::MAX))),
    };
    let named = by_name(&name.to_ascii_lowercase(), topology, allowed);
    match (named, count) {
        (Some(places), Some(Some(count))) if count > 0 => {
            Found { places: places.into_iter().take(count).collect(), note: None }
        }
        (Some(_), _) => Found::default(),
        (None, _) => finish(listed(text), allowed),
    }
}

/// The name that LLVM's library takes for a text that is no list of places: the one with which it
/// begins, or `cores`.
pub fn name_of(text: &str) -> &'static str {
    const NAMES: [&str; 5] = ["threads", "cores", "sockets", "ll_caches", "numa_domains"];
    let text = text.trim().to_ascii_lowercase();
    NAMES.into_iter().find(|name| text.starts_with(name)).unwrap_or("cores")
}

/// The text in lower case if it is a name with or without a number, and by [`name_of`] if it is none
/// and no list either; `None` for a list.
pub fn named(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let (name, count) =
        text.split_once('(').map_or((text.as_str(), "1"), |(name, rest)| (name, rest.trim_end_matches(')')));
    if listed(&text).is_ok() {
        return None;
    }
    let is_whole = name.trim() == name_of(name) && count.trim().parse::<usize>().is_ok_and(|count| count > 0);
    Some(if is_whole && text.contains('(') == text.ends_with(')') { text } else { name_of(&text).to_owned() })
}

/// Makes a place for each CPU that may be used.
pub fn threads(topology: &Topology, allowed: &[u32]) -> Vec<Place> {
    by_name("threads", topology, allowed).unwrap_or_default()
}

/// The places of GOMP_CPU_AFFINITY: one for each CPU of a list such as `0-3 5 1-7:2`.
pub fn read_cpus(text: &str, allowed: &[u32]) -> Found {
    let one = |word: &str| -> Option<Vec<u32>> {
        let (range, stride) = word.split_once(':').map_or((word, Some(1)), |(range, by)| (range, by.parse().ok()));
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?),
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        let stride = stride.filter(|by| *by > 0)?;
        (from <= to && to < MOST).then(|| (from..=to).step_by(stride).collect())
    };
    let words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let cpus: Option<Vec<Vec<u32>>> = words.map(one).collect();
    let places = cpus.map(|cpus| cpus.into_iter().flatten().map(|cpu| vec![cpu]).collect());
    finish(places.filter(|places: &Vec<Place>| !places.is_empty()).ok_or(None), allowed)
}

/// A list of places in the form that `omp_display_env` prints.
pub fn shown(places: &[Place]) -> String {
    let run = |run: &[u32]| if run.len() == 1 { run[0].to_string() } else { format!("{}:{}", run[0], run.len()) };
    let place = |place: &Place| {
        let runs: Vec<String> = place.chunk_by(|a, b| a + 1 == *b).map(run).collect();
        format!("{{{}}}", runs.join(","))
    };
    places.iter().map(place).collect::<Vec<_>>().join(",")
}

/// Every CPU number is less than this.
const MOST: u32 = 1024;

fn by_name(name: &str, topology: &Topology, allowed: &[u32]) -> Option<Vec<Place>> {
    let core = |cpu: &Cpu| cpu.siblings.iter().min().copied().unwrap_or(cpu.id);
    // The socket's number is that of its first CPU.
    let socket =
        |cpu: &Cpu| topology.cpus.iter().find(|other| other.socket == cpu.socket).map_or(cpu.id, |first| first.id);
    let group: &dyn Fn(&Cpu) -> u32 = match name {
        "threads" => &|cpu| cpu.id,
        "cores" => &core,
        "sockets" => &socket,
        "ll_caches" => &|cpu| cpu.cluster.iter().min().copied().unwrap_or(cpu.id),
        "numa_domains" => &|cpu| cpu.node,
        _ => return None,
    };
    let mut cpus: Vec<&Cpu> = topology.cpus.iter().filter(|cpu| allowed.contains(&cpu.id)).collect();
    let order = |cpu: &&Cpu| match name {
        // Hardware threads of a core are neighbours in the order.
        "threads" | "cores" | "sockets" => (socket(cpu), core(cpu), cpu.id),
        _ => (group(cpu), 0, cpu.id),
    };
    cpus.sort_by_key(order);
    let places = cpus.chunk_by(|a, b| group(a) == group(b)).map(|cpus| {
        let mut place: Place = cpus.iter().map(|cpu| cpu.id).collect();
        place.sort_unstable();
        place
    });
    Some(places.collect())
}

/// Leaves out the CPUs that may not be used, and the places in which no CPU is left.
fn finish(places: Result<Vec<Place>, Option<String>>, allowed: &[u32]) -> Found {
    let places = match places {
        Ok(places) => places,
        Err(note) => return Found { places: Vec::new(), note },
    };
    let all = places.len();
    let usable = places.into_iter().map(|place| place.into_iter().filter(|cpu| allowed.contains(cpu)).collect());
    let places: Vec<Place> = usable.filter(|place: &Place| !place.is_empty()).collect();
    let note = match places.len() {
        0 => Some("None of the places contain usable logical CPUs".to_owned()),
        left if left < all => Some(format!(
            "Number of places reduced from {all} to {left} because some places didn't contain any usable logical CPUs"
        )),
        _ => None,
    };
    Found { places, note }
}

/// The rest of a text that is read from its beginning on.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn take(&mut self, what: char) -> bool {
        self.0 = self.0.trim_start();
        let rest = self.0.strip_prefix(what);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<i64> {
        self.0 = self.0.trim_start();
        let sign = usize::from(self.0.starts_with('-'));
        let end = self.0[sign..].find(|c: char| !c.is_ascii_digit()).map_or(self.0.len(), |at| at + sign);
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().ok()
    }

    /// Reads `:length` and `:stride`; each is 1 if it is missing.
    fn repeated(&mut self) -> Option<(i64, i64)> {
        let length = if self.take(':') {
            self.number().filter(|n| (1..=i64::from(MOST)).contains(n))?
        } else {
            return Some((1, 1));
        };
        Some((length, if self.take(':') { self.number()? } else { 1 }))
    }

    /// Reads the CPUs of one place.
    fn place(&mut self) -> Option<Place> {
        let cpu = |n: i64| u32::try_from(n).ok().filter(|n| *n < MOST);
        if !self.take('{') {
            return Some(vec![cpu(self.number()?)?]);
        }
        let mut place = Place::new();
        loop {
            let without = self.take('!');
            let from = self.number()?;
            let (length, stride) = if without { (1, 1) } else { self.repeated()? };
            for step in 0..length {
                let cpu = cpu(from + step * stride)?;
                place.retain(|other| *other != cpu);
                if !without {
                    place.push(cpu);
                }
            }
            if self.take('}') {
                break;
            }
            if !self.take(',') {
                return None;
            }
        }
        place.sort_unstable();
        (!place.is_empty()).then_some(place)
    }
}

fn listed(text: &str) -> Result<Vec<Place>, Option<String>> {
    let (mut reader, mut places) = (Reader(text), Vec::<Place>::new());
    loop {
        let without = reader.take('!');
        let place = reader.place().ok_or(None)?;
        let (length, stride) = if without { (1, 1) } else { reader.repeated().ok_or(None)? };
        if without {
            let at = places.iter().position(|other| *other == place);
            places.remove(
                at.ok_or_else(|| Some("Trying to remove a non-existing place from list of places".to_owned()))?,
            );
        }
        for step in 0..if without { 0 } else { length } {
            let moved = |cpu: &u32| u32::try_from(i64::from(*cpu) + step * stride).ok().filter(|cpu| *cpu < MOST);
            places.push(place.iter().map(moved).collect::<Option<_>>().ok_or(None)?);
        }
        if reader.0.trim().is_empty() {
            return if places.is_empty() { Err(None) } else { Ok(places) };
        }
        if !reader.take(',') {
            return Err(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with two sockets of two cores with two hardware threads each. CPU n + 4 is the
    /// second hardware thread of the core of CPU n.
    fn machine() -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            siblings: vec![id % 4, id % 4 + 4],
            socket: id % 4 / 2,
            node: id % 4 / 2,
            cluster: vec![id % 4 / 2 * 2, id % 4 / 2 * 2 + 1, id % 4 / 2 * 2 + 4, id % 4 / 2 * 2 + 5],
        };
        Topology { cpus: (0..8).map(cpu).collect(), caches: Vec::new() }
    }

    fn places(text: &str) -> String {
        shown(&read(text, &machine(), &[0, 1, 2, 3, 4, 5, 6, 7]).places)
    }

    #[test]
    fn names_stand_for_parts_of_the_machine() {
        assert_eq!(places("threads"), "{0},{4},{1},{5},{2},{6},{3},{7}");
        assert_eq!(places("cores"), "{0,4},{1,5},{2,6},{3,7}");
        assert_eq!(places(" Cores(3) "), "{0,4},{1,5},{2,6}");
        for name in ["sockets", "ll_caches", "numa_domains"] {
            assert_eq!(places(name), "{0:2,4:2},{2:2,6:2}", "{name}");
        }
        assert_eq!(shown(&read("cores", &machine(), &[1, 2, 6]).places), "{1},{2,6}");
        for bad in ["cores(0)", "cores(", "core", "", "cores(x)"] {
            assert_eq!(places(bad), "", "{bad}");
        }
    }

    #[test]
    fn lists_are_read_as_they_stand() {
        for (text, expected) in [
            ("{0},{1}", "{0},{1}"),
            ("{0:2}", "{0:2}"),
            ("{0:2}:3:2", "{0:2},{2:2},{4:2}"),
            ("{0:3:2}", "{0,2,4}"),
            ("{0,1,!0}", "{1}"),
            ("3 , {1}", "{3},{1}"),
            ("{0}:4,!{2}", "{0},{1},{3}"),
            ("{4}:3:-2", "{4},{2},{0}"),
        ] {
            assert_eq!(places(text), expected, "{text}");
        }
        for bad in ["{0", "{}", "{0},", "{0}:0", "{-1}", "{0}:2:-1", "{0} {1}", "!{0}", "{0,!0}"] {
            assert_eq!(places(bad), "", "{bad}");
        }
        let found = read("{40},{0}", &machine(), &[0]);
        assert!((found.places.len(), found.note.unwrap().contains("from 2 to 1")) == (1, true));
    }

    #[test]
    fn cpus_are_places_of_one() {
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(shown(&read_cpus("0 3 1-2 4-7:2", &all).places), "{0},{3},{1},{2},{4},{6}");
        for bad in ["", "x", "3-1", "1-2:0"] {
            assert!(read_cpus(bad, &all).places.is_empty(), "{bad}");
        }
    }

    fn seats(bind: u32, threads: u32, outer: Seat) -> Vec<(u32, u32, u32)> {
        let binding = Binding { bind, threads, outer };
        (0..threads).map(|id| binding.seat(id)).map(|seat| (seat.place, seat.first, seat.count)).collect()
    }

    #[test]
    fn close_threads_have_one_place_after_another() {
        let outer = Seat { place: 3, first: 1, count: 4 };
        let own = |threads| seats(bind::CLOSE, threads, outer).iter().map(|seat| seat.0).collect::<Vec<_>>();
        assert_eq!(own(3), [3, 4, 1]);
        // Nine threads on four places: two at each place, and the one that is left at the first
        // thread's place.
        assert_eq!(own(9), [3, 3, 4, 4, 1, 1, 2, 2, 3]);
        assert_eq!(seats(bind::MASTER, 3, outer), [(3, 1, 4); 3]);
    }

    #[test]
    fn spread_threads_have_parts_of_the_places() {
        let outer = Seat { place: 0, first: 0, count: 8 };
        assert_eq!(seats(bind::SPREAD, 3, outer), [(0, 0, 3), (3, 3, 3), (6, 6, 2)]);
        // Each thread has one part of the places. The first thread keeps place 4, which lies in the
        // second part.
        assert_eq!(seats(bind::SPREAD, 3, Seat { place: 4, ..outer }), [(4, 3, 3), (6, 6, 2), (0, 0, 3)]);
        assert_eq!(
            seats(bind::SPREAD, 5, Seat { place: 1, first: 0, count: 2 }),
            [(1, 1, 1), (1, 1, 1), (0, 0, 1), (0, 0, 1), (1, 1, 1)]
        );
    }
}
