//! The masks that the daemon gave threads: a mask that a new thread has inherited is one of its
//! creator's.

use baton_sched::ThreadId;
use std::collections::BTreeMap;

/// For how long an earlier mask of a thread is known: a child that inherited it is seen within 100 ms.
const KEPT_NS: u64 = 300_000_000;

#[derive(Default)]
struct Masks {
    /// `None` if the present mask is the user's.
    now: Option<Vec<u32>>,
    /// Earlier ones, each with the time at which the next one followed.
    earlier: Vec<(Vec<u32>, u64)>,
}

/// The masks that the daemon gave threads, now and shortly before.
#[derive(Default)]
pub(crate) struct Given(BTreeMap<ThreadId, Masks>);

impl Given {
    /// The mask that the thread was last given, if it has not changed since.
    pub(crate) fn now(&self, id: ThreadId) -> Option<&[u32]> {
        self.0.get(&id)?.now.as_deref()
    }

    /// Notes that the thread has been given a mask, or has one that is not the daemon's.
    pub(crate) fn set(&mut self, id: ThreadId, mask: Option<Vec<u32>>, time: u64) {
        let masks = self.0.entry(id).or_default();
        let before = std::mem::replace(&mut masks.now, mask);
        masks.earlier.retain(|(earlier, until)| Some(earlier) != before.as_ref() && until + KEPT_NS >= time);
        masks.earlier.extend(before.map(|before| (before, time)));
    }

    /// Whether a child that the thread created shortly before may have inherited this mask from the
    /// daemon's.
    pub(crate) fn had(&self, id: ThreadId, mask: &[u32], time: u64) -> bool {
        self.0.get(&id).is_some_and(|masks| {
            let earlier = masks.earlier.iter().filter(|(_, until)| until + KEPT_NS >= time).map(|(mask, _)| mask);
            masks.now.iter().chain(earlier).any(|given| given == mask)
        })
    }

    /// The thread has ended.
    pub(crate) fn ended(&mut self, id: ThreadId) {
        self.0.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_known_for_a_while() {
        let (id, mut given) = (ThreadId(3), Given::default());
        assert!(given.now(id).is_none() && !given.had(id, &[0], 0));
        given.set(id, Some(vec![0]), 10);
        given.set(id, Some(vec![1, 2]), 20);
        assert!(given.now(id) == Some(&[1, 2]) && given.had(id, &[1, 2], 20));
        assert!(given.had(id, &[0], 20 + KEPT_NS) && !given.had(id, &[0], 21 + KEPT_NS));
        assert!(!given.had(id, &[1], 20) && !given.had(ThreadId(4), &[0], 20));
        given.set(id, None, 30);
        assert!(given.now(id).is_none() && given.had(id, &[1, 2], 30));
        given.ended(id);
        assert!(!given.had(id, &[0], 30));
    }
}
