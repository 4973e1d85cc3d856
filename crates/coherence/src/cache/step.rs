//! The only interpreter of the cache's rows. The simulated chip and the model checker both run it.

use super::{Access, Action, Event, State, Table};
use crate::{Agent, CoreSet, Kind, Message, Then, Unhandled};
use baton_units::CoreId;

/// What a transaction under way stores beside the line's state, as part of the line's MSHR. All
/// fields have their defaults while the line's state is stable, so a stable line needs none stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transaction<S> {
    /// Number of acknowledgements still awaited; negative while more have arrived than were
    /// announced.
    pub missing: i32,
    /// Readers to serve at the end of the transaction.
    pub readers: S,
    /// The agent that gets the line at the end of the transaction, and the number of
    /// acknowledgements to tell it.
    pub next: Option<(Agent, u16)>,
}

/// What the executor does for the rows. Each call concerns the line at hand.
pub trait Effects {
    /// Sends `message` to `to`.
    fn send(&mut self, to: Agent, message: Message);
    /// Performs the presented access, which hits, now.
    fn hit(&mut self);
    /// Performs the access that began the transaction; of a far atomic, which the home has
    /// performed, the core only gets the result. Accesses that wait behind it are presented again
    /// after the step. A prefetch has no access, so nothing is performed. With `once`, the copy is
    /// not kept (see [`Action::CompleteOnce`]), and a load-linked sets no link.
    fn complete(&mut self, once: bool);
    /// Records that the core lost the right to read the line.
    fn lost(&mut self);
    /// Writes the data of the message at hand into the caches.
    fn fill(&mut self);
}

/// Presents a message to the cache of `core`, like [`step`] with the event that the message is. For
/// `room`, see [`Event::of`]. Fails if the table has no row for it.
#[inline]
pub fn deliver<S: CoreSet>(
    table: &Table,
    core: CoreId,
    state: &mut State,
    transaction: &mut Transaction<S>,
    message: &Message,
    room: bool,
    effects: &mut impl Effects,
) -> Result<Then, Unhandled> {
    let Some(event) = Event::of(message, transaction, room && *state == State::I) else {
        return Err(Unhandled { controller: "cache", state: state.name(), event: message.kind.name() });
    };
    run(table, core, state, transaction, event, message, effects)
}

/// Presents an access of `core` to its cache. If it returns `Wait`, present the access again when
/// the line's transaction is over. Fails if the table has no row for the access.
#[inline]
pub fn step<S: CoreSet>(
    table: &Table,
    core: CoreId,
    state: &mut State,
    transaction: &mut Transaction<S>,
    access: Access,
    effects: &mut impl Effects,
) -> Result<Then, Unhandled> {
    // Only a push reads this message, to learn which core it names.
    let message = Message { kind: Kind::Push, from: Agent::Core(core), core: access.to, acks: 0 };
    run(table, core, state, transaction, access.event, &message, effects)
}

#[inline]
fn run<S: CoreSet>(
    table: &Table,
    core: CoreId,
    state: &mut State,
    transaction: &mut Transaction<S>,
    event: Event,
    message: &Message,
    effects: &mut impl Effects,
) -> Result<Then, Unhandled> {
    let row = table.row(*state, event)?;
    for action in row.actions.iter() {
        act(action, core, transaction, message, effects);
    }
    *state = row.next;
    Ok(row.then)
}

#[inline]
fn act<S: CoreSet>(
    action: Action,
    me: CoreId,
    transaction: &mut Transaction<S>,
    message: &Message,
    effects: &mut impl Effects,
) {
    let from = Agent::Core(me);
    let requestor = Agent::Core(message.core);
    let own = |kind| Message { kind, from, core: me, acks: 0 };
    let answer = |kind, acks| Message { kind, from, core: message.core, acks };
    match action {
        Action::Hit => effects.hit(),
        Action::Complete => effects.complete(false),
        Action::CompleteOnce => effects.complete(true),
        Action::Lost => effects.lost(),
        Action::Fill => effects.fill(),
        Action::GetS => effects.send(Agent::Home, own(Kind::GetS)),
        Action::GetM => effects.send(Agent::Home, own(Kind::GetM)),
        Action::Upgrade => effects.send(Agent::Home, own(Kind::Upgrade)),
        Action::FarAtomic => effects.send(Agent::Home, own(Kind::FarAtomic)),
        Action::PutS => effects.send(Agent::Home, own(Kind::PutS)),
        Action::PutE => effects.send(Agent::Home, own(Kind::PutE)),
        Action::PutO => effects.send(Agent::Home, own(Kind::PutO)),
        Action::PutM => effects.send(Agent::Home, own(Kind::PutM)),
        Action::Push => effects.send(Agent::Home, answer(Kind::Push, 0)),
        Action::Unblock => effects.send(Agent::Home, own(Kind::Unblock)),
        Action::Accept => effects.send(Agent::Home, own(Kind::Accept)),
        Action::Refuse => effects.send(Agent::Home, own(Kind::Refuse)),
        Action::DataS => effects.send(requestor, answer(Kind::DataS, 0)),
        Action::DataM => effects.send(requestor, answer(Kind::DataM, message.acks)),
        Action::Ack => effects.send(requestor, answer(Kind::Ack, 0)),
        Action::AckHome => effects.send(Agent::Home, own(Kind::Ack)),
        Action::DataHome => effects.send(Agent::Home, own(Kind::DataHome)),
        Action::TakeAck => transaction.missing -= 1,
        Action::TakeCount => transaction.missing += i32::from(message.acks),
        Action::DeferReader => transaction.readers.insert(message.core),
        Action::DeferWriter => transaction.next = Some((requestor, message.acks)),
        Action::DeferHome => transaction.next = Some((Agent::Home, 0)),
        Action::ServeReaders => {
            std::mem::take(&mut transaction.readers).each(|reader| {
                effects.send(Agent::Core(reader), Message { kind: Kind::DataS, from, core: reader, acks: 0 });
            });
        }
        Action::ServeNext => match transaction.next.take() {
            Some((Agent::Core(core), acks)) => {
                effects.send(Agent::Core(core), Message { kind: Kind::DataM, from, core, acks });
            }
            Some((Agent::Home, _)) => effects.send(Agent::Home, own(Kind::DataHome)),
            None => {}
        },
    }
}
