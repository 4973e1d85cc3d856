//! The entry of a device: its port, with a number of places.
//!
//! A request that arrives takes a place, and gives it back when the device takes the request. How
//! long the device then keeps the request is the device's own matter. Until a place is free, a
//! request on the device's own wires waits at their end, in order of arrival; a request on the
//! network stays in the network, because the endpoint accepts none of its flits.
//!
//! The device is offered the requests one by one, each thread's in the order in which the thread
//! made them. A request that arrives before an older one of its thread is an *early* request. It
//! holds no place, because it could otherwise block the request that it waits for. The number of
//! early requests is bounded, because a thread has at most `device.outstanding` requests under way.
//! With `device.numbers = false`, requests are offered in order of arrival.

use crate::base::thread::ThreadId;
use std::collections::VecDeque;

/// The place that a request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// No place.
    Nothing,
    /// A place that the port counts.
    Ours,
    /// A place that the network counts for the device's endpoint.
    Networks,
}

/// A request that has arrived and that the device has not taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) packet: u32,
    pub(super) thread: ThreadId,
    /// Whether the request is posted: it is not called back, and is numbered among posted requests.
    pub(super) posted: bool,
    /// The request's number, from 1, among the thread's posted requests to the device, or among its
    /// others.
    pub(super) order: u64,
    /// The time of arrival.
    pub(super) since: u64,
    pub(super) holds: Holds,
}

/// The order of a thread's requests to the device.
#[derive(Default)]
struct Order {
    sent: u64,
    /// The number of requests that have entered the port in their order.
    came: u64,
    early: Vec<Standing>,
}

/// The port of a device.
pub(super) struct Entry {
    /// The number of free places; `None` if there is no bound.
    free: Option<u32>,
    outside: VecDeque<Standing>,
    queue: VecDeque<Standing>,
    /// Whether requests enter in their threads' order.
    ordered: bool,
    /// For each thread, the order of its requests that can be called back, and that of its posted
    /// requests.
    orders: [Vec<Order>; 2],
}

impl Entry {
    /// An empty port with this number of places. Unless it is `ordered`, requests enter in order of
    /// arrival.
    pub(super) fn new(places: Option<u32>, ordered: bool) -> Entry {
        Entry { free: places, outside: VecDeque::new(), queue: VecDeque::new(), ordered, orders: Default::default() }
    }

    fn order(orders: &mut [Vec<Order>; 2], thread: ThreadId, posted: bool) -> &mut Order {
        let orders = &mut orders[usize::from(posted)];
        if orders.len() <= thread as usize {
            orders.resize_with(thread as usize + 1, Order::default);
        }
        &mut orders[thread as usize]
    }

    /// A thread sends a request. Returns the request's number.
    pub(super) fn send(&mut self, thread: ThreadId, posted: bool) -> u64 {
        let order = Entry::order(&mut self.orders, thread, posted);
        order.sent += 1;
        order.sent
    }

    /// A request arrives, with a place of the network or without a place. Returns the number of the
    /// network's places that are free again.
    pub(super) fn come(&mut self, mut request: Standing) -> u32 {
        if request.holds == Holds::Nothing
            && let Some(free) = &mut self.free
        {
            if *free == 0 {
                self.outside.push_back(request);
                return 0;
            }
            *free -= 1;
            request.holds = Holds::Ours;
        }
        let holds = self.enter(request);
        self.give_back(holds)
    }

    /// The packet of the request that the device is offered next.
    pub(super) fn first(&self) -> Option<u32> {
        self.queue.front().map(|request| request.packet)
    }

    /// Removes the first request, because the device takes it. The caller gives its place back with
    /// [`Entry::give_back`].
    pub(super) fn take(&mut self) -> Option<Standing> {
        self.queue.pop_front()
    }

    /// Gives a place back; the request that has waited outside for longest gets a place of the
    /// port. Returns the number of the network's places that are free again.
    pub(super) fn give_back(&mut self, mut holds: Holds) -> u32 {
        while holds == Holds::Ours {
            let Some(mut next) = self.outside.pop_front() else {
                self.free = self.free.map(|free| free + 1);
                return 0;
            };
            next.holds = Holds::Ours;
            holds = self.enter(next);
        }
        u32::from(holds == Holds::Networks)
    }

    /// The number of requests in the port, and the number outside of it, which includes early ones.
    pub(super) fn standing(&self) -> (usize, usize) {
        let early: usize = self.orders.iter().flatten().map(|order| order.early.len()).sum();
        (self.queue.len(), self.outside.len() + early)
    }

    /// Removes a request that has arrived and is called back. Returns it; the caller gives its
    /// place back.
    pub(super) fn remove(&mut self, packet: u32) -> Option<Standing> {
        let is_it = |request: &Standing| request.packet == packet;
        if let Some(at) = self.queue.iter().position(is_it) {
            return self.queue.remove(at);
        }
        if let Some(at) = self.outside.iter().position(is_it) {
            return self.outside.remove(at);
        }
        let early = |order: &mut Order| {
            let at = order.early.iter().position(is_it)?;
            Some(order.early.swap_remove(at))
        };
        self.orders.iter_mut().flatten().find_map(early)
    }

    /// None of the thread's requests that can be called back is under way: the next request that
    /// the thread sends is the next in its order, whatever was called back before.
    pub(super) fn begin_anew(&mut self, thread: ThreadId) {
        if let Some(order) = self.orders[0].get_mut(thread as usize) {
            debug_assert!(order.early.is_empty(), "a request of thread {thread} is early and under way no more");
            order.came = order.sent;
        }
    }

    /// Puts a request into the port, followed by early requests of its thread that waited for it;
    /// or keeps it as an early request. Returns the place that the request no longer needs.
    fn enter(&mut self, mut request: Standing) -> Holds {
        if !self.ordered {
            self.queue.push_back(request);
            return Holds::Nothing;
        }
        let order = Entry::order(&mut self.orders, request.thread, request.posted);
        if request.order != order.came + 1 {
            let holds = std::mem::replace(&mut request.holds, Holds::Nothing);
            order.early.push(request);
            return holds;
        }
        let mut next = Some(request);
        while let Some(request) = next {
            self.queue.push_back(request);
            order.came += 1;
            let due = |early: &Standing| early.order == order.came + 1;
            next = order.early.iter().position(due).map(|at| order.early.swap_remove(at));
        }
        Holds::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(packet: u32, thread: ThreadId, order: u64, holds: Holds) -> Standing {
        Standing { packet, thread, posted: false, order, since: 0, holds }
    }

    fn taken(entry: &mut Entry) -> Option<u32> {
        let request = entry.take()?;
        entry.give_back(request.holds);
        Some(request.packet)
    }

    #[test]
    fn an_early_request_waits_apart_without_a_place() {
        let mut entry = Entry::new(Some(1), true);
        // The second request of thread 1 comes first. It must not block the way.
        assert_eq!(entry.come(request(11, 1, 2, Holds::Networks)), 1, "its place goes back to the network");
        assert_eq!(entry.come(request(12, 1, 3, Holds::Nothing)), 0);
        assert_eq!((entry.first(), entry.standing()), (None, (0, 2)));
        assert_eq!(entry.come(request(10, 1, 1, Holds::Nothing)), 0);
        assert_eq!(entry.standing(), (3, 0));
        // Request 10 holds the only place. Another thread's request waits outside until the device
        // takes request 10.
        assert_eq!(entry.come(request(20, 2, 1, Holds::Nothing)), 0);
        assert_eq!(entry.standing(), (3, 1));
        assert_eq!(taken(&mut entry), Some(10));
        assert_eq!(entry.standing(), (3, 0));
        let rest: Vec<u32> = std::iter::from_fn(|| taken(&mut entry)).collect();
        assert_eq!(rest, [11, 12, 20]);
    }

    #[test]
    fn outside_they_keep_their_order_and_early_ones_make_room() {
        let mut entry = Entry::new(Some(2), true);
        for n in 0..2 {
            entry.come(request(n, n, 1, Holds::Nothing));
        }
        // Outside wait an early request of thread 5, then the one that it waits for, then another
        // thread's.
        for (packet, thread, order) in [(51, 5, 2), (50, 5, 1), (60, 6, 1)] {
            assert_eq!(entry.come(request(packet, thread, order, Holds::Nothing)), 0);
        }
        assert_eq!(entry.standing(), (2, 3));
        // One place is free: the early request (51) passes it on to request 50, which it then
        // follows.
        assert_eq!(taken(&mut entry), Some(0));
        assert_eq!(entry.standing(), (3, 1));
        let rest: Vec<u32> = std::iter::from_fn(|| taken(&mut entry)).collect();
        assert_eq!(rest, [1, 50, 51, 60]);
        assert_eq!(entry.free, Some(2), "all places are back");
    }

    #[test]
    fn requests_that_are_called_back_leave_no_gap() {
        let mut entry = Entry::new(Some(1), true);
        for order in 1..=4 {
            assert_eq!(entry.send(1, false), order);
        }
        // Request 10 is in the port, 12 early and 20 outside; 13 is on its way.
        for (packet, order) in [(10, 1), (12, 3)] {
            entry.come(request(packet, 1, order, Holds::Nothing));
        }
        entry.come(request(20, 2, 1, Holds::Nothing));
        for packet in [12, 10] {
            let gone = entry.remove(packet).expect("it stands there");
            assert_eq!(entry.give_back(gone.holds), 0);
        }
        assert_eq!(entry.remove(12).map(|gone| gone.packet), None);
        assert_eq!((entry.first(), entry.standing()), (Some(20), (1, 0)), "the place is another's");
        entry.come(request(13, 1, 4, Holds::Networks));
        assert!(entry.remove(13).is_some());
        entry.begin_anew(1);
        assert_eq!(entry.send(1, false), 5);
        entry.come(request(14, 1, 5, Holds::Networks));
        assert_eq!(taken(&mut entry), Some(20));
        assert_eq!(taken(&mut entry), Some(14));
        assert_eq!(entry.free, Some(1));
    }

    #[test]
    fn without_a_bound_no_request_stands_outside() {
        let mut entry = Entry::new(None, true);
        for n in 0..100 {
            assert_eq!(entry.come(request(n, n, 1, Holds::Nothing)), 0);
        }
        assert_eq!(entry.standing(), (100, 0));
    }
}
