//! Checks conservation in each cycle in debug builds of small networks: flits, credits, at most one
//! owner per virtual channel, and the order of flits inside a packet and inside a virtual channel.

use super::general::data::NONE;
use super::whole::{Network, UnderWay};
use crate::arbiter::Arbiter;

/// Networks with more virtual channels than this are checked only every few cycles, to keep debug
/// runs bearable.
#[cfg(debug_assertions)]
const EVERY_CYCLE_UP_TO: usize = 512;

impl<A: Arbiter> Network<A> {
    #[cfg(debug_assertions)]
    pub(crate) fn check_conservation(&mut self) {
        let period = (self.vc_numbers() / EVERY_CYCLE_UP_TO).max(1) as u64;
        if !self.state.now.is_multiple_of(period) {
            return;
        }
        // The memory in `under_way` is kept from check to check, so that a warm network allocates
        // nothing in debug builds either.
        let mut under_way = std::mem::take(&mut self.under_way);
        let found = self.conserved_with(&mut under_way);
        self.under_way = under_way;
        if let Err(broken) = found {
            panic!("cycle {}: {broken}", self.state.now);
        }
    }

    /// Checks all conservation rules. Returns a description of the first one that is broken. Public
    /// for tests that use release builds.
    pub fn conserved(&self) -> Result<(), String> {
        self.conserved_with(&mut UnderWay::default())
    }

    fn conserved_with(
        &self,
        UnderWay { credits: credits_back, flits: flits_on_way }: &mut UnderWay,
    ) -> Result<(), String> {
        for counts in [&mut *credits_back, &mut *flits_on_way] {
            counts.clear();
            counts.resize(self.vc_numbers(), 0);
        }
        self.each_under_way(|n| flits_on_way[n] += 1, |n| credits_back[n] += 1);
        for c in (0..self.wiring.links.len()).filter(|c| self.connected(*c)) {
            let (mut shared_used, shared_free) = (0, self.shared_free(c));
            let (_, credit) = self.free_and_credit(c);
            for v in 0..self.spec.config.vcs as usize {
                let n = (c << self.spec.shift) + v;
                let vc = self.vc_view(n);
                let held = i32::from(vc.count) + flits_on_way[n] + credits_back[n];
                let used = self.spec.config.buffer as i32 - i32::from(vc.credits);
                if held != used {
                    return Err(format!("channel {c} vc {v}: {used} credits in use but {held} flits and credits"));
                }
                shared_used += (-i32::from(vc.credits)).max(0);
                let has = credit >> v & 1 == 1;
                if has != (vc.credits > 0 || shared_free > 0) {
                    return Err(format!("channel {c} vc {v}: credit mask says {has}, count {}", vc.credits));
                }
                self.check_owner(c, v)?;
                self.check_order(n)?;
            }
            if shared_used + shared_free != self.spec.config.shared_buffer as i32 {
                return Err(format!("channel {c}: {shared_used} shared places in use, {shared_free} free"));
            }
        }
        Ok(())
    }

    fn check_owner(&self, c: usize, v: usize) -> Result<(), String> {
        let link = &self.wiring.links[c];
        let owner = self.vc_view((c << self.spec.shift) + v).owner;
        if link.from_source {
            return Ok(());
        }
        if (owner == NONE) != (self.free_and_credit(c).0 >> v & 1 == 1) {
            return Err(format!("channel {c} vc {v}: owner {owner} but free mask says otherwise"));
        }
        if owner != NONE {
            let holder = self.vc_view((link.from as usize) << self.spec.block | usize::from(owner));
            if usize::from(holder.given & 0xff) != v || holder.out != u16::from(link.out_port) {
                return Err(format!("channel {c} vc {v}: its owner {owner} does not hold it"));
            }
        }
        Ok(())
    }

    /// Checks that the flits of a packet stand together in virtual channel `n`, head first and tail
    /// last. Only the first packet may lack its head.
    fn check_order(&self, n: usize) -> Result<(), String> {
        let state = self.vc_view(n);
        // An endpoint that takes every flit at once does not record which packet it is taking.
        let unnoted = !self.spec.bounded && n >> self.spec.shift >= self.spec.router_inputs as usize;
        let mut inside: Option<usize> = None;
        for (k, flit) in self.held_flits(n).enumerate() {
            let starts = flit.head();
            let right = match inside {
                Some(slot) => !starts && slot == flit.slot(),
                None => starts || (k == 0 && (state.given != NONE || unnoted)),
            };
            if !right {
                return Err(format!("vc {n}: flit {k} of packet slot {} out of order", flit.slot()));
            }
            inside = (!flit.tail()).then_some(flit.slot());
        }
        Ok(())
    }
}
