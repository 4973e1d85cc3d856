//! The lengths of holds during which nothing else was recorded, stored in a few bytes each.

use super::varint;

/// A hold during which nothing else was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) lock: u32,
    pub(crate) ticks: u64,
    pub(crate) foreign: bool,
    /// Number of the hold's class: holds that begin at one place in the code. If the place is not
    /// known, the holds of one lock form a class.
    pub(crate) class: u32,
}

#[derive(Default)]
pub(crate) struct Holds {
    /// For each hold: the lock's number XOR the previous hold's, shifted by one, with the `foreign`
    /// flag as the lowest bit; the class XOR the previous hold's; the ticks. Each is a
    /// variable-length number.
    bytes: Vec<u8>,
    before: (u32, u32),
}

impl Holds {
    pub(crate) fn push(&mut self, hold: Hold) {
        let before = std::mem::replace(&mut self.before, (hold.lock, hold.class));
        varint::write(&mut self.bytes, u64::from(hold.lock ^ before.0) << 1 | u64::from(hold.foreign));
        varint::write(&mut self.bytes, u64::from(hold.class ^ before.1));
        varint::write(&mut self.bytes, hold.ticks);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Hold> + '_ {
        let (mut bytes, mut before) = (&*self.bytes, (0, 0));
        std::iter::from_fn(move || {
            let (lock, class) = (varint::read(&mut bytes)?, varint::read(&mut bytes)?);
            let foreign = lock & 1 != 0;
            before = ((lock >> 1) as u32 ^ before.0, class as u32 ^ before.1);
            Some(Hold { lock: before.0, ticks: varint::read(&mut bytes)?, foreign, class: before.1 })
        })
    }
}

/// Returns the ticks of holds by group; the list of a group with fewer than `enough` holds is
/// empty. Holds are counted first, so that no list uses more memory than it needs.
pub(crate) fn grouped(holds: &Holds, enough: usize, group: impl Fn(&Hold) -> usize) -> Vec<Vec<u64>> {
    let mut counts: Vec<usize> = Vec::new();
    for of in holds.iter().map(|hold| group(&hold)) {
        if counts.len() <= of {
            counts.resize(of + 1, 0);
        }
        counts[of] += 1;
    }
    let list = |&count: &usize| Vec::with_capacity(if count < enough { 0 } else { count });
    let mut groups: Vec<Vec<u64>> = counts.iter().map(list).collect();
    for hold in holds.iter() {
        let of = group(&hold);
        if counts[of] >= enough {
            groups[of].push(hold.ticks);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hold_comes_out_as_it_went_in() {
        let all = [(0, 0, false, 0), (u32::MAX, u64::MAX, true, 7), (3, 200, false, u32::MAX), (3, 1 << 40, true, 2)];
        let all = all.map(|(lock, ticks, foreign, class)| Hold { lock, ticks, foreign, class });
        let mut holds = Holds::default();
        all.iter().for_each(|&hold| holds.push(hold));
        assert_eq!(holds.iter().collect::<Vec<_>>(), all);
    }
}
