//! Chooses which of the requests that wait for a line its home serves next, if a mechanism makes
//! the home honour their marks.
//!
//! Only the first requests of a line's list are compared, up to `HomeOrder::places`. A request is
//! passed by later ones a bounded number of times, so that none waits for ever. A request whose
//! service has begun (a recall was sent for it) stays first, because the protocol has no row for
//! another.

use super::homes::Entry;
use super::message::{Flight, Flights, List, NONE};
use baton_chipfile::config::mechanism::HomeOrder;

/// The request that is served next, and the request before it in the list; [`NONE`] before the
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) id: u32,
    before: u32,
}

impl<S> Entry<S> {
    /// Chooses the request that is served next. The list is not empty.
    #[inline(never)]
    pub(super) fn most_urgent(&self, order: &HomeOrder, flights: &Flights) -> Chosen {
        let head = Chosen { id: self.waiting.head, before: NONE };
        let urgency = |id: u32| flights[id].mark.rank.get().unwrap_or(u32::MAX);
        if self.begun || (!order.ranked_first && urgency(head.id) == u32::MAX) {
            return head;
        }
        let (mut best, mut before) = (head, NONE);
        for id in self.waiting.iter(flights).take(order.places as usize) {
            if u32::from(flights[id].passed) >= order.passes {
                return Chosen { id, before };
            }
            if urgency(id) < urgency(best.id) {
                best = Chosen { id, before };
            }
            before = id;
        }
        best
    }

    /// Removes the chosen request from the list. Requests in front of it have been passed once
    /// more.
    pub(super) fn serve(&mut self, chosen: Chosen, flights: &mut Flights) {
        self.begun = false;
        let mut at = self.waiting.head;
        while at != chosen.id {
            let Flight { next, passed, .. } = &mut flights[at];
            *passed = passed.saturating_add(1);
            at = *next;
        }
        self.waiting.remove(chosen.id, chosen.before, flights);
    }
}

impl List {
    /// Takes out the message that stands behind `before`, or the first if `before` is [`NONE`].
    fn remove(&mut self, id: u32, before: u32, flights: &mut Flights) {
        let next = flights[id].next;
        if before == NONE {
            self.head = next;
        } else {
            flights[before].next = next;
        }
        if self.tail == id {
            self.tail = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{Content, Unit};
    use super::*;
    use baton_coherence::Bits;
    use baton_noc::{Header, Rank};

    const ORDER: HomeOrder = HomeOrder { places: 32, passes: 4, ranked_first: true };

    /// Makes a line for which requests of these ranks wait, in order of arrival; `None` is a
    /// request without a rank.
    fn line(ranks: &[Option<u32>]) -> (Entry<Bits<1>>, Flights) {
        let mut flights = Flights::new();
        let mut waiting = List::EMPTY;
        for rank in ranks {
            let mark = Header { class: 0, rank: rank.map_or(Rank::NONE, Rank::new) };
            let flight = Flight { mark, ..Flight::leaving(Content::Read, 0, Unit::Core(0), Unit::Home(0), 0) };
            let id = flights.put(flight);
            waiting.push(id, &mut flights);
        }
        let (directory, wanting) = (Default::default(), List::EMPTY);
        let entry = Entry { line: 0, directory, waiting, wanting, again: false, leaving: false, begun: false };
        (entry, flights)
    }

    /// Returns the numbers of the requests in the order in which they are served, if no other
    /// request comes.
    fn served(order: &HomeOrder, ranks: &[Option<u32>]) -> Vec<u32> {
        let (mut entry, mut flights) = line(ranks);
        let mut all = Vec::new();
        while !entry.waiting.is_empty() {
            let chosen = entry.most_urgent(order, &flights);
            entry.serve(chosen, &mut flights);
            all.push(chosen.id);
        }
        // The list must be empty and intact: a message that is added now is its only element.
        let id = flights.put(Flight::leaving(Content::Read, 0, Unit::Core(0), Unit::Home(0), 0));
        entry.waiting.push(id, &mut flights);
        assert_eq!(entry.waiting.iter(&flights).collect::<Vec<_>>(), [id]);
        all
    }

    #[test]
    fn the_smallest_rank_goes_first_and_equal_ones_in_order_of_arrival() {
        let ranks = [Some(7), None, Some(3), Some(7), Some(0), Some(3), None];
        let wide = HomeOrder { passes: 100, ..ORDER };
        assert_eq!(served(&wide, &ranks), [4, 2, 5, 0, 3, 1, 6]);
        assert_eq!(served(&HomeOrder { places: 1, ..wide }, &ranks), [0, 1, 2, 3, 4, 5, 6]);
        // With two places, only the first two requests of the list are compared: 0, which has a
        // rank, goes before 1; then 1 is compared with 2, and so on.
        assert_eq!(served(&HomeOrder { places: 2, ..wide }, &ranks), [0, 2, 3, 4, 5, 1, 6]);
        // Without `ranked_first`, a request without a rank is served as soon as it is first in the
        // list.
        assert_eq!(served(&HomeOrder { ranked_first: false, ..wide }, &ranks), [4, 2, 5, 0, 1, 3, 6]);
    }

    #[test]
    fn a_request_is_passed_so_often_and_no_more() {
        for passes in 1..=5 {
            let order = HomeOrder { passes, ..ORDER };
            let (mut entry, mut flights) = line(&[None, None]);
            let mut passed_by = 0;
            loop {
                // In each round a request with a rank comes, which is more urgent than requests 0
                // and 1.
                let mark = Header { class: 0, rank: Rank::new(passed_by % 3) };
                let flight = Flight { mark, ..Flight::leaving(Content::Read, 0, Unit::Core(0), Unit::Home(0), 0) };
                let id = flights.put(flight);
                entry.waiting.push(id, &mut flights);
                let chosen = entry.most_urgent(&order, &flights);
                entry.serve(chosen, &mut flights);
                if chosen.id == 0 {
                    break;
                }
                passed_by += 1;
            }
            assert_eq!(passed_by, passes);
            // Request 1 stands behind request 0 and was passed as often, so it is served next.
            assert_eq!(entry.most_urgent(&order, &flights).id, 1);
        }
    }

    #[test]
    fn what_has_begun_stays_first() {
        let (mut entry, mut flights) = line(&[None, Some(0)]);
        entry.begun = true;
        let first = entry.most_urgent(&ORDER, &flights);
        assert_eq!(first.id, 0);
        entry.serve(first, &mut flights);
        assert!(!entry.begun);
    }
}
