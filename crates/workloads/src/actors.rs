//! Actors with a mailbox each: an actor is a thread, any actor sends to any other, and only the
//! actor itself reads its mailbox. The workload is the program "big" of the Savina suite (Imam and
//! Sarkar, AGERE 2014): each actor sends pings to other actors, one at a time, and answers the
//! pings that it gets. Each actor tells the first one when it has all its answers; then the first
//! actor tells all others to leave.

use crate::requests::unmade;
use crate::timing::{Figure, Spans};
use crate::work::mix;
use crate::{Body, Charge, Knobs, Probe, Refused, Shared, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue, Side};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActorSettings {
    /// Number of threads. Each thread is an actor.
    pub actors: u32,
    /// Number of pings that each actor sends.
    pub pings: u32,
    /// Mean number of cycles that an actor computes for a ping that it gets.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Places of a mailbox, a power of two. A message that finds no room stays with its sender,
    /// which reads its own mailbox meanwhile.
    pub capacity: usize,
    /// Seed of the choice of receivers.
    pub seed: u64,
}

/// A message, as a word of a queue: a kind in the two highest bits, the sender in bits 32 to 47, a
/// number in the lowest 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Ping {
        from: u32,
        number: u32,
    },
    Pong {
        number: u32,
    },
    /// The sending actor has the answers to all its pings.
    Through,
    /// All actors have their answers: the receiver may leave.
    Leave,
}

impl Message {
    fn word(self) -> u64 {
        match self {
            Message::Ping { from, number } => u64::from(from) << 32 | u64::from(number),
            Message::Pong { number } => 1 << 62 | u64::from(number),
            Message::Through => 2 << 62,
            Message::Leave => 3 << 62,
        }
    }

    fn of(word: u64) -> Message {
        match word >> 62 {
            0 => Message::Ping { from: (word >> 32) as u32, number: word as u32 },
            1 => Message::Pong { number: word as u32 },
            2 => Message::Through,
            _ => Message::Leave,
        }
    }
}

/// Every actor's mailbox.
type Mailboxes<M, Q> = Arc<Vec<Shared<M, Q>>>;

/// An actor's end of the mailboxes.
struct Post<M: Machine, Q: RawQueue<M, Item = u64>> {
    me: usize,
    mailboxes: Mailboxes<M, Q>,
    /// Messages for which the receiver's mailbox had no room, the oldest first.
    kept: VecDeque<(usize, u64)>,
    wait: Wait,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Post<M, Q> {
    fn send(&mut self, to: u32, message: Message) {
        self.kept.push_back((to as usize, message.word()));
        self.deliver();
    }

    /// Sends the kept messages, the oldest first, up to the first one whose receiver has no room.
    /// Returns whether none is left.
    fn deliver(&mut self) -> bool {
        while let Some(&(to, word)) = self.kept.front() {
            // SAFETY: a mailbox is a queue for any number of senders, or there are two actors, of
            // which one sends to it; `ActorSettings::team` checks this.
            if unsafe { self.mailboxes[to].try_enqueue(word, self.wait) }.is_err() {
                return false;
            }
            self.kept.pop_front();
        }
        true
    }

    fn receive(&mut self) -> Message {
        let mine = self.mailboxes[self.me].clone();
        loop {
            if self.deliver() {
                // SAFETY: (here and below) only this actor reads its mailbox.
                return Message::of(unsafe { mine.dequeue(self.wait) });
            }
            // SAFETY: as above.
            if let Some(word) = unsafe { mine.try_dequeue(self.wait) } {
                return Message::of(word);
            }
            M::relax();
        }
    }
}

/// The counts of what an actor has received.
#[derive(Clone, Copy, Default)]
struct Seen {
    pings: u64,
    /// Digest of the pings that came.
    digest: u64,
    /// Number of answers to another ping than the actor's last one.
    wrong: u64,
}

impl Seen {
    fn plus(self, other: Seen) -> Seen {
        let (pings, wrong) = (self.pings + other.pings, self.wrong + other.wrong);
        Seen { pings, digest: self.digest.wrapping_add(other.digest), wrong }
    }
}

impl ActorSettings {
    /// The actor to which an actor sends a ping: never the sender itself.
    fn receiver(&self, from: u32, number: u32) -> u32 {
        let other = mix(self.seed, Message::Ping { from, number }.word()) % u64::from(self.actors - 1);
        (from + 1 + other as u32) % self.actors
    }

    /// What a ping adds to the digest of the actor that gets the ping.
    fn digest(to: u32, from: u32, number: u32) -> u64 {
        mix(u64::from(to), Message::Ping { from, number }.word())
    }

    /// The actors, with mailboxes of the type `Q`. The check: each ping came once, to the actor
    /// that the ping was for, and was answered.
    ///
    /// # Errors
    /// Fails if a setting has a value that the workload cannot have.
    pub fn team<M: Machine, Q: RawQueue<M, Item = u64>>(self, wait: Wait) -> Result<Team, Refused> {
        if !(2..=4096).contains(&self.actors) {
            return Err(Refused::because(format!("actors: {}; expected 2 to 4096", self.actors)));
        }
        if Q::INFO.producers == Side::Single && self.actors > 2 {
            let (queue, actors) = (Q::INFO.name, self.actors);
            return Err(Refused::because(format!(
                "queue `{queue}` is for one producer, and any of {actors} actors sends"
            )));
        }
        let mailbox = |_| Q::with_capacity(self.capacity).map(share::<M, Q>);
        let mailboxes = (0..self.actors).map(mailbox).collect::<Result<Vec<_>, _>>();
        let mailboxes = Arc::new(mailboxes.map_err(|error| unmade(Q::INFO.name, error))?);
        let (spans, seen) = (Spans::<M>::new(self.actors), Arc::new(Mutex::new(Seen::default())));
        let body = |me: u32| {
            let post = Post { me: me as usize, mailboxes: mailboxes.clone(), kept: VecDeque::new(), wait };
            let (spans, seen) = (spans.clone(), seen.clone());
            Box::new(move || {
                let mut mine = Seen::default();
                spans.time(me, || mine = self.act::<M, Q>(me, post));
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = seen.plus(mine);
            }) as Body
        };
        let bodies = (0..self.actors).map(body).collect();
        // A queue in a device is freed by a system call, which is no part of the run, so the check
        // keeps the mailboxes until the run is over.
        let verify = move || {
            drop(mailboxes);
            self.verify(*seen.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let messages = 2.0 * f64::from(self.actors) * f64::from(self.pings);
        let figures = move || {
            let value = spans.whole().0 as f64 / messages.max(1.0);
            vec![Figure { name: "nanoseconds_a_message", value }]
        };
        Ok(Team { bodies, verify: Box::new(verify), figures: Box::new(figures) })
    }

    fn verify(self, seen: Seen) -> Result<(), String> {
        expect("pings that came", seen.pings, u64::from(self.actors) * u64::from(self.pings))?;
        expect("answers to another ping", seen.wrong, 0)?;
        let pings = (0..self.actors).flat_map(|from| (0..self.pings).map(move |number| (from, number)));
        let plain = pings.map(|(from, number)| ActorSettings::digest(self.receiver(from, number), from, number));
        expect("the digest of the pings", seen.digest, plain.fold(0, u64::wrapping_add))
    }

    /// Runs one actor: sends its pings, answers those of others, and leaves when told to.
    fn act<M: Machine, Q: RawQueue<M, Item = u64>>(self, me: u32, mut post: Post<M, Q>) -> Seen {
        let mut think = Think::new(self.think, self.spread, u64::from(me));
        let (mut seen, mut sent, mut through) = (Seen::default(), 0, 0);
        let mut next = true;
        loop {
            if std::mem::take(&mut next) {
                if sent < self.pings {
                    post.send(self.receiver(me, sent), Message::Ping { from: me, number: sent });
                    sent += 1;
                } else if me == 0 {
                    through += 1;
                } else {
                    post.send(0, Message::Through);
                }
            }
            if through == self.actors {
                (1..self.actors).for_each(|actor| post.send(actor, Message::Leave));
                while !post.deliver() {
                    M::relax();
                }
                return seen;
            }
            match post.receive() {
                Message::Ping { from, number } => {
                    M::work(think.draw());
                    seen.pings += 1;
                    seen.digest = seen.digest.wrapping_add(ActorSettings::digest(me, from, number));
                    post.send(from, Message::Pong { number });
                }
                Message::Pong { number } => {
                    seen.wrong += u64::from(number + 1 != sent);
                    next = true;
                }
                Message::Through => through += 1,
                Message::Leave => return seen,
            }
        }
    }
}

/// Makes the team of [`ActorSettings`] with a queue of the registry.
#[derive(Clone, Copy)]
pub struct Actors {
    queue: &'static QueueInfo,
    settings: ActorSettings,
}

struct Make(ActorSettings, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Team, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.team::<M, Q>(self.1)
    }
}

impl Workload for Actors {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "actors",
        what: "Actors with a mailbox each send pings to any other, and answer theirs",
        figure: "measured.cycles_a_message",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Actors, Refused> {
        let (queue, actors) = (knobs.queue()?, knobs.threads.unwrap_or(4));
        let pings = knobs.iterations_or(1000).min(u64::from(u32::MAX)) as u32;
        let (think, spread, capacity, seed) = (Cycles(knobs.think), knobs.spread, knobs.capacity, knobs.seed);
        Ok(Actors { queue, settings: ActorSettings { actors, pings, think, spread, capacity, seed } })
    }

    fn threads(&self) -> u32 {
        self.settings.actors
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        queue::visit::<M, _>(self.queue.name, Make(self.settings, wait)).map_err(Refused::because)?
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue.name)
    }

    fn charge(&self) -> Charge {
        Charge::Counted(self.queue.counted)
    }
}
