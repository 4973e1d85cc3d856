//! What a core's private caches hold of the threads that ran there. When room is needed, the lines
//! of the thread that has been away for longest go first.

use crate::base::thread::ThreadId;

/// The lines that one thread has in the caches for one behaviour.
#[derive(Clone, Debug)]
struct Lines {
    whose: (ThreadId, usize),
    /// The number of lines in each set.
    sets: Vec<f64>,
}

/// The private caches of a core: the lines of each thread that ran there. The thread that came last
/// is at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Vec<Lines>);

impl Held {
    /// Returns how many lines of each set the thread still has in the caches; empty if it has none.
    pub(super) fn of(&self, whose: (ThreadId, usize)) -> &[f64] {
        self.0.iter().find(|lines| lines.whose == whose).map_or(&[], |lines| &lines.sets)
    }

    /// Notes that the thread has these lines in the caches from now on. The caches have room for
    /// `capacity` lines.
    pub(super) fn bring(&mut self, whose: (ThreadId, usize), sets: Vec<f64>, capacity: f64) {
        self.0.retain(|lines| lines.whose != whose);
        self.0.push(Lines { whose, sets });
        let mut room = capacity;
        for lines in self.0.iter_mut().rev() {
            let all: f64 = lines.sets.iter().sum();
            if all > room {
                lines.sets.iter_mut().for_each(|set| *set *= room / all);
            }
            room = (room - all).max(0.0);
        }
        self.0.retain(|lines| lines.sets.iter().any(|&set| set > 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_makes_room_first() {
        let mut held = Held::default();
        held.bring((0, 0), vec![3.0, 1.0], 10.0);
        held.bring((1, 0), vec![4.0], 10.0);
        assert_eq!((held.of((0, 0)), held.of((1, 0))), (&[3.0, 1.0][..], &[4.0][..]), "both fit");
        held.bring((2, 0), vec![4.0], 10.0);
        assert_eq!(held.of((0, 0)), [1.5, 0.5], "a half of the first one's is gone");
        held.bring((0, 0), vec![3.0, 1.0], 10.0);
        assert_eq!((held.of((1, 0)), held.of((2, 0))), (&[2.0][..], &[4.0][..]), "it has come again");
        held.bring((3, 0), vec![10.0], 10.0);
        assert!(held.of((0, 0)).is_empty() && held.of((3, 0)) == [10.0]);
        assert!(held.of((3, 1)).is_empty(), "another behaviour has lines of its own");
    }
}
