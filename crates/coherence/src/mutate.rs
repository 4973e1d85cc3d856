//! Broken protocols (mutants): in each, one row is changed. If a check finds nothing wrong with a
//! mutant, the check does not cover that row, or the change makes no difference. The example
//! `mutations` lists the changes that make none, each with its reason.

use crate::table::{Actions, MAX_ACTIONS, Row, Then};
use crate::{Protocol, cache, home};

/// A protocol with one row changed.
pub struct Mutant {
    /// Name of the row: controller, state and event.
    pub row: String,
    /// What was changed, in words.
    pub change: String,
    /// The broken protocol.
    pub protocol: Protocol,
}

/// Returns every mutant of `protocol`. Each has one of these changes in one row: an action is left
/// out or replaced by another of its kind, or two actions that depend on each other are swapped;
/// the row keeps the state or leads to another stable state; an event that should wait is taken,
/// or one that should be taken waits.
pub fn mutants(protocol: &Protocol) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (state, event, row) in protocol.cache.iter() {
        let next = states(state, row.next, cache::State::ALL.iter().copied().filter(|state| state.is_stable()));
        for (change, broken) in changes(&row, next, CACHE_KINDS, CACHE_ORDERS) {
            let cache = protocol.cache.changed(state, event, Some(broken));
            let protocol = Protocol { cache, home: protocol.home.clone() };
            mutants.push(Mutant { row: format!("cache {state} {event}"), change, protocol });
        }
    }
    for (state, event, row) in protocol.home.iter() {
        let next = states(state, row.next, home::State::ALL.iter().copied().filter(|state| state.is_stable()));
        for (change, broken) in changes(&row, next, HOME_KINDS, HOME_ORDERS) {
            let home = protocol.home.changed(state, event, Some(broken));
            let protocol = Protocol { cache: protocol.cache.clone(), home };
            mutants.push(Mutant { row: format!("home {state} {event}"), change, protocol });
        }
    }
    mutants
}

/// Returns the states to which a row could wrongly lead: its own, and each stable one.
fn states<S: PartialEq + Copy>(own: S, next: S, stable: impl Iterator<Item = S>) -> Vec<S> {
    let own = Some(own).filter(|own| *own != next);
    let others = stable.filter(|state| *state != next && Some(*state) != own);
    own.into_iter().chain(others).collect()
}

fn changes<S, A>(row: &Row<S, A>, next: Vec<S>, kinds: &[&[A]], orders: &[(A, A)]) -> Vec<(String, Row<S, A>)>
where
    S: Copy + std::fmt::Display,
    A: Copy + PartialEq + std::fmt::Display,
{
    let actions: Vec<A> = row.actions.iter().collect();
    let with = |actions: &[A]| Row { actions: Actions::new(actions), ..*row };
    let mut found = Vec::new();
    for (i, action) in actions.iter().enumerate() {
        let mut fewer = actions.clone();
        fewer.remove(i);
        found.push((format!("without `{action}`"), with(&fewer)));
        if let Some(other) = kinds.iter().find_map(|kind| after(kind, *action)) {
            let mut changed = actions.clone();
            changed[i] = other;
            found.push((format!("`{other}` for `{action}`"), with(&changed)));
        }
        for second in i + 1..actions.len() {
            let pair = (*action, actions[second]);
            if orders.contains(&pair) {
                let mut swapped = actions.clone();
                swapped.swap(i, second);
                found.push((format!("`{}` before `{}`", pair.1, pair.0), with(&swapped)));
            }
        }
    }
    match row.then {
        Then::Take => {
            found.extend(next.iter().map(|next| (format!("next {next}"), Row { next: *next, ..*row })));
            found.push(("waits".to_owned(), Row { then: Then::Retain, ..*row }));
        }
        Then::Wait => found.push(("taken".to_owned(), Row { then: Then::Take, ..*row })),
        Then::Retain => {
            found.extend(next.iter().map(|next| (format!("next {next}"), Row { next: *next, ..*row })));
            found.push(("taken".to_owned(), Row { then: Then::Take, ..*row }));
        }
    }
    debug_assert!(actions.len() <= MAX_ACTIONS);
    found
}

/// Returns the action after `action` in its kind; the first follows the last.
fn after<A: Copy + PartialEq>(kind: &[A], action: A) -> Option<A> {
    let place = kind.iter().position(|other| *other == action)?;
    Some(kind[(place + 1) % kind.len()])
}

/// Actions that are easily mistaken for one another.
const CACHE_KINDS: &[&[cache::Action]] = {
    use cache::Action::*;
    &[
        &[Complete, CompleteOnce],
        &[GetS, GetM],
        &[Upgrade, FarAtomic],
        &[PutS, PutE],
        &[PutO, PutM],
        &[Push, PutS],
        &[Accept, Refuse],
        &[DataS, DataM],
        &[Ack, AckHome],
        &[DataHome, AckHome],
        &[TakeAck, TakeCount],
        &[DeferReader, DeferWriter],
        &[DeferHome, DeferReader],
    ]
};

/// Pairs of actions in which the second must see what the first did, or the first must not see what
/// the second does.
const CACHE_ORDERS: &[(cache::Action, cache::Action)] = {
    use cache::Action::*;
    &[(Fill, Complete), (Complete, ServeReaders), (Complete, ServeNext), (Complete, Lost), (ServeReaders, ServeNext)]
};

const HOME_KINDS: &[&[home::Action]] = {
    use home::Action::*;
    &[
        &[DataS, DataE, DataM],
        &[FwdGetS, FwdGetM],
        &[Count, DataM],
        &[Inv, RecallAll],
        &[RecallOne, Inv],
        &[OfferS, OfferE],
        &[SetOwner, AddSharer],
        &[NoOwner, OwnerShares],
        &[RemoveSharer, NoSharers],
        &[Await, Answered],
    ]
};

const HOME_ORDERS: &[(home::Action, home::Action)] = {
    use home::Action::*;
    &[
        (FwdGetM, SetOwner),
        (FwdGetM, NoSharers),
        (DataM, NoSharers),
        (Count, NoSharers),
        (Inv, NoSharers),
        (RecallAll, NoSharers),
        (OwnerShares, Count),
        (OwnerShares, Inv),
        (OwnerShares, RecallAll),
        (OwnerShares, NoSharers),
        (OwnerShares, SetOwner),
        (TakeData, OfferE),
        (TakeData, OfferS),
    ]
};
