//! The kernel's notation for sets of CPUs: `0-3,8,10-11` (cpuset(7), "List format").

/// The highest number in a list.
const MOST: u32 = 1 << 20;

/// Parses a list. Returns its numbers in ascending order, each once; `None` if the list is
/// malformed.
pub fn parse(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // A number above 2^20 means a damaged file: no machine has that many CPUs. So do more numbers, as
        // the same range many times: they would fill the memory.
        if first > last || last > MOST || numbers.len() + (last - first) as usize > MOST as usize {
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
        let often = "0-1000000,".repeat(2);
        for bad in [&often, "x", "3-1", "0-", "-1", "0-99999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
