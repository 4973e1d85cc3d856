//! The memory system alone, without an engine: random requests of all kinds on few lines and tiny caches, under every kind
//! of home, directory and shared level. Each read is checked against golden memory, and at the end nothing is left.

use super::chip::Coherent;
use crate::Memory;
use crate::base::random::{Purpose, Random};
use crate::base::token::Token;
use crate::border::{Access, Answer, Line, Notice, Request};
use baton_chipfile::config::Chip;
use baton_chipfile::config::coherent::{Atomics, DirectoryKind, HomePolicy, Inclusion, Level};
use baton_coherence::Bits;
use baton_units::{CoreId, Cycles};

/// A chip of 2x2 cores with caches of a few lines.
fn tiny() -> Chip {
    let settings = [
        "core.count=4",
        "core.per_cluster=4",
        "network.width=2",
        "network.height=2",
        "home.banks=4",
        "dram.controllers=2",
        "dram.placement=corners",
        "l1.size_bytes=512",
        "l1.ways=2",
        "l1.mshrs=3",
        "core.atomics=near",
        "shared.size_bytes=512",
        "shared.ways=2",
        "dram.row_hit=9",
        "dram.row_miss=19",
    ];
    let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).expect("a right chip")
}

const CORES: u32 = 4;
const LINES: u64 = 24;
/// Largest number of requests that a core has under way.
const DEPTH: u32 = 3;

/// A memory system, and the cores that send requests to it.
#[derive(Clone)]
struct Driver {
    memory: Coherent<Bits<1>>,
    now: u64,
    random: Random,
    /// The access that each token stands for, while it is under way; a core has four tokens.
    under_way: [Option<(Access, u64)>; 16],
    /// Which requests were served, and when.
    history: Vec<(u32, u64)>,
    notices: Vec<Notice>,
}

impl Driver {
    fn new(chip: &Chip, seed: u64) -> Driver {
        let config = chip.coherent.as_ref().expect("coherent");
        let memory = Coherent::new(chip, config, 1 << 12, Random::new(1, Purpose::Latency)).expect("it can be built");
        let random = Random::new(seed, Purpose::Latency);
        Driver { memory, now: 0, random, under_way: [None; 16], history: Vec::new(), notices: Vec::new() }
    }

    fn advance(&mut self, to: u64) {
        while self.memory.next() <= to && self.memory.next() != u64::MAX {
            let at = self.memory.advance(to, &mut self.notices);
            assert!(at >= self.now && at <= to);
            self.now = at;
            for notice in std::mem::take(&mut self.notices) {
                let Notice::Done { token, at, parts, failed } = notice else { continue };
                let (access, issued) = self.under_way[token.thread() as usize].take().expect("served once");
                assert!(at >= self.now);
                assert_eq!(parts.total(), at - issued, "{access:?}: a request's parts sum to its time");
                assert!(!failed || matches!(access, Access::StoreConditional(_)));
                self.history.push((token.thread(), at));
            }
        }
        self.now = self.now.max(to.min(self.now + 1_000_000));
    }

    fn ask(&mut self) {
        let core = self.random.below(u64::from(CORES)) as u32;
        let Some(token) = (core * 4..core * 4 + DEPTH).find(|&token| self.under_way[token as usize].is_none()) else {
            return;
        };
        let line = Line(self.random.below(LINES) as u32);
        let other = CoreId(self.random.below(u64::from(CORES)) as u32);
        let access = match self.random.below(16) {
            0..5 => Access::Load,
            5..8 => Access::Store,
            8..11 => Access::Atomic,
            11 => Access::LoadLinked(self.random.below(2) as u8),
            12 => Access::StoreConditional(self.random.below(2) as u8),
            13 => Access::Prefetch,
            14 => Access::PrefetchExclusive,
            _ if other.0 == core => Access::Push { to: None },
            _ => Access::Push { to: Some(other) },
        };
        let request =
            Request { token: Token::operation(token), core: CoreId(core), line, access, mark: Default::default() };
        match self.memory.request(request, Cycles(self.now)) {
            Answer::Served(served) => {
                assert!(served.at.0 > self.now, "a guest must not run for ever at one moment");
                self.history.push((token, served.at.0));
            }
            Answer::Pending => self.under_way[token as usize] = Some((access, self.now)),
        }
    }

    /// Makes `requests` requests.
    fn go_on(&mut self, requests: u32) {
        for _ in 0..requests {
            self.ask();
            let gap = if self.random.below(4) == 0 { self.random.below(60) } else { self.random.below(3) };
            self.advance(self.now + gap);
        }
    }

    /// Waits until nothing is under way. Returns which requests were served, and when.
    fn finish(mut self) -> Vec<(u32, u64)> {
        let mut patience = 0;
        while self.memory.next() != u64::MAX {
            self.advance(self.memory.next());
            patience += 1;
            assert!(patience < 100_000, "it does not come to rest:\n{}", self.memory.explain().join("\n"));
        }
        let left = self.under_way.iter().flatten().count();
        assert_eq!(left, 0, "requests are never served:\n{}", self.memory.explain().join("\n"));
        self.memory.check_idle();
        self.history
    }
}

const KINDS: [DirectoryKind; 4] =
    [DirectoryKind::Full, DirectoryKind::Pointers(1), DirectoryKind::Pointers(2), DirectoryKind::Owner];

/// Every kind of home, directory and shared level, in turn. A directory that names the owner alone
/// cannot recall copies.
fn chips() -> Vec<(String, Chip)> {
    let mut all = Vec::new();
    for policy in [HomePolicy::Blocking, HomePolicy::NonBlocking] {
        for shared in [None, Some(Inclusion::NonInclusive), Some(Inclusion::Inclusive)] {
            for kind in KINDS {
                for (l2, places, atomics) in
                    [(false, 0, Atomics::Near), (true, 1, Atomics::Far), (true, 3, Atomics::Near)]
                {
                    let recalls = shared == Some(Inclusion::Inclusive) || atomics == Atomics::Far;
                    if kind == DirectoryKind::Owner && recalls {
                        continue;
                    }
                    let mut chip = tiny();
                    let config = chip.coherent.as_mut().expect("coherent");
                    config.home.policy = policy;
                    config.home.places = places;
                    config.network.vcs = if policy == HomePolicy::NonBlocking { 1 } else { 2 };
                    config.directory.kind = kind;
                    config.atomics = atomics;
                    if l2 {
                        let size_bytes = 2 * config.l1.size_bytes;
                        config.l2 = Some(Level { size_bytes, latency: Cycles(9), ..config.l1 });
                    }
                    match shared {
                        None => config.shared = None,
                        Some(inclusion) => config.shared.as_mut().expect("one").inclusion = inclusion,
                    }
                    all.push((format!("{policy:?} {shared:?} {kind:?} l2 {l2} places {places} {atomics:?}"), chip));
                }
            }
        }
    }
    all
}

#[test]
fn random_requests_leave_nothing_behind() {
    for (name, chip) in chips() {
        for seed in 1..=2 {
            println!("{name}, seed {seed}");
            let mut driver = Driver::new(&chip, seed);
            driver.go_on(700);
            let served = driver.finish().len();
            assert!(served > 700 / 8, "{served} served");
        }
    }
}

/// State is plain data: a copy that is taken while requests are under way has the same future, whatever the original does.
#[test]
fn a_copy_goes_on_as_the_original() {
    for (name, chip) in chips() {
        let mut driver = Driver::new(&chip, 3);
        driver.go_on(150);
        let mut copy = driver.clone();
        driver.go_on(100);
        let original = driver.finish();
        copy.go_on(100);
        assert_eq!(copy.finish(), original, "{name}");
    }
}
