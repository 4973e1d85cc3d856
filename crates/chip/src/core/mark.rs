//! The registers that a lock writes before a try, and what the core's network interface makes of them (Yao and Lu, OCOR,
//! section 4): header fields of the request that the try sends.
//!
//! A hint is for one instruction: the next atomic takes it, and what comes after is unmarked.

use crate::config::ocor::{Full, Ocor, Rule, WakeUp};
use baton_machine::LockHint;
use baton_noc::Header;

/// What a thread's next marked access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A try to take a lock, and for how many cycles its thread has waited for it.
    Try(LockHint, u64),
    /// The release of one.
    Release(LockHint),
    /// A sleeper enters the lock's queue.
    Registration(LockHint),
    /// Who unlocks looks for a sleeper at the queue's home.
    WakeUp(LockHint),
    /// The home of the queue wakes a sleeper.
    Woken(LockHint),
}

impl Sort {
    /// What a hint from a lock is for: tries have at least one left, the one that is made. `waited`: the thread's wait so far.
    pub(crate) fn of(hint: LockHint, waited: u64) -> Sort {
        if hint.retries_left == 0 { Sort::Release(hint) } else { Sort::Try(hint, waited) }
    }

    /// The header fields, by the chip's rules. The class is filled in when the packet is made.
    pub(crate) fn header(self, ocor: &Ocor) -> Header {
        let mark = |level: u32, hint: LockHint| Header {
            class: 0,
            marked: true,
            level: level as u8,
            // Behind what goes before all tries.
            progress: progress(hint.progress, ocor).saturating_add(u16::from(ocor.rule.has_urgent())),
        };
        let wake = |hint| mark(if ocor.wake_up_last { ocor.levels } else { 0 }, hint);
        match (self, ocor.wake_up) {
            (Sort::Try(hint, waited), _) if ocor.rule == Rule::OldestFirst => mark(age(waited, ocor), hint),
            (Sort::Try(hint, _), _) => mark(segment(hint.retries_left, ocor), hint),
            (Sort::Release(_), _) if ocor.rule.has_urgent() => URGENT,
            (Sort::Release(hint), _) if ocor.mark_release => mark(0, hint),
            (Sort::Registration(hint), _) if ocor.mark_registration => mark(segment(hint.retries_left, ocor), hint),
            (Sort::WakeUp(hint), WakeUp::Unlocker | WakeUp::Both) => wake(hint),
            (Sort::Woken(hint), WakeUp::Home | WakeUp::Both) => wake(hint),
            _ => Header::default(),
        }
    }
}

/// The header of what goes before all tries and wake-ups: slowest progress, highest level, which no other packet has then.
pub(crate) const URGENT: Header = Header { class: 0, marked: true, level: 0, progress: 0 };

/// A wait shorter than this is in the lowest segment of ages, [`Rule::OldestFirst`]; each doubling is one higher. Ours: about as long
/// as eight tries.
const YOUNG: u64 = 512;

/// The segment of a wait: 0, the highest, for the longest.
fn age(waited: u64, ocor: &Ocor) -> u32 {
    let doublings = (waited / YOUNG).checked_ilog2().map_or(0, |n| n + 1);
    (ocor.levels - 1).saturating_sub(doublings)
}

/// The segment of a number of remaining tries: 0, the highest, for the last ones.
fn segment(left: u32, ocor: &Ocor) -> u32 {
    let left = u64::from(left.clamp(1, ocor.tries) - 1);
    (left * u64::from(ocor.levels) / u64::from(ocor.tries)) as u32
}

/// The value of the progress field.
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
    use super::*;

    fn level(left: u32, levels: u32) -> u8 {
        let ocor = Ocor { levels, ..Ocor::default() };
        Sort::of(LockHint { retries_left: left, progress: 0 }, 0).header(&ocor).level
    }

    #[test]
    fn tries_fall_into_segments() {
        // Section 4.2: 8 segments of 16 tries; 1 to 16 left are the highest.
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
            Sort::Try(LockHint { retries_left: 1, progress: 0 }, waited).header(&ocor).level
        };
        assert_eq!([0, 511, 512, 1023, 1024, 32_767, 32_768, u64::MAX].map(level), [7, 7, 6, 6, 5, 1, 0, 0]);
    }

    #[test]
    fn nothing_else_is_urgent() {
        let hint = |retries_left| LockHint { retries_left, progress: 0 };
        for rule in [Rule::ReleaseFirst, Rule::HolderFirst] {
            let ocor = Ocor { rule, wake_up_last: false, ..Ocor::default() };
            assert_eq!(Sort::of(hint(0), 0).header(&ocor), URGENT);
            let others =
                [Sort::of(hint(1), 0), Sort::WakeUp(hint(1)), Sort::Woken(hint(1)), Sort::Registration(hint(1))];
            for other in others {
                assert_ne!(other.header(&Ocor { mark_registration: true, ..ocor }), URGENT, "{other:?}");
            }
        }
        assert!(!Sort::of(hint(0), 0).header(&Ocor::default()).marked, "the paper's rule marks no release");
    }

    #[test]
    fn what_is_marked_is_chosen() {
        let hint = LockHint { retries_left: 3, progress: 40 };
        let off = Ocor::default();
        let wake = Header { class: 0, marked: true, level: 8, progress: 2 };
        assert_eq!(Sort::WakeUp(hint).header(&off), wake);
        assert_eq!(Sort::WakeUp(hint).header(&Ocor { wake_up_last: false, ..off }).level, 0);
        assert!(!Sort::WakeUp(hint).header(&Ocor { wake_up: WakeUp::Home, ..off }).marked);
        assert!(
            Sort::Woken(hint).header(&off).marked
                && !Sort::Woken(hint).header(&Ocor { wake_up: WakeUp::Unlocker, ..off }).marked
        );
        let release = Sort::of(LockHint { retries_left: 0, progress: 40 }, 0);
        assert!(!release.header(&off).marked);
        assert_eq!(release.header(&Ocor { mark_release: true, ..off }), Header { level: 0, ..wake });
        assert!(!Sort::Registration(hint).header(&off).marked);
        assert_eq!(Sort::Registration(hint).header(&Ocor { mark_registration: true, ..off }).level, 0);
    }
}
