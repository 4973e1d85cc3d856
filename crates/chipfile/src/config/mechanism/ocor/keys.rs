//! The keys of OCOR's hardware. A file may omit all of them: OCOR is then off.

use super::{Full, MAX_PLACES, Ocor, Place, Rule, Ties, WakeUp};
use crate::config::chip::Chip;
use crate::config::keys::key::{Key, Need, Value, ValueKind, text, whole};
use baton_units::Cycles;

fn of(chip: &mut Chip) -> &mut Ocor {
    &mut chip.coherent.get_or_insert_default().mechanisms.ocor
}

macro_rules! key {
    (switch $path:literal, $field:ident, $what:literal) => {
        key!(@ $path, ValueKind::Switch, $what,
            |o| Value::Switch(o.$field), |o, value| o.$field = value == Value::Switch(true))
    };
    (count $path:literal, $field:ident, $least:expr, $most:expr, $what:literal) => {
        key!(@ $path, ValueKind::Count($least, $most), $what,
            |o| Value::Whole(o.$field.into()), |o, value| o.$field = whole(value) as u32)
    };
    (choice $path:literal, $field:ident, $type:ident, $what:literal) => {
        key!(@ $path, ValueKind::Choice($type::NAMES), $what,
            |o| Value::Text(o.$field.name().into()),
            |o, value| o.$field = $type::named(&text(value)).unwrap_or_default())
    };
    // A key beyond the paper: written only if `ocor.where` is not `network`, or if its value is not
    // the default.
    (beside $path:literal, $($field:ident).+, $kind:expr, $what:literal, |$o:ident| $get:expr, |$value:ident| $set:expr) => {
        Key {
            path: $path, kind: $kind, fixed: Need::No, coherent: Need::May, what: $what,
            get: |_, chip| {
                let $o = &chip.coherent.as_ref()?.mechanisms.ocor;
                ($o.place != Place::Network || $o.$($field).+ != Ocor::default().$($field).+).then(|| $get)
            },
            set: |_, chip, $value| of(chip).$($field).+ = $set,
        }
    };
    (@ $path:literal, $kind:expr, $what:literal, |$o:ident| $get:expr, |$m:ident, $value:ident| $set:expr) => {
        Key {
            path: $path, kind: $kind, fixed: Need::No, coherent: Need::May, what: $what,
            get: |_, chip| chip.coherent.as_ref().map(|coherent| {
                let $o = &coherent.mechanisms.ocor;
                $get
            }),
            set: |_, chip, $value| {
                let $m = of(chip);
                $set
            },
        }
    };
}

/// The keys, in the order in which a chip file is written.
pub(in crate::config) const KEYS: &[Key] = &[
    key!(switch "ocor.enabled", enabled,
        "network interfaces mark lock and wake-up requests, and routers arbitrate by the marks"),
    key!(switch "ocor.heeded", heeded, "routers arbitrate by the marks; otherwise they are written and paid for alone"),
    key!(choice "ocor.rule", rule, Rule, "whose packets go first"),
    key!(beside "ocor.where", place, ValueKind::Choice(Place::NAMES),
        "who goes by the marks: routers, homes with the ports before them, or both; or a bound that no hardware reaches",
        |o| Value::Text(o.place.name().into()), |value| Place::named(&text(value)).unwrap_or_default()),
    key!(beside "ocor.places", home.places, ValueKind::Count(1, MAX_PLACES as u64),
        "requests for one line that a home compares; later ones stand behind them in order of arrival",
        |o| Value::Whole(o.home.places.into()), |value| whole(value) as u32),
    key!(beside "ocor.passes", home.passes, ValueKind::Count(1, 65_535),
        "times that a waiting request is passed at its home before it goes first",
        |o| Value::Whole(o.home.passes.into()), |value| whole(value) as u32),
    key!(count "ocor.tries", tries, 1, 65_536, "tries before a thread sleeps, which the levels divide"),
    key!(count "ocor.levels", levels, 1, 128, "segments of the tries that are left, each a priority; wake-ups have one more"),
    key!(count "ocor.progress_levels", progress_levels, 0, 65_536,
        "values of the header's progress field; 0: there is none"),
    key!(count "ocor.progress_step", progress_step, 1, 1_000_000,
        "critical sections that a thread completes from one value of the field to the next"),
    key!(choice "ocor.progress_full", progress_full, Full, "what the progress field does behind its last value"),
    key!(choice "ocor.wake_up", wake_up, WakeUp, "which wake-up messages are marked"),
    key!(switch "ocor.wake_up_last", wake_up_last, "wake-ups have the lowest level; otherwise the highest"),
    key!(switch "ocor.marked_first", marked_first, "marked packets go before unmarked ones"),
    key!(choice "ocor.ties", ties, Ties, "how ties among marked packets are broken"),
    key!(switch "ocor.outranks_speculation", outranks_speculation,
        "a marked packet's speculative bid goes before an unmarked one's that is not"),
    key!(@ "ocor.mark_release", ValueKind::Switch, "the release of the lock is marked, at the highest level",
        |o| Value::Switch(o.releases.marked), |o, value| o.releases.marked = value == Value::Switch(true)),
    key!(switch "ocor.mark_registration", mark_registration, "a sleeper's registration is marked, as the last try was"),
    key!(switch "ocor.mark_forwards", mark_forwards, "forwards and invalidations that a marked request causes are marked"),
    key!(switch "ocor.mark_responses", mark_responses, "responses to a marked request are marked"),
    Key {
        path: "ocor.release_network",
        kind: ValueKind::Switch,
        fixed: Need::No,
        coherent: Need::May,
        what: "releases travel in a virtual network of their own, so that no try is in front of them",
        // A key beyond the paper: written only if it is on.
        get: |_, chip| {
            let on = chip.coherent.as_ref()?.mechanisms.ocor.releases.apart;
            on.then_some(Value::Switch(true))
        },
        set: |_, chip, value| of(chip).releases.apart = value == Value::Switch(true),
    },
    key!(@ "ocor.hint", ValueKind::Cycles, "writing the registers before a try",
        |o| Value::Whole(o.hint.0), |o, value| o.hint = Cycles(whole(value))),
];
