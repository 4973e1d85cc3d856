//! Tests which request is picked next.

use super::*;
use crate::peripheral::port::Subject;
use crate::peripheral::qmd::tests::settings;
use baton_machine::queues::QueueId;

fn waiting(lane: Lane, cpu: u32) -> Waiting {
    let asked = QueueRequest::Dequeue { from: Operand::of(QueueId(0)) };
    let subject = Subject { thread: cpu, domain: 0 };
    let request = Request { packet: cpu, op: 0, words: [0; 3], privileged: false, cpu, subject };
    Waiting { request, asked, lane, since: 0, told: false, tried: 0 }
}

/// Makes buffers that hold requests of these directions, priorities and contexts.
fn buffers(sharing: Sharing, schedule: Schedule, requests: &[(Direction, u8, u32)]) -> Buffers {
    let mut buffers = Buffers::new(
        &[Direction::Enqueue, Direction::Dequeue],
        &QmdSettings { priorities: 3, buffers: sharing, schedule, ..settings() },
    );
    for &(direction, priority, cpu) in requests {
        buffers.push(waiting(Lane::Items(direction, priority), cpu));
    }
    buffers
}

fn picks(buffers: &mut Buffers, count: usize) -> Vec<(usize, usize)> {
    let one = |_| {
        let picked = buffers.pick().expect("there are requests");
        buffers.turn(picked);
        (picked.buffer, picked.line)
    };
    (0..count).map(one).collect()
}

/// A request of a thread from a context.
fn of(cpu: u32, thread: u32) -> Waiting {
    let waiting = waiting(Lane::Items(Dequeue, 0), cpu);
    let subject = Subject { thread, domain: 0 };
    Waiting { request: Request { subject, ..waiting.request }, ..waiting }
}

/// The threads of all lines, in the order of the lines' turns.
fn lines(buffers: &Buffers) -> Vec<Vec<u32>> {
    let lines = buffers.buffers.iter().flat_map(Buffer::all).filter(|line| !line.is_empty());
    lines.map(|line| line.iter().map(thread).collect()).collect()
}

#[test]
fn requests_of_a_gone_thread_stand_aside() {
    let lane = Lane::Items(Dequeue, 0);
    let new = |aside| {
        let settings = QmdSettings { aside: Or(aside), ..settings() };
        Buffers::new(&[Enqueue, Dequeue], &settings)
    };
    let mut here = new(8);
    [of(3, 7), of(3, 7), of(3, 8)].into_iter().for_each(|waiting| here.push(waiting));
    assert_eq!(lines(&here), [vec![8], vec![7, 7]]);
    // The thread comes back, on another context, while the requests still wait; then the other one.
    assert_eq!((here.ahead(lane, 1, 7), here.ahead(lane, 3, 8), here.ahead(lane, 3, 9)), (2, 1, 0));
    here.push(of(1, 7));
    assert_eq!(lines(&here), [vec![8], vec![7, 7, 7]]);
    here.push(of(2, 8));
    assert_eq!(lines(&here), [vec![7, 7, 7], vec![8, 8]]);
    assert_eq!(here.lines(), 2);
    let turns: Vec<u32> = (0..4)
        .filter_map(|_| {
            let picked = here.pick()?;
            here.turn(picked);
            here.pop(picked, 0).map(|waiting| thread(&waiting))
        })
        .collect();
    assert_eq!(turns, [7, 8, 7, 8]);
    // With one line, the requests of a second thread stay and are waited for.
    let mut one = new(1);
    [of(3, 7), of(3, 8), of(3, 9)].into_iter().for_each(|waiting| one.push(waiting));
    assert_eq!((lines(&one), one.ahead(lane, 3, 9)), (vec![vec![8, 9], vec![7]], 2));
    // Without a line to stand in they stay, and are waited for.
    let mut none = new(0);
    [of(3, 7), of(3, 8)].into_iter().for_each(|waiting| none.push(waiting));
    assert_eq!((lines(&none), none.ahead(lane, 3, 8)), (vec![vec![7, 8]], 2));
}

use crate::peripheral::settings::Or;
use Direction::{Dequeue, Enqueue};

#[test]
fn buffers_have_turns_and_contexts_in_them() {
    let requests = [(Enqueue, 0, 5), (Enqueue, 0, 2), (Dequeue, 1, 0)];
    let mut here = buffers(Sharing::Context, Schedule::RoundRobin, &requests);
    assert_eq!(picks(&mut here, 6), [(0, 2), (4, 0), (0, 5), (4, 0), (0, 2), (4, 0)]);
    let mut here = buffers(Sharing::All, Schedule::RoundRobin, &requests);
    assert_eq!(picks(&mut here, 3), [(0, 0), (4, 0), (0, 0)]);
    // More contexts than a word has bits.
    let requests = [200, 5, 63, 64, 127, 130].map(|cpu| (Enqueue, 0, cpu));
    let mut here = buffers(Sharing::Context, Schedule::RoundRobin, &requests);
    let in_turn: Vec<usize> = picks(&mut here, 7).into_iter().map(|(_, line)| line).collect();
    assert_eq!(in_turn, [5, 63, 64, 127, 130, 200, 5]);
    here.remove(0, |waiting| [64, 200].contains(&waiting.request.cpu), |_| ());
    let left: Vec<usize> = (0..4)
        .filter_map(|_| {
            let picked = here.pick()?;
            here.turn(picked);
            here.pop(picked, 0).map(|waiting| waiting.request.cpu as usize)
        })
        .collect();
    assert_eq!((left, here.pick(), here.len()), (vec![63, 127, 130, 5], None, 0));
}

#[test]
fn a_higher_priority_has_more_turns_where_they_have_weights() {
    let requests = [(Enqueue, 0, 0), (Enqueue, 2, 0)];
    let mut here = buffers(Sharing::All, Schedule::Weighted, &requests);
    assert_eq!(picks(&mut here, 8).iter().filter(|&&(buffer, _)| buffer == 2).count(), 6);
    let mut here = buffers(Sharing::All, Schedule::RoundRobin, &requests);
    assert_eq!(picks(&mut here, 8).iter().filter(|&&(buffer, _)| buffer == 2).count(), 4);
}

#[test]
fn many_failing_picks_at_once_are_those_one_by_one() {
    let requests =
        [(Enqueue, 0, 5), (Enqueue, 0, 2), (Enqueue, 2, 1), (Dequeue, 1, 0), (Dequeue, 1, 3), (Dequeue, 1, 4)];
    for schedule in [Schedule::RoundRobin, Schedule::Weighted] {
        for before in 0..7 {
            for count in 0..40 {
                let make = || {
                    let mut here = buffers(Sharing::Context, schedule, &requests);
                    picks(&mut here, before);
                    here
                };
                let (mut one_by_one, mut at_once) = (make(), make());
                picks(&mut one_by_one, count);
                at_once.fail(count as u64);
                assert_eq!(picks(&mut at_once, 12), picks(&mut one_by_one, 12), "{schedule:?} {before} {count}");
            }
        }
    }
}
