//! How long a program has more than one thread. Only this part of a run depends on locks and
//! networks: what the first thread does alone, before and after this part, takes the same time
//! under all locks and networks.

/// Returns for how long at least two lives overlap. A life is a pair of begin and end.
pub(crate) fn together(lives: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    // At equal times, an end is sorted before a begin: a thread that ends when another begins does
    // not meet it.
    let mut turns: Vec<(u64, i64)> = lives.into_iter().flat_map(|(from, to)| [(from, 1), (to.max(from), -1)]).collect();
    turns.sort_unstable();
    let (mut alive, mut since, mut sum) = (0, 0, 0);
    for (at, turn) in turns {
        if alive >= 2 {
            sum += at - since;
        }
        (alive, since) = (alive + turn, at);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn only_what_two_lives_share_counts() {
        assert_eq!(together([]), 0);
        assert_eq!(together([(5, 50)]), 0);
        assert_eq!(together([(0, 100), (10, 30), (20, 40), (60, 70)]), 40, "10 to 40, and 60 to 70");
        assert_eq!(together([(0, 10), (10, 20), (20, 30)]), 0, "one after the other");
        assert_eq!(together([(0, 10), (12, 12)]), 0);
    }
}
