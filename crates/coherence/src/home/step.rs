//! The only interpreter of the home's rows. The simulated chip and the model checker both run it.

use super::{Action, Event, Line, Naming, Table};
use crate::{Agent, CoreSet, Kind, Message, Then, Unhandled};
use baton_units::CoreId;

/// What the executor does for the rows. Each call concerns the line at hand.
pub trait Effects<S> {
    /// Sends `message` to `to`. Kinds that carry a line carry the home's data. The executor reads
    /// it from the bank or from memory, which may take any time.
    fn send(&mut self, to: Agent, message: Message);
    /// Makes the data of the message at hand the home's data.
    fn store(&mut self);
    /// Performs the requestor's atomic on the home's data.
    fn atomic(&mut self, requestor: CoreId);
    /// Removes the line from the shared level.
    fn drop_line(&mut self);
    /// Picks the sharer that must give up its copy when the entry has no pointer left; there is at
    /// least one.
    fn victim(&mut self, sharers: &S) -> CoreId;
}

/// Presents a message to a line's home. `naming` is what the directory's entries name. Fails if the table has no row for the message.
///
/// Only requests come back as `Wait` or `Retain`. Such a request then waits at the home, and so
/// must all later requests for the line; otherwise a writer could wait for ever behind readers.
/// When the entry has changed, present one of the waiting requests again: one that came back as
/// `Retain` before all others, otherwise the oldest or, for a bounded number of times, any other.
/// While the state is not stable, the request may simply come back as `Wait`.
#[inline]
pub fn deliver<S: CoreSet>(
    table: &Table,
    line: &mut Line<S>,
    message: &Message,
    naming: Naming,
    effects: &mut impl Effects<S>,
) -> Result<Then, Unhandled> {
    let Some(event) = Event::of(message, line, naming) else {
        return Err(Unhandled { controller: "home", state: line.state.name(), event: message.kind.name() });
    };
    run(table, line, event, (message, naming), effects)
}

/// Asks the home to give up the line's place in the shared level. Call it only while the line's
/// state is stable; requests may be waiting. If it returns `Retain`, call it again when the state
/// is stable again, before waiting requests are presented. Once it is taken, [`Effects::drop_line`]
/// has been called and no core holds the line.
#[inline]
pub fn evict<S: CoreSet>(table: &Table, line: &mut Line<S>, effects: &mut impl Effects<S>) -> Result<Then, Unhandled> {
    // No row for an eviction reads the message or sends Inv, so any message and any naming will do.
    let message = Message { kind: Kind::Recall, from: Agent::Home, core: CoreId(0), acks: 0 };
    run(table, line, Event::Evict, (&message, Naming::FULL), effects)
}

#[inline]
fn run<S: CoreSet>(
    table: &Table,
    line: &mut Line<S>,
    event: Event,
    (message, naming): (&Message, Naming),
    effects: &mut impl Effects<S>,
) -> Result<Then, Unhandled> {
    let row = table.row(line.state, event)?;
    let requestor = match message.from {
        Agent::Core(core) => core,
        Agent::Home => message.core,
    };
    for action in row.actions.iter() {
        act(action, line, requestor, (message.core, naming), effects);
    }
    line.state = row.next;
    Ok(row.then)
}

#[inline]
fn act<S: CoreSet>(
    action: Action,
    line: &mut Line<S>,
    requestor: CoreId,
    (named, naming): (CoreId, Naming),
    effects: &mut impl Effects<S>,
) {
    let to = Agent::Core(requestor);
    let say = |kind, acks| Message { kind, from: Agent::Home, core: requestor, acks };
    let others = others(line, requestor, naming);
    match action {
        Action::DataS => effects.send(to, say(Kind::DataS, 0)),
        Action::DataE => effects.send(to, say(Kind::DataE, 0)),
        Action::DataM => effects.send(to, say(Kind::DataM, others)),
        Action::Count => effects.send(to, say(Kind::Count, others)),
        Action::PutAck => effects.send(to, say(Kind::PutAck, 0)),
        Action::FwdGetS => to_owner(line, say(Kind::FwdGetS, 0), effects),
        Action::FwdGetM => to_owner(line, say(Kind::FwdGetM, others), effects),
        Action::Inv => {
            line.sharers.each(|sharer| {
                if sharer != requestor {
                    effects.send(Agent::Core(sharer), say(Kind::Inv, 0));
                }
            });
            for core in (0..u32::from(naming.asked)).map(CoreId) {
                if core != requestor && !line.holds(core) {
                    effects.send(Agent::Core(core), say(Kind::Probe, 0));
                }
            }
        }
        Action::RecallAll => {
            line.pending += line.sharers.len();
            line.sharers.each(|sharer| effects.send(Agent::Core(sharer), say(Kind::Recall, 0)));
        }
        Action::RecallOne => {
            let victim = effects.victim(&line.sharers);
            line.sharers.remove(victim);
            line.pending += 1;
            effects.send(Agent::Core(victim), say(Kind::Recall, 0));
        }
        Action::OfferS => effects.send(Agent::Core(named), Message { core: named, ..say(Kind::OfferS, 0) }),
        Action::OfferE => effects.send(Agent::Core(named), Message { core: named, ..say(Kind::OfferE, 0) }),
        Action::TakeData => effects.store(),
        Action::Perform => {
            effects.atomic(requestor);
            effects.send(to, say(Kind::AtomicDone, 0));
        }
        Action::Drop => effects.drop_line(),
        Action::SetOwner => line.owner = Some(requestor),
        Action::NoOwner => line.owner = None,
        Action::OwnerShares => {
            if let Some(owner) = line.owner.take() {
                line.sharers.insert(owner);
            }
        }
        Action::AddSharer => line.sharers.insert(requestor),
        Action::RemoveSharer => line.sharers.remove(requestor),
        Action::NoSharers => line.sharers = S::default(),
        Action::Await => line.pending += 1,
        Action::Answered => line.pending = line.pending.wrapping_sub(1),
    }
}

/// Number of cores whose acknowledgements a writer must await: the sharers but itself, or all cores
/// but itself and an owner that hands the line over.
#[inline]
fn others<S: CoreSet>(line: &Line<S>, requestor: CoreId, naming: Naming) -> u16 {
    if naming.asked == 0 || line.sharers.is_empty() {
        return line.sharers.len() - u16::from(line.sharers.contains(requestor));
    }
    naming.asked - 1 - u16::from(line.owner.is_some_and(|owner| owner != requestor))
}

/// Sends `message` to the line's owner. Without an owner, it sends nothing; the checker then finds
/// that the requestor hangs. No row of the protocol forwards in a state without an owner.
#[inline]
fn to_owner<S>(line: &Line<S>, message: Message, effects: &mut impl Effects<S>) {
    if let Some(owner) = line.owner {
        effects.send(Agent::Core(owner), message);
    }
}
