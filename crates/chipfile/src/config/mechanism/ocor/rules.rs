//! OCOR's rules: the registers that a lock writes before a try, and the header fields that the
//! core's network interface derives from them for the request of the try (Yao and Lu, section 4).

use super::{Full, Ocor, Place, Rule, Ties, WakeUp};
use crate::config::mechanism::{Annotator, HomeOrder, Inheritance, LockRequest};
use baton_machine::LockHint;
use baton_noc::arbiter::{ArbiterKind, Ranked};
use baton_noc::ocor::Mark;
use baton_noc::{Header, Rank};
use baton_units::Cycles;

impl Annotator for Ocor {
    fn is_enabled(&self) -> bool {
        self.enabled
    }

    fn hint_cycles(&self) -> Cycles {
        if self.enabled && self.place != Place::Oracle { self.hint } else { Cycles(0) }
    }

    fn section_cycles(&self) -> Cycles {
        if self.rule.asks_for_sections() { self.hint_cycles() } else { Cycles(0) }
    }

    fn header(&self, request: LockRequest) -> Header {
        let alone = self.has_release_network() && matches!(request, LockRequest::Release(_));
        Header { class: if alone { ALONE } else { 0 }, ..self.marked(request) }
    }

    fn has_release_network(&self) -> bool {
        self.enabled && self.releases.apart
    }

    fn leaving(&self) -> Option<Header> {
        let urgent = self.enabled && (self.rule.has_urgent() || self.place == Place::Oracle);
        let class = if self.has_release_network() { ALONE } else { 0 };
        urgent.then_some(Header { class, ..URGENT })
    }

    fn holding(&self) -> Option<Header> {
        (self.enabled && self.rule == Rule::HolderFirst).then_some(URGENT)
    }

    fn misfit(&self) -> Option<(&'static str, String, String)> {
        if self.levels > self.tries {
            return Some(("ocor.levels", self.levels.to_string(), format!("at most ocor.tries, {}", self.tries)));
        }
        let exact = self.place == Place::Oracle && self.rule != Rule::Paper;
        let expected = || "\"paper\": ocor.where = \"oracle\" has one order, by tries left".to_owned();
        exact.then(|| ("ocor.rule", format!("\"{}\"", self.rule.name()), expected()))
    }

    fn inheritance(&self) -> Inheritance {
        Inheritance {
            requests: self.enabled,
            forwards: self.enabled && self.mark_forwards,
            responses: self.enabled && self.mark_responses,
            always: self.leaving(),
        }
    }

    fn home_order(&self) -> Option<HomeOrder> {
        let order = HomeOrder { places: self.home.places, passes: self.home.passes, ranked_first: self.marked_first };
        let unbounded = HomeOrder { places: u32::MAX, passes: u32::MAX, ..order };
        let heeded = self.enabled && self.heeded && self.place.has_homes();
        heeded.then_some(if self.place == Place::Oracle { unbounded } else { order })
    }

    /// Returns the network with OCOR's arbiters, whose ties are broken by the run's seed. The
    /// network stays unchanged if marks are written and paid for but not used.
    fn routers(&self, network: baton_noc::Config, seed: &mut dyn FnMut() -> u64) -> baton_noc::Config {
        if !self.enabled || !self.heeded {
            return network;
        }
        let ranked = Ranked {
            outranks_speculation: self.outranks_speculation,
            ranked_first: self.marked_first,
            random_ties: self.ties == Ties::Random,
        };
        let ports = baton_noc::Config { ranked_ejection: self.place.has_homes(), ranked, ..network };
        if !self.place.has_routers() {
            return ports;
        }
        baton_noc::Config { arbiter: ArbiterKind::Ranked, seed: seed(), ..ports }
    }
}

impl Ocor {
    /// The mark of a lock's request; the network that the request travels in is not in it.
    fn marked(&self, request: LockRequest) -> Header {
        if self.place == Place::Oracle {
            return Header { class: 0, rank: exact(request, self) };
        }
        let mark = |level: u32, hint: LockHint| Header {
            class: 0,
            rank: Mark {
                level: level as u8,
                // If the rule has packets that go before all tries, these have progress 0, and
                // tries begin at 1.
                progress: progress(hint.progress, self).saturating_add(u16::from(self.rule.has_urgent())),
            }
            .rank(),
        };
        let wake = |hint| mark(if self.wake_up_last { self.levels } else { 0 }, hint);
        match (request, self.wake_up) {
            (LockRequest::Try(hint, waited), _) if self.rule == Rule::OldestFirst => mark(age(waited, self), hint),
            (LockRequest::Try(hint, _), _) if self.rule == Rule::Reversed => {
                mark(self.levels - 1 - segment(hint.retries_left, self), hint)
            }
            (LockRequest::Try(hint, _), _) => mark(segment(hint.retries_left, self), hint),
            (LockRequest::Release(_), _) if self.rule.has_urgent() => URGENT,
            (LockRequest::Release(hint), _) if self.releases.marked => mark(0, hint),
            (LockRequest::Registration(hint), _) if self.mark_registration => {
                mark(segment(hint.retries_left, self), hint)
            }
            (LockRequest::WakeUp(hint), WakeUp::Unlocker | WakeUp::Both) => wake(hint),
            (LockRequest::Woken(hint), WakeUp::Home | WakeUp::Both) => wake(hint),
            _ => Header::default(),
        }
    }
}

/// The oracle's rank: first releases, then tries and marked registrations by the number of tries
/// left, then marked wake-ups.
fn exact(request: LockRequest, ocor: &Ocor) -> Rank {
    const WAKE_UP: Rank = Rank::new(Rank::LAST);
    let left = |hint: LockHint| hint.retries_left.clamp(1, Rank::LAST - 1);
    match (request, ocor.wake_up) {
        (LockRequest::Release(_), _) => Rank::new(0),
        (LockRequest::Try(hint, _), _) => Rank::new(left(hint)),
        (LockRequest::Registration(hint), _) if ocor.mark_registration => Rank::new(left(hint)),
        (LockRequest::WakeUp(_), WakeUp::Unlocker | WakeUp::Both) => WAKE_UP,
        (LockRequest::Woken(_), WakeUp::Home | WakeUp::Both) => WAKE_UP,
        _ => Rank::NONE,
    }
}

/// The header that goes before all tries and wake-ups: slowest progress and highest level, which no
/// other packet has under these rules.
const URGENT: Header = Header { class: 0, rank: Mark { level: 0, progress: 0 }.rank() };

/// The class in the header of a release that travels in a virtual network of its own. The memory
/// system replaces it by the number of that network.
const ALONE: u8 = 1;

/// A wait shorter than this is in the lowest age segment ([`Rule::OldestFirst`]); each doubling is
/// one segment higher. The value is ours: about as long as eight tries.
const YOUNG: u64 = 512;

/// Returns the segment of a wait; the longest waits have segment 0, the highest.
fn age(waited: u64, ocor: &Ocor) -> u32 {
    let doublings = (waited / YOUNG).checked_ilog2().map_or(0, |n| n + 1);
    (ocor.levels - 1).saturating_sub(doublings)
}

/// The segment of a number of remaining tries: 0, the highest, for the last tries.
fn segment(left: u32, ocor: &Ocor) -> u32 {
    let left = u64::from(left.clamp(1, ocor.tries) - 1);
    (left * u64::from(ocor.levels) / u64::from(ocor.tries)) as u32
}

/// The value of the progress field after `completed` critical sections.
fn progress(completed: u32, ocor: &Ocor) -> u16 {
    let Some(last) = ocor.progress_levels.checked_sub(1) else { return 0 };
    let value = completed / ocor.progress_step;
    match ocor.progress_full {
        Full::Wrap => (value % ocor.progress_levels) as u16,
        Full::Saturate => value.min(last) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HomeArbiter, Releases};
    use super::*;

    fn mark_of(header: Header) -> Mark {
        Mark::of(header.rank).expect("the header is marked")
    }

    trait By {
        fn header(self, ocor: &Ocor) -> Header;
    }

    impl By for LockRequest {
        fn header(self, ocor: &Ocor) -> Header {
            Annotator::header(ocor, self)
        }
    }

    fn level(left: u32, levels: u32) -> u8 {
        let ocor = Ocor { levels, ..Ocor::default() };
        mark_of(LockRequest::of(LockHint { retries_left: left, progress: 0 }, 0).header(&ocor)).level
    }

    #[test]
    fn tries_fall_into_segments() {
        // Section 4.2 has 8 segments of 16 tries; the segment of 1 to 16 remaining tries is the
        // highest.
        let firsts: Vec<u32> = (1..=128).filter(|&left| left == 1 || level(left, 8) != level(left - 1, 8)).collect();
        assert_eq!(firsts, [1, 17, 33, 49, 65, 81, 97, 113]);
        assert_eq!((level(1, 8), level(128, 8), level(500, 8)), (0, 7, 7));
        assert_eq!((1..=128).map(|left| level(left, 128)).collect::<Vec<_>>(), (0..128).collect::<Vec<u8>>());
        assert!((1..=128).all(|left| level(left, 1) == 0));
    }

    #[test]
    fn progress_wraps_or_stays() {
        let ocor = |progress_levels, progress_full| Ocor { progress_levels, progress_full, ..Ocor::default() };
        let values = |ocor: Ocor| [0, 15, 16, 127, 128, 144, 100_000].map(|n| progress(n, &ocor));
        assert_eq!(values(ocor(8, Full::Wrap)), [0, 0, 1, 7, 0, 1, 2]);
        assert_eq!(values(ocor(8, Full::Saturate)), [0, 0, 1, 7, 7, 7, 7]);
        assert_eq!(values(ocor(0, Full::Wrap)), [0; 7]);
        assert_eq!(progress(u32::MAX, &Ocor { progress_step: 1, ..ocor(65_536, Full::Saturate) }), u16::MAX);
    }

    #[test]
    fn waits_fall_into_segments() {
        let level = |waited| {
            let ocor = Ocor { rule: Rule::OldestFirst, ..Ocor::default() };
            mark_of(LockRequest::Try(LockHint { retries_left: 1, progress: 0 }, waited).header(&ocor)).level
        };
        assert_eq!([0, 511, 512, 1023, 1024, 32_767, 32_768, u64::MAX].map(level), [7, 7, 6, 6, 5, 1, 0, 0]);
    }

    #[test]
    fn the_reversed_rule_turns_the_order_of_tries_alone() {
        let ocor = |rule| Ocor { rule, ..Ocor::default() };
        let level = |rule, left| {
            let hint = LockHint { retries_left: left, progress: 0 };
            mark_of(LockRequest::Try(hint, 0).header(&ocor(rule))).level
        };
        assert_eq!([1, 16, 17, 128].map(|left| level(Rule::ReleaseFirst, left)), [0, 0, 1, 7]);
        assert_eq!([1, 16, 17, 128].map(|left| level(Rule::Reversed, left)), [7, 7, 6, 0]);
        let hint = LockHint { retries_left: 0, progress: 0 };
        for other in [LockRequest::Release(hint), LockRequest::WakeUp(hint), LockRequest::Woken(hint)] {
            assert_eq!(other.header(&ocor(Rule::Reversed)), other.header(&ocor(Rule::ReleaseFirst)), "{other:?}");
        }
    }

    #[test]
    fn nothing_else_is_urgent() {
        let hint = |retries_left| LockHint { retries_left, progress: 0 };
        for rule in [Rule::ReleaseFirst, Rule::HolderFirst] {
            let ocor = Ocor { rule, wake_up_last: false, ..Ocor::default() };
            assert_eq!(LockRequest::of(hint(0), 0).header(&ocor), URGENT);
            let others = [
                LockRequest::of(hint(1), 0),
                LockRequest::WakeUp(hint(1)),
                LockRequest::Woken(hint(1)),
                LockRequest::Registration(hint(1)),
            ];
            for other in others {
                assert_ne!(other.header(&Ocor { mark_registration: true, ..ocor }), URGENT, "{other:?}");
            }
        }
        assert!(
            !LockRequest::of(hint(0), 0).header(&Ocor::default()).rank.is_some(),
            "the paper's rule marks no release"
        );
    }

    #[test]
    fn the_oracle_knows_tries_exactly() {
        let oracle = Ocor { enabled: true, place: Place::Oracle, ..Ocor::default() };
        let rank = |left| LockRequest::of(LockHint { retries_left: left, progress: 900 }, 0).header(&oracle).rank.get();
        // Releases come first, then each number of tries by itself, whatever the progress; wake-ups
        // come last.
        assert_eq!([0, 1, 2, 128, 1_000_000].map(rank), [0, 1, 2, 128, 1_000_000].map(Some));
        let wake = LockRequest::WakeUp(LockHint { retries_left: 1, progress: 0 }).header(&oracle);
        assert!(wake.rank.get() > rank(u32::MAX));
        assert_eq!(oracle.hint_cycles(), Cycles(0));
        let order = oracle.home_order().expect("homes go by it");
        assert_eq!((order.places, order.passes), (u32::MAX, u32::MAX));
    }

    #[test]
    fn who_goes_by_the_marks_is_chosen() {
        let on = Ocor { enabled: true, home: HomeArbiter { places: 8, passes: 3 }, ..Ocor::default() };
        let of = |place| {
            let ocor = Ocor { place, ..on };
            let network = ocor.routers(baton_noc::Config::default(), &mut || 5);
            (
                network.arbiter == ArbiterKind::Ranked,
                network.ranked_ejection,
                ocor.home_order().map(|order| order.places),
            )
        };
        assert_eq!(of(Place::Network), (true, false, None));
        assert_eq!(of(Place::Home), (false, true, Some(8)));
        assert_eq!(of(Place::Both), (true, true, Some(8)));
        for off in [Ocor { enabled: false, place: Place::Both, ..on }, Ocor { heeded: false, place: Place::Both, ..on }]
        {
            assert_eq!(off.home_order(), None);
            assert_eq!(off.routers(baton_noc::Config::default(), &mut || 5), baton_noc::Config::default());
        }
    }

    #[test]
    fn what_is_marked_is_chosen() {
        let hint = LockHint { retries_left: 3, progress: 40 };
        let off = Ocor::default();
        let wake = Mark { level: 8, progress: 2 };
        assert_eq!(mark_of(LockRequest::WakeUp(hint).header(&off)), wake);
        assert_eq!(mark_of(LockRequest::WakeUp(hint).header(&Ocor { wake_up_last: false, ..off })).level, 0);
        assert!(!LockRequest::WakeUp(hint).header(&Ocor { wake_up: WakeUp::Home, ..off }).rank.is_some());
        assert!(
            LockRequest::Woken(hint).header(&off).rank.is_some()
                && !LockRequest::Woken(hint).header(&Ocor { wake_up: WakeUp::Unlocker, ..off }).rank.is_some()
        );
        let release = LockRequest::of(LockHint { retries_left: 0, progress: 40 }, 0);
        assert!(!release.header(&off).rank.is_some());
        assert_eq!(
            mark_of(release.header(&Ocor { releases: Releases { marked: true, ..off.releases }, ..off })),
            Mark { level: 0, ..wake }
        );
        assert!(!LockRequest::Registration(hint).header(&off).rank.is_some());
        assert_eq!(mark_of(LockRequest::Registration(hint).header(&Ocor { mark_registration: true, ..off })).level, 0);
    }
}
