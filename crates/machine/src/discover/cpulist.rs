//! The kernel's notation for sets of CPUs: `0-3,8,10-11` (cpuset(7), "List format").

/// Parses a list. Returns its numbers in ascending order, each once; `None` if the list is
/// malformed.
pub fn parse(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // A number above 2^20 means a damaged file: no machine has that many CPUs.
        if first > last || last > 1 << 20 {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// Formats ascending numbers as a list.
pub fn show(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some((&first, _)) = rest.split_first() {
        let run = rest.iter().zip(first..).take_while(|(n, expected)| **n == *expected).count();
        if !text.is_empty() {
            text.push(',');
        }
        text += &match run {
            1 => first.to_string(),
            _ => format!("{first}-{}", rest[run - 1]),
        };
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip() {
        for list in ["", "0", "0-3", "0-3,8,10-11"] {
            assert_eq!(show(&parse(list).unwrap()), list);
        }
        assert_eq!(parse("3,1,2\n"), Some(vec![1, 2, 3]));
        for bad in ["x", "3-1", "0-", "-1", "0-99999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
