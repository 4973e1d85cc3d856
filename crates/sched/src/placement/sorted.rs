//! A set of threads in ascending order that takes and gives back no memory while its size stays below what it was.

use crate::ThreadId;
use std::ops::Deref;

/// A set of threads: a slice of their numbers, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted(Vec<ThreadId>);

impl Sorted {
    pub(crate) fn insert(&mut self, id: ThreadId) {
        if let Err(at) = self.0.binary_search(&id) {
            self.0.insert(at, id);
        }
    }

    pub(crate) fn remove(&mut self, id: ThreadId) {
        if let Ok(at) = self.0.binary_search(&id) {
            self.0.remove(at);
        }
    }

    pub(crate) fn has(&self, id: ThreadId) -> bool {
        self.0.binary_search(&id).is_ok()
    }
}

impl Deref for Sorted {
    type Target = [ThreadId];

    fn deref(&self) -> &[ThreadId] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_in_order_and_once() {
        let mut set = Sorted::default();
        [5, 2, 9, 2].into_iter().map(ThreadId).for_each(|id| set.insert(id));
        assert_eq!(*set, [2, 5, 9].map(ThreadId));
        [5, 7].into_iter().map(ThreadId).for_each(|id| set.remove(id));
        assert_eq!(*set, [2, 9].map(ThreadId));
        assert!(set.has(ThreadId(9)) && !set.has(ThreadId(5)));
    }
}
