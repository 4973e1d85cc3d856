//! CAF's queue management device (Wang and others, PACT 2016, sections 3.2 and 3.5): queues in an
//! SRAM, which cores reach by enqueue and dequeue requests.
//!
//! | file | holds |
//! | --- | --- |
//! | [`settings`] | the keys |
//! | `storage` | the SRAM, queues with head and tail, ids |
//! | [`buffers`] | request buffers and their scheduler |
//! | `engine` | a request's turn, and what waits for one |
//! | `credits` | credit pools |
//! | `groups` | load balancer, data reducer |
//! | `flows` | queues with flows: directed, parallel, atomic, ordered |
//! | `configure` | what comes by system call |
//! | `moving` | a queue moves to another device; the list of what only the operating system asks for |
//! | `rows` | rows of timed requests, and armed threads |
//! | `arms` | threads that leave their CPU while they wait, and are interrupted |
//! | `threads` | what a thread has at the device, dropped or given back |
//! | [`hardware`] | bits and gates of it all |
//!
//! A request is in its buffer from the cycle after its arrival. In each cycle, each engine takes
//! one request up. The answer leaves `latency` cycles later, because the SRAM is pipelined. A
//! request for a full or empty queue stays at the head of its buffer. `docs/reference/qmd.md`
//! describes the device for designers.

mod arms;
pub mod buffers;
mod configure;
mod credits;
mod engine;
mod flows;
mod groups;
pub mod hardware;
mod moving;
mod rows;
pub mod settings;
mod storage;
#[cfg(test)]
mod tests;
mod threads;

pub use flows::queue::carried::Carried;
pub use moving::{ANY_QUEUE, FIRST_STEP, Step};
pub use settings::QmdSettings;

use super::port::{Cancelled, Port, Request, Taken};
use super::{DeviceKind, SettingMisfit, Typed, TypedDevice};
use baton_machine::device::Protocol;
use baton_machine::flows::FlowRequest;
use baton_machine::queues::{Direction, Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use buffers::{Lane, Sharing, Waiting, aim, token_of};
use credits::Pools;
use engine::{Engine, Moves};
use flows::Flows;
use groups::{Groups, Reducers};
use rows::{Arms, Row};
use storage::{QueueState, Storage};

/// The entry of the queue device in the registry of kinds.
pub const KIND: DeviceKind = DeviceKind {
    name: QueueDevice::KIND,
    keys: QmdSettings::KEYS,
    make: |settings| Box::new(Typed(Qmd::new(&QmdSettings::read(settings)))),
};

/// The counts of the device.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    enqueued: u64,
    dequeued: u64,
    /// Number of tries that found the queue full or empty, whether they cost a turn or not.
    retries: u64,
    /// Number of requests that were dropped for lack of a credit.
    no_credit: u64,
    /// Number of dropped requests: by the timer, by a guard thread, when patience ended, or because
    /// an earlier request of their row was dropped.
    dropped: u64,
    /// Number of refused requests: for unknown queues and those of other domains, system calls that
    /// failed, and requests that waited for a queue that was released or revoked.
    refused: u64,
    /// Number of items that were in queues when the queues were released.
    released: u64,
    /// Number of sums of the reducer.
    reduced: u64,
    /// Number of credits that were taken back: from threads that ended, may not use the queue any
    /// more, or had them in hand for too long.
    reclaimed: u64,
    /// Number of interrupts for threads that were armed.
    fired: u64,
    /// Number of requests for queues that have moved; the cores make these requests again.
    sent_on: u64,
}

/// The device.
pub struct Qmd {
    settings: QmdSettings,
    storage: Storage,
    /// The pools of each slot for enqueues and for dequeues, if these need credits.
    pools: Vec<[Option<Pools>; 2]>,
    groups: Groups,
    reducers: Reducers,
    flows: Flows,
    /// Requests that came in this cycle; they are in their buffers from the next cycle on.
    came: Vec<Waiting>,
    engines: Vec<Engine>,
    moves: Moves,
    arms: Arms,
    /// Whether threads wait for a CPU, as the operating system says.
    crowded: bool,
    /// The time at which the timer next checks the buffers.
    look: Option<u64>,
    counts: Counts,
}

impl Qmd {
    /// A queue device as the chip file describes it.
    pub fn new(settings: &QmdSettings) -> Qmd {
        Qmd {
            settings: *settings,
            storage: Storage::new(settings.entries, settings.queues),
            pools: (0..settings.queues).map(|_| [None, None]).collect(),
            groups: Groups::default(),
            reducers: Reducers::new(settings.reduce),
            flows: Flows::new(settings.tokens.0),
            came: Vec::new(),
            engines: Engine::all(settings),
            moves: Moves::default(),
            arms: Arms::default(),
            crowded: false,
            look: None,
            counts: Counts::default(),
        }
    }

    /// Returns whether requests of a domain may use this queue or group in this direction.
    fn may(&self, domain: u32, queue: QueueId, direction: Direction) -> bool {
        let of_queue = || Some(self.storage.queue(self.storage.find(queue)?)?.domain);
        let owner = if direction == Direction::Enqueue { self.groups.domain(queue) } else { None };
        let reducers = match direction {
            Direction::Enqueue => self.reducers.writes(queue),
            Direction::Dequeue => self.reducers.reads(queue),
        };
        owner.or_else(of_queue) == Some(domain) && !reducers
    }

    /// Puts a request for a queue into its buffer, if the buffer has room.
    fn admit(&mut self, request: &Request, asked: QueueRequest, port: &mut Port<'_>) -> Taken {
        let (direction, Operand { queue, mode, .. }) = aim(&asked);
        let (domain, takes_credits) = (request.subject.domain, matches!(mode, Mode::TakeCredits(_)));
        let right = match mode {
            Mode::TakeCredits(of) | Mode::Arm(of) => direction == Direction::Dequeue && self.may(domain, queue, of),
            Mode::Block | Mode::Timed { .. } | Mode::Try => self.may(domain, queue, direction),
        };
        if !right || (takes_credits && self.storage.find(queue).is_none()) {
            self.counts.refused += 1;
            port.reply(request, port.now() + 1, Err::<u64, _>(QueueRefusal::NoQueue));
            return Taken::Yes;
        }
        if let Some(slot) = self.storage.find(queue)
            && let QueueState::Gone { device, queue } = self.storage.state(slot)
        {
            self.send_on(request, device, queue, port);
            return Taken::Yes;
        }
        let lane = self.lane(request, &asked);
        if self.ahead(lane, request) >= self.settings.depth as usize {
            return Taken::Later;
        }
        let waiting = Waiting { request: *request, asked, lane, since: port.now(), told: false, tried: 0 };
        if let (Some(row), Mode::Timed { follows }) = (Row::of(&waiting), mode)
            && !self.arms.comes(row, follows)
        {
            self.counts.dropped += 1;
            port.reply(request, port.now() + 1, Err::<u64, _>(QueueRefusal::Dropped));
            return Taken::Yes;
        }
        self.came.push(waiting);
        self.look_at(port.now());
        if self.crowded && self.settings.patience.0 > 0 && matches!(mode, Mode::Timed { .. }) {
            self.look_by(port.now() + self.settings.patience.0);
        }
        port.tick_at(port.now() + 1);
        Taken::Yes
    }

    /// Returns the buffer that a request joins. Requests of a thread for a queue and direction stay
    /// in order: a request that comes while an older one waits joins the older one's buffer.
    fn lane(&self, request: &Request, asked: &QueueRequest) -> Lane {
        let (direction, Operand { queue, priority, mode }) = aim(asked);
        if matches!(mode, Mode::TakeCredits(_) | Mode::Arm(_)) {
            return Lane::Prompt;
        }
        if let Some(token) = token_of(asked) {
            // Requests with a token stay in order: a thread completes an item behind what it has
            // sent on for the item. Otherwise a completion never waits.
            let before = |waiting: &&Waiting| {
                token_of(&waiting.asked) == Some(token) && waiting.request.subject.thread == request.subject.thread
            };
            let buffers = &self.engines[self.engine_of(Direction::Enqueue)].buffers;
            let before = self.came.iter().rev().find(before).or_else(|| buffers.waiting(request.cpu).find(before));
            if let Some(before) = before {
                return before.lane;
            }
            if matches!(asked, QueueRequest::Flow(FlowRequest::Complete { .. })) {
                return Lane::Prompt;
            }
        }
        if self.settings.priorities == 1 {
            return Lane::Items(direction, 0);
        }
        let older = |waiting: &&Waiting| {
            let (of, operand) = aim(&waiting.asked);
            waiting.lane != Lane::Prompt
                && (of, operand.queue) == (direction, queue)
                && waiting.request.subject.thread == request.subject.thread
        };
        let buffers = &self.engines[self.engine_of(direction)].buffers;
        let older = self.came.iter().rev().find(older).or_else(|| buffers.waiting(request.cpu).find(older));
        let own = u32::from(priority).min(self.settings.priorities - 1) as u8;
        older.map_or(Lane::Items(direction, own), |waiting| waiting.lane)
    }

    /// Returns the number of requests in the line that a request for this buffer would join.
    fn ahead(&mut self, lane: Lane, Request { cpu, subject, .. }: &Request) -> usize {
        let shared = self.settings.buffers == Sharing::All;
        let same = |waiting: &&Waiting| waiting.lane == lane && (shared || waiting.request.cpu == *cpu);
        let came = self.came.iter().filter(same).count();
        let engine = self.engine_of(lane.direction());
        came + self.engines[engine].buffers.ahead(lane, *cpu, subject.thread)
    }

    /// Returns the number of the engine that serves this direction; the device has one engine for
    /// both directions, or one for each.
    fn engine_of(&self, direction: Direction) -> usize {
        if self.engines.len() == 1 { 0 } else { direction as usize }
    }

    /// Schedules a check by the timer for the time at which a request in a buffer may be too old.
    fn look_at(&mut self, since: u64) {
        if self.settings.timeout > 0 {
            self.look_by(since + self.settings.timeout);
        }
    }

    /// Schedules a check by the timer for `at`, or earlier.
    fn look_by(&mut self, at: u64) {
        self.look = Some(self.look.map_or(at, |look| look.min(at)));
    }

    /// Asks for the next edge at which something happens.
    fn sleep(&self, port: &mut Port<'_>) {
        let engines = self.engines.iter().any(Engine::is_awake);
        let soon = (engines || !self.came.is_empty() || self.releases()).then(|| port.now() + 1);
        let all = [soon, self.moves.next(), self.reducers.next(), self.look];
        if let Some(at) = all.into_iter().flatten().min() {
            port.tick_at(at);
        }
    }
}

impl TypedDevice for Qmd {
    type Protocol = QueueDevice;

    fn take(&mut self, request: &Request, asked: Option<QueueRequest>, port: &mut Port<'_>) -> Taken {
        match asked {
            Some(
                asked @ (QueueRequest::Enqueue { .. }
                | QueueRequest::Dequeue { .. }
                | QueueRequest::Flow(
                    FlowRequest::Send { .. } | FlowRequest::Receive { .. } | FlowRequest::Complete { .. },
                )),
            ) => self.admit(request, asked, port),
            Some(asked) if request.privileged => {
                let answer = self.configure(request, asked, port);
                self.counts.refused += u64::from(answer.is_err());
                port.reply(request, port.now() + 1, answer);
                self.fire(port);
                self.sleep(port);
                Taken::Yes
            }
            None if request.privileged
                && let Some(step) = Step::of(request.op) =>
            {
                let answer = self.step(step, request, port);
                port.answer(request, port.now() + 1, answer);
                self.fire(port);
                self.sleep(port);
                Taken::Yes
            }
            _ => {
                self.counts.refused += 1;
                port.reply(request, port.now() + 1, Err::<u64, _>(QueueRefusal::Refused));
                Taken::Yes
            }
        }
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        self.advance(port);
        self.sleep(port);
    }

    fn crowded(&mut self, crowded: bool, port: &mut Port<'_>) {
        self.set_crowded(crowded, port);
    }

    /// Gives back a request that waits in a buffer. The device answers a request that an engine has
    /// taken up.
    fn cancel(&mut self, request: &Request, port: &mut Port<'_>) -> Cancelled {
        let is_it = |waiting: &Waiting| waiting.request == *request;
        let mut given_back = self.came.extract_if(.., |waiting| is_it(waiting)).count();
        for engine in &mut self.engines {
            engine.wake(port.now());
            engine.buffers.remove(port.now(), is_it, |_| given_back += 1);
        }
        self.sleep(port);
        if given_back == 0 { Cancelled::TooLate } else { Cancelled::Yes }
    }

    /// Checks that a context's own buffer has room for all requests that the context can have under
    /// way, so that none of them ever waits in the port.
    fn misfit(&self, outstanding: u32) -> Option<SettingMisfit> {
        let QmdSettings { buffers: sharing, depth, .. } = self.settings;
        let expected =
            || format!("at least device.outstanding, {outstanding}, where each context has buffers of its own");
        let misfit = || SettingMisfit { name: "depth", is: depth.to_string(), expected: expected() };
        (sharing == Sharing::Context && depth < u64::from(outstanding)).then(misfit)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts { enqueued, dequeued, retries, no_credit, dropped, refused, released, reduced, .. } = self.counts;
        let Counts { reclaimed, fired, sent_on, .. } = self.counts;
        let mut counts = vec![
            ("enqueued", enqueued),
            ("dequeued", dequeued),
            ("retries", retries),
            ("no_credit", no_credit),
            ("dropped", dropped),
            ("refused", refused),
            ("released", released),
            ("reduced", reduced),
        ];
        // Devices without such events have no such rows.
        counts.extend((reclaimed > 0).then_some(("reclaimed", reclaimed)));
        counts.extend((fired > 0).then_some(("fired", fired)));
        counts.extend((sent_on > 0).then_some(("sent_on", sent_on)));
        counts.extend(self.flows.counts.rows());
        counts
    }
}
