//! Credits (section 3.5): each queue has a global pool for each direction, and a local pool for
//! each thread that joined.
//!
//! A thread that asks for credits gets all credits of its local pool. In each cycle the hardware
//! moves one credit from the global pool to a local pool that is not full. Threads take turns, and
//! a thread's weight is the number of its credits in a turn. A request spends a credit when the
//! engine serves it; a request without a credit is dropped.
//!
//! The paper bounds a local pool, and not what a thread asks out of it: a thread that asks and
//! never sends ends up with every credit. So a thread has a share of the queue's entries here, by
//! its weight: its local pool gets nothing while the thread has its share or more, in the pool and
//! in hand. Credits come back when their thread ends, and when it has spent none for the time of
//! the device's timer.
//!
//! Two things hold at all times. The number of credits in pools and with threads ([`Pools::total`])
//! is, for enqueues, the number of the queue's entries less the places used and reserved, and for
//! dequeues the number of its items. A thread with more than its share has no credits in its local
//! pool ([`Pools::keeps_shares`]); it came by them before others joined, and gets no new ones.

/// The share of a thread in a queue's credits for one direction.
#[derive(Clone, Copy, Debug)]
struct Member {
    thread: u32,
    weight: u32,
    /// Number of credits in the thread's local pool.
    local: u32,
    /// Number of credits that the thread was given and has not spent.
    given: u32,
    /// The time at which the thread last spent a credit, or got the first of those in hand.
    since: u64,
    /// Most credits that the thread may have, in the local pool and in hand.
    share: u32,
}

impl Member {
    /// Returns the number of credits in the local pool and in hand.
    fn has(&self) -> u32 {
        self.local + self.given
    }
}

/// The pools of a queue for one direction.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    global: u32,
    members: Vec<Member>,
    /// The sum of the members' weights.
    weights: u64,
    /// The member that has its turn, and the number of credits that it still gets in this turn.
    turn: usize,
    left: u32,
    /// Number of entries of the queue: credits to be shared.
    entries: u32,
    /// Largest number of credits that a local pool holds.
    most: u32,
    /// The cycle up to which credits have been dealt.
    dealt: u64,
}

impl Pools {
    /// Pools of a queue with `entries` entries, with `global` credits in the global pool, and at
    /// most `most` in each local one.
    pub(super) fn new(global: u32, entries: u32, most: u32, now: u64) -> Pools {
        Pools { global, members: Vec::new(), weights: 0, turn: 0, left: 0, entries, most, dealt: now }
    }

    /// Gives a thread a local pool, or another weight. Shares change: credits in other members'
    /// local pools beyond their shares go back to the global pool. Returns false if as many threads
    /// as there are entries have joined: another could have no credit for as long as they have one
    /// each in their local pools.
    pub(super) fn join(&mut self, thread: u32, weight: u32, now: u64) -> bool {
        self.deal(now);
        let known = self.members.iter().any(|member| member.thread == thread);
        if !known && self.members.len() as u32 >= self.entries {
            return false;
        }
        match self.members.iter_mut().find(|member| member.thread == thread) {
            Some(member) => {
                self.weights -= u64::from(member.weight);
                member.weight = weight;
            }
            None => {
                self.members.push(Member { thread, weight, local: 0, given: 0, since: now, share: 0 });
                if self.members.len() == 1 {
                    self.left = weight;
                }
            }
        }
        self.weights += u64::from(weight);
        self.share_out();
        true
    }

    /// Takes away the local pool of a thread that ends or may not use the queue any more. Returns
    /// the number of credits that come back.
    pub(super) fn leave(&mut self, thread: u32, now: u64) -> u32 {
        self.deal(now);
        let Some(number) = self.members.iter().position(|member| member.thread == thread) else { return 0 };
        let member = self.members.remove(number);
        self.weights -= u64::from(member.weight);
        self.global += member.has();
        self.share_out();
        if number < self.turn {
            self.turn -= 1;
        } else if number == self.turn {
            self.turn %= self.members.len().max(1);
            self.left = self.members.get(self.turn).map_or(0, |next| next.weight);
        }
        member.has()
    }

    /// Computes the members' shares: each gets its part of the entries by weight. Where parts of
    /// less than a credit would be lost, each member gets one, and its part of those that remain. So
    /// the shares are no more than the entries, and none is zero. Credits in local pools beyond a
    /// share go back to the global pool.
    fn share_out(&mut self) {
        let (entries, weights) = (u64::from(self.entries), self.weights.max(1));
        let each_has_one = self.members.iter().all(|member| entries * u64::from(member.weight) >= weights);
        let (first, rest) = if each_has_one { (0, entries) } else { (1, entries - self.members.len() as u64) };
        for member in &mut self.members {
            member.share = (first + rest * u64::from(member.weight) / weights) as u32;
            let back = member.has().saturating_sub(member.share).min(member.local);
            member.local -= back;
            self.global += back;
        }
    }

    fn has_room(&self, number: usize) -> bool {
        let member = &self.members[number];
        member.local < self.most && member.has() < member.share
    }

    /// Deals the credits of the cycles that have passed since the last call, one credit in each
    /// cycle.
    pub(super) fn deal(&mut self, now: u64) {
        let mut cycles = now - self.dealt;
        self.dealt = now;
        while cycles > 0 && self.global > 0 && (0..self.members.len()).any(|member| self.has_room(member)) {
            while self.left == 0 || !self.has_room(self.turn) {
                self.turn = (self.turn + 1) % self.members.len();
                self.left = self.members[self.turn].weight;
            }
            self.members[self.turn].local += 1;
            self.left -= 1;
            self.global -= 1;
            cycles -= 1;
        }
    }

    fn member_of(&mut self, thread: u32) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.thread == thread)
    }

    /// Takes all credits of a thread's local pool. Returns their number.
    pub(super) fn take(&mut self, thread: u32, now: u64) -> u32 {
        self.deal(now);
        let Some(member) = self.member_of(thread) else { return 0 };
        let credits = std::mem::take(&mut member.local);
        if member.given == 0 {
            member.since = now;
        }
        member.given += credits;
        credits
    }

    /// Spends a credit of a thread. Returns false if the thread has none.
    pub(super) fn spend(&mut self, thread: u32, now: u64) -> bool {
        match self.member_of(thread).filter(|member| member.given > 0) {
            Some(member) => {
                (member.given, member.since) = (member.given - 1, now);
                true
            }
            None => false,
        }
    }

    /// Takes back the credits in hand of threads that have spent none for `timeout` cycles. Returns
    /// the number of credits.
    pub(super) fn age(&mut self, timeout: u64, now: u64) -> u32 {
        self.deal(now);
        let old = self.members.iter_mut().filter(|member| member.since + timeout <= now);
        let back = old.map(|member| std::mem::take(&mut member.given)).sum();
        self.global += back;
        back
    }

    /// Returns the earliest time at which credits in hand may be too old.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.members.iter().filter(|member| member.given > 0).map(|member| member.since).min()
    }

    /// Returns a credit to the global pool.
    pub(super) fn replenish(&mut self, now: u64) {
        self.deal(now);
        self.global += 1;
    }

    /// Returns what a queue that moves takes along: the number of credits in the global pool, the
    /// number of members, and whose turn it is, with the number of credits left in it.
    pub(super) fn size(&self) -> [u32; 4] {
        [self.global, self.members.len() as u32, self.turn as u32, self.left]
    }

    /// Returns a member as thread, weight, local credits and given credits.
    pub(super) fn member(&self, number: usize) -> Option<[u32; 4]> {
        self.members.get(number).map(|member| [member.thread, member.weight, member.local, member.given])
    }

    /// Sets the global pool and the turn of a queue that has moved here. Its members come next.
    pub(super) fn restore(&mut self, global: u32, [turn, left]: [u32; 2], now: u64) {
        (self.global, self.turn, self.left, self.dealt) = (global, turn as usize, left, now);
    }

    /// Adds a member to a queue that has moved here.
    pub(super) fn restore_member(&mut self, [thread, weight, local, given]: [u32; 4], now: u64) {
        self.weights += u64::from(weight);
        self.members.push(Member { thread, weight, local, given, since: now, share: 0 });
        self.share_out();
    }

    /// Returns the number of unspent credits in all pools and with all threads.
    pub(super) fn total(&self) -> u32 {
        self.global + self.members.iter().map(Member::has).sum::<u32>()
    }

    /// Returns whether each member can have a credit: no member has a local credit beyond its share,
    /// no share is zero, and all shares together are no more than the entries.
    pub(super) fn keeps_shares(&self) -> bool {
        let shares: u64 = self.members.iter().map(|member| u64::from(member.share)).sum();
        let keeps = |member: &Member| member.share > 0 && (member.local == 0 || member.has() <= member.share);
        shares <= u64::from(self.entries) && self.members.iter().all(keeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the credits that each of two threads gets, when both ask in each tenth cycle and
    /// each credit comes back at once.
    fn shares(weights: [u32; 2], most: u32) -> [u32; 2] {
        let mut pools = Pools::new(64, 64, most, 0);
        (0..).zip(weights).for_each(|(thread, weight)| assert!(pools.join(thread, weight, 0)));
        let mut got = [0; 2];
        for now in (10..100_000).step_by(10) {
            for thread in [0, 1] {
                for _ in 0..pools.take(thread, now) {
                    got[thread as usize] += 1;
                    assert!(pools.spend(thread, now));
                    pools.replenish(now);
                }
            }
            assert_eq!(pools.total(), 64);
            assert!(pools.keeps_shares());
        }
        got
    }

    #[test]
    fn credits_are_dealt_by_weight() {
        for (weights, ratio) in [([1, 1], 1.0), ([1, 2], 2.0), ([1, 3], 3.0)] {
            let [first, second] = shares(weights, 8);
            let is = f64::from(second) / f64::from(first);
            assert!((is / ratio - 1.0).abs() < 0.01, "{weights:?}: {is}");
        }
    }

    #[test]
    fn one_credit_a_cycle_and_no_more_than_a_local_pool_holds() {
        let mut pools = Pools::new(64, 64, 8, 100);
        assert!(pools.join(3, 1, 100));
        assert_eq!(pools.take(3, 104), 4);
        assert_eq!(pools.take(3, 1000), 8);
        assert_eq!(pools.take(4, 1001), 0, "it has not joined");
        assert!(!pools.spend(4, 1001));
    }

    #[test]
    fn who_does_not_ask_does_not_hold_up_the_others() {
        let mut pools = Pools::new(64, 64, 8, 0);
        assert!(pools.join(0, 1, 0));
        assert!(pools.join(1, 1, 0));
        let got = |pools: &mut Pools, time: u64| {
            let credits = pools.take(1, time * 100);
            (0..credits).for_each(|_| assert!(pools.spend(1, time * 100)));
            credits
        };
        let all: u32 = (1..=10).map(|time| got(&mut pools, time)).sum();
        assert_eq!(all, 56, "all but what lies in the pool of the other");
    }

    #[test]
    fn a_hoarder_gets_its_share_and_no_more() {
        let mut pools = Pools::new(16, 16, 64, 0);
        assert!(pools.join(0, 1, 0));
        assert!(pools.join(1, 3, 0));
        let hoarded: u32 = (1..100).map(|time| pools.take(0, time * 100)).sum();
        assert_eq!(hoarded, 4);
        assert_eq!(pools.take(1, 20_000), 12);
    }

    #[test]
    fn who_comes_late_gets_its_share_of_what_lies_in_pools() {
        let mut pools = Pools::new(16, 16, 64, 0);
        assert!(pools.join(0, 1, 0));
        assert_eq!(pools.take(0, 10), 10, "alone it may have all");
        assert!(pools.join(1, 1, 100));
        assert!(pools.keeps_shares(), "what lay in the first one's pool is back");
        assert_eq!((pools.take(0, 200), pools.take(1, 200)), (0, 6));
        // The first thread has ten credits in hand, two more than its share. It spends two, which
        // go to the second thread when they come back.
        (0..2).for_each(|_| assert!(pools.spend(0, 200)));
        (0..2).for_each(|_| pools.replenish(200));
        assert_eq!((pools.take(0, 300), pools.take(1, 300)), (0, 2));
    }

    /// Credits in the local pools of threads that do not ask are not all that there are.
    #[test]
    fn each_member_can_have_a_credit_and_there_are_no_more_members_than_entries() {
        for entries in 1..20 {
            for weights in [[1, 1, 1, 1, 1, 1], [9, 1, 1, 1, 1, 1], [1, 20, 2, 1, 1, 7]] {
                let mut pools = Pools::new(entries, entries, 64, 0);
                let joined =
                    weights.iter().zip(0..).filter(|(weight, thread)| pools.join(*thread, **weight, 0)).count();
                assert_eq!(joined as u32, entries.min(6));
                // The last one asks when the local pools of all others are full.
                assert!(pools.take(joined as u32 - 1, 1_000) > 0, "{entries} {weights:?}");
                assert!(pools.keeps_shares() && pools.join(0, 3, 1_000), "another weight is no other member");
                assert!(pools.leave(1, 2_000) > 0 || entries == 1);
                assert!(pools.keeps_shares() && pools.total() == entries);
            }
        }
    }

    #[test]
    fn credits_of_a_thread_that_leaves_come_back_and_the_turn_goes_on() {
        for leaves in 0..3 {
            let mut pools = Pools::new(12, 12, 64, 0);
            (0..3).for_each(|thread| assert!(pools.join(thread, 1, 0)));
            assert_eq!(pools.take(leaves, 100), 4);
            assert_eq!(pools.leave(leaves, 200), 4);
            assert_eq!(pools.total(), 12);
            for thread in (0..3).filter(|thread| *thread != leaves) {
                assert_eq!(pools.take(thread, 300), 6, "half for each of two, without {leaves}");
            }
            assert_eq!(pools.leave(leaves, 400), 0);
        }
    }

    /// Pools that move in any cycle deal the next credits to the same members as those that stay.
    #[test]
    fn a_turn_of_weighted_round_robin_is_not_lost_by_a_move() {
        for moved_at in 0..12 {
            let mut here = Pools::new(64, 64, 64, 0);
            [1, 3, 2].into_iter().zip(0..).for_each(|(weight, thread)| assert!(here.join(thread, weight, 0)));
            here.deal(moved_at);
            let mut there = Pools::new(0, 64, 64, moved_at);
            let [global, members, turn, left] = here.size();
            there.restore(global, [turn, left], moved_at);
            (0..members as usize).for_each(|number| there.restore_member(here.member(number).expect("one"), moved_at));
            for now in moved_at..moved_at + 12 {
                [&mut here, &mut there].into_iter().for_each(|pools| pools.deal(now));
                let local = |pools: &Pools| (0..3).map(|number| pools.member(number)).collect::<Vec<_>>();
                assert_eq!(local(&here), local(&there), "moved in cycle {moved_at}, at {now}");
            }
        }
    }

    #[test]
    fn credits_in_hand_age_and_those_of_a_thread_that_spends_do_not() {
        let mut pools = Pools::new(16, 16, 64, 0);
        (0..2).for_each(|thread| assert!(pools.join(thread, 1, 0)));
        (0..2).for_each(|thread| assert_eq!(pools.take(thread, 100), 8));
        assert!(pools.spend(1, 600));
        assert_eq!(pools.oldest(), Some(100));
        assert_eq!(pools.age(1000, 1099), 0);
        assert_eq!(pools.age(1000, 1100), 8, "the first one's");
        assert!(!pools.spend(0, 1100) && pools.spend(1, 1100));
    }
}
