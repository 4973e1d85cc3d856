//! Credits (section 3.5): each queue has a global pool for each direction, and a local pool for
//! each context that joined.
//!
//! A context that asks for credits gets all credits of its local pool. In each cycle the hardware
//! moves one credit from the global pool to a local pool that is not full. Contexts take turns, and
//! a context's weight is the number of its credits in a turn. A request spends a credit when the
//! engine serves it; a request without a credit is dropped.
//!
//! At all times, the number of credits in pools and with contexts, plus the number of places used
//! and reserved, is the number of the queue's entries ([`Pools::total`]; checked in debug builds).

/// The share of a context in a queue's credits for one direction.
#[derive(Clone, Copy, Debug)]
struct Member {
    cpu: u32,
    weight: u32,
    /// Number of credits in the context's local pool.
    local: u32,
    /// Number of credits that the context was given and has not spent.
    given: u32,
}

/// The pools of a queue for one direction.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    global: u32,
    members: Vec<Member>,
    /// The member that has its turn, and the number of credits that it still gets in this turn.
    turn: usize,
    left: u32,
    /// Largest number of credits that a local pool holds.
    most: u32,
    /// The cycle up to which credits have been dealt.
    dealt: u64,
}

impl Pools {
    /// Pools with `global` credits in the global pool, and at most `most` in each local one.
    pub(super) fn new(global: u32, most: u32, now: u64) -> Pools {
        Pools { global, members: Vec::new(), turn: 0, left: 0, most, dealt: now }
    }

    /// Gives a context a local pool, or another weight.
    pub(super) fn join(&mut self, cpu: u32, weight: u32, now: u64) {
        self.deal(now);
        match self.members.iter_mut().find(|member| member.cpu == cpu) {
            Some(member) => member.weight = weight,
            None => {
                self.members.push(Member { cpu, weight, local: 0, given: 0 });
                if self.members.len() == 1 {
                    self.left = weight;
                }
            }
        }
    }

    /// Deals the credits of the cycles that have passed since the last call, one credit in each
    /// cycle.
    pub(super) fn deal(&mut self, now: u64) {
        let mut cycles = now - self.dealt;
        self.dealt = now;
        while cycles > 0 && self.global > 0 && self.members.iter().any(|member| member.local < self.most) {
            while self.left == 0 || self.members[self.turn].local == self.most {
                self.turn = (self.turn + 1) % self.members.len();
                self.left = self.members[self.turn].weight;
            }
            self.members[self.turn].local += 1;
            self.left -= 1;
            self.global -= 1;
            cycles -= 1;
        }
    }

    /// Takes all credits of a context's local pool. Returns their number.
    pub(super) fn take(&mut self, cpu: u32, now: u64) -> u32 {
        self.deal(now);
        let Some(member) = self.members.iter_mut().find(|member| member.cpu == cpu) else { return 0 };
        let credits = std::mem::take(&mut member.local);
        member.given += credits;
        credits
    }

    /// Spends a credit of a context. Returns false if the context has none.
    pub(super) fn spend(&mut self, cpu: u32) -> bool {
        match self.members.iter_mut().find(|member| member.cpu == cpu && member.given > 0) {
            Some(member) => {
                member.given -= 1;
                true
            }
            None => false,
        }
    }

    /// Returns a credit to the global pool.
    pub(super) fn replenish(&mut self, now: u64) {
        self.deal(now);
        self.global += 1;
    }

    /// Returns the number of credits in the global pool, and the number of members.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.global, self.members.len() as u32)
    }

    /// Returns a member as CPU, weight, local credits and given credits.
    pub(super) fn member(&self, number: usize) -> Option<[u32; 4]> {
        self.members.get(number).map(|member| [member.cpu, member.weight, member.local, member.given])
    }

    /// Sets the global pool of a queue that has moved here.
    pub(super) fn restore(&mut self, global: u32, now: u64) {
        (self.global, self.dealt) = (global, now);
    }

    /// Adds a member to a queue that has moved here.
    pub(super) fn restore_member(&mut self, [cpu, weight, local, given]: [u32; 4]) {
        self.members.push(Member { cpu, weight, local, given });
    }

    /// Returns the number of unspent credits in all pools and with all contexts, for checks.
    #[cfg(any(test, debug_assertions))]
    pub(super) fn total(&self) -> u32 {
        self.global + self.members.iter().map(|member| member.local + member.given).sum::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the credits that each of two contexts gets, when both ask in each tenth cycle and
    /// each credit comes back at once.
    fn shares(weights: [u32; 2], most: u32) -> [u32; 2] {
        let mut pools = Pools::new(64, most, 0);
        (0..).zip(weights).for_each(|(cpu, weight)| pools.join(cpu, weight, 0));
        let mut got = [0; 2];
        for now in (10..100_000).step_by(10) {
            for cpu in [0, 1] {
                for _ in 0..pools.take(cpu, now) {
                    got[cpu as usize] += 1;
                    assert!(pools.spend(cpu));
                    pools.replenish(now);
                }
            }
            assert_eq!(pools.total(), 64);
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
        let mut pools = Pools::new(64, 8, 100);
        pools.join(3, 1, 100);
        assert_eq!(pools.take(3, 104), 4);
        assert_eq!(pools.take(3, 1000), 8);
        assert_eq!(pools.take(4, 1001), 0, "it has not joined");
        assert!(!pools.spend(4));
    }

    #[test]
    fn who_does_not_ask_does_not_hold_up_the_others() {
        let mut pools = Pools::new(64, 8, 0);
        pools.join(0, 1, 0);
        pools.join(1, 1, 0);
        let got: u32 = (1..=10).map(|time| pools.take(1, time * 100)).sum();
        assert_eq!(got, 56, "all but what lies in the pool of the other");
    }
}
