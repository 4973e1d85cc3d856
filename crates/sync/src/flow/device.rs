//! A queue with flows in the machine's queue device. The device checks the tokens.

use super::{FlowError, FlowQueue, InHand, Shape, SharedQueue, check};
use baton_machine::device::{Device, Ticket};
use baton_machine::flows::{FlowAnswer, FlowRequest, Flows, Given, InHand as Dead, Of, Token};
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Machine, Ordering::Acquire, Wait};

/// The queue's name on the command line.
pub const NAME: &str = "qmd";

/// A queue in a device.
pub struct DeviceFlows<M: Machine> {
    device: M::Queues,
    /// The device's number on the machine.
    number: u32,
    queue: QueueId,
    to: Box<[SharedQueue<M, Self>]>,
}

#[cold]
fn refused(why: QueueRefusal) -> ! {
    panic!("the queue device refuses a request for a queue with flows: {why:?}")
}

impl<M: Machine> DeviceFlows<M> {
    /// Makes a request again and again until it is served. Where threads wait for a CPU, the device
    /// drops a request that waits. After one dropped request (two if the policy keeps the CPU) the
    /// thread sleeps until the queue has an item (or room) for it.
    fn ask(&self, queue: QueueId, direction: Direction, wait: Wait, request: impl Fn(Operand) -> FlowRequest) -> Given {
        let of = |mode| Operand { mode, ..Operand::of(queue) };
        let mut drops = 0;
        loop {
            match self.device.ask(request(of(Mode::Timed { follows: false }))).wait() {
                Ok(given) => return given,
                Err(QueueRefusal::Dropped) => drops += 1,
                Err(why) => refused(why),
            }
            M::relax();
            if drops < if wait.parks() { 1 } else { 2 } {
                continue;
            }
            match self.device.request(QueueRequest::Dequeue { from: of(Mode::Arm(direction)) }).wait() {
                Ok(0) => self.device.armed(),
                Ok(_) | Err(QueueRefusal::NoRoom | QueueRefusal::Dropped) => {}
                Err(why) => refused(why),
            }
        }
    }
}

// SAFETY: the device gives each item out once, and an item of a flow to one thread at a time. A
// request leaves behind all older stores of its thread, and an Acquire fence follows each receive.
unsafe impl<M: Machine> FlowQueue<M> for DeviceFlows<M> {
    fn new(shape: Shape, to: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        check(shape)?;
        let Shape { order, capacity, window } = shape;
        let request = FlowRequest::Make { entries: capacity as u32, order, window, dead: Dead::GiveUp };
        // Items are passed on within a device.
        let numbers = match to {
            [] => 0..u32::MAX,
            [first, others @ ..] if others.iter().all(|other| other.number == first.number) => {
                first.number..first.number + 1
            }
            _ => return Err(FlowError::Apart),
        };
        let mut error = FlowError::NoDevice;
        for (number, device) in numbers.map_while(|number| Some((number, M::queues(number)?))) {
            match device.configure(request) {
                Ok(Given { word, .. }) => {
                    return Ok(DeviceFlows { device, number, queue: QueueId(word as u32), to: to.into() });
                }
                Err(QueueRefusal::NoRoom) => error = FlowError::NoRoom,
                Err(_) => error = FlowError::Refused,
            }
        }
        Err(error)
    }

    fn bind(&self) -> Result<(), FlowError> {
        let bound: FlowAnswer = self.device.configure(FlowRequest::Bind { queue: self.queue, weight: 1, most: 1 });
        bound.map(|_| ()).map_err(|_| FlowError::NoRoom)
    }

    fn send(&self, item: u64, flow: u16, wait: Wait) {
        self.ask(self.queue, Direction::Enqueue, wait, |to| FlowRequest::Send { to, item, flow, of: Of::None });
    }

    fn receive(&self, _: u32, wait: Wait) -> InHand {
        let Given { word, flow, token } =
            self.ask(self.queue, Direction::Dequeue, wait, |from| FlowRequest::Receive { from });
        // The device orders nothing after a dequeue: the fence makes visible what the producer, or
        // the flow's last thread, wrote before.
        M::fence(Acquire);
        InHand { word, flow, token: token.0 }
    }

    unsafe fn complete(&self, item: InHand, _: Wait) {
        match self.device.ask(FlowRequest::Complete { queue: self.queue, token: Token(item.token) }).wait() {
            Ok(_) => {}
            Err(why) => refused(why),
        }
    }

    unsafe fn pass_on(&self, InHand { flow, token, .. }: InHand, way: usize, item: u64, wait: Wait) {
        let of = Of::Last(Token(token));
        self.ask(self.to[way].queue, Direction::Enqueue, wait, |to| FlowRequest::Send { to, item, flow, of });
    }
}

impl<M: Machine> Drop for DeviceFlows<M> {
    fn drop(&mut self) {
        // A queue that outlives its machine ended with the machine.
        if M::queues(self.number).is_some() {
            let released = self.device.call(QueueRequest::Release(self.queue));
            debug_assert!(released.is_ok(), "a queue was released by another than its owner");
        }
    }
}
