//! The clients of a closed loop: each connection's next request comes a think time after its last
//! answer, or after the last answer of all connections of a client that waits for all of them.

use super::found::Requests;
use crate::clock::Ticks;

/// How the requests of a trace depend on the answers before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// Number of connections that have had a request.
    pub connections: u32,
    /// Whether every connection's next request comes only when all connections have been answered.
    pub together: bool,
    /// The think times, sorted: from an answer to the next request.
    pub think: Vec<Ticks>,
}

/// Clients count as waiting for each other if at least this share, in tenths, of the requests come
/// after all answers of the round before.
const TOGETHER: u64 = 9;
/// Fewest requests of a connection from which that can be told.
const ROUNDS: usize = 5;

impl Clients {
    /// Computes the clients' behaviour from the order of requests and answers.
    pub fn of(requests: &Requests) -> Clients {
        let together = together(requests);
        let mut think: Vec<Ticks> = pairs(requests)
            .map(|(answered, next)| {
                let (round, request) = (answered.0, &requests.all[next as usize]);
                let answer =
                    if together { last_answer(requests, round) } else { requests.all[answered.1 as usize].end };
                request.begin.since(answer)
            })
            .collect();
        think.sort_unstable();
        let connections = requests.connections.iter().filter(|c| !c.requests.is_empty()).count() as u32;
        Clients { connections, together, think }
    }

    /// Returns the think time that the given share (0 to 1) of all think times do not exceed; 0 if
    /// there are none.
    pub fn quantile(&self, share: f64) -> Ticks {
        let last = self.think.len().saturating_sub(1);
        self.think.get((share * last as f64).round() as usize).copied().unwrap_or_default()
    }
}

/// Returns each request that another one follows on its connection, with its round, and the request
/// that follows it.
fn pairs(requests: &Requests) -> impl Iterator<Item = ((usize, u32), u32)> + '_ {
    let next = |one: &'_ super::found::Connection| {
        let of = one.requests.clone();
        (1..of.len()).map(move |at| ((at - 1, of[at - 1]), of[at])).collect::<Vec<_>>()
    };
    requests.connections.iter().flat_map(next)
}

/// Returns when the last request of a round was answered. Round n consists of every connection's
/// n-th request.
fn last_answer(requests: &Requests, round: usize) -> Ticks {
    let of_round = requests.connections.iter().filter_map(|one| one.requests.get(round));
    of_round.map(|&request| requests.all[request as usize].end).max().unwrap_or_default()
}

/// Whether all connections wait for each other: hardly any connection's next request comes before
/// the last answer of the round. False if fewer than two connections had requests, or too few, or
/// unequally many.
fn together(requests: &Requests) -> bool {
    let lengths = || requests.connections.iter().map(|one| one.requests.len()).filter(|length| *length > 0);
    let (Some(least), Some(most)) = (lengths().min(), lengths().max()) else { return false };
    if lengths().count() < 2 || least < ROUNDS || most > least + 1 {
        return false;
    }
    let last: Vec<Ticks> = (0..most).map(|round| last_answer(requests, round)).collect();
    let (mut after, mut all) = (0, 0);
    for ((round, _), next) in pairs(requests) {
        all += 1;
        after += u64::from(requests.all[next as usize].begin >= last[round]);
    }
    after * 10 >= all * TOGETHER
}
