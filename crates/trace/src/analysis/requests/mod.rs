//! Requests: what a server is asked, how long each answer takes, and where that time goes.
//!
//! A request at a connection (a socket that is first read, then written) **begins** when data has
//! come for the thread that reads it, and **ends** when the answer's last write returns. Other
//! requests lie between two points that the user names. If another thread writes the answer than
//! the one that read the request, the request was passed along.
//!
//! | file | holds |
//! | --- | --- |
//! | [`found`] | what requests are, and the calls that make them |
//! | [`points`] | points that the user named, looked up in the trace |
//! | [`clocks`] | what each thread's time went to |
//! | [`connections`] | requests at sockets |
//! | [`spans`] | requests between two named points |
//! | [`clients`] | think times, and clients that wait for all of their answers |
//! | [`in_use`] | how long locks and futexes are in use meanwhile |

mod clients;
mod clocks;
mod connections;
mod found;
mod in_use;
mod points;
mod spans;

pub use clients::Clients;
pub use found::{Connection, Part, Request, Requests, nearest_rank};
pub use in_use::{InUse, in_use};
pub use points::{Asked, Counted, Places};

use super::objects::Objects;
use crate::event::{Event, What};
use crate::trace::Trace;
use clocks::Clocks;
use connections::Connections;
use spans::Spans;

impl Requests {
    /// Finds requests at sockets, or follows the points that the user named.
    pub fn of(trace: &Trace, asked: &Asked) -> Requests {
        let mut walk = Walk::new(trace, asked);
        for event in trace.complete_events() {
            walk.step(&event);
        }
        walk.finish()
    }
}

struct Walk<'a> {
    trace: &'a Trace,
    objects: Objects<'a>,
    clocks: Clocks,
    how: How<'a>,
}

/// How requests are known: found at sockets, or between named points.
enum How<'a> {
    Found(Connections),
    Named(Spans<'a>),
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, asked: &'a Asked) -> Walk<'a> {
        let how = match asked {
            Asked::Find => How::Found(Connections::default()),
            Asked::Point(_) | Asked::Request(..) => How::Named(Spans::new(asked)),
        };
        Walk { trace, objects: Objects::new(trace), clocks: Clocks::new(trace.threads.len()), how }
    }

    fn step(&mut self, event: &Event) {
        let process = self.trace.process_of(event.thread);
        let object = self.objects.follow(event, process);
        self.clocks.step(event, object);
        match &mut self.how {
            How::Found(connections) => {
                if let What::Called { call, .. } = event.what {
                    connections.called(event, process, call, &mut self.clocks);
                }
            }
            How::Named(spans) => spans.step(self.trace, event, (process, object), &mut self.clocks),
        }
    }

    fn finish(self) -> Requests {
        let mut requests = match self.how {
            How::Found(connections) => connections.finish(),
            How::Named(spans) => spans.finish(),
        };
        number(&mut requests);
        requests
    }
}

/// Sorts the requests by their ends, and gives each connection the indices of its own requests.
fn number(requests: &mut Requests) {
    requests.all.sort_by_key(|request| (request.end, request.begin, request.connection));
    requests.connections.iter_mut().for_each(|connection| connection.requests.clear());
    for (index, request) in requests.all.iter().enumerate() {
        if let Some(connection) = requests.connections.get_mut(request.connection as usize) {
            connection.requests.push(index as u32);
        }
    }
}
