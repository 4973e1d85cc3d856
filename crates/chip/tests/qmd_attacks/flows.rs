//! Attacks on queues with flows: a process has nothing of another's queues and tokens but what it
//! was granted, and loses that when the grant is taken back.

use super::processes::{count, processes, with};
use super::shared::chip;
use baton_chip::{App, Simulated, act, moving};
use baton_machine::Devices;
use baton_machine::device::Ticket;
use baton_machine::flows::{FlowAnswer, FlowOrder, FlowRequest, Flows, Given, InHand, Of, Token};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRefusal};
use baton_machine::units::Cycles;

fn device() -> impl Flows {
    Simulated::first::<QueueDevice>().expect("the chip has a queue device")
}

fn made(order: FlowOrder, dead: InHand) -> QueueId {
    let asked = FlowRequest::Make { entries: 8, order, window: 8, dead };
    QueueId(device().configure(asked).expect("there is room").word as u32)
}

fn bind(queue: QueueId) -> FlowAnswer {
    device().configure(FlowRequest::Bind { queue, weight: 1, most: 2 })
}

fn send(queue: QueueId, item: u64, of: Of) -> FlowAnswer {
    device().ask(FlowRequest::Send { to: Operand::of(queue), item, flow: 1, of }).wait()
}

fn receive(queue: QueueId) -> FlowAnswer {
    device().ask(FlowRequest::Receive { from: Operand::of(queue) }).wait()
}

fn complete(queue: QueueId, token: Token) -> FlowAnswer {
    device().ask(FlowRequest::Complete { queue, token }).wait()
}

fn until(time: u64) {
    act::delay(Cycles(time.saturating_sub(act::time().0)));
}

/// With and without `device.qimu`, a process can do nothing with another one's queue with flows.
#[test]
fn another_processs_queue_with_flows_is_unknown() {
    for chip in [chip(&[]), with(&[])] {
        let owner = |_| {
            let queue = made(FlowOrder::Atomic, InHand::PutBack);
            bind(queue).expect("it is its own");
            send(queue, 5, Of::None).expect("there is room");
            let Given { word, token, .. } = receive(queue).expect("an item");
            until(300_000);
            assert_eq!((word, complete(queue, token).map(|given| given.word)), (5, Ok(0)), "its token is its own");
        };
        let stranger = || {
            until(100_000);
            let queue = QueueId(0);
            assert_eq!(bind(queue), Err(QueueRefusal::NoQueue));
            assert_eq!(receive(queue), Err(QueueRefusal::NoQueue));
            assert_eq!(send(queue, 9, Of::None), Err(QueueRefusal::NoQueue));
            for forged in [1 << 16, 1 << 16 | 1, 2 << 16] {
                assert_eq!(complete(queue, Token(forged)), Err(QueueRefusal::NoQueue));
            }
        };
        processes(&chip, [0, 3], owner, stranger);
    }
}

/// A process that was granted a queue receives from it. With the token it can send on to queues of
/// the queue's process, and not to its own. When the grant is taken back, what it has in hand goes
/// back, and its token is of no use.
#[test]
fn a_granted_queue_with_flows_can_be_taken_back() {
    let owner = |other: App| {
        let queue = made(FlowOrder::Atomic, InHand::PutBack);
        let to = made(FlowOrder::Parallel, InHand::GiveUp);
        for granted in [queue, to] {
            moving::grant(granted, other, [granted == to, granted == queue]).expect("there is room");
        }
        (5..8).for_each(|item| _ = send(queue, item, Of::None).expect("there is room"));
        until(150_000);
        assert_eq!(moving::migrate(queue, 1), Ok(1), "one waits, and two tokens come along");
        until(250_000);
        moving::revoke(queue, other).expect("it was granted");
        bind(queue).expect("it is its own");
        let item = receive(queue).expect("what the other process had in hand");
        assert_eq!(item.word, 6);
        bind(to).expect("it is its own");
        assert_eq!(receive(to).expect("it was sent on").word, 50);
        until(400_000);
        assert_eq!(complete(queue, item.token).map(|given| given.word), Ok(0));
    };
    let other = || {
        until(100_000);
        // The ids that it was granted are its first ones.
        let (queue, to) = (QueueId(0), QueueId(1 << 12 | 1));
        assert_eq!(send(queue, 9, Of::None), Err(QueueRefusal::Refused), "that was not granted");
        assert_eq!(bind(to), Err(QueueRefusal::Refused), "nor that");
        bind(queue).expect("it may");
        let [first, second] = [0; 2].map(|_| receive(queue).expect("an item"));
        let own = made(FlowOrder::Parallel, InHand::GiveUp);
        assert_eq!(send(own, 1, Of::Last(first.token)), Err(QueueRefusal::Token), "the token is another process's");
        until(200_000);
        assert_eq!(send(to, 50, Of::Last(first.token)).map(|given| given.word), Ok(0), "it moved, with the token");
        until(300_000);
        assert_eq!(complete(queue, second.token), Err(QueueRefusal::NoQueue), "the grant was taken back");
        assert_eq!(send(to, 51, Of::Last(second.token)), Err(QueueRefusal::Token), "and the item");
    };
    let outcome = processes(&with(&["device.count=2"]), [0, 3], owner, other);
    assert_eq!(
        (count(&outcome, "put_back"), count(&outcome, "given_up")),
        (1, 1),
        "the owner ends with an item in hand"
    );
}
