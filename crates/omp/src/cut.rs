//! A task loop's iterations, cut into tasks.

/// How iterations are cut into `tasks` tasks: each has `each` iterations, and the first
/// `longer` tasks have one more. `last` is the number of iterations of the last task, if it
/// differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The number of tasks.
    pub tasks: u64,
    each: u64,
    longer: u64,
    last: Option<u64>,
}

impl Cut {
    /// Cuts `count` iterations (not 0) into `asked` tasks; if `asked` is 0, into a task for each of
    /// `threads`. There are at most `count` tasks.
    pub fn into_tasks(count: u64, asked: u64, threads: u64) -> Cut {
        let tasks = if asked == 0 { threads } else { asked }.min(count);
        Cut { tasks, each: count / tasks, longer: count % tasks, last: None }
    }

    /// Cuts `count` iterations into tasks of at least `grain` and less than twice as many
    /// iterations (a single task if there are fewer than `grain`); with `strict`, into tasks of
    /// exactly `grain`, except for the last.
    pub fn by_grain(count: u64, grain: u64, strict: bool) -> Cut {
        let (grain, tasks) = (grain.max(1), count / grain.max(1));
        if strict {
            let rest = count % grain;
            return Cut {
                tasks: tasks + u64::from(rest != 0),
                each: grain,
                longer: 0,
                last: (rest != 0).then_some(rest),
            };
        }
        Cut::into_tasks(count, tasks.max(1), 1)
    }

    /// The iterations of each task, as the first one and the end.
    pub fn parts(self) -> impl Iterator<Item = (u64, u64)> {
        let mut from = 0;
        (0..self.tasks).map(move |task| {
            let size = self.each + u64::from(task < self.longer);
            let size = self.last.filter(|_| task + 1 == self.tasks).unwrap_or(size);
            from += size;
            (from - size, from)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_each_iteration_once() {
        let sizes = |cut: Cut| cut.parts().map(|(from, to)| to - from).collect::<Vec<_>>();
        assert_eq!(sizes(Cut::into_tasks(10, 4, 2)), [3, 3, 2, 2]);
        assert_eq!(sizes(Cut::into_tasks(3, 0, 8)), [1, 1, 1]);
        assert_eq!(sizes(Cut::by_grain(10, 4, true)), [4, 4, 2]);
        assert_eq!(sizes(Cut::by_grain(10, 4, false)), [5, 5]);
        assert_eq!(sizes(Cut::by_grain(3, 4, false)), [3]);
        assert_eq!(sizes(Cut::by_grain(3, 4, true)), [3]);
        for (count, grain) in [(1, 1), (17, 3), (100, 7), (64, 64), (65, 64)] {
            for strict in [false, true] {
                let parts: Vec<_> = Cut::by_grain(count, grain, strict).parts().collect();
                assert!(parts.windows(2).all(|two| two[0].1 == two[1].0), "{parts:?}");
                assert_eq!((parts[0].0, parts[parts.len() - 1].1), (0, count));
                let fits =
                    |size: u64| if strict { size <= grain } else { size >= grain.min(count) && size < 2 * grain };
                assert!(parts.iter().all(|(from, to)| fits(to - from)), "{count} by {grain}, {strict}: {parts:?}");
            }
        }
    }
}
