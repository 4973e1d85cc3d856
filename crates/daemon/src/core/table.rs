//! The threads that live, by their numbers. The core looks a thread up several times for each input, so that a
//! look-up is two steps from one array to the next.

use super::board::Thread;
use baton_sched::ThreadId;

/// Threads of a page.
const PAGE: usize = 64;

/// The threads with numbers from a multiple of [`PAGE`] on.
struct Page {
    slots: [Option<Box<Thread>>; PAGE],
    lives: usize,
}

/// The threads that live. Numbers are given in ascending order and never again. A page of which no thread
/// lives takes eight bytes.
#[derive(Default)]
pub(super) struct Table(Vec<Option<Box<Page>>>);

fn place(id: ThreadId) -> (usize, usize) {
    (id.0 as usize / PAGE, id.0 as usize % PAGE)
}

impl Table {
    pub(super) fn get(&self, id: ThreadId) -> Option<&Thread> {
        let (page, slot) = place(id);
        self.0.get(page)?.as_ref()?.slots[slot].as_deref()
    }

    pub(super) fn get_mut(&mut self, id: ThreadId) -> Option<&mut Thread> {
        let (page, slot) = place(id);
        self.0.get_mut(page)?.as_mut()?.slots[slot].as_deref_mut()
    }

    /// Adds a thread, or replaces the one with this number.
    pub(super) fn insert(&mut self, id: ThreadId, thread: Thread) {
        let (page, slot) = place(id);
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        let page = self.0[page].get_or_insert_with(|| Box::new(Page { slots: [const { None }; PAGE], lives: 0 }));
        page.lives += usize::from(page.slots[slot].replace(Box::new(thread)).is_none());
    }

    pub(super) fn remove(&mut self, id: ThreadId) -> Option<Thread> {
        let (at, slot) = place(id);
        let page = self.0.get_mut(at)?;
        let (thread, lives) = page.as_mut().map(|page| (page.slots[slot].take(), &mut page.lives))?;
        let thread = thread?;
        *lives -= 1;
        if *lives == 0 {
            *page = None;
        }
        Some(*thread)
    }

    /// The threads by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        let pages = (0..).step_by(PAGE).zip(&self.0).filter_map(|(first, page)| Some((first, page.as_ref()?)));
        pages.flat_map(|(first, page)| {
            let slots = (first..).map(ThreadId).zip(&page.slots);
            slots.filter_map(|(id, slot)| Some((id, slot.as_deref()?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::begins;
    use crate::input::Input;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn thread(id: u32, since: u64) -> Thread {
        let Input::Begins(_, begins) = begins(id, 0, "0") else { unreachable!() };
        Thread::new(begins, since)
    }

    #[test]
    fn a_page_without_threads_takes_no_memory() {
        let mut table = Table::default();
        let all = 0..4 * PAGE as u32;
        all.clone().for_each(|id| table.insert(ThreadId(id), thread(id, 0)));
        all.filter(|id| *id != 70).for_each(|id| drop(table.remove(ThreadId(id)).unwrap()));
        let kept: Vec<bool> = table.0.iter().map(Option::is_some).collect();
        assert_eq!(kept, [false, true, false, false]);
        assert!(table.get(ThreadId(70)).is_some() && table.get(ThreadId(71)).is_none());
    }

    proptest! {
        #![proptest_config(baton_needs::property!(64))]

        /// A table holds what a map holds.
        #[test]
        fn a_table_is_a_map(steps in prop::collection::vec((0..200_u32, 0..3_u8), 1..300)) {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            for (time, (id, step)) in (0..).zip(steps) {
                let number = ThreadId(id);
                match step {
                    0 => {
                        table.insert(number, thread(id, time));
                        map.insert(number, time);
                    }
                    1 => prop_assert_eq!(table.remove(number).map(|thread| thread.since), map.remove(&number)),
                    _ => {
                        table.get_mut(number).into_iter().for_each(|thread| thread.since = time);
                        map.entry(number).and_modify(|since| *since = time);
                    }
                }
                prop_assert_eq!(table.get(number).map(|thread| thread.since), map.get(&number).copied());
                let all: Vec<_> = table.iter().map(|(id, thread)| (id, thread.since)).collect();
                prop_assert_eq!(all, map.iter().map(|(&id, &since)| (id, since)).collect::<Vec<_>>());
            }
        }
    }
}
